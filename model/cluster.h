// The cluster as logical processes: what the engine runs and the only place that knows how a
// workload, an accelerator and a fabric become LPs.
//
// LP ids: devices 0 .. N-1 of the cluster, then, from the next multiple of the atom, switches; at
// packet fidelity in runs of equal radix, each from a multiple of the atom. An atom is a node's
// devices where their number is a power of two, else one device. Where devices are folded
// (device/fold.h) there are their stand-ins alone, each an atom. Jobs are dealt out over the
// devices by model/job/placement.h; one job alone, placed linearly, has its rank r on device r.
// Devices start in initialise(), at time 0 itself: there is no start event, so the closed forms of
// docs/reference/model.md hold exactly and every reported time counts from 0; the devices of a job
// that begins later have one.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/names.h"
#include "core/time.h"
#include "model/collective/choice.h"
#include "model/compute/accelerator.h"
#include "model/compute/compute_models.h"
#include "model/compute/slowdown.h"
#include "model/job/job.h"
#include "model/network/background.h"
#include "model/topology/fabric.h"
#include "model/network/faults/link_faults.h"
#include "model/network/latency_jitter.h"
#include "model/network/packet/packet_network.h"
#include "model/network/packet/traffic_graph.h"
#include "model/variation.h"
#include "model/workload/graph.h"
#include "pdes/logical_process.h"

namespace exawarp::model {

// Whether devices that do the same are simulated once (device/fold.h). `automatic`: where that is
// exact; `required`: or an error.
enum class Folding : std::uint8_t { off, automatic, required };

inline constexpr core::Named<Folding> kFoldingNames[] = {
    {"none", Folding::off},
    {"auto", Folding::automatic},
    {"replicas", Folding::required}};
constexpr std::span<const core::Named<Folding>> names_of(Folding) {
  return kFoldingNames;
}
static_assert(core::names_each(kFoldingNames));

// So many times as fast as the system says, each at least 1; what messages take as packets is not.
struct FasterBy {
  std::int64_t compute = 1, bandwidth = 1, latency = 1;
};

struct ClusterOptions {
  ComputeChoice compute = {};
  bool analytical_network = false;  // closed forms instead of messages (docs/reference/model.md)
  bool shares_interfaces = false;   // in them; not at other fidelities
  std::optional<PacketOptions> packets = {};  // packets instead of messages, across nodes
  bool packets_inside_nodes = false;          // and inside them
  // Flows instead of messages, across nodes, on ways that packets would take; not with `packets`.
  std::optional<PacketOptions> flows = {};
  CollectiveRules collectives = {};  // which algorithm runs which collective (choice.h)
  std::int64_t eager_max_bytes = std::numeric_limits<std::int64_t>::max();  // point to point
  VariationSpec compute_jitter = 0;  // compute/jitter.h
  VariationSpec rank_noise = 0;      // compute/rank_noise.h
  std::uint64_t seed = 1;            // of all jitter
  std::vector<Slowdown> slow_devices = {};
  // Not at analytical fidelity, nor at that of flows: the caller refuses them.
  std::vector<LinkFaultSpec> link_faults = {};
  LatencyJitterSpec latency_jitter = {};
  std::uint32_t devices = 0;  // of the cluster; 0: as many as the jobs need
  std::vector<BackgroundSpec> backgrounds = {};
  std::optional<std::uint32_t> only_job = {};  // all others' devices stay idle; its start is 0
  Folding folding = Folding::off;
  bool trace_power = false;  // devices emit what they draw (energy/power_emission.h)
  bool trace_messages = false;  // and when messages are sent and come (network/message_trace.h)
  // Devices of which it is traced when they do what (timeline/timeline.h); empty: the default of
  // timeline_lps().
  std::optional<std::vector<std::uint32_t>> timeline = {};
  FasterBy faster = {};
  bool timeline_of_all = false;  // of each device, whatever `timeline` says
};

struct DeviceModel;
class FlowNetwork;
struct SteadyNetwork;

namespace serving {
class Serving;
}

// Devices below a leaf switch of a fat tree or leaf-spine; 0 where there is no such thing.
std::uint32_t leaf_devices_of(const Fabric& fabric);

// Thread safety: const methods from any thread, after construction.
class Cluster : public pdes::Model {
 public:
  // Requires a validated graph, which outlives the cluster. Throws core::InputError, naming the
  // node or the key, where the workload asks for what this fidelity does not simulate, or the
  // accelerator or fabric lacks a figure.
  Cluster(const WorkloadGraph& graph, const Accelerator& accelerator, const Fabric& fabric,
          const ClusterOptions& options);
  // The same for several jobs. Requires at least one; InputError also where placements cannot be.
  Cluster(const std::vector<Job>& jobs, const Accelerator& accelerator, const Fabric& fabric,
          const ClusterOptions& options);
  ~Cluster() override;

