#include "model/cluster.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "model/collective/ring.h"
#include "model/device/beside.h"
#include "model/device/device.h"
#include "model/device/supported.h"
#include "model/switch/switch.h"

namespace exawarp::model {
namespace {

using core::LpId;

constexpr std::uint32_t kDeviceType = 0;
constexpr std::uint32_t kSwitchType = 1;

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

// What devices without a job run: nothing.
ProgramTable idle_program() {
  ProgramTable table;
  table.first_task.push_back(0);
  return table;
}

std::vector<Background> make_backgrounds(const ClusterOptions& options, const Network& network,
                                         std::uint32_t devices) {
  std::vector<Background> backgrounds;
  if (options.backgrounds.size() > kBackgroundsMax) {
    throw core::InputError(fmt::format("background: {} generators; expected at most {}",
                                       options.backgrounds.size(), kBackgroundsMax));
  }
  for (const BackgroundSpec& spec : options.backgrounds) {
    if (options.analytical_network) {
      throw core::InputError(
          spec.place.empty() ? "background" : spec.place,
          "nothing contends at network.fidelity analytical; expected network.fidelity: message");
    }
    backgrounds.emplace_back(spec, devices, network.bandwidth(Interface::scale_out));
  }
  return backgrounds;
}

std::vector<PlacementRequest> requests_of(const std::vector<Job>& jobs) {
  std::vector<PlacementRequest> requests;
  for (const Job& job : jobs) {
    requests.push_back({job.place, job.name, job.graph->device_count(), job.placement});
  }
  return requests;
}

std::vector<PlacedJob> placed(const std::vector<Job>& jobs, const Allocation& allocation,
                              std::optional<std::uint32_t> only) {
  std::vector<PlacedJob> out;
  for (std::uint32_t j = 0; j < jobs.size(); ++j) {
    check_supported(*jobs[j].graph);
    out.push_back({.name = jobs[j].name,
                   .graph = jobs[j].graph,
                   .start = only ? core::Time{0} : jobs[j].start,
                   .ranks = allocation.is_identity(j)
                                ? nullptr
                                : std::make_unique<const RankMap>(allocation, j),
                   .ranks_in_node = allocation.ranks_in_node(j),
                   .runs = !only || *only == j});
  }
  return out;
}

std::unique_ptr<DeviceModel> make_devices(const std::vector<Job>& jobs,
                                          const Accelerator& accelerator, const Fabric& fabric,
                                          const ClusterOptions& options) {
  const std::vector<PlacementRequest> requests = requests_of(jobs);
  const std::uint32_t node = std::max(1u, fabric.node.devices);
  const std::uint32_t devices =
      options.devices != 0 ? options.devices : devices_needed(requests, node);
  if (devices > kDevicesMax) {
    throw core::InputError(
        fmt::format("devices: {} in all; expected at most {}", devices, kDevicesMax));
  }
  check_slow_devices(options, devices);
  auto allocation = std::make_unique<const Allocation>(
      ClusterShape{devices, node, leaf_devices_of(fabric)}, requests);
  Network network(fabric, devices);
  std::vector<PlacedJob> all = placed(jobs, *allocation, options.only_job);
  std::vector<ProgramTable> programs;
  for (PlacedJob& job : all) {
    job.first_program = static_cast<std::uint32_t>(programs.size());
    if (!job.runs) continue;
    auto tables = make_program_tables({job, *job.graph, accelerator, network,
                                       options.compute_fidelity, options.collectives,
                                       options.eager_max_bytes, options.analytical_network});
    std::ranges::move(tables, std::back_inserter(programs));
  }
  if (allocation->idle_devices() != 0 || options.only_job) programs.push_back(idle_program());
  DeviceSlots slots = slots_for(programs);
  std::vector<Background> backgrounds = make_backgrounds(options, network, devices);
  if (!backgrounds.empty()) slots.beside_bytes = sizeof(BesideState);
  const core::Time notices = notice_latency(network);
  return std::make_unique<DeviceModel>(
      DeviceModel{std::move(network), Jitter(options.compute_jitter, options.seed),
                  options.slow_devices, options.analytical_network, notices,
                  std::move(allocation), std::move(all), std::move(programs), slots,
                  std::move(backgrounds)});
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

std::uint32_t leaf_devices_of(const Fabric& fabric) {
  if (!fabric.topology) return fabric.scale_out.devices_per_leaf;
  if (fabric.topology->networks.size() != 1) return 0;
  const auto* clos = std::get_if<ClosSpec>(&fabric.topology->networks[0].shape);
  if (clos == nullptr || clos->rails != 1) return 0;
  return clos->devices_per_leaf;
}

Cluster::Cluster(const WorkloadGraph& graph, const Accelerator& accelerator,
                 const Fabric& fabric, const ClusterOptions& options)
    : Cluster({Job{.name = "job", .graph = &graph}}, accelerator, fabric, options) {}

Cluster::Cluster(const std::vector<Job>& jobs, const Accelerator& accelerator,
                 const Fabric& fabric, const ClusterOptions& options)
    : accelerator_(checked(accelerator)),
      fabric_(fabric),
      options_(checked(options)),
      devices_(make_devices(jobs, accelerator_, fabric_, options_)),
      types_{devices_->backgrounds.empty() ? device_type(devices_->slots)
                                            : beside_type(devices_->slots),
             pdes::make_lp_type<Switch>("switch")} {
  const Network& network = devices_->network;
  lookahead_ = options_.analytical_network ? devices_->notice_latency
                                           : network.least_latency_between_atoms();
  atom_shift_ = network.layout().atom_shift();
  switch_count_ = network.switches();
  device_count_ = devices_->allocation->devices();
  const std::uint32_t atom = 1u << atom_shift_;
  const std::uint32_t first_switch = (device_count() + atom - 1) / atom * atom;
  ranges_ = {{LpId{0}, device_count(), kDeviceType},
             {LpId{first_switch}, switch_count_, kSwitchType}};
  lp_count_ = first_switch + switch_count_;
}

Cluster::~Cluster() = default;

std::span<const PlacedJob> Cluster::jobs() const { return devices_->jobs; }

void Cluster::initialise(LpId lp, void* state, pdes::Context& context) const {
  const LpId first_switch = ranges_[kSwitchType].first;
  if (lp < first_switch) {
    start_device(*devices_, core::DeviceId{lp.value}, state, context);
    if (devices_->backgrounds.empty()) return;
    return start_beside(*devices_, *static_cast<DeviceState*>(state), context);
  }
  ::new (state) Switch::State{.index = lp.value - first_switch.value};
}

std::uint32_t Cluster::atom_count() const { return ((lp_count_ - 1) >> atom_shift_) + 1; }

Traffic Cluster::traffic() const {
  TrafficBuilder builder(atom_count());
  for (std::uint32_t d = 0; d < device_count(); ++d) {
    const auto seat = devices_->allocation->seat_of({d});
    if (!seat || !jobs()[seat->job].runs) continue;
    const PlacedJob& job = jobs()[seat->job];
    const core::DeviceId rank{seat->rank};
    const std::uint32_t atom = d >> atom_shift_;
    const ProgramTable& program =
        devices_->programs[job.first_program + job.graph->program_of(rank)];
    builder.add_work(atom, program.events);
    for (const Channel& channel : program.channels) {
      const Membership in = program.membership(channel, rank);
      if (in.size == 1) continue;
      const core::DeviceId next =
          program.member(channel, rank, next_in_ring(in.position, in.size));
      builder.add_edge(atom, next.value >> atom_shift_, channel.collectives);
    }
    for (const PeerSends& to : program.sends) {
      const auto offset = static_cast<std::uint32_t>(to.peer);
      const core::DeviceId peer =
          program.device_of({to.absolute ? offset : rank.value + offset});
      builder.add_edge(atom, peer.value >> atom_shift_, to.sends);
    }
  }
  return builder.build();
}

}  // namespace exawarp::model
