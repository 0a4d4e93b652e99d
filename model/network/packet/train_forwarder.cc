// A port is a clock (port.h): a packet's departure follows from the arrivals before it. So packets
// that arrive at even distances need no event each. A switch hears of a train when its first packet
// arrives, and keeps the rest as a PassingTrain: packets that will come. Whoever touches the port
// first has those pass that came before, in the order (arrival, sending LP) in which their events
// would have been; then the clock stands where it would have stood.
//
// What the next vertex is told depends on who else uses the port.
//
//   in turns   One train, or several at one distance: the departures of what is to come follow
//              (train_turns.h), and each is promised as a train when a packet of it has passed.
//   disturbed  A packet comes in between and takes the line. If that delays the promised ones, the
//              promises are cut: no packet from there on comes as they said. At the next departure
//              the switch wakes, and promises the rest anew.
//   uneven     While trains of several distances pass, nothing is promised. The switch wakes when
//              the next packet starts, and tells of all that arrived until then: they can no longer
//              change. Behind a queue these are many, and go as trains again.
//
// Why a cut is never late: it is sent at a time t at which the packet concerned has not arrived. So
// that packet starts at t + 1 ps or later, as switches take time to pass packets on, and would be
// seen at t + 1 ps + latency; the cut is there at t + latency. The first packet of a promise has
// always arrived already, so it stands, and a cut that would overtake the train waits for it.
//
// Ties: packets of one LP to one port come by one link, so no two of them arrive in the same
// instant (PacketNetwork::trains_allowed() sees to that), and a cut or a train takes effect before
// the packet of its sender that would come at the same time.
//
// The last packet of a message travels as itself. So a device needs to hear of no other, it
// completes a message by the same event as without trains, and when that has passed a port, the
// port's counters are complete.
#include "model/network/packet/train_forwarder.h"

#include <algorithm>
#include <array>
#include <limits>

#include "model/network/packet/packet_routing.h"
#include "model/network/packet/port_counters.h"
#include "pdes/undo_heap.h"

namespace exawarp::model {
namespace {

using core::Time;

// How many packets come before an event that `from` sent for `now`.
std::uint32_t arrived(const PassingTrain& train, Time now, core::LpId from) {
  const Time until = train.from < from.value ? now : now - Time{1};
  if (train.next > until) return 0;
  const std::int64_t packets = (until - train.next).ps / train.spacing.ps + 1;
  return static_cast<std::uint32_t>(std::min<std::int64_t>(packets, train.left));
}

Packet next_of(const PassingTrain& train, std::int64_t full_bytes) {
  return {.source = train.source,
          .destination = train.destination,
          .message = train.message,
          .number = train.number,
          .bytes = static_cast<std::uint32_t>(full_bytes),
          .channel = train.channel,
          .bits = train.bits};
}

}  // namespace

// What changes of a port while packets pass.
struct TrainForwarder::Clock {
  Time free, peak;
  std::uint64_t bytes, packets;

  explicit Clock(const PortState& port)
      : free(port.free), peak(port.peak), bytes(port.bytes), packets(port.packets) {}

  void store(PortState& port, pdes::Context& ctx) const {
    ctx.set(port.free, free);
    ctx.set(port.bytes, bytes);
    ctx.set(port.packets, packets);
    if (peak != port.peak) ctx.set(port.peak, peak);
  }
  void meet(Time arrival) { peak = std::max(peak, free - arrival); }