  [[nodiscard]] std::span<const pdes::LpType> types() const override { return types_; }
  [[nodiscard]] std::span<const pdes::LpRange> ranges() const override { return ranges_; }
  [[nodiscard]] core::Time lookahead() const override { return lookahead_; }
  void initialise(core::LpId lp, void* state, pdes::Context& context) const override;

  [[nodiscard]] std::uint32_t atom_shift() const { return atom_shift_; }
  [[nodiscard]] std::uint32_t atom_count() const;
  [[nodiscard]] std::uint32_t lp_count() const { return lp_count_; }  // ids end here
  [[nodiscard]] std::uint32_t device_count() const { return device_count_; }
  // The LPs of devices come first: all of them, or those that stand in for them.
  [[nodiscard]] std::uint32_t device_lps() const { return ranges_.front().count; }
  // With Folding::automatic, why each device is simulated; empty where they are folded.
  [[nodiscard]] const std::string& why_not_folded() const { return why_not_folded_; }
  // Of folded devices: whether nothing depends on which message is first in one picosecond.
  [[nodiscard]] bool folds_exactly() const { return options_.analytical_network; }
  [[nodiscard]] std::uint32_t switch_count() const { return switch_count_; }

  // Requires packet fidelity.
  [[nodiscard]] const PacketNetwork& packet_network() const { return *packet_network_; }
  [[nodiscard]] bool has_packets() const { return packet_network_ != nullptr; }
  // Requires flow fidelity.
  [[nodiscard]] const FlowNetwork& flow_network() const;
  // Requires that the packet network skips.
  [[nodiscard]] const SteadyNetwork& steady_network() const { return *steady_; }
  [[nodiscard]] bool has_flows() const;

  // Cost: O(devices x (communicators + peers) of a program), no (device, node) pair is visited; at
  // packet fidelity times the links of a way.
  [[nodiscard]] Traffic traffic() const;

  [[nodiscard]] std::span<const PlacedJob> jobs() const;
  // Of the jobs that serve, in their order; a job that continues another has none of its own. Their
  // schedulers and routers are LPs behind all others.
  [[nodiscard]] std::span<const std::unique_ptr<const serving::Serving>> served() const {
    return served_;
  }
  // Where a job that serves has its own among them.
  [[nodiscard]] const serving::Serving* serving_of(std::size_t job) const;
  // That of a scheduler or router. Requires that `lp` is one.
  [[nodiscard]] const serving::Serving& serving_at(core::LpId lp) const;
  [[nodiscard]] bool is_scheduler(core::LpId lp) const { return lp.value >= first_served_; }
  [[nodiscard]] const Accelerator& accelerator() const { return accelerator_; }
  [[nodiscard]] const Fabric& fabric() const { return fabric_; }
  [[nodiscard]] const ClusterOptions& options() const { return options_; }
  [[nodiscard]] const DeviceModel& devices() const { return *devices_; }

 private:
  void add_switches();
  void add_packet_switches();
  void add_flow_region();
  void add_served();
  void add_serving(std::size_t job);
  [[nodiscard]] Traffic folded_traffic() const;

  Accelerator accelerator_;
  Fabric fabric_;
  ClusterOptions options_;
  std::unique_ptr<DeviceModel> devices_;
  std::string why_not_folded_;
  std::unique_ptr<const SteadyNetwork> steady_;    // null where packets are not skipped
  const PacketNetwork* packet_network_ = nullptr;  // of devices_; null but at packet fidelity
  std::vector<std::unique_ptr<const serving::Serving>> served_;
  std::vector<std::size_t> served_jobs_;  // by Serving
  std::uint32_t first_served_ = std::numeric_limits<std::uint32_t>::max();
  std::vector<pdes::LpType> types_;
  std::vector<pdes::LpRange> ranges_;
  core::Time lookahead_;
  std::uint32_t atom_shift_ = 0;
  std::uint32_t device_count_ = 0;
  std::uint32_t lp_count_ = 0;
  std::uint32_t switch_count_ = 0;
};

}  // namespace exawarp::model
