// Synthetic traffic as a model of its own: a network whose devices only send and receive, by
// packets or by flows. For measuring the network and for testing it against closed forms.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/names.h"
#include "model/network/flow/flow_network.h"
#include "model/network/packet/endpoint.h"
#include "model/network/packet/traffic_graph.h"
#include "model/network/packet/traffic_pattern.h"
#include "model/network/packet/steady/steady_watch.h"
#include "pdes/logical_process.h"

namespace exawarp::model {

enum class TrafficFidelity : std::uint8_t { packet, flow };

inline constexpr core::Named<TrafficFidelity> kTrafficFidelityNames[] = {
    {"packet", TrafficFidelity::packet}, {"flow", TrafficFidelity::flow}};
constexpr std::span<const core::Named<TrafficFidelity>> names_of(TrafficFidelity) {
  return kTrafficFidelityNames;
}
static_assert(core::names_each(kTrafficFidelityNames));

// The channel of a record for each message received; its event is the last packet's arrival.
constexpr std::uint32_t kTrafficChannel = 1;
struct FlowRecord {
  std::uint32_t source = 0, destination = 0;
  core::Time posted;       // when the sender's program sent it
  std::int64_t bytes = 0;  // that were to be carried

  [[nodiscard]] static FlowRecord of(const pdes::Emission& e) {
    return {static_cast<std::uint32_t>(e.a >> 32), static_cast<std::uint32_t>(e.a),
            core::Time{static_cast<std::int64_t>(e.b)}, static_cast<std::int64_t>(e.c)};
  }
};

// The head of a device's block; where there are packets its endpoint follows.
struct TrafficDevice {
  std::uint64_t posted = 0;     // messages
  std::uint64_t received = 0;   // messages
  core::Time last_received;
  core::Time last_left;
  std::uint64_t reserved[4] = {0, 0, 0, 0};  // so that the endpoint's ports start at cache lines

  [[nodiscard]] EndpointState& endpoint() { return *reinterpret_cast<EndpointState*>(this + 1); }
  [[nodiscard]] const EndpointState& endpoint() const {
    return *reinterpret_cast<const EndpointState*>(this + 1);
  }
};
static_assert(sizeof(TrafficDevice) == 64);

class TrafficModel final : public pdes::Model {
 public:
  // Throws core::InputError. `topology` outlives the model.
  TrafficModel(const Topology& topology, const PacketOptions& network,
               const TrafficOptions& traffic, std::uint32_t atom_shift,
               TrafficFidelity fidelity = TrafficFidelity::packet);

  [[nodiscard]] std::span<const pdes::LpType> types() const override { return types_; }
  [[nodiscard]] std::span<const pdes::LpRange> ranges() const override { return ranges_; }
  [[nodiscard]] core::Time lookahead() const override {
    return has_flows() ? flows_->notice() : network_.lookahead();
  }
  void initialise(core::LpId lp, void* state, pdes::Context& context) const override;

  [[nodiscard]] const PacketNetwork& packet_network() const { return network_; }
  [[nodiscard]] bool has_flows() const { return flows_ != nullptr; }
  // Requires flow fidelity.
  [[nodiscard]] const FlowNetwork& flow_network() const { return *flows_; }
  // Requires that the packet network skips.
  [[nodiscard]] const SteadyNetwork& steady_network() const { return *steady_; }
  [[nodiscard]] std::uint32_t lp_count() const {  // ids end here
    return has_flows() ? flows_->region().value + 1 : network_.lp_count();
  }
  [[nodiscard]] const TrafficPlan& plan() const { return plan_; }
  [[nodiscard]] core::Time mean_interval() const { return mean_interval_; }  // open patterns
  [[nodiscard]] std::uint64_t messages() const;  // that all devices send
  // Of a few messages of each device, which stand for all.
  [[nodiscard]] Traffic graph() const;

 private:
  void check_routes() const;
  void check_sizes(TrafficFidelity fidelity) const;
  void check_intervals(const Link& first) const;
  void add_packet_processes();
  void add_flow_processes(std::uint32_t atom_shift);
  [[nodiscard]] Traffic graph_of_flows() const;

  PacketNetwork network_;
  std::unique_ptr<const FlowNetwork> flows_;  // null at packet fidelity
  std::unique_ptr<const SteadyNetwork> steady_;  // null where it does not skip
  TrafficPlan plan_;
  core::Time mean_interval_;
  std::vector<pdes::LpType> types_;
  std::vector<pdes::LpRange> ranges_;
};

}  // namespace exawarp::model
