// Sending, where the network has trains. What is given to a line, and when, is as without them, and
// messages take turns as before. Only what the switch is told differs.
//
// While no message comes or ends, the m messages of a line take turns: each gives it every m-th
// packet, so its packets follow each other evenly. Where the messages are few, each is promised as
// a train until the first of them ends (Rotation). Later packets then need no word, as the line
// runs on without a gap. A message that comes takes a turn among them, and so cuts the promises.
// The last packet of a message always travels as itself.
//
// Nor do these packets need wakes. Each wake gives the same number of packets to the line, k, and
// sets the next one k packets later (Rounds). So the endpoint wakes once for the last packet of the
// message that ends first. When another message comes before, it first catches up with the wakes
// that would have been (settle()), and sets the next one. A message of n packets that is alone
// takes two or three events of its sender's.
#include <algorithm>
#include <array>
#include <limits>

#include "model/network/packet/endpoint.h"

namespace exawarp::model {

using core::Time;

// The messages of a line by turn. Packets that are to come are counted over all of them, from 0.
struct Endpoint::Rotation {
  // More than that take turns without promises: whoever comes or goes would cut all of them.
  static constexpr std::uint32_t kMessagesMax = 16;

  std::array<Due, kMessagesMax> turns;
  std::uint32_t messages = 0;  // 0: none, or too many
  std::int64_t ends = 0;       // the first packet that is its message's last

