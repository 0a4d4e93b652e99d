#include "model/network/packet/train_outbox.h"

#include <algorithm>

namespace exawarp::model {

using core::Time;

void TrainOutbox::add(const PortState& line, const Packet& packet, Time seen) {
  if (Segment* open = of(packet.source, packet.message)) {
    const std::int64_t gap = seen.ps - open->last_ps;
    if (open->count == 1 || gap == open->spacing_ps) {
      open->spacing_ps = gap;
      open->last_ps = seen.ps;
      ++open->count;
      return;
    }
    send(*open);
    open->number = packet.number;
    open->count = 1;
    open->first_ps = open->last_ps = seen.ps;
    return;
  }
  std::uint32_t at = size_;
  if (size_ == kSegmentsMax) {
    at = oldest_;
    oldest_ = (oldest_ + 1) % kSegmentsMax;
    send(segments_[at]);
  } else {
    ++size_;
  }
  segments_[at] = {.peer = line.peer,
                   .source = packet.source,
                   .destination = packet.destination,
                   .message = packet.message,
                   .number = packet.number,
                   .count = 1,
                   .in_port = line.peer_port,
                   .channel = packet.channel,
                   .bits = packet.bits,
                   .spacing_ps = 0,
                   .first_ps = seen.ps,
                   .last_ps = seen.ps};
}

TrainOutbox::Segment* TrainOutbox::of(std::uint32_t source, std::uint32_t message) {
  for (std::uint32_t i = 0; i < size_; ++i) {
    if (segments_[i].message == message && segments_[i].source == source) return &segments_[i];
  }
  return nullptr;
}

// Where the distance is another than so far, the last packet begins a train of its own: the first
// packet of each has to be one that nothing can take back.
void TrainOutbox::extend(Segment& segment, Time spacing, std::uint32_t more) {
  if (segment.count > 1 && segment.spacing_ps != spacing.ps) {
    const std::uint32_t last = segment.number + segment.count - 1;
    --segment.count;
    send(segment);
    segment.number = last;
    segment.count = 1;
    segment.first_ps = segment.last_ps;
  }
  segment.spacing_ps = spacing.ps;
  segment.count += more;
}

void TrainOutbox::flush() {
  for (std::uint32_t i = 0; i < size_; ++i) send(segments_[i]);
  size_ = 0;
  oldest_ = 0;
}

void TrainOutbox::send(const Segment& s) {
  const Train train{.source = s.source,
                    .destination = s.destination,
                    .message = s.message,
                    .number = s.number,
                    .spacing = Time{s.spacing_ps},
                    .count = s.count,
                    .in_port = s.in_port,
                    .channel = s.channel,
                    .bits = s.bits};
  const Time delay = Time{s.first_ps} - ctx_.now();
  if (s.count > 1) return ctx_.send({s.peer}, delay, kind_of(PacketEvent::train), train);
  ctx_.send({s.peer}, delay, kind_of(PacketEvent::packet), train.first(network_.full_bytes()));
}

void TrainOutbox::send(const PortState& line, Packet packet, Time seen) {
  packet.in_port = line.peer_port;
  ctx_.send({line.peer}, seen - ctx_.now(), kind_of(PacketEvent::packet), packet);
}

// It travels as fast as a link lets it, which is before the first packet that it concerns; but not
// ahead of the train.
void TrainOutbox::send_cut(const PortState& line, TrainCut cut, Time told) {
  cut.in_port = line.peer_port;
  const Time delay = std::max(network_.figures(line.kind).latency, told - ctx_.now());
  ctx_.send({line.peer}, delay, kind_of(PacketEvent::cut), cut);
}

}  // namespace exawarp::model
