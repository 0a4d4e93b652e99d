// A collective given as a graph of sends, receives and computations for each position: no slots,
// sizes as in the graph.
#include <algorithm>

#include "model/guests/astra/simulation.h"

namespace exawarp::model::astra {

void Simulation::start_custom(std::uint32_t stream) {
  Stream& s = streams_[stream];
  s.custom = std::make_unique<Progress>();
  load(*s.custom, *s.custom_collective->positions[s.phases[s.phase].ring.index]);
  custom_sweep(stream);
}

void Simulation::custom_sweep(std::uint32_t stream) {
  Progress& progress = *streams_[stream].custom;
  std::vector<std::uint32_t> ready;
  for (std::vector<std::uint32_t>& heap : progress.ready) {
    ready.insert(ready.end(), heap.begin(), heap.end());
    heap.clear();
  }
  std::ranges::sort(ready);
  for (const std::uint32_t node : ready) {
    progress.waits[node] = Progress::kInFlight;
    custom_issue(stream, node);
  }
}

void Simulation::custom_issue(std::uint32_t stream, std::uint32_t node) {
  const Stream& s = streams_[stream];
  const TraceNode& fields = s.custom->trace->nodes[node];
  const Ring& ring = s.phases[s.phase].ring;
  const Callback done{
      .kind = Callback::Kind::custom_node, .rank = s.rank, .index = stream, .node = node};
  switch (fields.kind) {
    case NodeKind::send:
      return network_.send({s.rank, ring.member(fields.peer), fields.tag, fields.comm_bytes},
                           done);
    case NodeKind::receive:
      return network_.receive({ring.member(fields.peer), s.rank, fields.tag, fields.comm_bytes},
                              done);
    default:
      timers_.start(s.rank, recorded_ns(fields),
                    {.kind = Timer::Kind::custom_node, .index = stream, .argument = node});
  }
}

void Simulation::custom_done(std::uint32_t stream, std::uint32_t node) {
  Progress& progress = *streams_[stream].custom;
  finish_node(progress, node);
  custom_sweep(stream);
  if (progress.left == 0) next_phase(stream);
}

}  // namespace exawarp::model::astra
