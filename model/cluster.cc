// Builds the cluster in the order in which things depend on each other: checks of options and
// accelerator, placement of jobs, their program tables, the devices' model, then the switches.
#include "model/cluster.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <new>
#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "model/compute/rank_noise.h"
#include "model/device/device.h"
#include "model/device/served_program.h"
#include "model/device/supported.h"
#include "model/network/flow/flow_region.h"
#include "model/network/packet/steady/steady_watch.h"
#include "model/serving/on_devices.h"
#include "model/serving/pool.h"
#include "model/serving/replica.h"
#include "model/switch/packet_switch.h"
#include "model/switch/switch.h"
#include "model/timeline/timeline_devices.h"
#include "pdes/composed_model.h"

namespace exawarp::model {
namespace {

using core::LpId;

constexpr std::uint32_t kDeviceType = 0;
constexpr std::uint32_t kSwitchType = 1;  // at packet fidelity: the first of them

void check_deviation(const char* what, const VariationSpec& spec) {
  const double most = deviation_max(spec.distribution);
  if (spec.deviation >= 0 && spec.deviation <= most) return;
  throw core::InputError(fmt::format("{}: \"{}\"; expected 0 to {}", what, spec.deviation, most));
}

const ClusterOptions& checked(const ClusterOptions& options) {
  check_deviation("compute jitter", options.compute_jitter);
  check_deviation("rank noise", options.rank_noise);
  return options;
}

void check_slow_devices(const ClusterOptions& options, std::uint32_t devices) {
  for (const Slowdown& slow : options.slow_devices) {
    if (slow.devices.empty() || slow.devices.back() < devices) continue;
    throw core::InputError(fmt::format("faults.slow_devices: no such device: {}; expected 0 to {}",
                                       slow.devices.back(), devices - 1));
  }
}

constexpr double kOverlapMax = 100;
constexpr double kSustainedMax = 10;

const Accelerator& checked(const Accelerator& accelerator) {
  if (accelerator.launch_latency < core::Time{0} ||
      accelerator.launch_latency > core::Time{core::kPicosecondsPerSecond}) {
    throw core::InputError(
        fmt::format("accelerator \"{}\": launch latency: \"{} ps\"; expected 0 to 1 s",
                    accelerator.name, accelerator.launch_latency.ps));
  }
  if (!(accelerator.sustained_clock > 0 && accelerator.sustained_clock <= 1)) {
    throw core::InputError(
        fmt::format("accelerator \"{}\": sustained clock: \"{}\"; expected above 0, at most 1",
                    accelerator.name, accelerator.sustained_clock));
  }
  if (!(accelerator.overlap_slowdown >= 1 && accelerator.overlap_slowdown <= kOverlapMax)) {
    throw core::InputError(
        fmt::format("accelerator \"{}\": overlap slowdown: \"{}\"; expected 1 to {}",
                    accelerator.name, accelerator.overlap_slowdown, kOverlapMax));
  }
  for (const SustainedSlowdown& point : accelerator.sustained) {
    if (point.slowdown >= 1 && point.slowdown <= kSustainedMax) continue;
    throw core::InputError(
        fmt::format("accelerator \"{}\": sustained slowdown: \"{}\"; expected 1 to {}",
                    accelerator.name, point.slowdown, kSustainedMax));
  }
  return accelerator;
}

// At analytical fidelity notices travel between members while a collective lasts. They take a 16th
// of the least latency, so that 12 hops (up and down a tree of 16 children, 2^24 members) take less
// than any message.
core::Time notice_latency(const Network& network) {
  return std::max(core::Time{1}, core::Time{network.least_latency().ps / kNetworkFanOut});
}

std::unique_ptr<const MessageFaults> make_message_faults(const Fabric& fabric,
                                                         std::uint32_t devices,
                                                         const ClusterOptions& options) {
  // Packets meet faults on their way, link by link.
  if (options.packets && options.packets_inside_nodes) return nullptr;
  if (options.link_faults.empty() && options.latency_jitter.mean.ps == 0) return nullptr;
  return std::make_unique<const MessageFaults>(make_topology(fabric, devices),
                                                options.link_faults, options.latency_jitter,
                                                options.seed);
}

std::unique_ptr<const PacketFabric> make_packets(const Network& network, const Fabric& fabric,
                                                 const ClusterOptions& options,
                                                 std::uint32_t devices) {
  if (!options.packets) return nullptr;
  std::unique_ptr<const Topology> topology = make_topology(fabric, devices);
  PacketOptions with_faults = *options.packets;
  with_faults.link_faults = options.link_faults;
  with_faults.latency_jitter = options.latency_jitter;
  with_faults.overhead_max = longest_step(options.collectives);
  PacketNetwork packets(*topology, with_faults, network.layout().atom_shift());
  return std::make_unique<const PacketFabric>(
      PacketFabric{std::move(topology), std::move(packets), options.packets_inside_nodes});
}

// The first LP behind `lps` of them that begins an atom.
std::uint32_t first_behind(std::uint32_t lps, std::uint32_t atom_shift) {
  const std::uint32_t atom = 1u << atom_shift;
  return (lps + atom - 1) / atom * atom;
}

std::unique_ptr<const FlowFabric> make_flows(const Network& network, const Fabric& fabric,
                                             const ClusterOptions& options,
                                             std::uint32_t devices) {
  if (!options.flows) return nullptr;
  std::unique_ptr<const Topology> topology = make_topology(fabric, devices);
  FlowNetwork flows(*topology, *options.flows,
                    LpId{first_behind(devices, network.layout().atom_shift())},
                    flow_notice(network.least_latency()),
                    {options.faster.bandwidth, options.faster.latency});
  return std::make_unique<const FlowFabric>(FlowFabric{std::move(topology), std::move(flows)});
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
    if (options.flows) {
      throw core::InputError(
          spec.place.empty() ? "background" : spec.place,
          "is not simulated at network.fidelity flow; expected network.fidelity: message or "
          "packet");
    }
    if (options.packets && !options.packets->can_carry(spec.sizes.max_bytes)) {
      throw core::InputError(
          spec.place.empty() ? "background" : spec.place,
          fmt::format("a message of {} bytes is {} packets or more; expected larger packets, or "
                      "smaller messages",
                      spec.sizes.max_bytes, kPacketsMax));
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

// Whether jobs `a` and `b` are one, or pools that hand requests to each other.
bool go_together(const std::vector<Job>& jobs, std::size_t a, std::size_t b) {
  const auto continues = [&](std::size_t j) {
    return j < jobs.size() && jobs[j].pool != nullptr && jobs[j].pool->continues;
  };
  return a == b || (a + 1 == b && continues(b)) || (b + 1 == a && continues(a));
}

void check_pools(const std::vector<Job>& jobs, const ClusterOptions& options) {
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const serving::Pool* pool = jobs[j].pool;
    if (pool == nullptr) continue;
    EXAWARP_CHECK(!pool->continues || (j > 0 && jobs[j - 1].pool != nullptr), j);
    if (!options.backgrounds.empty()) {
      throw core::InputError(
          options.backgrounds.front().place.empty() ? "background"
                                                    : options.backgrounds.front().place,
          "does not go with a job that serves; expected one of them");
    }
    if (options.trace_power || options.trace_messages || options.timeline ||
        options.timeline_of_all) {
      throw core::InputError(jobs[j].place,
                             "serves, and what serving devices do is not traced; expected a run "
                             "without --power, --messages, --timeline and --critical-path");
    }
  }
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
                   .pool = jobs[j].pool,
                   .runs = !only || go_together(jobs, *only, j)});
  }
  return out;
}

