// One path a pair of vertices: dimension order on tori.
#include "model/network/packet/routing.h"
#include "model/network/packet/routing_policy.h"

namespace exawarp::model::routing {
namespace {

class Deterministic final : public RoutingPolicy {
 public:
  [[nodiscard]] std::uint32_t choose(const Hop&, const PortChoices& choices) const override {
    return first_port(choices);
  }
};

}  // namespace

RoutingAlgorithm deterministic() {
  return {.name = "deterministic",
          .meaning = "the first port: dimension order on tori, one path a pair",
          .place = 0,
          .traits = {.keeps_order = true,
                     .follows_from_packet = true,
                     .keeps_to_first_port = true},
          .make = [](const ParameterValues&) -> std::unique_ptr<const RoutingPolicy> {
            return std::make_unique<const Deterministic>();
          }};
}

}  // namespace exawarp::model::routing
