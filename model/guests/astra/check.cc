// What ASTRA-sim would crash on, hang on or run wrongly, refused by name before time zero.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "core/error.h"
#include "model/guests/astra/config.h"

namespace exawarp::model::astra {
namespace {

using core::InputError;

[[noreturn]] void refuse(const Trace& trace, const TraceNode& node, const std::string& what) {
  throw InputError(trace.place, fmt::format("node {}: {}", node.id, what));
}

bool uses(const SystemConfig& system, Simulated family, Algorithm algorithm) {
  return std::ranges::any_of(system.implementations_of(family),
                             [&](const Implementation& i) { return i.algorithm == algorithm; });
}

bool reduces(Simulated family) {
  return family == Simulated::all_reduce || family == Simulated::reduce_scatter;
}

// What a send or receive has to say.
void check_message(const Trace& trace, const TraceNode& node) {
  if (node.peer == kNoRank) {
    refuse(trace, node, node.kind == NodeKind::send ? "has no comm_dst" : "has no comm_src");
  }
  if (!node.has_tag) refuse(trace, node, "has no comm_tag");
  if (node.comm_bytes == 0) {
    refuse(trace, node, node.has_bytes ? "comm_size 0; expected at least 1 B"
                                       : "has no comm_size");
  }
}

void check_implementations(const Job& job) {
  for (std::size_t f = 0; f < kSimulatedCount; ++f) {
    const auto& list = job.system.implementations[f];
    if (list.size() > job.network.dimensions.size()) {
      throw InputError(job.system.place,
                       fmt::format("{} implementations for a network of {} dimensions; expected "
                                   "one a dimension", list.size(),
                                   job.network.dimensions.size()));
    }
    for (std::size_t d = 0; d < job.system.phases_of(static_cast<Simulated>(f)); ++d) {
      const std::uint32_t n =
          list[d].over_all_ranks ? job.network.npus() : job.network.dimensions[d].npus;
      const bool halving = list[d].algorithm == Algorithm::halving_doubling;
      const bool tree = list[d].algorithm == Algorithm::double_binary_tree;
      if ((halving || tree) && !std::has_single_bit(n)) {
        throw InputError(job.system.place,
                         fmt::format("{} needs a power of two of ranks; dimension {} has {}",
                                     halving ? "halvingDoubling" : "doubleBinaryTree", d, n));
      }
    }
  }
}

class NodeChecker {
 public:
  NodeChecker(const Job& job, Rank rank) : job_(job), rank_(rank), trace_(*job.traces[rank]) {}

  void check() const {
    for (const TraceNode& node : trace_.nodes) check_node(node);
  }