// Groups of devices that each have all of the model, or else devices.
std::uint32_t replicas_of(const WorkloadGraph& graph) {
  std::uint32_t replicas = 1;
  for (std::uint32_t axis = 0; axis < graph.axis_count(); ++axis) {
    const TimeClass c = class_of_axis(graph, axis);
    const bool splits =
        c == TimeClass::tensor || c == TimeClass::context || c == TimeClass::pipeline;
    if (!splits) replicas *= graph.axis_size(axis);
  }
  return replicas;
}

std::int64_t lag_ppb_of(const ClusterOptions& options, const WorkloadGraph& graph) {
  const std::int64_t lag = slowest_lag_ppb(options.rank_noise, replicas_of(graph));
  constexpr std::int64_t kBillion = 1'000'000'000;
  return (kBillion + lag) / options.faster.compute - kBillion;
}

// Programs of a pool's stages become what its schedulers choose from. What depends on others'
// places is left out.
void serve_with(std::vector<ProgramTable>& tables, const serving::Pool& pool) {
  for (std::uint32_t stage = 0; stage < tables.size(); ++stage) {
    tables[stage].served =
        std::make_shared<ServedProgram>(served_program(pool, stage, tables[stage]));
  }
}

// Of programs that were made above: change(ServedProgram&) for each stage of a pool.
template <class Change>
void change_served(std::vector<ProgramTable>& programs, const PlacedJob& job,
                   const Change& change) {
  for (std::uint32_t stage = 0; stage < job.pool->layout.pipeline; ++stage) {
    ProgramTable& table = programs[job.first_program + stage];
    auto served = std::make_shared<ServedProgram>(*table.served);
    change(*served);
    table.served = std::move(served);
  }
}

