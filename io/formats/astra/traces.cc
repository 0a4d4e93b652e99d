// A rank's trace becomes arrays of nodes with their children, in the order of the file. Files are
// hashed first, and ranks whose files are equal point to one trace.
#include "io/formats/astra/traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/check.h"
#include "core/error.h"
#include "core/mapped_file.h"
#include "io/formats/chakra/reader.h"

namespace exawarp::io {
namespace {

using core::InputError;
using model::astra::CollectiveKind;
using model::astra::CommGroup;
using model::astra::NodeKind;
using model::astra::Trace;
using model::astra::TraceNode;

constexpr std::uint64_t kRanksMax = 1u << 28;

TraceNode convert(const chakra::Node& node, const std::string& place) {
  const NodeAttributes attributes(node, place);
  TraceNode out{.id = node.id(), .duration_us = node.duration_micros()};
  const int type = node.type();
  if (type < 0 || type > 7) {
    attributes.refuse(fmt::format("type {}; expected 0 to 7", type));
  }
  out.kind = static_cast<NodeKind>(type);
  out.host = attributes.integer("is_cpu_op").value_or(0) != 0;
  const auto number = [&](const char* name, std::uint64_t& value, bool& given) {
    const std::optional<std::uint64_t> found = attributes.integer(name);
    given = found.has_value();
    value = found.value_or(0);
  };
  number("num_ops", out.num_ops, out.has_ops);
  number("tensor_size", out.tensor_bytes, out.has_tensor);
  number("comm_size", out.comm_bytes, out.has_bytes);
  if (out.kind == NodeKind::collective) {
    out.collective = static_cast<CollectiveKind>(attributes.integer("comm_type", 0xfe)
                                                     .value_or(0xff));
    out.priority = static_cast<std::uint32_t>(
        attributes.integer("comm_priority", 0x7fffffff).value_or(0));
    out.involved = attributes.bits("involved_dim").value_or(model::astra::kAllDimensions);
    out.group = attributes.group();
  } else if (out.kind == NodeKind::send || out.kind == NodeKind::receive) {
    const bool send = out.kind == NodeKind::send;
    const auto rank = [&](const char* name) {
      return static_cast<std::uint32_t>(
          attributes.integer(name, kRanksMax).value_or(model::astra::kNoRank));
    };
    out.peer = rank(send ? "comm_dst" : "comm_src");
    out.owner = rank(send ? "comm_src" : "comm_dst");
    number("comm_tag", out.tag, out.has_tag);
  }
  return out;
}

struct Loaded {
  std::shared_ptr<Trace> trace;
  std::vector<CommunicatorList> groups;
};

// Dependencies by index, as the children of each node.
void link(Trace& trace, const std::vector<std::pair<std::uint64_t, std::uint64_t>>& edges) {
  std::vector<TraceNode>& nodes = trace.nodes;
  std::ranges::sort(nodes, {}, &TraceNode::id);
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    if (nodes[i].id == nodes[i - 1].id) {
      throw InputError(trace.place, fmt::format("node {} is there twice", nodes[i].id));
    }
  }
  const auto index_of = [&](std::uint64_t id) {
    const auto found = std::ranges::lower_bound(nodes, id, {}, &TraceNode::id);
    return found != nodes.end() && found->id == id
               ? static_cast<std::uint32_t>(found - nodes.begin())
               : 0xffffffffu;
  };
  std::vector<std::pair<std::uint32_t, std::uint32_t>> links;
  links.reserve(edges.size());
  for (const auto& [parent, child] : edges) {
    const std::uint32_t at = index_of(parent);
    if (at == 0xffffffffu) {
      throw InputError(trace.place, fmt::format("node {} depends on node {}, which is not in the "
                                                "file", child, parent));
    }
    links.emplace_back(at, index_of(child));
  }
  std::ranges::sort(links);  // a dependency that is given twice counts once
  links.erase(std::unique(links.begin(), links.end()), links.end());
  for (const auto& [parent, child] : links) {
    EXAWARP_CHECK(child < nodes.size(), trace.place, child);  // an edge ends at a node of the file
    if (nodes[parent].child_count++ == 0) {
      nodes[parent].first_child = static_cast<std::uint32_t>(trace.children.size());
    }
    trace.children.push_back(child);
    ++nodes[child].dependency_count;
  }
}

Loaded load(const std::string& path, std::string_view bytes) {
  Loaded loaded{std::make_shared<Trace>(), {}};
  loaded.trace->place = path;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> edges;
  read_trace(bytes, path, {.metadata = {}, .node = [&](const chakra::Node& node) {
    loaded.trace->nodes.push_back(convert(node, path));
    for (const std::uint64_t id : node.data_deps()) edges.emplace_back(id, node.id());
    for (const std::uint64_t id : node.ctrl_deps()) edges.emplace_back(id, node.id());
    if (node.type() == chakra::METADATA_NODE) {
      for (CommunicatorList& group : groups_of_metadata(node, path)) {
        loaded.groups.push_back(std::move(group));
      }
    }
  }});
  link(*loaded.trace, edges);
  return loaded;
}

// 128 bits, so that two files with one hash are the same file.
std::pair<std::uint64_t, std::uint64_t> hash_of(std::string_view bytes) {
  std::uint64_t a = 0xcbf29ce484222325u, b = 0x9e3779b97f4a7c15u;
  for (const char c : bytes) {
    a = (a ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    b = (b + static_cast<unsigned char>(c)) * 0xd6e8feb86659fd93u;
    b ^= b >> 29;
  }
  return {a, b};
}

}  // namespace

void add_astra_group(std::uint32_t id, std::vector<std::uint32_t> members, std::uint32_t ranks,
                     const std::string& place, std::map<std::uint32_t, CommGroup>& groups) {
  if (id == 0) return;  // all ranks
  if (members.empty()) {
    members.resize(ranks);
    std::iota(members.begin(), members.end(), 0u);
  }
  const auto [at, is_new] = groups.try_emplace(id);
  if (is_new) {
    at->second.id = id;
    at->second.members = std::move(members);
    at->second.index();
  } else if (at->second.members != members) {
    throw InputError(place, fmt::format("group {} is defined twice, differently", id));
  }
}

std::vector<std::shared_ptr<const Trace>> read_astra_traces(
    const std::string& prefix, std::uint32_t ranks, std::map<std::uint32_t, CommGroup>& groups) {
  std::vector<std::shared_ptr<const Trace>> traces;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::shared_ptr<const Trace>> known;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::string path = trace_path(prefix, rank);
    const core::MappedFile file(path);
    const std::string_view bytes(reinterpret_cast<const char*>(file.bytes().data()),
                                 file.bytes().size());
    std::shared_ptr<const Trace>& shared = known[hash_of(bytes)];
    if (shared == nullptr) {
      Loaded loaded = load(path, bytes);
      for (CommunicatorList& group : loaded.groups) {
        add_astra_group(group.id, std::move(group.ranks), ranks, path, groups);
      }
      shared = std::move(loaded.trace);
    }
    EXAWARP_CHECK(shared != nullptr, path);
    traces.push_back(shared);
  }
  return traces;
}

}  // namespace exawarp::io
