#include "model/sample/dag.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace exawarp::model {
namespace {

std::vector<std::uint32_t> all_before(const Program& program, std::uint32_t index) {
  const schema::Node::Reader node = program.node(index);
  std::vector<std::uint32_t> before;
  if (node.getPosition() > 0) {
    before.push_back(program.node_at(node.getStream(), node.getPosition() - 1));
  }
  for (std::uint32_t d = 0; d < node.getDependencyCount(); ++d) {
    before.push_back(program.dependency(node, d));
  }
  std::ranges::sort(before);
  before.erase(std::unique(before.begin(), before.end()), before.end());
  return before;
}

}  // namespace

ProgramDag program_dag(const Program& program) {
  const std::uint32_t nodes = program.node_count();
  ProgramDag dag;
  dag.before.resize(nodes);
  dag.level.assign(nodes, 1);
  std::vector<std::uint32_t> waits(nodes);
  std::vector<std::vector<std::uint32_t>> after(nodes);
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    dag.before[i] = all_before(program, i);
    waits[i] = static_cast<std::uint32_t>(dag.before[i].size());
    if (waits[i] == 0) ready.push(i);
    for (const std::uint32_t on : dag.before[i]) after[on].push_back(i);
  }
  while (!ready.empty()) {
    const std::uint32_t i = ready.top();
    ready.pop();
    dag.order.push_back(i);
    dag.depth = std::max(dag.depth, dag.level[i]);
    for (const std::uint32_t next : after[i]) {
      dag.level[next] = std::max(dag.level[next], dag.level[i] + 1);
      if (--waits[next] == 0) ready.push(next);
    }
  }
  return dag;
}

double nominal_ps(const schema::Node::Reader& node, std::uint64_t comm_bytes) {
  constexpr double kFlopsPerPs = 500.0, kMemoryBytesPerPs = 2.0, kCommBytesPerPs = 0.05;
  if (node.getDurationPs() != schema::NO_DURATION) {
    return static_cast<double>(node.getDurationPs());
  }
  const double moved =
      static_cast<double>(node.getBytesRead()) + static_cast<double>(node.getBytesWritten());
  const double works =
      std::max(static_cast<double>(node.getFlops()) / kFlopsPerPs, moved / kMemoryBytesPerPs);
  return std::max(works, static_cast<double>(comm_bytes) / kCommBytesPerPs);
}

std::uint64_t handed_bytes(const WorkloadGraph& graph, const schema::Node::Reader& node) {
  if (node.getKind() != schema::NodeKind::COLLECTIVE || node.getSizes() == 0) {
    return node.getCommBytes();
  }
  const std::vector<std::uint64_t>& table = graph.size_tables()[node.getSizes() - 1];
  std::uint64_t sum = 0;  // below 2^62, as validate() says
  for (const std::uint64_t bytes : table) sum += bytes;
  const GroupTable& group = graph.group(node.getGroup());
  const std::uint64_t members = group.by_lists ? group.list_first.at(1) : group.size;
  return std::min(table.size() == members ? sum : sum / members, std::uint64_t{1} << 39);
}

}  // namespace exawarp::model
