// A collective as chunks (streams), each in phases over the dimensions, each phase through one of
// the queues of its dimension.
#include <algorithm>

#include "core/check.h"
#include "model/guests/astra/simulation.h"

namespace exawarp::model::astra {
namespace {

constexpr std::uint64_t kStreamsOfGroup = 1'000'000;  // ids: group * this + number
constexpr int kAnyQueue = 0, kFirstHalf = 1, kSecondHalf = 2;

std::uint64_t carried_on(CollectiveKind kind, std::uint64_t bytes, std::uint32_t nodes) {
  if (kind == CollectiveKind::reduce_scatter) return bytes / nodes;
  if (kind == CollectiveKind::all_gather) return bytes * nodes;
  return bytes;
}

}  // namespace

std::uint32_t Simulation::nodes_in(std::uint32_t dimension, Simulated family) const {
  if (job_.system.implementations_of(family)[dimension].over_all_ranks) return ranks_;
  return job_.network.dimensions[dimension].npus;
}

// Queues of dimension d are d * queues ... ; an all-reduce's reduce-scatter phases take the first
// half, its all-gather phases the second, anything else each in turn.
void Simulation::choose_queue(Rank rank, std::uint32_t dimension, int half, Phase& phase) {
  Allocator& allocator = rank_[rank].allocators[dimension];
  const std::uint32_t count = job_.system.queues_per_dimension;
  std::uint32_t queue = 0;
  if (half == kAnyQueue) {
    phase.anticlockwise = count > 1 && allocator.any >= count / 2;
    queue = allocator.any++;
    if (allocator.any == count) allocator.any = 0;
  } else if (half == kFirstHalf) {
    queue = allocator.first_half++;
    if (allocator.first_half >= count / 2) allocator.first_half = 0;
  } else {
    phase.anticlockwise = true;
    queue = count / 2 + allocator.second_half++;
    if (count / 2 + allocator.second_half == count) allocator.second_half = 0;
  }
  EXAWARP_CHECK(queue < count, queue, count);
  phase.queue = dimension * count + queue;
}

void Simulation::add_phase(Rank rank, std::uint32_t dimension, CollectiveKind kind,
                           Simulated family, int half, std::uint64_t& bytes,
                           std::vector<Phase>& phases) {
  const Implementation& implementation = job_.system.implementations_of(family)[dimension];
  Phase phase{.kind = kind, .algorithm = implementation.algorithm, .window = implementation.window};
  choose_queue(rank, dimension, half, phase);
  Ring& ring = phase.ring;
  ring.size = nodes_in(dimension, family);
  if (implementation.over_all_ranks) {
    ring.index = rank;
  } else {
    ring.stride = stride_[dimension];
    ring.index = rank / ring.stride % ring.size;
    ring.first = rank - ring.index * ring.stride;
  }
  if (phase.algorithm == Algorithm::double_binary_tree) {
    bool& second =
        rank_[rank].allocators[dimension].second_tree[static_cast<std::size_t>(family)];
    phase.second_tree = second;
    second = !second;
  }
  phase.bytes = bytes;
  // A tree all-reduces, whatever it stands for (warnings() says so).
  if (phase.algorithm == Algorithm::double_binary_tree) phase.kind = CollectiveKind::all_reduce;
  bytes = carried_on(phase.kind, bytes, ring.size);
  phases.push_back(phase);
}

// Reduce-scatter up the dimensions, all-reduce in the last, all-gather down again.
void Simulation::plan_reduction(Rank rank, std::uint32_t involved, std::uint64_t chunk,
                                std::vector<Phase>& phases) {
  constexpr Simulated family = Simulated::all_reduce;
  std::vector<std::uint32_t> taking_part;
  const std::uint32_t count = job_.system.phases_of(family);
  for (std::uint32_t d = 0; d < count; ++d) {
    if (nodes_in(d, family) > 1 && (involved >> d & 1) != 0) taking_part.push_back(d);
  }
  if (taking_part.empty()) return;
  const std::uint32_t last = taking_part.back();
  taking_part.pop_back();
  std::uint64_t bytes = chunk;
  for (const std::uint32_t d : taking_part) {
    add_phase(rank, d, CollectiveKind::reduce_scatter, family, kFirstHalf, bytes, phases);
  }
  add_phase(rank, last, CollectiveKind::all_reduce, family, kFirstHalf, bytes, phases);
  std::ranges::reverse(taking_part);
  for (const std::uint32_t d : taking_part) {
    add_phase(rank, d, CollectiveKind::all_gather, family, kSecondHalf, bytes, phases);
  }
}

// A communicator of some of the ranks: one ring over them as listed, through dimension 0's queues.
void Simulation::plan_group(Rank rank, const TraceNode& node, const CommGroup& group,
                            std::uint64_t chunk, std::vector<Phase>& phases) {
  const auto& implementations = job_.system.implementations_of(*simulated(node.collective));
  Phase phase{.kind = node.collective};
  if (implementations.size() == 1) {
    phase.algorithm = implementations[0].algorithm;
    phase.window = implementations[0].window;
  }
  if (group.members.size() < 2) return;
  choose_queue(rank, 0, kAnyQueue, phase);
  phase.ring = {.size = static_cast<std::uint32_t>(group.members.size()),
                .index = group.position(rank),
                .group = &group};
  phase.bytes = chunk;
  phases.push_back(phase);
}

void Simulation::plan(Rank rank, const TraceNode& node, std::uint64_t chunk,
                      std::vector<Phase>& phases) {
  std::uint32_t involved = node.involved;
  if (node.group != kAllRanks) {
    const CommGroup& group = job_.groups.at(node.group);
    if (group.members.size() != ranks_) return plan_group(rank, node, group, chunk, phases);
    involved = kAllDimensions;
  }
  const Simulated family = *simulated(node.collective);
  if (family == Simulated::all_reduce &&
      job_.system.optimization == Optimization::local_bandwidth_aware) {
    return plan_reduction(rank, involved, chunk, phases);
  }
  const std::uint32_t count = job_.system.phases_of(family);
  std::uint64_t bytes = chunk;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t d = family == Simulated::all_gather ? count - 1 - i : i;
    if (nodes_in(d, family) == 1 || (involved >> d & 1) == 0) continue;
    add_phase(rank, d, node.collective, family, kAnyQueue, bytes, phases);
  }
}

