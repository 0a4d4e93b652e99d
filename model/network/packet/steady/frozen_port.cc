#include "model/network/packet/steady/frozen_port.h"

#include <algorithm>

#include "model/network/packet/packet.h"
#include "model/network/packet/packet_network.h"
#include "model/network/packet/port.h"
#include "model/network/packet/routing.h"
#include "model/network/packet/steady/steady_run.h"

namespace exawarp::model {

using core::Time;

void describe(pdes::StateArchive& archive, FrozenPort& port) {
  archive.word(port.sends_since);
  archive.word(port.receives_since);
  archive.word(port.free);
  archive.word(port.wake);
  archive.word(port.messages);
  for (pdes::UndoVector<KeptEvent>* kept : {&port.sending, &port.receiving}) {
    archive.digest_word(kept->size());
    kept->describe(archive, [&](KeptEvent& event) { archive.bytes(&event); });
  }
}

bool FrozenPorts::keep(const pdes::Event& event) {
  std::uint32_t port = 0;
  switch (static_cast<PacketEvent>(event.kind)) {
    case PacketEvent::packet: {
      const auto packet = event.as<Packet>();
      const bool still = packet.type() == PacketType::data && packet.in_port < ports_.count() &&
                         frozen_[packet.in_port].receives_since.ps >= 0;
      if (!still) return false;
      FrozenPort& f = frozen_[packet.in_port];
      f.receiving.push_back(ctx_,
                            {event.payload, ctx_.now() - f.receives_since, event.kind, 0});
      return true;
    }
    case PacketEvent::credit:
      port = event.as<CreditReturn>().port;
      break;
    case PacketEvent::pause:
      port = event.as<Pause>().port;
      break;
    case PacketEvent::wake:
      port = event.as<PortWake>().port;
      break;
    default:
      return false;
  }
  if (port >= ports_.count() || !is_still(port)) return false;
  keep_with(port, event);
  return true;
}

void FrozenPorts::keep_with(std::uint32_t p, const pdes::Event& event) {
  FrozenPort& f = frozen_[p];
  f.sending.push_back(ctx_, {event.payload, ctx_.now() - f.sends_since, event.kind, 0});
}

void FrozenPorts::jump(std::uint32_t p, Packet packet) {
  const Topology& topology = network_.topology();
  const VertexId at = network_.vertex_of(ctx_.self());
  const std::uint32_t links = links_between(topology, at, {packet.destination});
  const LinkFigures& line = network_.figures(ports_.port(p).kind);
  const Time each = line.latency + ports_.wire(p, packet.bytes) + topology.forwarding_latency(at);
  ctx_.send({packet.destination}, core::product_to_end(links, each),
            kind_of(PacketEvent::reply), packet);
}

void FrozenPorts::freeze(const Freeze& freeze) {
  const bool sane = frozen_ != nullptr && freeze.port < ports_.count();
  ctx_.check(sane, "a line is to stand still that is not there");
  if (!sane) return;
  FrozenPort& f = frozen_[freeze.port];
  if (freeze.end == LineEnd::receives) return ctx_.set(f.receives_since, ctx_.now());
  ctx_.set(f.sends_since, ctx_.now());
  ctx_.set(f.free, ports_.port(freeze.port).free);
  const Time depth = ports_.depth(freeze.port);
  if (depth <= freeze.depth_most) return;
  ctx_.send(network_.watch(), network_.lookahead(), kind_of(SteadyEvent::queues),
            QueueLeft{freeze.link, freeze.stretch, depth});
}

Time FrozenPorts::thaw(const Thaw& thaw) {
  const bool sane = frozen_ != nullptr && thaw.port < ports_.count();
  ctx_.check(sane, "a line is to go on that is not there");
  if (!sane) return Time{0};
  FrozenPort& f = frozen_[thaw.port];
  Time& since = thaw.end == LineEnd::sends ? f.sends_since : f.receives_since;
  ctx_.check(since.ps >= 0, "a line is to go on that does not stand still");
  const Time by = since.ps >= 0 ? ctx_.now() - since : Time{0};
  if (thaw.end == LineEnd::sends) {
    PortState& line = ports_.port(thaw.port);
    if (f.free > since) ctx_.set(line.free, std::max(line.free, core::sum_to_end(f.free, by)));
    const auto full = static_cast<std::uint64_t>(network_.full_bytes());
    ctx_.set(line.packets, line.packets + thaw.packets);
    ctx_.set(line.bytes, line.bytes + full * thaw.packets);
  }
  ctx_.set(since, Time{-1});
  let_come(thaw.end == LineEnd::sends ? f.sending : f.receiving);
  return by;
}

void FrozenPorts::let_come(pdes::UndoVector<KeptEvent>& kept) {
  for (const KeptEvent& event : kept) {
    ctx_.send(ctx_.self(), std::max(event.after, Time{1}),
              static_cast<pdes::EventKind>(event.kind), event.payload);
  }
  kept.clear(ctx_);
}

}  // namespace exawarp::model
