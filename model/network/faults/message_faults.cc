#include "model/network/faults/message_faults.h"

#include <algorithm>

#include "core/check.h"
#include "model/network/packet/routing.h"

namespace exawarp::model {

using core::DeviceId;
using core::Time;

MessageFaults::MessageFaults(std::unique_ptr<Topology> topology,
                               const std::vector<LinkFaultSpec>& faults,
                               const LatencyJitterSpec& jitter, std::uint64_t seed)
    : topology_(std::move(topology)),
      faults_(*topology_, faults),
      routes_(*topology_, faults_, EscapeRoutes::Kind::any),
      jitter_(jitter, seed) {}

std::optional<Travel> MessageFaults::travel(DeviceId from, DeviceId to,
                                             const UsualTransfer& usual) const {
  EXAWARP_DCHECK(from != to, from.value);
  Travel out{usual.ready, usual.wire, usual.latency};
  if (faults_.links() != 0) {
    out.start = routes_.connected_from(from, to, usual.ready);
    if (out.start == Time::max()) return std::nullopt;
    const Path path = follow(from, to, usual, out.start);
    const Time ends = topology_->distances()[topology_->message_route(from, to).distance].endpoint;
    out.wire = std::max(out.wire, path.wire);
    out.latency = std::max(out.latency, path.latency + ends);
  }
  if (!jitter_.off()) {
    out.latency += jitter_.extra(from.value, to.value, core::sum_to_end(out.start, out.wire));
  }
  // The lookahead is the least of usual latencies: nothing may be earlier.
  EXAWARP_DCHECK(out.start >= usual.ready && out.latency >= usual.latency, from.value, to.value);
  return out;
}

std::optional<DeviceId> MessageFaults::cut_off_from(DeviceId to, Time at) const {
  for (std::uint32_t d = 0; d < topology_->devices(); ++d) {
    if (d == to.value) continue;
    if (routes_.connected_from({d}, to, at) == Time::max()) return DeviceId{d};
  }
  return std::nullopt;
}

MessageFaults::Path MessageFaults::follow(DeviceId from, DeviceId to, const UsualTransfer& usual,
                                            Time start) const {
  const VertexId at{from.value}, end{to.value};
  const Sent sent{.start = start, .wire = usual.wire, .rate = interface_rate(from, to)};
  Path path{};
  if (!routes_.ports(at, end, Way::begins, start).empty()) {
    leg(at, end, sent, path);
    return path;
  }
  const std::optional<VertexId> over = routes_.detour(at, from, to, start);
  Sent rest = sent;
  if (!over) {
    rest.around = true;
    leg(at, end, rest, path);
    return path;
  }
  leg(at, *over, sent, path);
  path.latency += topology_->forwarding_latency(*over);
  rest.way = Way::goes_on;
  leg(*over, end, rest, path);
  return path;
}

// Of the interface whose time a message takes. The sender's own port may be one into its node,
// where the way begins with a faster link; the receiver's is not.
std::int64_t MessageFaults::interface_rate(DeviceId from, DeviceId to) const {
  const Link link = topology_->link({to.value}, topology_->message_route(from, to).rx_port);
  return topology_->link_kinds()[link.kind].bandwidth_bytes_per_s;
}

// Follows live ports. A link of twice the interface's rate has to be slower by more than two before
// anyone notices.
void MessageFaults::leg(VertexId at, VertexId to, Sent sent, Path& path) const {
  const VertexId from = at;
  while (at != to) {
    const PortChoices choices = sent.around
                                    ? routes_.escape_routes().ports(at, false, to, sent.start)
                                    : routes_.ports(at, to, sent.way, sent.start);
    if (choices.empty()) break;  // there was a way at the leg's begin, so this is not reached
    const std::uint32_t port = destination_port(choices, topology_->spread(at, to));
    const Link link = topology_->link(at, port);
    if (at != from) path.latency += topology_->forwarding_latency(at);
    const LinkKind& kind = topology_->link_kinds()[link.kind];
    path.latency += kind.latency;
    if (faults_.touches(at, port)) {
      const std::int64_t rate = std::max(sent.rate, kind.bandwidth_bytes_per_s);
      const Time here = core::time_to_end(
          (static_cast<core::WidePs>(sent.wire.ps) * sent.rate + rate - 1) / rate);
      path.wire = std::max(path.wire, faults_.end_if_up(at, port, sent.start, here) - sent.start);
    }
    at = link.peer;
    sent.way = Way::goes_on;
  }
}

}  // namespace exawarp::model