// Tells pools that another one continues where their keys and values go. `jobs` stay where they
// are, as an array does that is moved.
void link_pools(const std::vector<PlacedJob>& jobs, std::vector<ProgramTable>& programs) {
  for (std::size_t j = 1; j < jobs.size(); ++j) {
    const serving::Pool* pool = jobs[j].pool;
    if (pool == nullptr || !pool->continues || !jobs[j].runs) continue;
    const serving::Pool& before = *jobs[j - 1].pool;
    const auto plan = std::make_shared<const serving::KvPlan>(
        serving::kv_plan(before.model, before.layout, pool->layout, before.layers_per_message,
                         before.cache_precision));
    change_served(programs, jobs[j - 1], [&](ServedProgram& program) {
      program.keys = plan;
      program.keys_to = &jobs[j];
      program.keys_to_layout = pool->layout;
    });
  }
}

std::unique_ptr<DeviceModel> make_devices(const std::vector<Job>& jobs,
                                          const Accelerator& accelerator, const Fabric& fabric,
                                          const ClusterOptions& options) {
  check_pools(jobs, options);
  const std::vector<PlacementRequest> requests = requests_of(jobs);
  const std::uint32_t node = std::max(1u, fabric.devices_per_node());
  const std::uint32_t devices =
      options.devices != 0 ? options.devices : devices_needed(requests, node);
  if (devices > kDevicesMax) {
    throw core::InputError(
        fmt::format("devices: {} in all; expected at most {}", devices, kDevicesMax));
  }
  check_slow_devices(options, devices);
  auto allocation = std::make_unique<const Allocation>(
      ClusterShape{devices, node, leaf_devices_of(fabric)}, requests);
  const bool one_rate = !options.packets && !options.flows;
  Network network(fabric, devices, one_rate ? PortRates::one : PortRates::any);
  network.make_faster(options.faster.bandwidth, options.faster.latency);
  auto packets = make_packets(network, fabric, options, devices);
  auto flows = make_flows(network, fabric, options, devices);
  std::vector<PlacedJob> all = placed(jobs, *allocation, options.only_job);
  std::vector<ProgramTable> programs;
  for (PlacedJob& job : all) {
    job.first_program = static_cast<std::uint32_t>(programs.size());
    if (!job.runs) continue;
    auto tables = make_program_tables({job, *job.graph, accelerator, network,
                                       options.compute, options.collectives,
                                       options.eager_max_bytes, options.analytical_network,
                                       options.shares_interfaces,
                                       {packets && packets->carries(Interface::node),
                                        options.flows ||
                                            (packets && packets->carries(Interface::scale_out))},
                                       packets ? &packets->network : nullptr,
                                       lag_ppb_of(options, *job.graph)});
    if (job.pool != nullptr) serve_with(tables, *job.pool);
    std::ranges::move(tables, std::back_inserter(programs));
  }
  link_pools(all, programs);
  if (allocation->idle_devices() != 0 || options.only_job) programs.push_back(idle_program());
  DeviceSlots slots = slots_for(programs, network, packets.get(), options.analytical_network,
                                options.flows.has_value());
  std::vector<Background> backgrounds = make_backgrounds(options, network, devices);
  slots.background = !backgrounds.empty();
  slots.shares = options.shares_interfaces;
  const core::Time notices = notice_latency(network);
  auto model = std::make_unique<DeviceModel>(
      DeviceModel{std::move(network), Jitter(options.compute_jitter, options.seed),
                  with_drawn_devices(options.slow_devices, devices),
                  make_message_faults(fabric, devices, options),
                  options.analytical_network, notices,
                  std::move(packets), std::move(flows), std::move(allocation), std::move(all),
                  std::move(programs), slots,
                  std::move(backgrounds), nullptr, {}});
  model->overlapped_ppm = std::llround(accelerator.overlap_slowdown * kUsualPace);
  const PowerSpec& power = accelerator.power;
  model->traces_messages = options.trace_messages;
  model->traces_power = model->traces = options.trace_power && power.known();
  constexpr std::int64_t kMwMax = std::numeric_limits<std::int32_t>::max();
  model->communicating_mw = static_cast<std::int32_t>(
      std::clamp(power.communicating_mw - power.idle_mw, -kMwMax, kMwMax));
  return model;
}

