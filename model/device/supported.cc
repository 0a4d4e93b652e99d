#include "model/device/supported.h"

#include <fmt/core.h>

#include <map>
#include <tuple>

#include "core/error.h"
#include "model/workload/validate_program.h"

namespace exawarp::model {
namespace {

// Where a program's receives are: stream by (peer axis, peer, tag).
using Receivers = std::map<std::tuple<std::uint32_t, std::int32_t, std::uint32_t>, std::uint32_t>;

void check_receive(const WorkloadGraph& graph, std::uint32_t program, std::uint32_t index,
                   const schema::Node::Reader& node, Receivers& receivers) {
  const auto [it, fresh] = receivers.try_emplace(
      {node.getPeerAxis(), node.getPeer(), node.getTag()}, node.getStream());
  if (fresh || it->second == node.getStream()) return;
  throw core::InputError(
      node_place(graph, program, index),
      fmt::format("receives from a peer and with a tag that stream {} receives too, so which "
                  "message is whose is open: tag {}; expected another tag",
                  it->second, node.getTag()));
}

}  // namespace

std::string node_place(const WorkloadGraph& graph, std::uint32_t program, std::uint32_t node) {
  std::string place = fmt::format("{} nodes[{}]", program_place(graph, program), node);
  const std::string name = graph.node_name(graph.program(program).node(node));
  if (!name.empty()) place += fmt::format(" \"{}\"", printable(name));
  return place;
}

void check_supported(const WorkloadGraph& graph) {
  for (std::uint32_t p = 0; p < graph.program_count(); ++p) {
    const Program& program = graph.program(p);
    Receivers receivers;
    for (std::uint32_t index = 0; index < program.node_count(); ++index) {
      const auto node = program.node(index);
      if (node.getKind() == schema::NodeKind::RECEIVE) {
        check_receive(graph, p, index, node, receivers);
      }
    }
  }
}

}  // namespace exawarp::model
