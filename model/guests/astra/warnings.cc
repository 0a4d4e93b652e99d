// What ASTRA-sim does without a word, said.
#include <fmt/format.h>

#include <array>
#include <set>

#include "model/guests/astra/config.h"

namespace exawarp::model::astra {
namespace {

// The collectives of the traces, by where they run.
struct Used {
  std::array<bool, kSimulatedCount> over_dimensions{};  // with an implementation a dimension
  bool custom = false;
};

Used used_by(const Job& job) {
  Used used;
  std::set<const Trace*> seen;  // only to visit each once: its order reaches nothing
  for (const std::shared_ptr<const Trace>& trace : job.traces) {
    if (!seen.insert(trace.get()).second) continue;
    for (const TraceNode& node : trace->nodes) {
      if (node.kind != NodeKind::collective) continue;
      const std::optional<Simulated> family = simulated(node.collective);
      if (!family) continue;
      const bool custom = job.system.custom_for(node) != nullptr;
      used.custom = used.custom || custom;
      const bool listed = node.group != kAllRanks &&
                          job.groups.at(node.group).members.size() != job.network.npus();
      if (!custom && !listed) used.over_dimensions[static_cast<std::size_t>(*family)] = true;
    }
  }
  return used;
}

void warn_of_trees(const Job& job, Simulated family, const char* name,
                     std::vector<std::string>& out) {
  const std::vector<Implementation>& list = job.system.implementations_of(family);
  const bool split = family == Simulated::all_reduce &&
                     job.system.optimization == Optimization::local_bandwidth_aware;
  for (std::size_t d = 0; d < list.size(); ++d) {
    if (list[d].algorithm != Algorithm::double_binary_tree) continue;
    if (family == Simulated::all_reduce && (!split || d + 1 == list.size())) continue;
    out.push_back(fmt::format("{}-implementation: doubleBinaryTree in dimension {} runs a whole "
                              "all-reduce in place of its part, as in ASTRA-sim", name, d));
  }
}

}  // namespace

std::vector<std::string> warnings(const Job& job) {
  std::vector<std::string> out;
  if (job.system.replay_only) return out;
  constexpr std::array<const char*, kSimulatedCount> names{"all-reduce", "all-gather",
                                                           "reduce-scatter", "all-to-all"};
  const Used used = used_by(job);
  const std::size_t dimensions = job.network.dimensions.size();
  for (std::size_t f = 0; f < kSimulatedCount; ++f) {
    if (!used.over_dimensions[f]) continue;
    const auto family = static_cast<Simulated>(f);
    const std::vector<Implementation>& list = job.system.implementations_of(family);
    const std::uint32_t phases = job.system.phases_of(family);
    if (phases < dimensions && !list[phases - 1].over_all_ranks) {
      out.push_back(fmt::format("{}-implementation: {} for {} dimensions; the others take no part, "
                                "as in ASTRA-sim", names[f], phases, dimensions));
    }
    warn_of_trees(job, family, names[f], out);
  }
  if (used.custom && job.system.splits > 1) {
    out.push_back(fmt::format("preferred-dataset-splits: {}, but a custom collective runs once; "
                              "ASTRA-sim waits for the other chunks for ever", job.system.splits));
  }
  return out;
}

}  // namespace exawarp::model::astra
