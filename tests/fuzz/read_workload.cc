#include "tests/fuzz/read_workload.h"

#include <algorithm>

#include "core/check.h"
#include "model/workload/inspect.h"
#include "model/workload/validate.h"

namespace exawarp::fuzz {

using model::Membership;
using model::Program;
using model::WorkloadGraph;
namespace schema = model::schema;

std::uint64_t read_workload(const WorkloadGraph& graph) {
  std::uint64_t sum = find_unmatched(graph).size() + inspect(graph).programs.size();
  for (std::uint32_t p = 0; p < graph.program_count(); ++p) {
    const Program& program = graph.program(p);
    for (std::uint32_t s = 0; s < program.stream_count(); ++s) {
      for (std::uint32_t i = 0; i < program.stream_length(s); ++i) {
        const auto node = program.node(program.node_at(s, i));
        sum += graph.node_name(node).size() + node.getFlops();
        for (std::uint32_t d = 0; d < node.getDependencyCount(); ++d) {
          sum += program.node(program.dependency(node, d)).getPosition();
        }
      }
    }
  }
  const std::uint32_t devices = std::min(graph.device_count(), 256u);
  for (std::uint32_t device = 0; device < devices; ++device) {
    const Program& program = graph.program(graph.program_of({device}));
    for (std::uint32_t i = 0; i < program.node_count(); ++i) {
      const auto node = program.node(i);
      if (node.getKind() == schema::NodeKind::COLLECTIVE) {
        const Membership place = graph.membership(node.getGroup(), {device});
        EXAWARP_CHECK(graph.member(node.getGroup(), {device}, place.position).value == device);
        sum += graph.member(node.getGroup(), {device}, place.size - 1).value;
      } else if (node.getKind() == schema::NodeKind::SEND) {
        EXAWARP_CHECK(graph.peer(node, {device}).value < graph.device_count(), device);
        EXAWARP_CHECK(graph.peer(node, {device}).value != device, device);
      }
    }
  }
  return sum;
}

}  // namespace exawarp::fuzz
