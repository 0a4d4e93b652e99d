// Exit codes of `exawarp goal` and `exawarp astra`: done, bad input, deadlock.
#include <gtest/gtest.h>

#include "tests/e2e/astra_set_up.h"

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
    return AstraSetUp{.ranks = {{first}, {second}}}.run(workspace_);
  }

  static chakra::Node message(bool send, std::int64_t bytes, std::int64_t peer) {
    return trace_node(5, send ? chakra::COMM_SEND_NODE : chakra::COMM_RECV_NODE,
                      {{"comm_size", bytes}, {"comm_tag", 3},
                       {send ? "comm_dst" : "comm_src", peer}});
  }
  static chakra::Node send(std::int64_t bytes) { return message(true, bytes, 1); }
  static chakra::Node receive(std::int64_t bytes) { return message(false, bytes, 0); }

  const Workspace workspace_;
};

TEST_F(ExitCodes, AScheduleThatEndsIsDone) {
  const Ran ran =
      goal("num_ranks 2\nrank 0 { send 8b to 1 tag 1 }\nrank 1 { recv 8b from 0 tag 1 }\n");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
}

TEST_F(ExitCodes, AGoalOperationWaitsForAllThatItRequiresUnlessAsLogGopsim) {
  workspace_.write("s.goal",
                   "num_ranks 1\nrank 0 {\na: calc 100 cpu 0\nb: calc 50 cpu 1\n"
                   "c: calc 10 cpu 2\nc requires a\nc requires b\n}\n");
  const Ran right = workspace_.run({"goal", "s.goal"});
  EXPECT_NE(right.out.find("finish max   110 ns"), std::string::npos) << right.out;
  const Ran as_it = workspace_.run({"goal", "s.goal", "--as-loggopsim"});
  EXPECT_EQ(as_it.exit_code, 0) << as_it.err;
  EXPECT_NE(as_it.out.find("finish max   100 ns"), std::string::npos) << as_it.out;
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
  const Ran ran = astra(send(1'000), receive(1'000));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  // 500 ns and 1,000 B at 50 * 2^30 B/s.
  EXPECT_NE(ran.out.find("sys[1] finished, 518 cycles"), std::string::npos) << ran.out;
}

TEST_F(ExitCodes, UnequalSizesAreADeadlockWithNames) {
  const Ran ran = astra(send(1'000), receive(1'001));
  EXPECT_EQ(ran.exit_code, 3);
  // The send ends when its message arrives, received or not.
  EXPECT_EQ(ran.err,
            "deadlock at 518 ns: 1 of 2 ranks did not finish\n"
            "  rank 1: receive node 5 waits for rank 0 (tag 3, 1001 B)\n");
}

TEST_F(ExitCodes, ASetUpWithAnUnknownPeerIsBadInput) {
  const Ran ran = astra(message(true, 1'000, 2), receive(1'000));
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_TRUE(ran.err.starts_with("t.0.et: node 5")) << ran.err;
}

}  // namespace
}  // namespace exawarp::tests
