// When events run out and ranks are not done: what each of them waits for.
#include <fmt/format.h>

#include "model/guests/astra/simulation.h"

namespace exawarp::model::astra {
namespace {

constexpr std::size_t kReportedMax = 20;

}  // namespace

void Simulation::report_unfinished(Result& result) const {
  for (Rank rank = 0; rank < ranks_ && result.unfinished.size() < kReportedMax; ++rank) {
    if (rank_[rank].finished) continue;
    result.unfinished.push_back(fmt::format("rank {}: {}", rank, waits_for(rank)));
  }
}

// What the first event beyond the end of time is of; empty: there is none.
std::string Simulation::late_work() const {
  const Event* event = events_.late();
  if (event == nullptr) return "";
  Rank rank = 0;
  if (event->kind == Event::Kind::tick) {
    rank = event->index;
  } else {
    while (rank_[rank].finished) ++rank;
  }
  return fmt::format("rank {}: {}", rank, waits_for(rank));
}

std::string Simulation::waits_for(Rank rank) const {
  const Progress& progress = rank_[rank].progress;
  std::string text;
  for (std::uint32_t i = 0; i < progress.waits.size(); ++i) {
    if (progress.waits[i] != Progress::kInFlight) continue;
    const TraceNode& node = progress.trace->nodes[i];
    if (!text.empty()) text += "; ";
    if (node.kind == NodeKind::receive) {
      text += fmt::format("receive node {} waits for rank {} (tag {}, {} B)", node.id, node.peer,
                          node.tag, node.comm_bytes);
    } else if (node.kind == NodeKind::send) {
      text += fmt::format("send node {} waits for rank {} (tag {}, {} B)", node.id, node.peer,
                          node.tag, node.comm_bytes);
    } else if (node.kind == NodeKind::collective) {
      text += fmt::format("collective node {} ({}{}, {} B) {}", node.id,
                          collective_name(node.collective),
                          node.group == kAllRanks ? "" : fmt::format(", group {}", node.group),
                          node.comm_bytes, collective_waits_for(rank));
    } else {
      text += fmt::format("node {} does not end", node.id);
    }
  }
  if (text.empty()) {
    text = fmt::format("{} nodes are left and none runs: they wait for each other, or for another "
                       "node to complete after a skipped one (metadata, compute without bytes)",
                       progress.left);
  }
  return text;
}

// The ranks whose messages the streams of the collective in flight miss.
std::string Simulation::collective_waits_for(Rank rank) const {
  std::string text;
  for (const Queue& queue : rank_[rank].queues) {
    for (const std::uint32_t index : queue.streams) {
      const Stream& s = streams_[index];
      if (!s.initialised) continue;
      const Phase& phase = s.phases[s.phase];
      if (phase.algorithm != Algorithm::ring) continue;
      const std::uint32_t from = phase.anticlockwise ? phase.ring.ahead(1) : phase.ring.behind(1);
      return fmt::format("waits for rank {}", phase.ring.member(from));
    }
  }
  return "waits for its other members";
}

}  // namespace exawarp::model::astra