// Why devices that seem to do the same may not; empty: they do.
std::string what_sets_devices_apart(const DeviceModel& model, const ClusterOptions& options) {
  if (options.packets || options.flows) {
    return "messages contend in the network at network.fidelity flow and packet";
  }
  // Exactly but for the order of messages that come at the same time: only where that is asked for.
  if (!options.analytical_network && options.folding == Folding::automatic) {
    return "messages contend at network.fidelity message";
  }
  if (!model.backgrounds.empty()) return "there is background traffic";
  if (model.message_faults != nullptr) return "links differ: faults or network.latency_jitter";
  if (!model.jitter.off()) return "compute.jitter differs between devices";
  if (!model.slow_devices.empty()) return "faults.slow_devices differ from others";
  if (model.jobs.size() > 1) return "there are several jobs";
  if (model.jobs.front().pool != nullptr) return "the job serves";
  if (model.allocation->idle_devices() != 0) return "some devices have no job";
  return "";
}

// Sets the fold, if there is to be one, and what depends on it. Returns why there is none.
std::string fold_devices(DeviceModel& model, const ClusterOptions& options) {
  std::string why_not;
  if (options.folding != Folding::off) {
    why_not = what_sets_devices_apart(model, options);
    if (why_not.empty()) {
      auto fold = std::make_unique<const Fold>(
          model.jobs.front(), model.programs, model.network,
          model.analytical ? Fold::Fidelity::analytical : Fold::Fidelity::message);
      why_not = fold->why_not();
      if (why_not.empty()) model.fold = std::move(fold);
    }
    if (!why_not.empty() && options.folding == Folding::required) {
      throw core::InputError(fmt::format("fold: {}; expected \"none\" or \"auto\"", why_not));
    }
  }
  if (model.fold != nullptr) {
    for (ProgramTable& table : model.programs) table.ranks = &model.fold->ranks();
  }
  model.handlers = choose_parts(model);
  return why_not;
}

std::uint32_t device_lps_of(const DeviceModel& model) {
  return model.fold != nullptr ? model.fold->size() : model.allocation->devices();
}

}  // namespace

