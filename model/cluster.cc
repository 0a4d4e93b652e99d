#include "model/cluster.h"

#include <fmt/core.h>

#include <algorithm>
#include <new>
#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "model/collective/ring.h"
#include "model/device/device.h"
#include "model/device/supported.h"
#include "model/switch/switch.h"

namespace exawarp::model {
namespace {

using core::LpId;

constexpr std::uint32_t kDeviceType = 0;
constexpr std::uint32_t kSwitchType = 1;

const ClusterOptions& checked(const ClusterOptions& options) {
  const VariationSpec& jitter = options.compute_jitter;
  const double most = deviation_max(jitter.distribution);
  if (!(jitter.deviation >= 0 && jitter.deviation <= most)) {
    throw core::InputError(
        fmt::format("compute jitter: \"{}\"; expected 0 to {}", jitter.deviation, most));
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

std::unique_ptr<const MessageTrouble> make_trouble(const Fabric& fabric, std::uint32_t devices,
                                                   const ClusterOptions& options) {
  if (options.link_faults.empty() && options.latency_jitter.mean.ps == 0) return nullptr;
  return std::make_unique<const MessageTrouble>(make_topology(fabric, devices),
                                                options.link_faults, options.latency_jitter,
                                                options.seed);
}

std::unique_ptr<DeviceModel> make_devices(const WorkloadGraph& graph,
                                          const Accelerator& accelerator, const Fabric& fabric,
                                          const ClusterOptions& options) {
  check_supported(graph);
  check_slow_devices(options, graph.device_count());
  Network network(fabric, graph.device_count());
  auto programs = make_program_tables({graph, accelerator, network, options.compute_fidelity,
                                       options.collectives, options.eager_max_bytes,
                                       options.analytical_network});
  const DeviceSlots slots = slots_for(programs, network);
  return std::make_unique<DeviceModel>(
      DeviceModel{&graph, network, Jitter(options.compute_jitter, options.seed),
                  options.slow_devices,
                  make_trouble(fabric, graph.device_count(), options),
                  options.analytical_network, notice_latency(network), std::move(programs),
                  slots});
}

// Directed edges between atoms, added up into a symmetric CSR graph.
class TrafficBuilder {
 public:
  explicit TrafficBuilder(std::uint32_t atoms) { traffic_.work.assign(atoms, 0); }

  void add_work(std::uint32_t atom, std::uint64_t events) { traffic_.work[atom] += events; }
  void add_edge(std::uint32_t a, std::uint32_t b, std::uint64_t weight) {
    if (a == b || weight == 0) return;
    edges_.push_back({a, b, weight});
    edges_.push_back({b, a, weight});
    if (edges_.size() > 2 * merged_ + kMergeEvery) merge();
  }

  Traffic build() {
    merge();
    traffic_.first_edge.assign(traffic_.work.size() + 1, 0);
    for (const Edge& e : edges_) {
      ++traffic_.first_edge[e.from + 1];
      traffic_.neighbour.push_back(e.to);
      traffic_.weight.push_back(e.weight);
    }
    for (std::size_t a = 0; a < traffic_.work.size(); ++a) {
      traffic_.first_edge[a + 1] += traffic_.first_edge[a];
    }
    return std::move(traffic_);
  }

 private:
  struct Edge {
    std::uint32_t from, to;
    std::uint64_t weight;
  };
  static constexpr std::size_t kMergeEvery = 1u << 16;  // bounds memory by the merged edges

  void merge() {
    std::sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) {
      return std::pair(a.from, a.to) < std::pair(b.from, b.to);
    });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < edges_.size(); ++i) {
      if (kept != 0 && edges_[kept - 1].from == edges_[i].from &&
          edges_[kept - 1].to == edges_[i].to) {
        edges_[kept - 1].weight += edges_[i].weight;
      } else {
        edges_[kept++] = edges_[i];
      }
    }
    edges_.resize(kept);
    merged_ = kept;
  }

  Traffic traffic_;
  std::vector<Edge> edges_;
  std::size_t merged_ = 0;
};

}  // namespace

Cluster::Cluster(const WorkloadGraph& graph, const Accelerator& accelerator,
                 const Fabric& fabric, const ClusterOptions& options)
    : graph_(&graph),
      accelerator_(checked(accelerator)),
      fabric_(fabric),
      options_(checked(options)),
      devices_(make_devices(graph, accelerator_, fabric_, options_)),
      types_{device_type(devices_->slots), pdes::make_lp_type<Switch>("switch")} {
  const Network& network = devices_->network;
  lookahead_ = options_.analytical_network ? devices_->notice_latency
                                           : network.least_latency_between_atoms();
  atom_shift_ = network.layout().atom_shift();
  switch_count_ = network.switches();
  const std::uint32_t atom = 1u << atom_shift_;
  const std::uint32_t first_switch = (device_count() + atom - 1) / atom * atom;
  ranges_ = {{LpId{0}, device_count(), kDeviceType},
             {LpId{first_switch}, switch_count_, kSwitchType}};
  lp_count_ = first_switch + switch_count_;
}

Cluster::~Cluster() = default;

void Cluster::initialise(LpId lp, void* state, pdes::Context& context) const {
  const LpId first_switch = ranges_[kSwitchType].first;
  if (lp < first_switch) return start_device(*devices_, core::DeviceId{lp.value}, state, context);
  ::new (state) Switch::State{.index = lp.value - first_switch.value};
}

std::uint32_t Cluster::atom_count() const { return ((lp_count_ - 1) >> atom_shift_) + 1; }

Traffic Cluster::traffic() const {
  TrafficBuilder builder(atom_count());
  for (std::uint32_t d = 0; d < device_count(); ++d) {
    const core::DeviceId device{d};
    const std::uint32_t atom = d >> atom_shift_;
    const ProgramTable& program = devices_->programs[graph_->program_of(device)];
    builder.add_work(atom, program.events);
    for (const Channel& channel : program.channels) {
      const Membership in = channel.among.membership(*graph_, device);
      if (in.size == 1) continue;
      const core::DeviceId next =
          channel.among.member(*graph_, device, next_in_ring(in.position, in.size));
      builder.add_edge(atom, next.value >> atom_shift_, channel.collectives);
    }
    for (const PeerSends& to : program.sends) {
      const auto offset = static_cast<std::uint32_t>(to.peer);
      const std::uint32_t peer = to.absolute ? offset : d + offset;
      builder.add_edge(atom, peer >> atom_shift_, to.sends);
    }
  }
  return builder.build();
}

}  // namespace exawarp::model
