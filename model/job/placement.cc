// Why stages: a random order of what is free can be a permutation of positions only where what is
// free has positions. What lists and linear placements leave is a few intervals, so it has. Then
// each stage is a bijection on the positions that the stage before left, its jobs take the first
// ones of it, and the tail is what the next stage gets: position p of stage k is position
// used + p of the order of stage k - 1. Following a device back through the stages either meets
// the stage whose job holds it or ends in the last tail, where devices are idle.
//
//   stage 0 (nodes, random)  [ job a | job b | tail ]     tail: 5 nodes
//   stage 1 (devices, random)   [ job c      | idle ]     of the devices of these 5 nodes, and of
//                                                         free devices in nodes that are not whole
#include "model/job/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "core/check.h"
#include "core/error.h"

namespace exawarp::model {
namespace {

using core::DeviceId;

[[noreturn]] void refuse(const PlacementRequest& request, const std::string& what) {
  const std::string text = fmt::format("job \"{}\": {}", request.job, what);
  if (request.place.empty()) throw core::InputError(text);
  throw core::InputError(request.place, text);
}

std::uint32_t quotient_up(std::uint32_t a, std::uint32_t b) {
  EXAWARP_CHECK(b != 0, a);
  return (a + b - 1) / b;
}

// The turn-by-turn order of `size` nodes, `per_leaf` below each leaf switch, the last one perhaps
// with fewer: columns of a table whose rows are the leaves. As long as the last leaf has a node
// left a column has all leaves, then all but the last.
struct LeafTable {
  LeafTable(std::uint32_t size, std::uint32_t per_leaf)
      : columns(per_leaf),
        leaves(quotient_up(size, per_leaf)),
        full(size - (leaves - 1) * columns) {}

  [[nodiscard]] std::uint32_t node(std::uint32_t slot) const {
    if (slot < full * leaves) return slot % leaves * columns + slot / leaves;
    const std::uint32_t rest = slot - full * leaves;
    return rest % (leaves - 1) * columns + full + rest / (leaves - 1);
  }
  [[nodiscard]] std::uint32_t slot(std::uint32_t node) const {
    const std::uint32_t leaf = node / columns, column = node % columns;
    return column < full ? column * leaves + leaf
                         : full * leaves + (column - full) * (leaves - 1) + leaf;
  }

  std::uint32_t columns, leaves;
  std::uint32_t full;  // columns that all leaves have
};

}  // namespace

std::uint32_t devices_needed(std::span<const PlacementRequest> requests,
                             std::uint32_t node_devices) {
  std::uint64_t sum = 0, nodes = 0, last = 0;
  for (const PlacementRequest& r : requests) {
    if (r.placement.kind == PlacementKind::nodes) {
      nodes += quotient_up(r.ranks, node_devices);
    } else {
      sum += r.ranks;
    }
    for (const std::uint32_t d : r.placement.devices) last = std::max<std::uint64_t>(last, d + 1u);
    if (r.placement.first) last = std::max<std::uint64_t>(last, *r.placement.first + r.ranks);
  }
  // Nodes come after what fills the devices below them, from the next whole one on.
  if (nodes != 0) sum = (sum + node_devices - 1) / node_devices * node_devices;
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(std::max(sum + nodes * node_devices, last), 0xffffffff));
}

Allocation::Allocation(const ClusterShape& shape, std::span<const PlacementRequest> requests)
    : shape_(shape), requests_(requests), jobs_(requests.size()) {
  bool by_nodes = false;
  for (std::uint32_t j = 0; j < requests.size(); ++j) {
    const PlacementRequest& r = requests[j];
    jobs_[j].ranks = r.ranks;
    jobs_[j].kind = r.placement.kind;
    jobs_[j].round_robin = r.placement.round_robin;
    by_nodes = by_nodes || r.placement.kind == PlacementKind::nodes;
  }
  const auto each = [&](auto&& chosen, auto&& place) {
    for (std::uint32_t j = 0; j < requests.size(); ++j) {
      if (chosen(requests[j].placement)) place(j, requests[j]);
    }
  };
  using Spec = PlacementSpec;
  const auto is = [](PlacementKind kind) {
    return [kind](const Spec& s) { return s.kind == kind && !s.first; };
  };
  each(is(PlacementKind::list), [&](auto j, const auto& r) { place_list(j, r); });
  each([](const Spec& s) { return s.first.has_value(); },
       [&](auto j, const auto& r) { place_run(j, r); });
  sort_claims();
  each(is(PlacementKind::linear), [&](auto j, const auto& r) { place_linear(j, r); });
  divide_free_devices(by_nodes);
  each(is(PlacementKind::nodes), [&](auto j, const auto& r) { place_in_stage(j, r); });
  each(is(PlacementKind::random), [&](auto j, const auto& r) { place_in_stage(j, r); });
  idle_ = shape_.devices;
  for (const Job& job : jobs_) {
    EXAWARP_CHECK(job.ranks <= idle_, job.ranks, idle_);
    idle_ -= job.ranks;
  }
  requests_ = {};
}

