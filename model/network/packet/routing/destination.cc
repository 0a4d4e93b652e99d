// One path a destination, and different ones for different destinations: destination-mod-k of fat
// trees.
#include "model/network/packet/packet_routing.h"
#include "model/network/packet/routing.h"
#include "model/network/packet/routing_policy.h"

namespace exawarp::model::routing {
namespace {

class Destination final : public RoutingPolicy {
 public:
  [[nodiscard]] std::uint32_t choose(const Hop& hop, const PortChoices& choices) const override {
    return destination_port(choices, hop.network.topology().spread(hop.at, hop.to));
  }
};

}  // namespace

RoutingAlgorithm destination() {
  return {.name = "destination",
          .meaning = "one path a destination, as destination-mod-k of fat trees",
          .place = 1,
          .traits = {.keeps_order = true, .follows_from_packet = true},
          .make = [](const ParameterValues&) -> std::unique_ptr<const RoutingPolicy> {
            return std::make_unique<const Destination>();
          }};
}

}  // namespace exawarp::model::routing
