// Every packet goes over a random waypoint (Valiant, SIAM J. Comput. 11, 1982).
#include "model/network/packet/packet_routing.h"
#include "model/network/packet/routing.h"
#include "model/network/packet/routing_policy.h"

namespace exawarp::model::routing {
namespace {

class Valiant final : public RoutingPolicy {
 public:
  [[nodiscard]] std::uint32_t choose(const Hop& hop, const PortChoices& choices) const override {
    return shallowest_safe_port(hop, choices);
  }
};

}  // namespace

RoutingAlgorithm valiant() {
  return {.name = "valiant",
          .meaning = "over a random waypoint (Valiant, 1982)",
          .place = 5,
          .traits = {.takes_waypoints = true, .keeps_to_first_port = true},
          .make = [](const ParameterValues&) -> std::unique_ptr<const RoutingPolicy> {
            return std::make_unique<const Valiant>();
          }};
}

}  // namespace exawarp::model::routing
