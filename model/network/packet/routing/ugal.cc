// Minimal or over a random waypoint, by the queues (Singh, thesis, Stanford, 2005).
#include "model/network/packet/packet_routing.h"
#include "model/network/packet/routing.h"
#include "model/network/packet/routing_policy.h"

namespace exawarp::model::routing {
namespace {

constexpr Parameter kParameters[] = {
    {.key = "ugal_bias",
     .kind = ParameterKind::size,
     .meaning = "bytes times links in favour of the minimal way"},
};

class Ugal final : public RoutingPolicy {
 public:
  explicit Ugal(const ParameterValues& values) : bias_bytes_(values["ugal_bias"]) {}

  [[nodiscard]] std::uint32_t choose(const Hop& hop, const PortChoices& choices) const override {
    return shallowest_safe_port(hop, choices);
  }
  [[nodiscard]] bool takes_detour(const Hop& hop, VertexId over) const override {
    const Topology& topology = hop.network.topology();
    const std::uint32_t direct = minimal_port(hop);
    const std::uint32_t detour = minimal_port({hop.network, hop.ports, hop.at, over, hop.packet});
    if (direct == kNoPort || detour == kNoPort) return false;
    const std::uint32_t links = links_between(topology, hop.at, over);
    return model::takes_detour(
        {depth_bytes(hop, direct), links_between(topology, hop.at, hop.to)},
        {depth_bytes(hop, detour), links + links_between(topology, over, hop.to)}, bias_bytes_);
  }

 private:
  std::int64_t bias_bytes_;
};

}  // namespace

RoutingAlgorithm ugal() {
  return {.name = "ugal",
          .meaning = "minimal or over a waypoint, by queues times links (Singh, 2005)",
          .place = 6,
          .traits = {.takes_waypoints = true,
                     .detours_from_switches = true,
                     .keeps_to_first_port = true},
          .parameters = kParameters,
          .make = [](const ParameterValues& values) -> std::unique_ptr<const RoutingPolicy> {
            return std::make_unique<const Ugal>(values);
          }};
}

}  // namespace exawarp::model::routing
