// --time-limit: counts from the program's start, set-up included, in every command that simulates.
// A nanosecond is always over before set-up is, and what is cut short below would take minutes.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/e2e/astra_set_up.h"
#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

void expect_out_of_time(const Ran& ran, const std::string& file) {
  EXPECT_EQ(ran.exit_code, 4) << ran.out << ran.err;
  EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
  EXPECT_TRUE(ran.err.starts_with(file + ": host time ran out after ")) << ran.err;
  EXPECT_NE(ran.err.find("(--time-limit)"), std::string::npos) << ran.err;
}

const std::string kPingPong = R"(num_ranks 2
rank 0 {
l1: send 8b to 1 tag 1
l2: recv 8b from 1 tag 2
}
rank 1 {
l1: recv 8b from 0 tag 1
l2: send 8b to 0 tag 2
l2 requires l1
}
)";

AstraSetUp one_all_reduce() {
  AstraSetUp set_up;
  const auto collective =
      trace_node(1, chakra::COMM_COLL_NODE, {{"comm_type", 0}, {"comm_size", 1 << 20}});
  set_up.ranks = {{collective}, {collective}};
  return set_up;
}

class TimeLimit : public testing::Test {
 protected:
  TimeLimit() {
    workspace.write("study.yaml", small_study());
    workspace.write("workload.yaml", small_workload());
    workspace.write("x.goal", kPingPong);
    workspace.write("traffic.yaml", R"(study: small
devices: 64
fabric: {topology: {kind: single_switch, link: {bandwidth: 1 GB/s, latency: 1 us},
                    switch_latency: 1 us, endpoint_latency: 1 us}}
traffic: {pattern: permutation, messages: 1000000, size: 100 MB}
)");
  }
  const Workspace workspace;
};

TEST_F(TimeLimit, CoversTheSetUpOfARun) {
  expect_out_of_time(workspace.run({"run", "study.yaml", "--time-limit", "1e-9"}), "study.yaml");
  EXPECT_FALSE(workspace.has("results"));
}

TEST_F(TimeLimit, InTheStudyCoversItsSetUp) {
  expect_out_of_time(workspace.run({"run", "study.yaml", "--set", "engine.time_limit_s=1e-9"}),
                     "study.yaml");
}

TEST_F(TimeLimit, CoversTheSetUpOfTraffic) {
  expect_out_of_time(workspace.run({"traffic", "traffic.yaml", "--time-limit", "1e-9"}),
                     "traffic.yaml");
}

TEST_F(TimeLimit, CoversTheSetUpOfGoal) {
  expect_out_of_time(workspace.run({"goal", "x.goal", "--time-limit", "1e-9"}), "x.goal");
}

TEST_F(TimeLimit, CoversTheSetUpOfAstra) {
  AstraSetUp set_up = one_all_reduce();
  set_up.arguments = {"--time-limit=1e-9"};
  expect_out_of_time(set_up.run(workspace), "sys.json");
}

TEST_F(TimeLimit, CutsTrafficShort) {
  for (const char* mode : {"sequential", "optimistic"}) {
    expect_out_of_time(workspace.run({"traffic", "traffic.yaml", "--sync", mode, "--threads", "1",
                                      "--time-limit", "0.1"}),
                       "traffic.yaml");
  }
}

TEST_F(TimeLimit, CutsGoalShort) {
  // Two ranks that send to each other by turns, 100,000 times.
  std::string schedule = "num_ranks 2\n";
  for (int rank = 0; rank < 2; ++rank) {
    schedule += "rank " + std::to_string(rank) + " {\n";
    for (int i = 0; i < 100'000; ++i) {
      const std::string peer = std::to_string(1 - rank), n = std::to_string(i);
      schedule += "a" + n + (i % 2 == rank ? ": send 8b to " : ": recv 8b from ") + peer + "\n";
      if (i > 0) schedule += "a" + n + " requires a" + std::to_string(i - 1) + "\n";
    }
    schedule += "}\n";
  }
  workspace.write("long.goal", schedule);
  expect_out_of_time(
      workspace.run({"goal", "long.goal", "--sync", "sequential", "--time-limit", "0.05"}),
      "long.goal");
}

TEST_F(TimeLimit, CutsAstraShort) {
  AstraSetUp set_up = one_all_reduce();  // 64 ranks x 1,000 chunks x 126 steps
  set_up.ranks.resize(64, set_up.ranks.front());
  set_up.network = "topology: [Ring]\nnpus_count: [64]\nbandwidth: [50.0]\nlatency: [500.0]\n";
  set_up.system = R"("preferred-dataset-splits": 1000, "local-mem-bw": 1600,
      "all-reduce-implementation": ["ring"])";
  set_up.arguments = {"--time-limit=0.3"};
  expect_out_of_time(set_up.run(workspace), "sys.json");
}

TEST_F(TimeLimit, ThatIsLongEnoughChangesNothing) {
  EXPECT_EQ(workspace.run({"run", "study.yaml", "--time-limit", "1e6"}).exit_code, 0);
  EXPECT_EQ(workspace.run({"goal", "x.goal", "--time-limit", "1e6"}).exit_code, 0);
  AstraSetUp set_up = one_all_reduce();
  set_up.arguments = {"--time-limit=1e6"};
  EXPECT_EQ(set_up.run(workspace).exit_code, 0);
}

}  // namespace
}  // namespace exawarp::tests
