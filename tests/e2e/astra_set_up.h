// A small set-up of ASTRA-sim in a directory of its own: one file a rank, and what it takes to run.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "io/chakra.pb.h"
#include "io/formats/chakra/record.h"
#include "tests/e2e/workspace.h"

namespace exawarp::tests {

// A node of a trace with integer attributes.
inline chakra::Node trace_node(
    std::uint64_t id, chakra::NodeType type,
    std::initializer_list<std::pair<const char*, std::int64_t>> attributes) {
  chakra::Node node;
  node.set_id(id);
  node.set_type(type);
  for (const auto& [name, value] : attributes) {
    chakra::Attribute& attribute = *node.add_attr();
    attribute.set_name(name);
    attribute.set_int64_val(value);
  }
  return node;
}

struct AstraSetUp {
  std::string system = R"("preferred-dataset-splits": 1, "local-mem-bw": 1600,
      "all-reduce-implementation": ["ring"])";  // besides the policy
  std::string network =
      "topology: [Ring]\nnpus_count: [2]\nbandwidth: [50.0]\nlatency: [500.0]\n";
  std::string memory = R"({"memory-type": "NO_MEMORY_EXPANSION"})";
  std::vector<std::vector<chakra::Node>> ranks{};
  std::vector<std::string> arguments{};

  [[nodiscard]] Ran run(const Workspace& workspace) const {
    write_traces(workspace, "t");
    workspace.write("sys.json", R"({"scheduling-policy": "LIFO", )" + system + "}");
    workspace.write("net.yml", network);
    workspace.write("mem.json", memory);
    std::vector<std::string> all{"astra", "--workload-configuration=t",
                                 "--system-configuration=sys.json",
                                 "--network-configuration=net.yml",
                                 "--remote-memory-configuration=mem.json"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return workspace.run(all);
  }

  void write_traces(const Workspace& workspace, const std::string& prefix) const {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      std::string bytes;
      io::append_record(chakra::GlobalMetadata(), bytes);
      for (const chakra::Node& node : ranks[rank]) io::append_record(node, bytes);
      workspace.write(prefix + "." + std::to_string(rank) + ".et", bytes);
    }
  }
};

}  // namespace exawarp::tests
