// Writes nodes and edges of one device's program, or of each program, in two dialects; edges that
// only keep the order of a stream are dashed or marked as such.
#include "io/report/workload_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "core/units.h"
#include "io/report/append.h"
#include "io/report/workload_facts.h"
#include "model/workload/inspect.h"

namespace exawarp::io {
namespace {

namespace schema = model::schema;
using model::Program;

std::vector<std::uint32_t> drawn_programs(const model::WorkloadGraph& graph,
                                          std::optional<std::uint32_t> device) {
  std::vector<std::uint32_t> programs;
  if (device) {
    programs.push_back(graph.program_of(core::DeviceId{*device}));
  } else {
    for (std::uint32_t p = 0; p < graph.program_count(); ++p) programs.push_back(p);
  }
  std::uint64_t nodes = 0;
  for (const std::uint32_t p : programs) nodes += graph.program(p).node_count();
  if (nodes > kDrawnNodesMax) {
    throw core::InputError(graph.place(), fmt::format("{} nodes; expected at most {} in a drawing, "
                                                      "--device D takes one program",
                                                      nodes, kDrawnNodesMax));
  }
  return programs;
}

std::string type_of(const schema::Node::Reader& node) {
  return std::string(node.getKind() == schema::NodeKind::COLLECTIVE
                         ? core::name_of(node.getCollective())
                         : core::name_of(node.getKind()));
}

// What a node does, in a line.
std::string work_of(const schema::Node::Reader& node) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (node.getFlops() > 0) {
    add(with_unit(static_cast<double>(node.getFlops()), "FLOP"));
  }
  const std::uint64_t bytes = node.getBytesRead() + node.getBytesWritten() + node.getCommBytes();
  if (bytes > 0) add(core::format_bytes(bytes));
  if (node.getDurationPs() != schema::NO_DURATION) {
    add(core::format_time(core::Time{static_cast<std::int64_t>(node.getDurationPs())}));
  }
  return text;
}

// A line's quotes and backslashes for Graphviz.
std::string dot_text(std::string_view text) {
  std::string out;
  for (const char c : model::printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// Calls `edge(from, is_order)` for what `index` follows.
template <class Edge>
void for_each_edge(const Program& program, std::uint32_t index, const Edge& edge) {
  const schema::Node::Reader node = program.node(index);
  bool follows_stream = node.getPosition() == 0;
  for (std::uint32_t i = 0; i < node.getDependencyCount(); ++i) {
    const std::uint32_t from = program.dependency(node, i);
    const schema::Node::Reader other = program.node(from);
    follows_stream |=
        other.getStream() == node.getStream() && other.getPosition() + 1 == node.getPosition();
    edge(from, false);
  }
  if (!follows_stream) edge(program.node_at(node.getStream(), node.getPosition() - 1), true);
}

const char* colour_of(schema::NodeKind kind) {
  switch (kind) {
    case schema::NodeKind::COMPUTE:
      return "#cfe0f4";
    case schema::NodeKind::MEMORY:
      return "#e8ddf0";
    case schema::NodeKind::COLLECTIVE:
      return "#f6d9c4";
    case schema::NodeKind::SEND:
    case schema::NodeKind::RECEIVE:
      return "#f3e9b8";
    case schema::NodeKind::MARKER:
      break;
  }
  return "#eeeeee";
}

}  // namespace

std::string workload_dot(const model::WorkloadGraph& graph, std::optional<std::uint32_t> device) {
  std::string out =
      fmt::format("digraph \"{}\" {{\n  node [shape=box, style=filled];\n", dot_text(graph.name()));
  for (const std::uint32_t p : drawn_programs(graph, device)) {
    const Program& program = graph.program(p);
    append(out, "  subgraph cluster_{} {{\n    label=\"{}\";\n", p, dot_text(program.name()));
    for (std::uint32_t i = 0; i < program.node_count(); ++i) {
      const schema::Node::Reader node = program.node(i);
      append(out, "    p{}n{} [label=\"{}\\n{} {}\", fillcolor=\"{}\"];\n", p, i,
             dot_text(graph.node_name(node)), type_of(node), work_of(node),
             colour_of(node.getKind()));
    }
    out += "  }\n";
    for (std::uint32_t i = 0; i < program.node_count(); ++i) {
      for_each_edge(program, i, [&](std::uint32_t from, bool is_order) {
        append(out, "  p{}n{} -> p{}n{}{};\n", p, from, p, i, is_order ? " [style=dashed]" : "");
      });
    }
  }
  return out + "}\n";
}

std::string workload_graphml(const model::WorkloadGraph& graph,
                             std::optional<std::uint32_t> device) {
  std::string out =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n";
  for (const char* key : {"name", "type", "stream"}) {
    out += fmt::format("  <key id=\"{0}\" for=\"node\" attr.name=\"{0}\" attr.type=\"string\"/>\n",
                       key);
  }
  for (const char* key : {"flops", "bytes", "duration_ps"}) {
    out +=
        fmt::format("  <key id=\"{0}\" for=\"node\" attr.name=\"{0}\" attr.type=\"long\"/>\n", key);
  }
  out += "  <key id=\"kind\" for=\"edge\" attr.name=\"kind\" attr.type=\"string\"/>\n";
  for (const std::uint32_t p : drawn_programs(graph, device)) {
    const Program& program = graph.program(p);
    append(out, "  <graph id=\"p{}\" edgedefault=\"directed\">\n", p);
    for (std::uint32_t i = 0; i < program.node_count(); ++i) {
      const schema::Node::Reader node = program.node(i);
      append(out,
             "    <node id=\"p{}n{}\"><data key=\"name\">{}</data><data key=\"type\">{}"
             "</data><data key=\"stream\">{}</data><data key=\"flops\">{}</data>"
             "<data key=\"bytes\">{}</data>",
             p, i, xml_text(model::printable(graph.node_name(node))), type_of(node),
             xml_text(model::printable(program.stream_name(node.getStream()))), node.getFlops(),
             node.getBytesRead() + node.getBytesWritten() + node.getCommBytes());
      if (node.getDurationPs() != schema::NO_DURATION) {
        append(out, "<data key=\"duration_ps\">{}</data>", node.getDurationPs());
      }
      out += "</node>\n";
    }
    for (std::uint32_t i = 0; i < program.node_count(); ++i) {
      for_each_edge(program, i, [&](std::uint32_t from, bool is_order) {
        append(out,
               "    <edge source=\"p{}n{}\" target=\"p{}n{}\"><data key=\"kind\">{}</data>"
               "</edge>\n",
               p, from, p, i, is_order ? "order" : "data");
      });
    }
    out += "  </graph>\n";
  }
  return out + "</graphml>\n";
}

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&apos;";
        break;
      default:
        out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return out;
}

}  // namespace exawarp::io
