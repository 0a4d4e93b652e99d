// Sending, where the network has trains. What is given to a line, and when, is as without them: the
// endpoint wakes as often, and messages take turns as before. Only what the switch is told differs.
// The packets of one event go as trains, and a message that is alone on its line is promised whole,
// but for its last packet. Its later packets then need no word, as the line runs on without a gap;
// a packet of another message takes the place of the next one, and so cuts the promise.
#include <algorithm>

#include "model/network/packet/endpoint.h"

namespace exawarp::model {

using core::Time;

// Returns when the packet's tail leaves.
Time Endpoint::give_to_train(std::uint32_t port, const Sending& s, Packet packet, Time eligible) {
  const SendSide& side = parts_.sides[port];
  const PortState& line = parts_.ports[port];
  if (side.promised != 0 && side.promised != s.key + 1) cut_promise(port);
  const Time free = line.free;
  const Time start = ports_.occupy(port, packet.bytes, eligible);
  const Time end = line.free;
  const Time seen = ports_.arrival(port, start, end, false) +
                    delay_at_ends(s.endpoint_delay, {s.to}, start);
  const bool is_promised = side.promised == s.key + 1;
  if (packet.number + 1 == s.packets) {
    packet.bits |= Packet::kLastBit;
    outbox_.send(line, packet, seen);
    if (is_promised) ctx_.set(parts_.sides[port].promised, std::uint64_t{0});
    return end;
  }
  if (is_promised) {
    ctx_.check(start == free, "a line ran out of the packets that it had promised");
    return end;
  }
  outbox_.add(line, packet, seen);
  return end;
}

// Tells of what was given to the line in this event, and of the rest of its message, where no other
// has packets to send.
void Endpoint::promise_rest(std::uint32_t port) {
  SendSide& side = parts_.sides[port];
  if (side.promised == 0 && side.due.size() == 1) {
    const Sending* s = state_.sending.find(side.due[0].message);
    TrainOutbox::Segment* given =
        s == nullptr ? nullptr : outbox_.of(at().value, static_cast<std::uint32_t>(s->key));
    const bool was_last = given != nullptr && is_last_on_line(port, *s, *given);
    if (was_last && s->next + 1 < s->packets) {
      outbox_.extend(*given, network_.figures(parts_.ports[port].kind).full_wire,
                     s->packets - 1 - s->next);
      ctx_.set(side.promised, s->key + 1);
      ctx_.set(side.told, Time{given->first_ps});
    }
  }
  outbox_.flush();
}

// Whether nothing was given to the line behind `given`.
bool Endpoint::is_last_on_line(std::uint32_t port, const Sending& s,
                               const TrainOutbox::Segment& given) const {
  const LinkFigures& figures = network_.figures(parts_.ports[port].kind);
  const Time behind = options().cut_through ? figures.full_wire : Time{0};
  const Time seen_end = parts_.ports[port].free + figures.latency + s.endpoint_delay;
  return Time{given.last_ps} + behind == seen_end;
}

void Endpoint::cut_promise(std::uint32_t port) {
  SendSide& side = parts_.sides[port];
  const Sending* s = state_.sending.find(side.promised - 1);
  ctx_.check(s != nullptr, "a line promised packets of a message that is over");
  if (s != nullptr && s->next + 1 < s->packets) {
    outbox_.send_cut(parts_.ports[port],
                     {at().value, s->to, static_cast<std::uint32_t>(s->key), s->next, 0},
                     side.told);
  }
  ctx_.set(side.promised, std::uint64_t{0});
}

}  // namespace exawarp::model