std::uint32_t leaf_devices_of(const Fabric& fabric) {
  const ClosSpec* clos = fabric.clos();
  return clos == nullptr || clos->rails != 1 ? 0 : clos->devices_per_leaf;
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
      why_not_folded_(fold_devices(*devices_, options_)),
      types_{device_type(*devices_)},
      ranges_{{LpId{0}, device_lps_of(*devices_), kDeviceType}},
      atom_shift_(devices_->fold != nullptr ? 0 : devices_->network.layout().atom_shift()),
      device_count_(devices_->allocation->devices()) {
  if (options_.timeline || options_.timeline_of_all) {
    devices_->traces_timeline = devices_->traces = true;
    devices_->timeline = options_.timeline_of_all
                             ? std::vector<std::uint8_t>(device_lps(), 1)
                             : timeline_lps(*devices_, *options_.timeline);
  }
  if (devices_->flows != nullptr) {
    add_flow_region();
  } else if (devices_->packets == nullptr) {
    add_switches();
  } else {
    packet_network_ = &devices_->packets->network;
    add_packet_switches();
  }
  add_served();
}

void Cluster::add_switches() {
  const Network& network = devices_->network;
  const bool folded = devices_->fold != nullptr;  // each stand-in is an atom, in a node or not
  lookahead_ = options_.analytical_network ? devices_->notice_latency
               : folded                    ? network.least_latency()
                                           : network.least_latency_between_atoms();
  switch_count_ = network.switches();
  if (folded) {
    lp_count_ = device_lps();
    return;
  }
  const std::uint32_t first_switch = first_behind(device_count(), atom_shift_);
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
  if (!packet_network_->skips()) return;
  steady_ = std::make_unique<const SteadyNetwork>(*packet_network_);
  ranges_.push_back({packet_network_->watch(), 1, static_cast<std::uint32_t>(types_.size())});
  types_.push_back(steady_watch_type<Cluster>());
}

// What passes between devices and the region takes a notice or more.
void Cluster::add_flow_region() {
  const FlowNetwork& flows = flow_network();
  lookahead_ = std::min(flows.notice(), devices_->network.least_latency_between_atoms());
  switch_count_ = flows.topology().switches();
  ranges_.push_back({flows.region(), 1, static_cast<std::uint32_t>(types_.size())});
  types_.push_back(flow_region_type<Cluster>());
  lp_count_ = flows.region().value + 1;
}

const FlowNetwork& Cluster::flow_network() const { return devices_->flows->network; }
bool Cluster::has_flows() const { return devices_->flows != nullptr; }

namespace {

// Schedulers and routers see the Serving that they are of as the model.
void handle_served(void* state, const pdes::Event& event, pdes::Context& ctx) {
  pdes::handle_as(ctx.model<Cluster>().serving_at(ctx.self()), state, event, ctx);
}

serving::Spec on_devices(const PlacedJob& job, core::Time start, std::uint32_t key_messages) {
  serving::Spec spec = job.pool->spec;
  for (serving::Request& request : spec.requests) {
    request.arrival = core::sum_to_end(request.arrival, start);
  }
  spec.devices = std::make_shared<const serving::OnDevices>(serving::OnDevices{
      .job = &job, .layout = job.pool->layout, .key_messages = key_messages});
  return spec;
}

}  // namespace

void Cluster::add_served() {
  for (std::size_t j = 0; j < jobs().size(); ++j) {
    const PlacedJob& job = jobs()[j];
    if (job.pool != nullptr && !job.pool->continues && job.runs) add_serving(j);
  }
}

// Of the pool of job `j`, and of the one that continues it.
void Cluster::add_serving(std::size_t j) {
  const PlacedJob& job = jobs()[j];
  const bool hands_over = j + 1 < jobs().size() && jobs()[j + 1].pool != nullptr &&
                          jobs()[j + 1].pool->continues;
  const ServedProgram& first = *devices_->programs[job.first_program].served;
  const std::uint32_t keys = hands_over ? first.keys->messages : 0;
  serving::Spec spec = on_devices(job, job.start, keys);
  spec.hands_over = hands_over;
  spec.keys_by_layer = hands_over && job.pool->layers_per_message != 0;
  std::optional<serving::Spec> decoding;
  if (hands_over) {
    decoding = on_devices(jobs()[j + 1], job.start, keys);
    EXAWARP_CHECK(!spec.keys_by_layer ||
                      std::uint64_t{keys} * decoding->request_tokens_max <= serving::kKeyTokensMax,
                  keys);
    decoding->requests = spec.requests;
    decoding->prefixes = spec.prefixes;
    decoding->turns = spec.turns;
    decoding->latency = spec.latency;
    decoding->keys_by_layer = spec.keys_by_layer;
  }
  auto serving = std::make_unique<const serving::Serving>(
      std::move(spec), std::move(decoding),
      serving::ServingPlace{LpId{first_behind(lp_count_, atom_shift_)}, 1u << atom_shift_});
  if (served_.empty()) first_served_ = serving->first().value;
  for (std::size_t pool = j; pool <= j + (hands_over ? 1 : 0); ++pool) {
    const LpId scheduler = serving->replica(pool == j ? 0 : serving->spec().replicas);
    change_served(devices_->programs, jobs()[pool],
                  [&](ServedProgram& program) { program.first_scheduler = scheduler; });
  }
  for (const pdes::LpRange& range : serving->ranges()) {
    ranges_.push_back({range.first, range.count, static_cast<std::uint32_t>(types_.size())});
    pdes::LpType type = serving->types()[range.type];
    type.handle = handle_served;
    types_.push_back(type);
  }
  lp_count_ = serving->router().value + 1;
  lookahead_ = std::min(lookahead_, job.pool->spec.latency);
  served_.push_back(std::move(serving));
  served_jobs_.push_back(j);
}

const serving::Serving* Cluster::serving_of(std::size_t job) const {
  const auto found = std::ranges::find(served_jobs_, job);
  return found == served_jobs_.end()
             ? nullptr
             : served_[static_cast<std::size_t>(found - served_jobs_.begin())].get();
}

const serving::Serving& Cluster::serving_at(LpId lp) const {
  std::size_t i = served_.size() - 1;
  while (i > 0 && lp < served_[i]->first()) --i;
  return *served_[i];
}

Cluster::~Cluster() = default;

std::span<const PlacedJob> Cluster::jobs() const { return devices_->jobs; }

void Cluster::initialise(LpId lp, void* state, pdes::Context& context) const {
  if (lp.value < device_lps()) {
    return start_device(*devices_, core::DeviceId{lp.value}, state, context);
  }
  if (is_scheduler(lp)) return pdes::initialise_as(serving_at(lp), lp, state, context);
  if (has_packets() && packet_network_->is_watch(lp)) {
    return start_steady_watch(*steady_, state, context);
  }
  if (has_packets()) return start_packet_switch(*packet_network_, lp, state);
  if (has_flows()) return start_flow_region(flow_network(), state, context);
  const LpId first_switch = ranges_[kSwitchType].first;
  ::new (state) Switch::State{.index = lp.value - first_switch.value};
}

std::uint32_t Cluster::atom_count() const { return ((lp_count_ - 1) >> atom_shift_) + 1; }

}  // namespace exawarp::model