std::uint32_t Simulation::new_stream() {
  if (free_streams_.empty()) {
    streams_.emplace_back();
    return static_cast<std::uint32_t>(streams_.size() - 1);
  }
  const std::uint32_t index = free_streams_.back();
  free_streams_.pop_back();
  std::vector<Phase> phases = std::move(streams_[index].phases);
  phases.clear();
  streams_[index] = Stream{};
  streams_[index].phases = std::move(phases);  // keeps its memory
  return index;
}

void Simulation::start_collective(Rank rank, std::uint32_t node_index) {
  RankState& state = rank_[rank];
  const TraceNode& node = state.progress.trace->nodes[node_index];
  std::uint64_t bytes = node.comm_bytes;
  std::uint64_t chunk = bytes / job_.system.splits;
  if (node.collective != CollectiveKind::all_gather && chunk < ranks_) {
    chunk = ranks_;
    bytes = job_.system.splits * chunk;
  }
  const std::shared_ptr<const CustomCollective> custom = job_.system.custom_for(node);
  std::uint64_t count = bytes / chunk + (bytes % chunk != 0 ? 1 : 0);
  if (custom != nullptr) count = 1;  // its sizes are its own
  state.collective = {.node = node_index, .streams = count};
  std::int64_t priority = node.priority;
  if (job_.system.policy == Policy::lifo) priority = state.priority++;
  if (job_.system.policy == Policy::fifo) priority = state.priority--;
  std::uint64_t* number = &state.next_stream;
  if (node.group != kAllRanks) {
    auto& of_group = state.next_stream_of_group;
    auto found = std::ranges::find(of_group, node.group, &std::pair<std::uint32_t,
                                                                    std::uint64_t>::first);
    if (found == of_group.end()) {
      of_group.emplace_back(node.group, node.group * kStreamsOfGroup);
      found = of_group.end() - 1;
    }
    number = &found->second;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint32_t index = new_stream();
    Stream& s = streams_[index];
    s.rank = rank;
    s.priority = priority;
    s.custom_collective = custom;
    if (s.custom_collective != nullptr) {
      Phase phase{.kind = node.collective, .algorithm = Algorithm::custom};
      if (node.group != kAllRanks) phase.ring.group = &job_.groups.at(node.group);
      phase.ring.index = phase.ring.group != nullptr ? phase.ring.group->position(rank) : rank;
      s.phases.push_back(phase);
    } else {
      plan(rank, node, chunk, s.phases);
    }
    if (s.phases.empty()) {  // nobody to communicate with: done at once
      free_streams_.push_back(index);
      timers_.start(rank, 0, {.kind = Timer::Kind::collective});
      state.collective.streams = 1;
      return;
    }
    s.id = (*number)++;
    next_phase(index);
  }
}