// ---- fixed placements

void Allocation::place_list(std::uint32_t j, const PlacementRequest& request) {
  const std::vector<std::uint32_t>& devices = request.placement.devices;
  if (devices.size() != request.ranks) {
    refuse(request, fmt::format("{} devices for a workload of {}; expected one each",
                                devices.size(), request.ranks));
  }
  std::vector<std::uint32_t> sorted = devices;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end()) {
    refuse(request, fmt::format("device {} occurs twice; expected each once", *twice));
  }
  for (std::uint32_t rank = 0; rank < devices.size();) {
    std::uint32_t count = 1;
    while (rank + count < devices.size() && devices[rank + count] == devices[rank] + count) ++count;
    claim(j, request, {rank, devices[rank], count, j});
    rank += count;
  }
}

void Allocation::place_run(std::uint32_t j, const PlacementRequest& request) {
  claim(j, request, {0, *request.placement.first, request.ranks, j});
}

void Allocation::claim(std::uint32_t j, const PlacementRequest& request, const Run& run) {
  if (std::uint64_t{run.device} + run.count > shape_.devices) {
    refuse(request, fmt::format("no such device: {}; expected 0 to {}",
                                std::max(run.device, shape_.devices), shape_.devices - 1));
  }
  jobs_[j].runs.push_back(run);
  claims_.push_back(run);
}

// Claims by device, found to be disjoint.
void Allocation::sort_claims() {
  std::ranges::sort(claims_, {}, &Run::device);
  for (std::size_t i = 1; i < claims_.size(); ++i) {
    const Run &before = claims_[i - 1], &run = claims_[i];
    if (run.device - before.device >= before.count) continue;
    const std::uint32_t later = std::max(before.job, run.job);
    refuse(requests_[later],
           fmt::format("device {} is taken by job \"{}\"; expected placements that do not overlap",
                       run.device, requests_[std::min(before.job, run.job)].job));
  }
}

void Allocation::place_linear(std::uint32_t j, const PlacementRequest& request) {
  const Intervals free = free_devices();
  if (free.size() < request.ranks) {
    refuse(request, fmt::format("needs {} devices; {} of {} are free", request.ranks, free.size(),
                                shape_.devices));
  }
  std::uint32_t rank = 0;
  for (const Intervals::Part& part : free.parts()) {
    if (rank == request.ranks) break;
    const std::uint32_t count = std::min(part.count, request.ranks - rank);
    claim(j, request, {rank, part.first, count, j});
    rank += count;
  }
  std::ranges::sort(claims_, {}, &Run::device);
}

Intervals Allocation::free_devices() const {
  Intervals free;
  std::uint32_t next = 0;
  for (const Run& run : claims_) {
    free.add(next, run.device - next);
    next = run.device + run.count;
  }
  free.add(next, shape_.devices - next);
  return free;
}

// ---- placements in the order of a stage

void Allocation::divide_free_devices(bool by_nodes) {
  const std::uint32_t node = shape_.node_devices;
  const Intervals free = free_devices();
  for (const Intervals::Part& part : free.parts()) {
    const std::uint32_t end = part.first + part.count;
    const std::uint32_t first_node = quotient_up(part.first, node), last_node = end / node;
    if (!by_nodes || first_node >= last_node) {
      free_rest_.add(part.first, part.count);
      continue;
    }
    free_rest_.add(part.first, first_node * node - part.first);
    free_nodes_.add(first_node, last_node - first_node);
    free_rest_.add(last_node * node, end - last_node * node);
  }
}

