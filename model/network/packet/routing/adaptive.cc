// The port with the shortest queue, as it is where the packet comes by.
#include "model/network/packet/packet_routing.h"
#include "model/network/packet/routing.h"
#include "model/network/packet/routing_policy.h"

namespace exawarp::model::routing {
namespace {

class Adaptive final : public RoutingPolicy {
 public:
  [[nodiscard]] std::uint32_t choose(const Hop& hop, const PortChoices& choices) const override {
    return shallowest_port(hop, choices);
  }
};

}  // namespace

RoutingAlgorithm adaptive() {
  return {.name = "adaptive",
          .meaning = "the port with the shortest queue",
          .place = 4,
          .make = [](const ParameterValues&) -> std::unique_ptr<const RoutingPolicy> {
            return std::make_unique<const Adaptive>();
          }};
}

}  // namespace exawarp::model::routing