  // A packet passes; returns when it starts.
  Time pass(Time arrival, Time lag, Time wire, std::int64_t packet_bytes) {
    meet(arrival);
    const Time start = std::max(free, arrival + lag);
    free = core::sum_to_end(start, wire);
    bytes += static_cast<std::uint64_t>(packet_bytes);
    ++packets;
    return start;
  }
  // `count` packets of a train pass. What they find waiting first shrinks or grows evenly, then
  // stays, so the first, the second or the last finds most.
  void pass_all(const PassingTrain& train, std::uint32_t count, Time wire,
                std::int64_t packet_bytes) {
    pass(train.next, train.lag, wire, packet_bytes);
    if (count == 1) return;
    const Time arrival = train.next + train.spacing;
    meet(arrival);
    if (count > 2) {
      const std::int64_t between = count - 2;
      const Time eligible = arrival + train.lag;
      const Time queued = core::product_to_end(between - 1, wire);
      const Time own = core::product_to_end(between - 1, std::max(train.spacing, wire));
      const Time start = std::max(core::sum_to_end(free, queued), core::sum_to_end(eligible, own));
      free = core::sum_to_end(start, wire);
    }
    bytes += static_cast<std::uint64_t>(packet_bytes) * (count - 2);
    packets += count - 2;
    pass(train.next + train.spacing * (count - 1), train.lag, wire, packet_bytes);
  }
};

void describe(pdes::StateArchive& archive, PortTrains& trains) {
  archive.word(trains.wake_at);
  archive.digest_word(trains.passing.size());
  trains.passing.describe(archive, [&](PassingTrain& train) { archive.bytes(&train); });
}

// ---- events

bool TrainForwarder::on_packet(Packet packet, core::LpId from) {
  const std::uint32_t out = port_of(packet);
  if (out >= ports_.count()) return false;
  catch_up(out, from);
  const Time start = give(out, packet);
  const PortState& line = ports_.port(out);
  if (!ends(out) || (packet.bits & Packet::kLastBit) != 0) {
    outbox_.send(line, packet, seen(out, start, ports_.wire(out, packet.bytes)));
  }
  const auto& passing = trains_[out].passing;
  if (!passing.empty() && line.free > passing[0].ready()) retract_all(out);
  go_on(out);
  return true;
}

void TrainForwarder::on_train(const Train& train, core::LpId from) {
  Packet packet = train.first(network_.full_bytes());
  const std::uint32_t out = port_of(packet);
  const bool sane = out < ports_.count() && train.count >= 2 && train.spacing.ps >= 1;
  ctx_.check(sane, "a train came that has no way, or is none");
  if (!sane) return;
  catch_up(out, from);
  retract_all(out);
  const Time start = give(out, packet);
  if (!ends(out)) {
    const PortState& line = ports_.port(out);
    outbox_.add(line, packet, seen(out, start, ports_.wire(out, packet.bytes)));
  }
  const PassingTrain rest{.next = ctx_.now() + train.spacing,
                          .spacing = train.spacing,
                          .lag = lag_of(packet, out),
                          .from = from.value,
                          .source = train.source,
                          .destination = train.destination,
                          .message = train.message,
                          .number = train.number + 1,
                          .left = train.count - 1,
                          .channel = packet.channel,
                          .bits = train.bits};
  pdes::heap_push(trains_[out].passing, ctx_, rest, is_before);
  go_on(out);
}

void TrainForwarder::on_cut(const TrainCut& cut, core::LpId from) {
  Packet packet = cut.packet();
  const std::uint32_t out = port_of(packet);
  if (out >= ports_.count()) return ctx_.check(false, "a train was cut that has no way");
  catch_up(out, from);
  auto& passing = trains_[out].passing;
  std::uint32_t i = 0;
  while (i < passing.size() &&
         (passing[i].source != cut.source || passing[i].message != cut.message)) {
    ++i;
  }
  const bool sane = i < passing.size() && cut.number >= passing[i].number &&
                    cut.number - passing[i].number < passing[i].left;
  ctx_.check(sane, "packets of a train were cut that had arrived, or were not to come");
  if (!sane) return;
  PassingTrain& train = passing.at(i);
  const std::uint32_t stay = cut.number - train.number;
  if (train.promised > stay) {
    outbox_.send_cut(ports_.port(out), cut, train.told);
    ctx_.set(train.promised, stay);
  }
  ctx_.set(train.left, stay);
  if (stay == 0) pdes::heap_erase(passing, ctx_, i, is_before);
  for (std::uint32_t other = 0; other < passing.size(); ++other) {
    if (other != i || stay == 0) retract(out, passing.at(other));
  }
  go_on(out);
}

void TrainForwarder::on_wake(std::uint32_t p) {
  ctx_.check(p < ports_.count(), "a port woke that is not there");
  if (p >= ports_.count()) return;
  if (trains_[p].wake_at != ctx_.now()) return;  // void: an earlier one was set since
  ctx_.set(trains_[p].wake_at, Time{-1});
  catch_up(p, ctx_.self());
  go_on(p);
}

// ---- passing

// Chooses its port, and its channel there.
std::uint32_t TrainForwarder::port_of(Packet& packet) {
  const bool sane = packet.in_port < ports_.count() && packet.channel < network_.channels();
  ctx_.check(sane, "a packet arrived by a port or channel that its vertex does not have");
  if (!sane) return kNoPort;
  const std::uint32_t out = choose_port(network_, ports_, at_, packet, foreseen_);
  if (out < ports_.count()) {
    packet.channel = network_.next_channel(at_, packet.in_port, out, packet);
  }
  return out;
}

Time TrainForwarder::lag_of(const Packet& packet, std::uint32_t out) const {
  return ports_.eligible_at(packet, out) - ctx_.now();
}

// When a packet that starts at `start` arrives at the other end.
Time TrainForwarder::seen(std::uint32_t p, Time start, Time wire) const {
  return ports_.arrival(p, start, core::sum_to_end(start, wire), ends(p));
}

// A copy of a port's trains, in order. A packet changes several words of its train, and an event
// may have thousands pass: what they leave is written once.
struct TrainForwarder::Row {
  static constexpr std::uint32_t kTrainsMax = 16;
  std::array<PassingTrain, kTrainsMax> trains;
  std::uint32_t size = 0;

