#include "model/cluster.h"

#include <fmt/core.h>

#include <algorithm>
#include <new>
#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "model/device/device.h"
#include "model/device/supported.h"
#include "model/switch/packet_switch.h"
#include "model/switch/switch.h"

namespace exawarp::model {
namespace {

using core::LpId;

constexpr std::uint32_t kDeviceType = 0;
constexpr std::uint32_t kSwitchType = 1;  // at packet fidelity: the first of them

const ClusterOptions& checked(const ClusterOptions& options) {
  if (!(options.compute_jitter >= 0 && options.compute_jitter <= kJitterMax)) {
    throw core::InputError(fmt::format("compute jitter: \"{}\"; expected 0 to {}",
                                       options.compute_jitter, kJitterMax));
  }
  return options;
}

void check_slow_devices(const ClusterOptions& options, std::uint32_t devices) {
  for (const Slowdown& slow : options.slow_devices) {
    if (slow.devices.empty() || slow.devices.back() < devices) continue;
    throw core::InputError(fmt::format("faults.slow_devices: no such device: {}; expected 0 to {}",
                                       slow.devices.back(), devices - 1));
  }
}

const Accelerator& checked(const Accelerator& accelerator) {
  if (accelerator.launch_latency < core::Time{0} ||
      accelerator.launch_latency > core::Time{core::kPicosecondsPerSecond}) {
    throw core::InputError(
        fmt::format("accelerator \"{}\": launch latency: \"{} ps\"; expected 0 to 1 s",
                    accelerator.name, accelerator.launch_latency.ps));
  }
  return accelerator;
}

// At analytical fidelity notices travel between members while a collective lasts. They take a 16th
// of the least latency, so that 12 hops (up and down a tree of 16 children, 2^24 members) take less
// than any message.
core::Time notice_latency(const Network& network) {
  return std::max(core::Time{1}, core::Time{network.least_latency().ps / kNetworkFanOut});
}

std::unique_ptr<const PacketFabric> make_packets(const Network& network, const Fabric& fabric,
                                                 const ClusterOptions& options,
                                                 std::uint32_t devices) {
  if (!options.packets) return nullptr;
  std::unique_ptr<const Topology> topology = make_topology(fabric, devices);
  PacketNetwork packets(*topology, *options.packets, network.layout().atom_shift());
  return std::make_unique<const PacketFabric>(
      PacketFabric{std::move(topology), std::move(packets), options.packets_inside_nodes});
}

std::unique_ptr<DeviceModel> make_devices(const WorkloadGraph& graph,
                                          const Accelerator& accelerator, const Fabric& fabric,
                                          const ClusterOptions& options) {
  check_supported(graph);
  check_slow_devices(options, graph.device_count());
  Network network(fabric, graph.device_count(),
                  options.packets ? PortRates::any : PortRates::one);
  auto packets = make_packets(network, fabric, options, graph.device_count());
  auto programs = make_program_tables({graph, accelerator, network, options.compute_fidelity,
                                       options.collectives, options.eager_max_bytes,
                                       options.analytical_network,
                                       {packets && packets->carries(Interface::node),
                                        packets && packets->carries(Interface::scale_out)}});
  const DeviceSlots slots = slots_for(programs, packets.get());
  return std::make_unique<DeviceModel>(
      DeviceModel{&graph, network, Jitter(options.compute_jitter, options.seed),
                  options.slow_devices,
                  options.analytical_network, notice_latency(network), std::move(packets),
                  std::move(programs), slots});
}

}  // namespace

Cluster::Cluster(const WorkloadGraph& graph, const Accelerator& accelerator,
                 const Fabric& fabric, const ClusterOptions& options)
    : graph_(&graph),
      accelerator_(checked(accelerator)),
      fabric_(fabric),
      options_(checked(options)),
      devices_(make_devices(graph, accelerator_, fabric_, options_)),
      types_{device_type(devices_->slots)},
      ranges_{{LpId{0}, graph.device_count(), kDeviceType}},
      atom_shift_(devices_->network.layout().atom_shift()) {
  if (devices_->packets == nullptr) {
    add_switches();
  } else {
    packet_network_ = &devices_->packets->network;
    add_packet_switches();
  }
}

void Cluster::add_switches() {
  const Network& network = devices_->network;
  lookahead_ = options_.analytical_network ? devices_->notice_latency
                                           : network.least_latency_between_atoms();
  switch_count_ = network.switches();
  const std::uint32_t atom = 1u << atom_shift_;
  const std::uint32_t first_switch = (device_count() + atom - 1) / atom * atom;
  types_.push_back(pdes::make_lp_type<Switch>("switch"));
  ranges_.push_back({LpId{first_switch}, switch_count_, kSwitchType});
  lp_count_ = first_switch + switch_count_;
}

// Beside packets there are messages inside nodes and notices of in-network collectives.
void Cluster::add_packet_switches() {
  lookahead_ = std::min(packet_network_->lookahead(), devices_->network.least_latency());
  switch_count_ = packet_network_->topology().switches();
  for (const SwitchRun& run : packet_network_->switch_runs()) {
    ranges_.push_back({run.first_lp, run.count, static_cast<std::uint32_t>(types_.size())});
    types_.push_back(packet_switch_type<Cluster>(*packet_network_, run.ports));
  }
  lp_count_ = packet_network_->lp_count();
}

Cluster::~Cluster() = default;

void Cluster::initialise(LpId lp, void* state, pdes::Context& context) const {
  if (lp.value < device_count()) {
    return start_device(*devices_, core::DeviceId{lp.value}, state, context);
  }
  if (has_packets()) return start_packet_switch(*packet_network_, lp, state);
  const LpId first_switch = ranges_[kSwitchType].first;
  ::new (state) Switch::State{.index = lp.value - first_switch.value};
}

std::uint32_t Cluster::atom_count() const { return ((lp_count_ - 1) >> atom_shift_) + 1; }

}  // namespace exawarp::model
