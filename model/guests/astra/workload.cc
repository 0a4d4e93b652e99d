// A rank's trace: which nodes are ready, and which of them has a slot.
//
// Each time a node of the rank completes, the ready nodes are tried in ascending order of id. One
// made ready while they are tried (by one that is skipped) waits for the next completion.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"
#include "model/guests/astra/simulation.h"

namespace exawarp::model::astra {
namespace {

constexpr std::uint64_t kTagsMax = 500'000'000;

}  // namespace

Ns Simulation::recorded_ns(const TraceNode& node) {
  constexpr Ns kNsPerUs = 1'000;
  return node.duration_us == 0 ? 1 : product_to_end(node.duration_us, kNsPerUs);
}

void Simulation::load(Progress& progress, const Trace& trace) const {
  progress.trace = &trace;
  progress.left = static_cast<std::uint32_t>(trace.nodes.size());
  progress.waits.resize(trace.nodes.size());
  for (std::uint32_t i = 0; i < trace.nodes.size(); ++i) {
    progress.waits[i] = trace.nodes[i].dependency_count;
    if (progress.waits[i] == 0) make_ready(progress, i);
  }
}

Simulation::Slot Simulation::slot_of(const TraceNode& node) {
  if (node.host) return Slot::host;
  if (node.kind == NodeKind::compute) return Slot::compute;
  return node.kind == NodeKind::receive ? Slot::unlimited : Slot::communication;
}

void Simulation::make_ready(Progress& progress, std::uint32_t node) {
  if (progress.sweeping) {
    progress.freed.push_back(node);
    return;
  }
  auto& heap = progress.ready[static_cast<std::size_t>(slot_of(progress.trace->nodes[node]))];
  heap.push_back(node);
  std::ranges::push_heap(heap, std::greater<>());
}

void Simulation::finish_node(Progress& progress, std::uint32_t node) {
  const TraceNode& fields = progress.trace->nodes[node];
  EXAWARP_CHECK(progress.left != 0 && progress.waits[node] != Progress::kDone, node);
  progress.waits[node] = Progress::kDone;
  --progress.left;
  for (std::uint32_t i = 0; i < fields.child_count; ++i) {
    const std::uint32_t child = progress.trace->children[fields.first_child + i];
    if (--progress.waits[child] == 0) make_ready(progress, child);
  }
}

void Simulation::node_done(Rank rank, std::uint32_t node) {
  RankState& state = rank_[rank];
  const TraceNode& fields = state.progress.trace->nodes[node];
  state.busy[static_cast<std::size_t>(slot_of(fields))] = false;
  state.usage.end(fields, events_.now());
  finish_node(state.progress, node);
  sweep(rank);
  finish_if_done(rank);
}

void Simulation::finish_if_done(Rank rank) {
  RankState& state = rank_[rank];
  if (state.finished || state.progress.left > 0) return;
  state.finished = true;
  ++finished_;
  finish_({.rank = rank, .cycles = events_.now(), .compute = state.compute,
           .usage = state.usage});
}

void Simulation::sweep(Rank rank) {
  RankState& state = rank_[rank];
  Progress& progress = state.progress;
  progress.sweeping = true;
  while (true) {
    // The smallest ready node whose slot is free: one that is not free now stays taken throughout.
    std::vector<std::uint32_t>* least = nullptr;
    for (std::size_t slot = 0; slot < kSlotCount; ++slot) {
      std::vector<std::uint32_t>& heap = progress.ready[slot];
      if (heap.empty() || state.busy[slot]) continue;
      if (least == nullptr || heap.front() < least->front()) least = &heap;
    }
    if (least == nullptr) break;
    std::ranges::pop_heap(*least, std::greater<>());
    const std::uint32_t node = least->back();
    least->pop_back();
    progress.waits[node] = Progress::kInFlight;
    issue(rank, node);
  }
  progress.sweeping = false;
  for (const std::uint32_t node : progress.freed) make_ready(progress, node);
  progress.freed.clear();
}

void Simulation::skip(Rank rank, std::uint32_t node) {
  RankState& state = rank_[rank];
  state.usage.end(state.progress.trace->nodes[node], events_.now());
  finish_node(state.progress, node);
}

void Simulation::issue(Rank rank, std::uint32_t node) {
  RankState& state = rank_[rank];
  const TraceNode& fields = state.progress.trace->nodes[node];
  const Slot slot = slot_of(fields);
  const auto occupy = [&] { state.busy[static_cast<std::size_t>(slot)] = slot != Slot::unlimited; };
  state.usage.begin(fields, events_.now());
  if (job_.system.replay_only) {
    occupy();
    return replay(rank, node);
  }
  const Callback done{.kind = Callback::Kind::node, .rank = rank, .index = node};
  switch (fields.kind) {
    case NodeKind::invalid:
    case NodeKind::metadata: return skip(rank, node);
    case NodeKind::compute:
      if (!fields.host && job_.system.roofline && fields.tensor_bytes == 0) {
        return skip(rank, node);
      }
      occupy();
      return issue_compute(rank, node);
    case NodeKind::memory_load:
    case NodeKind::memory_store: occupy(); return issue_memory(rank, node);
    case NodeKind::collective: occupy(); return issue_collective(rank, node);
    case NodeKind::send:
      occupy();
      return network_.send({rank, fields.peer, fields.tag % kTagsMax, fields.comm_bytes}, done);
    case NodeKind::receive:
      return network_.receive({fields.peer, rank, fields.tag % kTagsMax, fields.comm_bytes}, done);
  }
}

void Simulation::replay(Rank rank, std::uint32_t node) {
  const TraceNode& fields = rank_[rank].progress.trace->nodes[node];
  const Ns time = recorded_ns(fields);
  if (!fields.host) rank_[rank].compute = sum_to_end(rank_[rank].compute, time);
  if (fields.kind == NodeKind::compute) {
    Ns& sum = rank_[rank].usage.roofline.compute_ns;
    sum = sum_to_end(sum, time);
  }
  timers_.start(rank, time, {.kind = Timer::Kind::node, .index = node});
}

void Simulation::issue_compute(Rank rank, std::uint32_t node) {
  const TraceNode& fields = rank_[rank].progress.trace->nodes[node];
  if (fields.host || !job_.system.roofline) return replay(rank, node);
  const double ops = static_cast<double>(fields.num_ops);
  const double intensity = ops / static_cast<double>(fields.tensor_bytes);
  const double peak = job_.system.peak_tflops * 1e12;
  const double memory_bytes_per_s = job_.system.local_memory_gb_per_s * 1e9;
  const double perf = std::min(memory_bytes_per_s * intensity, peak);
  const Ns time = ops > 0 ? whole_ns(ops / perf * 1e9) : 0;
  rank_[rank].compute = sum_to_end(rank_[rank].compute, time);
  RooflineSums& sums = rank_[rank].usage.roofline;
  sums.compute_ns = sum_to_end(sums.compute_ns, time);
  if (perf >= peak) sums.compute_bound_ns = sum_to_end(sums.compute_bound_ns, time);
  if (time > 0) {
    sums.compute_utilization += perf / peak * static_cast<double>(time);
    sums.memory_utilization += perf / intensity / memory_bytes_per_s * static_cast<double>(time);
    sums.intensity += intensity * static_cast<double>(time);
  }
  timers_.start(rank, time, {.kind = Timer::Kind::node, .index = node});
}

void Simulation::issue_memory(Rank rank, std::uint32_t node) {
  const MemoryConfig& config = job_.memory;
  const std::uint32_t index =
      config.kind == MemoryKind::per_node ? rank / config.npus_per_node : 0;
  if (config.kind != MemoryKind::per_npu && std::exchange(memories_[index].busy, true)) {
    return memories_[index].waiting.push_back({rank, node});
  }
  access_memory(index, rank, node);
}

// Latency, then the bytes.
void Simulation::access_memory(std::uint32_t memory, Rank rank, std::uint32_t node) {
  const TraceNode& fields = rank_[rank].progress.trace->nodes[node];
  const double bytes = static_cast<double>(fields.tensor_bytes);
  const Ns time =
      sum_to_end(job_.memory.latency_ns, whole_ns(bytes / job_.memory.bandwidth_gb_per_s));
  timers_.start(rank, time, {.kind = Timer::Kind::node, .index = node});
  if (job_.memory.kind != MemoryKind::per_npu) {
    timers_.start(rank, time, {.kind = Timer::Kind::memory, .index = memory});
  }
}

// After the rank has gone on, as in ASTRA-sim: what it asks for now waits behind those that wait.
void Simulation::memory_done(std::uint32_t index) {
  Memory& memory = memories_[index];
  if (memory.waiting.empty()) {
    memory.busy = false;
    return;
  }
  const Memory::Request next = memory.waiting.front();
  memory.waiting.pop_front();
  access_memory(index, next.rank, next.node);
}

void Simulation::issue_collective(Rank rank, std::uint32_t node) {
  const TraceNode& fields = rank_[rank].progress.trace->nodes[node];
  if (fields.collective != CollectiveKind::broadcast) return start_collective(rank, node);
  rank_[rank].collective = {.node = node, .streams = 1};
  timers_.start(rank, recorded_ns(fields), {.kind = Timer::Kind::collective});
}

}  // namespace exawarp::model::astra