  explicit Row(const pdes::UndoVector<PassingTrain>& passing) : size(passing.size()) {
    std::copy(passing.begin(), passing.end(), trains.begin());
    std::sort(trains.begin(), trains.begin() + size, is_before);
  }
  // In order, and so a heap.
  void store(pdes::UndoVector<PassingTrain>& passing, pdes::Context& ctx) const {
    for (std::uint32_t i = 0; i < size; ++i) passing.assign(ctx, i, trains[i]);
    while (passing.size() > size) passing.erase(ctx, passing.size() - 1);
  }
  // The first has had packets pass: it goes where it belongs.
  void sink_first() {
    const PassingTrain first = trains[0];
    std::uint32_t i = 0;
    for (; i + 1 < size && (first.left == 0 || is_before(trains[i + 1], first)); ++i) {
      trains[i] = trains[i + 1];
    }
    trains[i] = first;
    if (first.left == 0) --size;
  }
};

// Has all packets pass that came before an event that `from` sent for now.
void TrainForwarder::catch_up(std::uint32_t p, core::LpId from) {
  const auto& passing = trains_[p].passing;
  if (passing.empty() || arrived(passing[0], ctx_.now(), from) == 0) return;
  Clock clock(ports_.port(p));
  if (passing.size() <= Row::kTrainsMax) {
    pass_row(p, from, clock);
  } else {
    pass_many(p, from, clock);
  }
  clock.store(ports_.port(p), ctx_);
}

void TrainForwarder::pass_many(std::uint32_t p, core::LpId from, Clock& clock) {
  auto& passing = trains_[p].passing;
  while (!passing.empty() && arrived(passing[0], ctx_.now(), from) != 0) {
    PassingTrain first = passing[0];
    pass(p, first, 1, clock);
    passing.assign(ctx_, 0, first);
    if (first.left == 0) {
      pdes::heap_erase(passing, ctx_, 0, is_before);
    } else {
      pdes::heap_sink_first(passing, ctx_, is_before);
    }
  }
}

void TrainForwarder::pass_row(std::uint32_t p, core::LpId from, Clock& clock) {
  constexpr std::uint32_t kTryAgain = 64;  // packets later
  Row row(trains_[p].passing);
  std::uint32_t try_in = 0;
  while (row.size > 0) {
    const std::uint32_t packets = arrived(row.trains[0], ctx_.now(), from);
    if (packets == 0) break;
    if (row.size > 1 && try_in == 0) {
      if (pass_rounds(p, from, row, clock)) continue;
      try_in = kTryAgain;
    }
    const std::uint32_t trains = row.size;
    pass_first(p, row, trains == 1 ? packets : 1, clock);
    try_in = row.size < trains || try_in == 0 ? 0 : try_in - 1;
  }
  row.store(trains_[p].passing, ctx_);
}

void TrainForwarder::pass_first(std::uint32_t p, Row& row, std::uint32_t packets, Clock& clock) {
  pass(p, row.trains[0], packets, clock);
  row.sink_first();
}

// Has packets pass of trains that take turns (train_turns.h) and of which the next vertex knows.
// From the second round on, what the packets of a train find waiting grows, shrinks or stays evenly
// from round to round; so those between the second round and the last one leave nothing that these
// do not. Returns whether there were enough of them.
bool TrainForwarder::pass_rounds(std::uint32_t p, core::LpId from, Row& row, Clock& clock) {
  if (network_.options().count_ports) return false;
  const std::int64_t full = network_.full_bytes();
  const TrainTurns turns({row.trains.data(), row.size}, clock.free, ports_.wire(p, full));
  if (!turns.even()) return false;
  std::uint32_t rounds = std::numeric_limits<std::uint32_t>::max();
  for (std::uint32_t turn = 0; turn < row.size; ++turn) {
    const PassingTrain& train = row.trains[turn];
    rounds = std::min({rounds, turns.packets(turn), arrived(train, ctx_.now(), from)});
    if (!ends(p)) rounds = std::min(rounds, train.promised);
  }
  if (rounds < 4) return false;
  for (std::uint32_t i = 0; i < 2 * turns.trains(); ++i) pass_first(p, row, 1, clock);
  const std::uint32_t between = rounds - 3;
  for (std::uint32_t i = 0; i < row.size; ++i) {
    PassingTrain& train = row.trains[i];
    train.next += train.spacing * between;
    train.number += between;
    train.left -= between;
    if (train.promised != 0) train.promised -= between;
  }
  const std::uint64_t packets = std::uint64_t{between} * row.size;
  clock.free += turns.period() * between;
  clock.packets += packets;
  clock.bytes += packets * static_cast<std::uint64_t>(full);
  for (std::uint32_t i = 0; i < turns.trains(); ++i) pass_first(p, row, 1, clock);
  return true;
}

void TrainForwarder::pass(std::uint32_t p, PassingTrain& train, std::uint32_t packets,
                          Clock& clock) {
  const std::int64_t full = network_.full_bytes();
  const Time wire = ports_.wire(p, full);
  const std::uint32_t told = ends(p) ? packets : std::min(packets, train.promised);
  if (network_.options().count_ports) {
    for (std::uint32_t i = 0; i < told; ++i) {
      pass_one(p, clock, train.next + train.spacing * i, train.lag, full);
    }
  } else if (told > 0) {
    clock.pass_all(train, told, wire, full);
  }
  if (told < packets) {
    Packet packet = next_of(train, full);
    packet.number += told;
    for (std::uint32_t i = told; i < packets; ++i) {
      const Time start = pass_one(p, clock, train.next + train.spacing * i, train.lag, full);
      outbox_.add(ports_.port(p), packet, seen(p, start, wire));
      ++packet.number;
    }
  }
  train.next += train.spacing * packets;
  train.number += packets;
  train.left -= packets;
  if (train.promised != 0) train.promised -= told;
}

// A packet that arrives at `arrival` passes; returns when it starts.
Time TrainForwarder::pass_one(std::uint32_t p, Clock& clock, Time arrival, Time lag,
                              std::int64_t packet_bytes) {
  const Time met = clock.free - arrival;
  const Time start = clock.pass(arrival, lag, ports_.wire(p, packet_bytes), packet_bytes);
  if (network_.options().count_ports) {
    if (met.ps > 0) PortCounters::emit(ctx_, PortRecord::queued, p, 0, met, arrival);
    PortCounters::emit(ctx_, PortRecord::sent, p, static_cast<std::uint64_t>(packet_bytes), start,
                       clock.free);
  }
  return start;
}

// A packet that arrives now passes; returns when it starts.
Time TrainForwarder::give(std::uint32_t p, const Packet& packet) {
  Clock clock(ports_.port(p));
  const Time start = pass_one(p, clock, ctx_.now(), lag_of(packet, p), packet.bytes);
  clock.store(ports_.port(p), ctx_);
  return start;
}

// ---- promising

void TrainForwarder::retract(std::uint32_t p, PassingTrain& train) {
  if (train.promised == 0) return;
  outbox_.send_cut(ports_.port(p),
                   {train.source, train.destination, train.message, train.number, 0}, train.told);
  ctx_.set(train.promised, 0u);
}

void TrainForwarder::retract_all(std::uint32_t p) {
  auto& passing = trains_[p].passing;
  for (std::uint32_t i = 0; i < passing.size(); ++i) retract(p, passing.at(i));
}

// Tells of what has passed, promises what can be promised, and sees to it that the rest passes in
// time.
void TrainForwarder::go_on(std::uint32_t p) {
  const auto& passing = trains_[p].passing;
  if (!passing.empty() && !ends(p)) {
    const Time wire = ports_.wire(p, network_.full_bytes());
    const TrainTurns turns({passing.begin(), passing.end()}, ports_.port(p).free, wire);
    if (turns.even()) promise(p, turns);
    set_wake(p, turns);
  }
  outbox_.flush();
}

// Promises what starts evenly behind packets that have passed in this event.
void TrainForwarder::promise(std::uint32_t p, const TrainTurns& turns) {
  const Time wire = ports_.wire(p, network_.full_bytes());
  for (std::uint32_t turn = 0; turn < turns.trains(); ++turn) {
    PassingTrain& train = trains_[p].passing.at(turns.train(turn));
    if (train.promised != 0) continue;
    TrainOutbox::Segment* passed = outbox_.of(train.source, train.message);
    if (passed == nullptr) continue;
    const Time gap = seen(p, turns.start(turn), wire) - Time{passed->last_ps};
    const std::uint32_t even = gap == turns.period() ? turns.packets(turn) : 1;
    if (even == 0 || (even == 1 && train.left > 1)) continue;
    outbox_.extend(*passed, gap, even);
    ctx_.set(train.promised, even);
    ctx_.set(train.told, Time{passed->first_ps});
  }
}

// Wakes when the first packet starts that the next vertex does not know of.
void TrainForwarder::set_wake(std::uint32_t p, const TrainTurns& turns) {
  PortTrains& trains = trains_[p];
  const Time at = first_untold(p, turns);
  if (at == Time::max()) return;
  if (trains.wake_at > ctx_.now() && trains.wake_at <= at) return;
  ctx_.set(trains.wake_at, at);
  ctx_.send(ctx_.self(), at - ctx_.now(), kind_of(PacketEvent::wake), PortWake{p, 0});
}

// Not after that packet starts; Time::max(): all are known.
Time TrainForwarder::first_untold(std::uint32_t p, const TrainTurns& turns) const {
  const auto& passing = trains_[p].passing;
  const Time free = ports_.port(p).free;
  const Time wire = ports_.wire(p, network_.full_bytes());
  Time least = Time::max();
  const auto note = [&](const PassingTrain& train, Time start, std::int64_t before) {
    if (train.promised == train.left) return;
    const std::int64_t promised = train.promised;
    const Time own = core::sum_to_end(start, core::product_to_end(promised, wire));
    const Time ready =
        core::sum_to_end(train.ready(), core::product_to_end(promised, train.spacing));
    const Time behind = core::sum_to_end(free, core::product_to_end(before, wire));
    least = std::min(least, std::max(own, std::max(ready, behind)));
  };
  if (!turns.even()) {
    note(passing[0], std::max(free, passing[0].ready()), 0);
    for (std::uint32_t i = 1; i < passing.size() && passing[0].promised != 0; ++i) {
      note(passing[i], free, 0);
    }
    return least;
  }
  for (std::uint32_t turn = 0; turn < turns.trains(); ++turn) {
    const PassingTrain& train = passing[turns.train(turn)];
    const std::int64_t before = turn + std::int64_t{train.promised} * turns.trains();
    note(train, turns.start(turn), std::min(before, turns.ends()));
  }
  return least;
}

}  // namespace exawarp::model