// Into the queue of its phase: behind those that run and those of its priority or above.
void Simulation::enqueue(std::uint32_t stream) {
  const Stream& s = streams_[stream];
  std::vector<std::uint32_t>& queue = rank_[s.rank].queues[s.phases[s.phase].queue].streams;
  auto at = queue.begin();
  while (at != queue.end() &&
         (streams_[*at].initialised || streams_[*at].priority >= s.priority)) {
    ++at;
  }
  queue.insert(at, stream);
}

void Simulation::start_waiting(Rank rank, std::uint32_t queue_index) {
  Queue& queue = rank_[rank].queues[queue_index];
  while (queue.running < running_max_ && queue.running < queue.streams.size()) {
    const std::uint32_t stream = queue.streams[queue.running];
    start_phase(stream);
    ++queue.running;
  }
}

// Ends the phase that `stream` is in, if any, and queues it for the next one. The order of the
// steps decides ties: the rank's trace continues before the stream leaves its queue, and the stream
// enters the next queue before its place in the old one goes to a waiting stream.
void Simulation::next_phase(std::uint32_t stream) {
  const Rank rank = streams_[stream].rank;
  const bool had_phase = streams_[stream].has_phase;
  const std::uint32_t next = had_phase ? streams_[stream].phase + 1 : 0;
  const bool over = next == streams_[stream].phases.size();
  const std::uint32_t old_queue =
      had_phase ? streams_[stream].phases[streams_[stream].phase].queue : 0;
  if (over) stream_finished(rank);
  std::vector<Queue>& queues = rank_[rank].queues;
  if (had_phase) std::erase(queues[old_queue].streams, stream);
  if (over) {
    free_streams_.push_back(stream);
  } else {
    Stream& s = streams_[stream];
    s.phase = next;
    s.has_phase = true;
    s.initialised = false;
    enqueue(stream);
    start_waiting(rank, s.phases[next].queue);
  }
  if (had_phase) {
    EXAWARP_CHECK(queues[old_queue].running != 0, rank, old_queue);
    --queues[old_queue].running;
    start_waiting(rank, old_queue);
  }
}

void Simulation::stream_finished(Rank rank) {
  Collective& collective = rank_[rank].collective;
  EXAWARP_CHECK(collective.finished < collective.streams, rank, collective.finished);
  if (++collective.finished < collective.streams) return;
  const std::uint32_t node = collective.node;
  collective = {};
  node_done(rank, node);
}

}  // namespace exawarp::model::astra
