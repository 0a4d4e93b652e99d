// One path a flow, by a hash of the flow and the switch.
#include "model/network/packet/packet_routing.h"
#include "model/network/packet/routing.h"
#include "model/network/packet/routing_policy.h"

namespace exawarp::model::routing {
namespace {

constexpr Parameter kParameters[] = {
    {.key = "queue_pairs",
     .kind = ParameterKind::count,
     .usual = 1,
     .most = 1 << 16,
     .meaning = "ways that ECMP may take between two devices, by message; at least 1"},
};

class Ecmp final : public RoutingPolicy {
 public:
  explicit Ecmp(const ParameterValues& values) {
    require_option(values.count("queue_pairs") >= 1, "queue_pairs", "\"0\"; expected at least 1");
  }

  [[nodiscard]] std::uint32_t choose(const Hop& hop, const PortChoices& choices) const override {
    const Packet& p = hop.packet;
    const Flow flow{{p.source}, {p.destination}, p.message % hop.network.queue_pairs()};
    return ecmp_port(choices, flow_hash(hop.network.options().routing.seed, flow), hop.at);
  }
};

}  // namespace

RoutingAlgorithm ecmp() {
  return {.name = "ecmp",
          .meaning = "by a hash of the flow and the switch: one path a flow",
          .place = 2,
          .traits = {.keeps_order = true, .follows_from_packet = true},
          .parameters = kParameters,
          .make = [](const ParameterValues& values) -> std::unique_ptr<const RoutingPolicy> {
            return std::make_unique<const Ecmp>(values);
          }};
}

}  // namespace exawarp::model::routing
