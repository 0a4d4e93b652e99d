// The call below the commands: one report for a single rank and for ranks that are threads here,
// for everything that can be simulated.
#include "io/life/simulate.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "io/life/agreement.h"
#include "pdes/transport_in_process.h"
#include "tests/support/small_study.h"

namespace exawarp::tests {
namespace {

using namespace io;

const RunOptions kTwoThreads{.sync = pdes::Sync::optimistic, .threads = 2};

class Simulate : public testing::Test {
 protected:
  Simulate() {
    std::string pattern = testing::TempDir() + "exawarp_simulate_XXXXXX";
    directory_ = mkdtemp(pattern.data());
    write("study.yaml", tests::small_study());
    write("workload.yaml", tests::small_workload());
  }
  ~Simulate() override { std::filesystem::remove_all(directory_); }

  // Where the file now is.
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = (directory_ / name).string();
    std::ofstream(path) << text;
    return path;
  }
  [[nodiscard]] Study small() const {
    return read_study((directory_ / "study.yaml").string(), {});
  }

 private:
  std::filesystem::path directory_;
};

// What each of `ranks` ranks gets.
template <class Work>
auto on_ranks(std::uint32_t ranks, const Work& work) {
  using Report = decltype(work(std::declval<pdes::Transport&>()));
  pdes::InProcessHub hub(ranks, 0);
  std::vector<Report> reports(ranks);
  std::vector<std::jthread> threads;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      const auto transport = hub.endpoint({r});
      reports[r] = work(*transport);
    });
  }
  threads.clear();  // joins
  return reports;
}

// The report of one sequential rank; two ranks of two threads each must say the same.
template <class What>
auto simulated(const What& what) {
  auto alone = simulate(what, {.sync = pdes::Sync::sequential}, *pdes::make_single_transport());
  const auto both = on_ranks(2, [&](pdes::Transport& transport) {
    return simulate(what, kTwoThreads, transport);
  });
  for (const auto& report : both) {
    EXPECT_EQ(report.result.digest, alone.result.digest);
    EXPECT_EQ(report.result.total.committed_events(), alone.result.total.committed_events());
    EXPECT_EQ(report.status, alone.status);
    EXPECT_EQ(report.ranks, 2u);
  }
  EXPECT_GT(alone.result.total.committed_events(), 0u);
  return alone;
}

TEST_F(Simulate, AStudyHasOneReportOnOneRankAndOnTwo) {
  const RunReport report = simulated(small());
  EXPECT_EQ(report.status, RunStatus::finished);
  EXPECT_EQ(report.outcome->devices(), 8u);
  EXPECT_GT(report.outcome->simulated_time(), core::Time{0});
  EXPECT_EQ(report.study->engine.sync, pdes::Sync::sequential);
  EXPECT_FALSE(report.quality);  // one partition
}

TEST_F(Simulate, TrafficHasOneReportOnOneRankAndOnTwo) {
  const std::string file = write("traffic.yaml", R"(study: small
devices: 16
fabric: {topology: {kind: single_switch, link: {bandwidth: 1 GB/s, latency: 1 us},
                    switch_latency: 1 us, endpoint_latency: 1 us}}
traffic: {pattern: permutation, messages: 4, size: 10 kB}
)");
  const TrafficReport report = simulated(read_traffic_study(file, {}));
  EXPECT_EQ(report.status, RunStatus::finished);
  EXPECT_EQ(report.totals.received, report.totals.posted);
  EXPECT_EQ(report.flows->flows().size(), report.totals.posted);
}

TEST_F(Simulate, AGoalScheduleThatCannotEndIsADeadlockOnEveryRank) {
  const GoalRun run{.file = write("x.goal", R"(num_ranks 2
rank 0 {
l1: send 8b to 1 tag 1
l2: recv 8b from 1 tag 2
}
rank 1 {
l1: recv 8b from 0 tag 1
}
)")};
  const GoalReport report = simulated(run);
  EXPECT_EQ(report.status, RunStatus::deadlocked);
  EXPECT_EQ(report.outcome->unmatched(), 1u);
}

TEST_F(Simulate, PholdHasOneReportOnOneRankAndOnTwo) {
  simulated(PholdRun{.phold = {.lps = 64}, .end = core::Time{20'000'000}});
}

TEST_F(Simulate, SaysWhenItIsReadyWithTheEventsThatAreToCome) {
  std::uint64_t expected = 0;
  const auto transport = pdes::make_single_transport();
  const RunReport report = simulate(
      small(),
      {.sync = pdes::Sync::sequential, .ready = [&](std::uint64_t events) { expected = events; }},
      *transport);
  EXPECT_GT(expected, report.result.total.committed_events() / 4);
  EXPECT_LT(expected, report.result.total.committed_events() * 4);
}

TEST_F(Simulate, EndsOnEveryRankWhereOneIsNotReady) {
  const auto fails_on_first = [&](pdes::Transport& transport) -> std::string {
    RunOptions options = kTwoThreads;
    options.ready = [&](std::uint64_t) {
      if (transport.rank().value == 0) throw core::SystemError("disk: full");
    };
    try {
      simulate(small(), options, transport);
    } catch (const core::SystemError& error) {
      return error.what();
    } catch (const OtherRankFailed& other) {
      return "other: " + std::to_string(other.exit_code);
    }
    return "went on";
  };
  EXPECT_EQ(on_ranks(2, fails_on_first), (std::vector<std::string>{"disk: full", "other: 4"}));
}

TEST_F(Simulate, TellsOfPartitionsThatAreTooMany) {
  std::vector<std::string> lines;
  RunOptions options = kTwoThreads;
  options.partitions = 1'000;
  options.notify = [&](const std::string& line) { lines.push_back(line); };
  simulate(small(), options, *pdes::make_single_transport());
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].starts_with("partitions per rank: 1000 are more than there is to place; "))
      << lines[0];
}

}  // namespace
}  // namespace exawarp::tests
