#include "io/report/node_name.h"

#include <fmt/format.h>

#include "core/names.h"
#include "model/workload/names.h"

namespace exawarp::io {

std::string name_of_node(const model::WorkloadGraph& graph,
                         const model::schema::Node::Reader& node) {
  std::string out = model::printable(graph.node_name(node));
  if (out.empty()) {
    out = node.getKind() == model::schema::NodeKind::COLLECTIVE
              ? core::name_of(node.getCollective())
              : core::name_of(node.getKind());
  }
  const std::string_view phase = core::name_of(node.getPhase());
  const bool says_it = out.find(phase) != std::string::npos;  // "norm.backward"
  if (node.getPhase() != model::schema::Phase::NONE && !says_it) {
    out = fmt::format("{} {}", phase, out);
  }
  if (node.getLayer() != model::kNoLayer) out += fmt::format(", layer {}", node.getLayer());
  if (node.getMicroBatch() != model::kNoMicroBatch) {
    out += fmt::format(", micro-batch {}", node.getMicroBatch());
  }
  return out;
}

}  // namespace exawarp::io