 private:
  void check_node(const TraceNode& node) const {
    if (job_.system.replay_only) return;
    switch (node.kind) {
      case NodeKind::send:
      case NodeKind::receive: return check_peer(node);
      case NodeKind::collective: return check_collective(node);
      case NodeKind::memory_load:
      case NodeKind::memory_store:
        return check_memory(node);
      case NodeKind::compute: return check_compute(node);
      case NodeKind::metadata:
      case NodeKind::invalid: return;
    }
  }
  void check_memory(const TraceNode& node) const {
    const MemoryConfig& memory = job_.memory;
    if (memory.kind == MemoryKind::none) {
      refuse(trace_, node, "memory node, but memory-type is NO_MEMORY_EXPANSION");
    }
    if (memory.bandwidth_gb_per_s <= 0) {
      refuse(trace_, node, "memory node, but the memory configuration has no remote-mem-bw");
    }
    if (!node.has_tensor) refuse(trace_, node, "memory node without tensor_size");
    if (memory.kind == MemoryKind::per_node && rank_ / memory.npus_per_node >= memory.nodes) {
      refuse(trace_, node, fmt::format("memory node of rank {}, which is beyond num-nodes {} of "
                                       "num-npus-per-node {}", rank_, memory.nodes,
                                       memory.npus_per_node));
    }
  }
  void check_compute(const TraceNode& node) const {
    if (node.host || !job_.system.roofline) return;
    if (!node.has_ops || !node.has_tensor) {
      refuse(trace_, node, fmt::format("computation without {}; roofline-enabled needs it",
                                       node.has_ops ? "tensor_size" : "num_ops"));
    }
  }
  void check_peer(const TraceNode& node) const {
    const bool send = node.kind == NodeKind::send;
    if (node.host) refuse(trace_, node, "communication with is_cpu_op true is not simulated");
    check_message(trace_, node);
    if (node.owner != kNoRank && node.owner != rank_) {
      refuse(trace_, node, fmt::format("{} {} in the file of rank {}; expected {} or none",
                                       send ? "comm_src" : "comm_dst", node.owner, rank_, rank_));
    }
    if (node.peer >= job_.network.npus() || node.peer == rank_) {
      refuse(trace_, node, fmt::format("peer {} of rank {}; expected another rank below {}",
                                       node.peer, rank_, job_.network.npus()));
    }
  }
  void check_collective(const TraceNode& node) const {
    if (node.host) refuse(trace_, node, "communication with is_cpu_op true is not simulated");
    if (!node.has_bytes) refuse(trace_, node, "has no comm_size");
    if (node.collective == CollectiveKind::broadcast) return;
    const std::optional<Simulated> family = simulated(node.collective);
    if (!family) {
      refuse(trace_, node, "comm_type is not simulated; expected ALL_REDUCE (0), ALL_GATHER (2), "
                           "BROADCAST (5), ALL_TO_ALL (6) or REDUCE_SCATTER (7)");
    }
    const SystemConfig& system = job_.system;
    const std::shared_ptr<const CustomCollective> graph = system.custom_for(node);
    if (system.splits == 0) {
      refuse(trace_, node, "a collective, but the system configuration has no "
                           "preferred-dataset-splits; expected a number of chunks");
    }
    const CommGroup* const group = group_of(node);
    const std::size_t members = group != nullptr ? group->members.size() : job_.network.npus();
    if (*family == Simulated::all_gather && node.comm_bytes < system.splits) {
      refuse(trace_, node, fmt::format("all-gather of {} B in {} chunks: chunks would be empty",
                                       node.comm_bytes, system.splits));
    }
    if (graph != nullptr) {
      if (graph->positions.size() != members) {
        refuse(trace_, node, fmt::format("custom collective of {} positions on {} ranks",
                                         graph->positions.size(), members));
      }
      return;
    }
    check_native(node, *family, group, members);
  }
  void check_native(const TraceNode& node, Simulated family, const CommGroup* group,
                    std::size_t members) const {
    const SystemConfig& system = job_.system;
    const auto& list = system.implementations_of(family);
    if (list.empty()) {
      refuse(trace_, node, fmt::format("the system configuration has no implementation of {}",
                                       collective_name(node.collective)));
    }
    const bool listed = group != nullptr && members != job_.network.npus();
    const bool tree = uses(system, family, Algorithm::double_binary_tree);
    if (tree && listed && list.size() == 1) {
      refuse(trace_, node, fmt::format("doubleBinaryTree on group {}; it runs over whole "
                                       "dimensions only", node.group));
    }
    if ((tree || reduces(family)) && system.local_memory_gb_per_s <= 0) {
      refuse(trace_, node, fmt::format("{} reduces, but the system configuration has no "
                                       "local-mem-bw", collective_name(node.collective)));
    }
    if (family == Simulated::all_reduce && !listed &&
        system.optimization == Optimization::none &&
        (list.size() > 1 || system.queues_per_dimension > 1)) {
      refuse(trace_, node, "all-reduce over several dimensions or queues, but the system "
                           "configuration has no collective-optimization; expected baseline or "
                           "localBWAware");
    }
    if (uses(system, family, Algorithm::halving_doubling)) {
      if (family == Simulated::all_to_all) {
        refuse(trace_, node, "halvingDoubling has no all-to-all; expected e.g. direct");
      }
      if (listed && list.size() == 1 && !std::has_single_bit(members)) {
        refuse(trace_, node, fmt::format("halvingDoubling on group {} of {} ranks; expected a "
                                         "power of two", node.group, members));
      }
    }
  }
  // nullptr: all ranks, as without a group.
  const CommGroup* group_of(const TraceNode& node) const {
    if (node.group == kAllRanks) return nullptr;
    const auto found = job_.groups.find(node.group);
    if (found == job_.groups.end()) {
      refuse(trace_, node, fmt::format("group {} is not defined; expected it in "
                                       "--comm-group-configuration or a METADATA node",
                                       node.group));
    }
    const CommGroup& group = found->second;
    if (group.position(rank_) == group.members.size()) {
      refuse(trace_, node, fmt::format("rank {} is no member of group {}", rank_, node.group));
    }
    return &group;
  }
  const Job& job_;
  Rank rank_;
  const Trace& trace_;
};

void check_custom(const CustomCollective& custom) {
  for (std::uint32_t position = 0; position < custom.positions.size(); ++position) {
    const Trace& trace = *custom.positions[position];
    if (trace.nodes.empty()) throw InputError(trace.place, "a custom collective without nodes");
    for (const TraceNode& node : trace.nodes) {
      const bool message = node.kind == NodeKind::send || node.kind == NodeKind::receive;
      if (!message && node.kind != NodeKind::compute) {
        refuse(trace, node, "a custom collective consists of SEND, RECV and COMP nodes");
      }
      if (message) check_message(trace, node);
      if (message && (node.peer == position || node.peer >= custom.positions.size())) {
        refuse(trace, node, fmt::format("peer {} of position {}; expected another below {}",
                                        node.peer, position, custom.positions.size()));
      }
    }
  }
}

}  // namespace

void check(const Job& job) {
  check_implementations(job);
  for (const auto& [id, group] : job.groups) {
    for (std::size_t i = 0; i < group.positions.size(); ++i) {
      const Rank rank = group.positions[i].first;
      if (rank >= job.network.npus() || (i > 0 && rank == group.positions[i - 1].first)) {
        throw InputError(job.groups_place,
                         fmt::format("group {}: rank {} twice, or not below {}", id, rank,
                                     job.network.npus()));
      }
    }
  }
  for (const auto& custom : job.system.custom) {
    if (custom != nullptr) check_custom(*custom);
  }
  for (const auto& [node, custom] : job.system.custom_of_node) check_custom(*custom);
  for (Rank rank = 0; rank < job.traces.size(); ++rank) NodeChecker(job, rank).check();
}

}  // namespace exawarp::model::astra