std::uint32_t Allocation::nodes_left() const {
  return node_stages_.empty() ? free_nodes_.size()
                              : node_stages_.back().size - node_stages_.back().used;
}

void Allocation::place_in_stage(std::uint32_t j, const PlacementRequest& request) {
  const PlacementSpec& how = request.placement;
  const bool nodes = how.kind == PlacementKind::nodes;
  const std::uint32_t leaf_nodes = shape_.leaf_devices / shape_.node_devices;
  if (nodes && how.order == NodeOrder::leaves && leaf_nodes == 0) {
    refuse(request,
           "no leaf switches to take nodes from in turn in this fabric; expected order: "
           "ascending or random");
  }
  std::vector<Stage>& stages = nodes ? node_stages_ : device_stages_;
  const std::uint32_t left =
      nodes || device_stages_.empty()
          ? nodes ? nodes_left() : nodes_left() * shape_.node_devices + free_rest_.size()
          : stages.back().size - stages.back().used;
  const std::uint32_t slots =
      nodes ? quotient_up(request.ranks, shape_.node_devices) : request.ranks;
  if (left < slots) {
    refuse(request,
           nodes ? fmt::format("needs {} whole nodes of {} devices; {} are free", slots,
                               shape_.node_devices, left)
                 : fmt::format("needs {} devices; {} of {} are free", slots, left, shape_.devices));
  }
  const bool seeded = !nodes || how.order == NodeOrder::random;
  const bool shared = !stages.empty() && stages.back().how.order == how.order &&
                      (!seeded || stages.back().how.seed == how.seed);
  if (!shared) {
    stages.push_back({how, {std::max(1u, left), how.seed}, left});
    stages.back().leaf_nodes = std::max(1u, leaf_nodes);
  }
  Stage& stage = stages.back();
  Job& job = jobs_[j];
  job.stage = static_cast<std::uint32_t>(stages.size()) - 1;
  job.slot = stage.used;
  job.slots = slots;
  stage.used += slots;
  EXAWARP_CHECK(stage.used <= stage.size, stage.used, stage.size);
  stage.jobs.push_back(j);
}

std::uint32_t Allocation::forward(const Stage& stage, std::uint32_t slot) {
  if (stage.how.kind == PlacementKind::random) return stage.permutation.forward(slot);
  switch (stage.how.order) {
    case NodeOrder::ascending:
      return slot;
    case NodeOrder::random:
      return stage.permutation.forward(slot);
    case NodeOrder::leaves:
      return LeafTable(stage.size, stage.leaf_nodes).node(slot);
  }
  return slot;
}

std::uint32_t Allocation::inverse(const Stage& stage, std::uint32_t index) {
  if (stage.how.kind == PlacementKind::random) return stage.permutation.inverse(index);
  switch (stage.how.order) {
    case NodeOrder::ascending:
      return index;
    case NodeOrder::random:
      return stage.permutation.inverse(index);
    case NodeOrder::leaves:
      return LeafTable(stage.size, stage.leaf_nodes).slot(index);
  }
  return index;
}

// The node in `slot` of a node stage.
std::uint32_t Allocation::node_at(std::uint32_t stage, std::uint32_t slot) const {
  EXAWARP_DCHECK(slot < node_stages_[stage].size, slot, node_stages_[stage].size);
  std::uint32_t index = forward(node_stages_[stage], slot);
  while (stage-- > 0) index = forward(node_stages_[stage], node_stages_[stage].used + index);
  return free_nodes_.at(index);
}

// The device at a position of what all node stages leave.
std::uint32_t Allocation::device_at(std::uint32_t position) const {
  const std::uint32_t node = shape_.node_devices;
  const std::uint32_t in_nodes = nodes_left() * node;
  if (position >= in_nodes) return free_rest_.at(position - in_nodes);
  const std::uint32_t index = position / node;
  const std::uint32_t at = node_stages_.empty()
                               ? free_nodes_.at(index)
                               : node_at(static_cast<std::uint32_t>(node_stages_.size()) - 1,
                                         node_stages_.back().used + index);
  return at * node + position % node;
}

// ---- questions

