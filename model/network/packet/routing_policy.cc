#include "model/network/packet/routing_policy.h"

#include <vector>

#include "model/network/packet/registered.h"

namespace exawarp::model {

// CMake writes it: what each file of routing/ defines.
std::vector<RoutingAlgorithm> listed_routing_algorithms();

std::span<const RoutingAlgorithm> routing_algorithms() {
  static const std::vector<RoutingAlgorithm> all = in_order_of_lists(listed_routing_algorithms());
  return all;
}

const RoutingAlgorithm& routing_algorithm(std::string_view name) {
  return registered(routing_algorithms(), "routing", name);
}

std::shared_ptr<const RoutingPolicy> make_routing_policy(std::string_view name,
                                                         const GivenParameters& given) {
  const RoutingAlgorithm& wanted = routing_algorithm(name);
  std::shared_ptr<const RoutingPolicy> policy;
  for (const RoutingAlgorithm& algorithm : routing_algorithms()) {
    std::shared_ptr<const RoutingPolicy> made =
        algorithm.make(ParameterValues(algorithm.parameters, "", given));
    EXAWARP_CHECK(made != nullptr, algorithm.name);
    if (&algorithm == &wanted) policy = std::move(made);
  }
  return policy;
}

}  // namespace exawarp::model
