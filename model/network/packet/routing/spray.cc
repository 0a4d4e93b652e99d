// Each packet takes a way of its own, at random.
#include "model/network/packet/packet_routing.h"
#include "model/network/packet/routing.h"
#include "model/network/packet/routing_policy.h"

namespace exawarp::model::routing {
namespace {

class Spray final : public RoutingPolicy {
 public:
  [[nodiscard]] std::uint32_t choose(const Hop& hop, const PortChoices& choices) const override {
    return sprayed_port(choices, path_bits(hop), hop.at.value);
  }
};

}  // namespace

RoutingAlgorithm spray() {
  return {.name = "spray",
          .meaning = "anew for each packet, at random",
          .place = 3,
          .traits = {.follows_from_packet = true},
          .make = [](const ParameterValues&) -> std::unique_ptr<const RoutingPolicy> {
            return std::make_unique<const Spray>();
          }};
}

}  // namespace exawarp::model::routing
