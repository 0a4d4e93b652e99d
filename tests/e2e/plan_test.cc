// `exawarp plan` through the program's commands: what it prints, that it leaves nothing behind, and
// errors. How long anything takes is of no concern here.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;

class PlanCommand : public testing::Test {
 protected:
  PlanCommand() {
    workspace.write("study.yaml", small_study());
    workspace.write("workload.yaml", small_workload());
  }
  json plan(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "plan");
    arguments.emplace_back("--json");
    const Ran ran = workspace.run(arguments);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return ran.exit_code == 0 ? json::parse(ran.out) : json{};
  }
  std::string error(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "plan");
    const Ran ran = workspace.run(arguments);
    EXPECT_EQ(ran.exit_code, 2) << ran.out;
    return ran.err;
  }
  const Workspace workspace;
};

const std::vector<std::string> kPhold{"--lps",    "256", "--start-events", "2",
                                      "--remote", "0.5", "--end",          "20"};

std::vector<std::string> phold(const std::vector<std::string>& more) {
  std::vector<std::string> all = kPhold;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::size_t files_here() {
  const std::filesystem::recursive_directory_iterator all(".");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST_F(PlanCommand, SaysWhatIsDocumented) {
  const json p = plan({"study.yaml", "--ranks", "2", "--threads", "2"});
  EXPECT_EQ(p["schema"], "exawarp-plan-1");
  EXPECT_EQ(p["study"], "tiny");
  EXPECT_EQ(p["ranks"], 2);
  EXPECT_EQ(p["threads"], 2);
  EXPECT_EQ(p["hosts"], 1);
  EXPECT_TRUE(p["sample"]["whole"]);
  EXPECT_EQ(p["events"], p["sample"]["committed_events"]);
  for (const char* const key : {"setup_s", "run_s", "events_per_s", "memory_of_a_rank_bytes"}) {
    EXPECT_GT(p[key], 0) << key;
  }
  EXPECT_EQ(p["memory_of_a_host_bytes"], p["memory_of_a_rank_bytes"].get<std::uint64_t>() * 2);
  double whole = 0;
  for (const char* const key : {"work", "imbalance", "barriers", "exchange"}) {
    whole += p["shares"][key].get<double>();
  }
  EXPECT_NEAR(whole, 1, 1e-9);
  EXPECT_EQ(p["choices"].size(), 4u);
  EXPECT_EQ(p["choices"].back()["run_s"], p["run_s"]);
  EXPECT_FALSE(p["assumptions"].empty());
}

TEST_F(PlanCommand, CommitsTheEventsOfTheRun) {
  const json p = plan({"study.yaml", "--threads", "2"});
  const Ran ran = workspace.run({"run", "study.yaml", "--json", "--threads", "2"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const json run = json::parse(ran.out);
  EXPECT_EQ(p["events"], run["committed_events"]);
  EXPECT_EQ(p["partitions"], run["partitions"]);
}

TEST_F(PlanCommand, KnowsAllEventsFromAPartOfThem) {
  const json all = plan({"study.yaml", "--set", "workload.transformer.steps=40"});
  const json part = plan({"study.yaml", "--set", "workload.transformer.steps=40",
                          "--sample-seconds", "0.01"});
  const double ratio = part["events"].get<double>() / all["events"].get<double>();
  EXPECT_NEAR(ratio, 1, 0.1);
}

TEST_F(PlanCommand, LeavesNothingBehind) {
  const std::size_t before = files_here();
  plan({"study.yaml", "--ranks", "2"});
  plan(phold({"--threads", "2"}));
  EXPECT_EQ(files_here(), before);
}

TEST_F(PlanCommand, PlansPholdConservativelyToo) {
  const json p = plan(phold({"--ranks", "2", "--sync", "conservative"}));
  EXPECT_EQ(p["study"], "phold");
  EXPECT_EQ(p["sync"], "conservative");
  EXPECT_EQ(p["shares"]["undone"], 0);
}

TEST_F(PlanCommand, ReckonsWithTheNetworkBetweenHosts) {
  const json near = plan(phold({"--ranks", "4", "--hosts", "2", "--round-trip", "1 us"}));
  const json far = plan(phold({"--ranks", "4", "--hosts", "2", "--round-trip", "1 ms"}));
  EXPECT_NEAR(far["costs"]["round_trip_s"], 1e-3, 1e-12);
  EXPECT_GT(far["costs"]["exchange_ns"], 1e6);
  EXPECT_EQ(near["memory_of_a_host_bytes"],
            near["memory_of_a_rank_bytes"].get<std::uint64_t>() * 2);
}

TEST_F(PlanCommand, PrintsALineForEachPart) {
  const Ran ran = workspace.run({"plan", "study.yaml", "--threads", "2"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  for (const char* const head : {"Sample ", "Set-up ", "Run ", "Memory ", "Bound by ", "Advised ",
                                 "Assumed ", "ranks x threads"}) {
    EXPECT_NE(ran.out.find(head), std::string::npos) << head;
  }
}

TEST_F(PlanCommand, SaysWhatIsWrong) {
  EXPECT_EQ(error({}),
            "exawarp plan: STUDY is required; expected it, or all of --lps, --start-events, "
            "--remote, --end; see exawarp plan --help\n");
  EXPECT_EQ(error({"study.yaml", "--lps", "4"}),
            "exawarp plan: --lps is of PHOLD; expected it without STUDY\n");
  EXPECT_EQ(error({"study.yaml", "--ranks", "3", "--hosts", "2"}),
            "--hosts: 3 ranks are not spread evenly over 2; expected a number that divides them\n");
  EXPECT_EQ(error({"study.yaml", "--threads", "2", "--sync", "sequential"}),
            "--sync sequential: runs on one thread of one rank; expected --ranks 1 --threads 1, or "
            "another mode\n");
  EXPECT_EQ(error(phold({"--set", "a=1"})), "--set: has no effect without STUDY\n");
  EXPECT_NE(error({"study.yaml", "--ranks", "0"}).find("--ranks"), std::string::npos);
  EXPECT_NE(error({"study.yaml", "--round-trip", "5"}).find("--round-trip"), std::string::npos);
  EXPECT_NE(error({"study.yaml", "--sample-seconds", "0"}).find("--sample-seconds"),
            std::string::npos);
  EXPECT_NE(error({"nothing.yaml"}).find("nothing.yaml"), std::string::npos);
  EXPECT_NE(error({"study.yaml", "--partitions", "65536", "--ranks", "2"}).find("too many"),
            std::string::npos);
}

}  // namespace
}  // namespace exawarp::tests