  // How many of the first `packets` packets are of the message whose turn is the p-th.
  [[nodiscard]] std::uint32_t share(std::uint32_t p, std::int64_t packets) const {
    return packets > p ? static_cast<std::uint32_t>((packets - p - 1) / messages + 1) : 0;
  }
};

// Wakes of a line whose messages are promised until the first of them ends.
struct Endpoint::Rounds {
  Time first{};  // the next one
  Time spacing{};
  std::uint32_t packets = 0;   // that each gives to the line
  std::int64_t left_out = 0;   // all before the one that gives it a message's last packet
};

// Returns when the packet's tail leaves.
Time Endpoint::give_to_train(std::uint32_t port, const Sending& s, Packet packet, Time eligible) {
  const PortState& line = parts_.ports[port];
  const Time free = line.free;
  const Time start = ports_.occupy(port, packet.bytes, eligible);
  const Time end = line.free;
  const Time seen = ports_.arrival(port, start, end, false) +
                    delay_at_ends(s.endpoint_delay, {s.to}, start);
  if (packet.number + 1 == s.packets) {
    packet.bits |= Packet::kLastBit;
    outbox_.send(line, packet, seen);
  } else if (packet.number < s.promised) {
    ctx_.check(start == free, "a line ran out of the packets that it had promised");
  } else {
    outbox_.add(line, packet, seen);
  }
  return end;
}

Endpoint::Rotation Endpoint::rotation_of(std::uint32_t port) const {
  const auto& due = parts_.sides[port].due;
  Rotation rotation;
  if (due.size() > Rotation::kMessagesMax) return rotation;
  std::copy(due.begin(), due.end(), rotation.turns.begin());
  std::sort(rotation.turns.begin(), rotation.turns.begin() + due.size());
  std::int64_t ends = std::numeric_limits<std::int64_t>::max();
  for (std::uint32_t p = 0; p < due.size(); ++p) {
    const Due& turn = rotation.turns[p];
    const Sending* s = state_.sending.find(turn.message);
    if (s == nullptr || turn.at > parts_.ports[port].free || s->next >= s->packets) return {};
    ends = std::min(ends, p + std::int64_t{s->packets - 1 - s->next} * due.size());
  }
  rotation.messages = due.size();
  rotation.ends = ends;
  return rotation;
}

// Promises the packets of messages that have given some to the line in this event, in their turn.
// Returns how long wakes are left out.
Time Endpoint::promise_rest(std::uint32_t port) {
  const Rotation rotation = rotation_of(port);
  const PortState& line = parts_.ports[port];
  const Time wire = network_.figures(line.kind).full_wire;
  for (std::uint32_t p = 0; p < rotation.messages; ++p) {
    const Due& turn = rotation.turns[p];
    Sending& s = *state_.sending.find(turn.message);
    const std::uint32_t packets = rotation.share(p, rotation.ends);
    if (packets == 0 || s.promised > s.next) continue;
    if (turn.at != line.free - wire * (rotation.messages - 1 - p)) continue;  // not yet even
    TrainOutbox::Segment* given = outbox_.of(at().value, static_cast<std::uint32_t>(s.key));
    if (given == nullptr) continue;
    outbox_.extend(*given, wire * rotation.messages, packets);
    ctx_.set(s.promised, s.next + packets);
    ctx_.set(s.told, Time{given->first_ps});
  }
  const Rounds rounds = rounds_of(port, rotation);
  return core::product_to_end(rounds.left_out, rounds.spacing);
}

// Another message is to come: takes promises back, and sets the next wake as it would be if none
// had been left out.
void Endpoint::part_trains(std::uint32_t port) {
  const Rotation rotation = rotation_of(port);
  const Rounds rounds = rounds_of(port, rotation);
  if (rounds.left_out != 0 && parts_.sides[port].wake_at > rounds.first) {
    wake_at(port, rounds.first);
  }
  for (std::uint32_t p = 0; p < rotation.messages; ++p) {
    Sending& s = *state_.sending.find(rotation.turns[p].message);
    if (s.promised <= s.next) continue;
    outbox_.send_cut(parts_.ports[port],
                     {at().value, s.to, static_cast<std::uint32_t>(s.key), s.next, 0}, s.told);
    ctx_.set(s.promised, s.next);
  }
}

// ---- wakes that are left out

// A wake finds the line free commit_half() later, and gives it what starts up to figures.commit
// later.
Endpoint::Rounds Endpoint::rounds_of(std::uint32_t port, const Rotation& rotation) const {
  if (rotation.messages == 0) return {};
  for (std::uint32_t p = 0; p < rotation.messages; ++p) {
    const Sending& s = *state_.sending.find(rotation.turns[p].message);
    const std::uint32_t packets = rotation.share(p, rotation.ends);
    if (packets != 0 && s.promised < s.next + packets) return {};
  }
  const PortState& line = parts_.ports[port];
  const LinkFigures& figures = network_.figures(line.kind);
  const Time given = figures.commit - figures.commit_half();
  const std::int64_t packets = given.ps / figures.full_wire.ps + 1;
  return {.first = line.free - figures.commit_half(),
          .spacing = figures.full_wire * packets,
          .packets = static_cast<std::uint32_t>(packets),
          .left_out = rotation.ends / packets};
}

// Gives the line what wakes until now would have given it, but for the last one.
void Endpoint::catch_up(std::uint32_t port) {
  const PortState& line = parts_.ports[port];
  const bool may_be_behind = !parts_.sides[port].due.empty() &&
                             line.free - network_.figures(line.kind).commit_half() <= ctx_.now();
  if (!may_be_behind) return;
  const Rotation rotation = rotation_of(port);
  const Rounds rounds = rounds_of(port, rotation);
  if (rounds.left_out == 0 || rounds.first > ctx_.now()) return;
  const std::int64_t due = (ctx_.now() - rounds.first).ps / rounds.spacing.ps + 1;
  const std::int64_t done = std::min(due, rounds.left_out);
  turn(port, rotation, static_cast<std::uint32_t>(done * rounds.packets));
}

// Gives the line so many packets, all before the first that is a message's last.
void Endpoint::turn(std::uint32_t port, const Rotation& rotation, std::uint32_t packets) {
  const Time free = parts_.ports[port].free;
  const Time wire = network_.figures(parts_.ports[port].kind).full_wire;
  ports_.occupy_on(port, packets);
  auto& due = parts_.sides[port].due;
  for (std::uint32_t p = 0; p < rotation.messages; ++p) {
    Due next = rotation.turns[p];
    const std::uint32_t given = rotation.share(p, packets);
    if (given != 0) {
      Sending& s = *state_.sending.find(next.message);
      ctx_.set(s.next, s.next + given);
      next.at = free + wire * (p + std::int64_t{given - 1} * rotation.messages + 1);
    }
    // In the order of turns, and so a heap.
    const std::uint32_t place = (p + rotation.messages - packets % rotation.messages) %
                                rotation.messages;
    due.assign(ctx_, place, next);
  }
}

}  // namespace exawarp::model