DeviceId Allocation::device_of(std::uint32_t j, std::uint32_t rank) const {
  const Job& job = jobs_[j];
  EXAWARP_DCHECK(rank < job.ranks, rank, job.ranks);
  if (job.kind == PlacementKind::linear || job.kind == PlacementKind::list) {
    const auto after = std::ranges::upper_bound(job.runs, rank, {}, &Run::rank);
    return {(after - 1)->device + (rank - (after - 1)->rank)};
  }
  if (job.kind == PlacementKind::nodes) {
    const std::uint32_t node = shape_.node_devices;
    const std::uint32_t nth = job.round_robin ? rank % job.slots : rank / node;
    const std::uint32_t in_node = job.round_robin ? rank / job.slots : rank % node;
    return {node_at(job.stage, job.slot + nth) * node + in_node};
  }
  std::uint32_t stage = job.stage;
  std::uint32_t position = forward(device_stages_[stage], job.slot + rank);
  while (stage-- > 0) {
    position = forward(device_stages_[stage], device_stages_[stage].used + position);
  }
  return {device_at(position)};
}

// Whoever is at place `in_node` of the node in `slot`; ranks past a job's last: nobody.
Allocation::Seat Allocation::seat_in_nodes(const Stage& stage, std::uint32_t slot,
                                           std::uint32_t in_node) const {
  const auto after = std::ranges::upper_bound(stage.jobs, slot, {},
                                              [this](std::uint32_t j) { return jobs_[j].slot; });
  EXAWARP_DCHECK(after != stage.jobs.begin(), slot);
  const std::uint32_t j = *(after - 1);
  const Job& job = jobs_[j];
  const std::uint32_t nth = slot - job.slot;
  return {j, job.round_robin ? in_node * job.slots + nth : nth * shape_.node_devices + in_node};
}

std::optional<Allocation::Seat> Allocation::seat_of(DeviceId device) const {
  const auto claim = std::ranges::upper_bound(claims_, device.value, {}, &Run::device);
  if (claim != claims_.begin()) {
    const Run& run = *(claim - 1);
    if (device.value - run.device < run.count) {
      return Seat{run.job, run.rank + (device.value - run.device)};
    }
  }
  const std::uint32_t node = shape_.node_devices;
  std::uint32_t position = 0;
  if (auto index = free_nodes_.index_of(device.value / node)) {
    for (const Stage& stage : node_stages_) {
      const std::uint32_t slot = inverse(stage, *index);
      if (slot < stage.used) {
        const Seat seat = seat_in_nodes(stage, slot, device.value % node);
        return seat.rank < jobs_[seat.job].ranks ? std::optional(seat) : std::nullopt;
      }
      index = slot - stage.used;
    }
    position = *index * node + device.value % node;
  } else {
    const auto at = free_rest_.index_of(device.value);
    EXAWARP_CHECK(at.has_value(), device.value);
    position = nodes_left() * node + *at;
  }
  for (const Stage& stage : device_stages_) {
    const std::uint32_t slot = inverse(stage, position);
    if (slot < stage.used) {
      const auto after = std::ranges::upper_bound(
          stage.jobs, slot, {}, [this](std::uint32_t j) { return jobs_[j].slot; });
      EXAWARP_DCHECK(after != stage.jobs.begin(), slot);
      return Seat{*(after - 1), slot - jobs_[*(after - 1)].slot};
    }
    position = slot - stage.used;
  }
  return std::nullopt;
}

bool Allocation::is_identity(std::uint32_t j) const {
  const std::vector<Run>& runs = jobs_[j].runs;
  return !runs.empty() &&
         std::ranges::all_of(runs, [](const Run& run) { return run.rank == run.device; });
}

std::uint32_t Allocation::ranks_in_node(std::uint32_t j) const {
  const Job& job = jobs_[j];
  if (job.kind == PlacementKind::random) return 1;
  if (job.kind == PlacementKind::nodes) {
    return job.round_robin && job.slots > 1 ? 1 : shape_.node_devices;
  }
  std::uint32_t common = shape_.node_devices;
  for (const Run& run : job.runs) common = std::gcd(common, std::gcd(run.device, run.rank));
  EXAWARP_CHECK(common != 0, j);
  return common;
}

}  // namespace exawarp::model
