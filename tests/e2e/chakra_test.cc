// Chakra traces in and out, and the errors of both commands that read them.
#include <gtest/gtest.h>

#include <fstream>

#include "io/chakra.pb.h"
#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

using chakra::Node;

void put(const std::string& path, const std::vector<Node>& nodes) {
  std::ofstream out(path, std::ios::binary);
  const auto record = [&](const google::protobuf::MessageLite& message) {
    const std::string bytes = message.SerializeAsString();
    ASSERT_LT(bytes.size(), 128u);  // one byte of length
    out << static_cast<char>(bytes.size()) << bytes;
  };
  chakra::GlobalMetadata metadata;
  metadata.set_version("0.0.4");
  record(metadata);
  for (const Node& node : nodes) record(node);
}

void set(Node& node, const char* name, std::int64_t value) {
  chakra::Attribute& attribute = *node.add_attr();
  attribute.set_name(name);
  attribute.set_int64_val(value);
}

Node compute(std::uint64_t id, std::int64_t ops, std::int64_t bytes) {
  Node node;
  node.set_id(id);
  node.set_type(chakra::COMP_NODE);
  set(node, "num_ops", ops);
  set(node, "tensor_size", bytes);
  return node;
}

Node message(std::uint64_t id, bool send, std::int64_t peer, std::int64_t tag) {
  Node node;
  node.set_id(id);
  node.set_type(send ? chakra::COMM_SEND_NODE : chakra::COMM_RECV_NODE);
  set(node, send ? "comm_dst" : "comm_src", peer);
  set(node, "comm_tag", tag);
  set(node, "comm_size", 1'000);
  return node;
}

Node collective(std::uint64_t id, const char* group) {
  Node node;
  node.set_id(id);
  node.set_type(chakra::COMM_COLL_NODE);
  set(node, "comm_type", 0);
  set(node, "comm_size", 4'096);
  chakra::Attribute& attribute = *node.add_attr();
  attribute.set_name("pg_name");
  attribute.set_string_val(group);
  return node;
}

const std::vector<std::string> kImport{"workload", "import", "chakra", "t", "-o", "t.xwg"};

std::vector<std::string> import_with(std::initializer_list<std::string> more) {
  std::vector<std::string> arguments = kImport;
  arguments.insert(arguments.end(), more);
  return arguments;
}

TEST(Chakra, RanksThatDifferInPeerTagAndGroupShareOneProgram) {
  const Workspace workspace;
  // Ranks 0 and 1 send to 2 and 3, each pair with a tag of its own; pairs reduce.
  for (int rank = 0; rank < 4; ++rank) {
    const bool sends = rank < 2;
    Node reduce = collective(3, rank % 2 == 0 ? "1" : "2");
    reduce.add_data_deps(8);
    put("t." + std::to_string(rank) + ".et",
        {reduce, message(8, sends, sends ? rank + 2 : rank - 2, 70 + rank % 2)});
  }
  workspace.write("groups.json", R"({"1": [0, 2], "2": [1, 3]})");
  const Ran ran = workspace.run(import_with({"--comm-groups", "groups.json"}));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("4 ranks, 2 programs; 4 nodes of 8 kept, 50.0 % shared; 2 communicators "
                         "in 1 families"), std::string::npos) << ran.out;
  EXPECT_EQ(workspace.run({"workload", "validate", "t.xwg"}).exit_code, 0);

  ASSERT_EQ(workspace.run({"workload", "export", "chakra", "t.xwg", "-o", "u"}).exit_code, 0);
  EXPECT_EQ(workspace.read("u.comm_groups.json"), "{\"1\":[0,2],\"2\":[1,3]}\n");
  ASSERT_EQ(workspace.run({"workload", "import", "chakra", "u", "--comm-groups",
                           "u.comm_groups.json", "-o", "u.xwg"}).exit_code, 0);
  const Ran same = workspace.run({"workload", "diff", "t.xwg", "u.xwg"});
  EXPECT_EQ(same.exit_code, 0) << same.out;
  EXPECT_EQ(same.out, "");
}

TEST(Chakra, DiffSaysWhereGraphsDiffer) {
  const Workspace workspace;
  put("t.0.et", {compute(1, 100, 8)});
  ASSERT_EQ(workspace.run(kImport).exit_code, 0);
  ASSERT_EQ(workspace.run({"workload", "import", "chakra", "t", "-o", "u.xwg", "--element-bytes",
                           "2"}).exit_code, 0);
  const Ran ran = workspace.run({"workload", "diff", "t.xwg", "u.xwg"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.out, "device 0: stream 0 position 0: bytesRead 8 against 16\n");
}

TEST(Chakra, ControlDependenciesThatAreACallTreeAreNotUsed) {
  const Workspace workspace;
  Node node = compute(4, 100, 8);
  node.add_ctrl_deps(4);  // itself
  node.add_ctrl_deps(3);  // not there
  put("t.0.et", {node});
  const Ran ran = workspace.run(kImport);
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_NE(ran.err.find("control dependencies of 1 ranks"), std::string::npos) << ran.err;
  const Ran used = workspace.run(import_with({"--ctrl-deps", "use"}));
  EXPECT_EQ(used.exit_code, 2);
}

TEST(Chakra, ErrorsNameFileAndNode) {
  const Workspace workspace;
  const auto error_of = [&](const std::vector<Node>& nodes) {
    put("t.0.et", nodes);
    const Ran ran = workspace.run(kImport);
    EXPECT_EQ(ran.exit_code, 2);
    return ran.err;
  };
  Node dangling = compute(2, 1, 1);
  dangling.add_data_deps(1);
  EXPECT_EQ(error_of({dangling}), "t.0.et: node 2 depends on node 1, which is not in the file; "
                                  "--drop-dangling goes on without\n");
  EXPECT_EQ(workspace.run(import_with({"--drop-dangling"})).exit_code, 0);
  EXPECT_EQ(error_of({compute(2, 1, 1), compute(2, 1, 1)}), "t.0.et: node 2 is there twice\n");
  EXPECT_EQ(error_of({compute(2, -1, 1)}), "t.0.et: node 2: attribute num_ops is negative\n");
  EXPECT_EQ(error_of({message(7, true, 0, 1)}),
            "t.0.et: node 7: comm_dst 0 of rank 0; expected another rank below 1\n");
  EXPECT_EQ(error_of({collective(6, "12")}),
            "t.0.et: group 12 is not defined; expected it in --comm-groups or a METADATA node\n");
  Node a = compute(1, 1, 1), b = compute(2, 1, 1);
  a.add_data_deps(2);
  b.add_data_deps(1);
  EXPECT_EQ(error_of({a, b}), "t.0.et: node 1 is part of, or behind, a cycle of dependencies\n");
  workspace.write("t.0.et", "\x7f");
  EXPECT_EQ(workspace.run(kImport).err,
            "t.0.et: byte 0: the record is cut off or has no valid length; expected Chakra "
            "records\n");
}

// Elements of two bytes, multiply-adds, a collective's output, control dependencies not used.
TEST(Chakra, AnExportSaysHowItsTracesCount) {
  const Workspace workspace;
  const std::vector<std::string> counting{"--element-bytes", "2", "--macs", "--comm-size",
                                          "output", "--ctrl-deps", "ignore"};
  Node product = compute(1, 100, 8);
  chakra::Attribute& type = *product.add_attr();
  type.set_name("op_type");
  type.set_string_val("M");
  Node gather = collective(2, "");
  gather.mutable_attr(0)->set_int64_val(2);  // an all-gather
  gather.add_ctrl_deps(1);
  for (const char* file : {"t.0.et", "t.1.et"}) put(file, {product, gather});
  std::vector<std::string> arguments = kImport;
  arguments.insert(arguments.end(), counting.begin(), counting.end());
  ASSERT_EQ(workspace.run(arguments).exit_code, 0);
  for (const char* format : {"chakra", "json"}) {
    ASSERT_EQ(workspace.run({"workload", "export", format, "t.xwg", "-o", format}).exit_code, 0);
    const std::vector<std::string> again{"workload", "import", "chakra", format, "-o", "u.xwg"};
    const Ran ran = workspace.run(again);
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    const Ran same = workspace.run({"workload", "diff", "t.xwg", "u.xwg"});
    EXPECT_EQ(same.exit_code, 0) << same.out;

    arguments = again;
    arguments.insert(arguments.end(), counting.begin(), counting.end());
    EXPECT_EQ(workspace.run(arguments).exit_code, 0);
    arguments = again;
    arguments.insert(arguments.end(), {"--element-bytes", "4"});
    const Ran other = workspace.run(arguments);
    EXPECT_EQ(other.exit_code, 2);
    EXPECT_NE(other.err.find("--element-bytes: the trace says that it counts otherwise"),
              std::string::npos) << other.err;
  }
}

TEST(Chakra, AnExportIntoAFolderThatIsNotThereSaysSo) {
  const Workspace workspace;
  put("t.0.et", {compute(1, 100, 8)});
  ASSERT_EQ(workspace.run(kImport).exit_code, 0);
  for (const char* format : {"chakra", "json"}) {
    const Ran ran = workspace.run({"workload", "export", format, "t.xwg", "-o", "none/such/u"});
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_EQ(ran.err, "none/such/u: there is no folder \"none/such\"; expected one to write the "
                       "traces into\n");
  }
  EXPECT_FALSE(workspace.has("none"));
}

TEST(Chakra, WhatTheGeneratorMakesComesBackAsItWas) {
  const Workspace workspace;
  workspace.write("w.yaml", small_workload());
  ASSERT_EQ(workspace.run({"workload", "generate", "w.yaml", "-o", "g.xwg"}).exit_code, 0);
  ASSERT_EQ(workspace.run({"workload", "export", "chakra", "g.xwg", "-o", "t"}).exit_code, 0);
  const Ran back = workspace.run(import_with({"--comm-groups", "t.comm_groups.json"}));
  ASSERT_EQ(back.exit_code, 0) << back.err;
  const Ran same = workspace.run({"workload", "diff", "g.xwg", "t.xwg"});
  EXPECT_EQ(same.exit_code, 0) << same.out;
}

}  // namespace
}  // namespace exawarp::tests
