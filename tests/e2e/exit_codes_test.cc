// Exit codes of `exawarp goal` and `exawarp astra`: done, bad input, deadlock.
#include <gtest/gtest.h>

#include <fstream>

#include "io/chakra.pb.h"
#include "io/chakra/record.h"
#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

class ExitCodes : public testing::Test {
 protected:
  [[nodiscard]] Ran goal(const std::string& schedule) const {
    workspace_.write("s.goal", schedule);
    return workspace_.run({"goal", "s.goal", "--threads", "1"});
  }

  // Two ranks on a ring; each has one node.
  [[nodiscard]] Ran astra(const chakra::Node& first, const chakra::Node& second) const {
    const chakra::Node* const nodes[] = {&first, &second};
    for (int rank = 0; rank < 2; ++rank) {
      std::string bytes;
      io::append_record(chakra::GlobalMetadata(), bytes);
      io::append_record(*nodes[rank], bytes);
      workspace_.write("t." + std::to_string(rank) + ".et", bytes);
    }
    workspace_.write("net.yml",
                     "topology: [Ring]\nnpus_count: [2]\nbandwidth: [50.0]\nlatency: [500.0]\n");
    workspace_.write("sys.json", R"({"scheduling-policy": "LIFO", "preferred-dataset-splits": 1,
      "local-mem-bw": 1600, "all-reduce-implementation": ["ring"]})");
    workspace_.write("mem.json", R"({"memory-type": "NO_MEMORY_EXPANSION"})");
    return workspace_.run({"astra", "--workload-configuration=t", "--system-configuration=sys.json",
                           "--network-configuration=net.yml",
                           "--remote-memory-configuration=mem.json"});
  }

  static chakra::Node message(bool send, std::int64_t bytes) {
    chakra::Node node;
    node.set_id(5);
    node.set_type(send ? chakra::COMM_SEND_NODE : chakra::COMM_RECV_NODE);
    const auto set = [&](const char* name, std::int64_t value) {
      chakra::Attribute& attribute = *node.add_attr();
      attribute.set_name(name);
      attribute.set_int64_val(value);
    };
    set("comm_size", bytes);
    set("comm_tag", 3);
    set(send ? "comm_dst" : "comm_src", send ? 1 : 0);
    return node;
  }

  const Workspace workspace_;
};

TEST_F(ExitCodes, AScheduleThatEndsIsDone) {
  const Ran ran =
      goal("num_ranks 2\nrank 0 { send 8b to 1 tag 1 }\nrank 1 { recv 8b from 0 tag 1 }\n");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
}

TEST_F(ExitCodes, AScheduleThatWaitsForeverIsADeadlockWithNames) {
  const Ran ran =
      goal("num_ranks 2\nrank 0 { send 8b to 1 tag 1 }\nrank 1 { recv 8b from 0 tag 2 }\n");
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_NE(ran.err.find("rank 1: operation 0 (receive 8 bytes from rank 0, tag 2)"),
            std::string::npos)
      << ran.err;
}

TEST_F(ExitCodes, AScheduleThatCannotBeReadIsBadInputWithItsLine) {
  const Ran ran = goal("num_ranks 2\nrank 0 { send 8b too 1 }\n");
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_TRUE(ran.err.starts_with("s.goal:2")) << ran.err;
}

TEST_F(ExitCodes, ASetUpThatEndsIsDone) {
  const Ran ran = astra(message(true, 1'000), message(false, 1'000));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  // 500 ns and 1,000 B at 50 * 2^30 B/s.
  EXPECT_NE(ran.out.find("sys[1] finished, 518 cycles"), std::string::npos) << ran.out;
}

TEST_F(ExitCodes, UnequalSizesAreADeadlockWithNames) {
  const Ran ran = astra(message(true, 1'000), message(false, 1'001));
  EXPECT_EQ(ran.exit_code, 3);
  // The send ends when its message arrives, received or not.
  EXPECT_EQ(ran.err,
            "deadlock at 518 ns: 1 of 2 ranks did not finish\n"
            "  rank 1: receive node 5 waits for rank 0 (tag 3, 1001 B)\n");
}

TEST_F(ExitCodes, ASetUpWithAnUnknownPeerIsBadInput) {
  chakra::Node send = message(true, 1'000);
  for (chakra::Attribute& a : *send.mutable_attr()) {
    if (a.name() == "comm_dst") a.set_int64_val(2);
  }
  const Ran ran = astra(send, message(false, 1'000));
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_TRUE(ran.err.starts_with("t.0.et: node 5")) << ran.err;
}

}  // namespace
}  // namespace exawarp::tests
