// `exawarp run --critical-path`: the chain adds up to the run however it is run, what running again
// with a resource ten times faster gains is within what it says, and what is refused.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "io/cli/commands/run.h"
#include "pdes/transport_in_process.h"
#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

struct Row {
  std::int64_t from_ps = 0, until_ps = 0;
};

std::vector<Row> rows_of(const std::string& csv) {
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "from_ps,until_ps,device,part,kind,name");
  std::vector<Row> rows;
  while (std::getline(lines, line)) {
    Row& row = rows.emplace_back();
    char comma = 0;
    std::istringstream(line) >> row.from_ps >> comma >> row.until_ps;
  }
  return rows;
}

class CriticalPathOfARun : public testing::Test {
 protected:
  CriticalPathOfARun() {
    workspace.write("study.yaml", small_study());
    workspace.write("workload.yaml", small_workload());
  }
  [[nodiscard]] json summary_of(const Words& more) const {
    Words all{"run", "study.yaml", "--json", "--force", "--critical-path", "path.csv"};
    all.insert(all.end(), more.begin(), more.end());
    const Ran ran = workspace.run(all);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    return json::parse(ran.out);
  }
  const Workspace workspace;
};

const Words kStudies[] = {
    {"--set", "compute.jitter=0.1"},
    {"--set", "network.fidelity=analytical", "--set", "fold=auto"},
    {"--set", "network.fidelity=packet"},
    {"--set", "point_to_point.eager_max=1 KB"},
    {"--set", "workload.transformer.host.launch=5 us", "--set", "compute.jitter=0.1"},
};

TEST_F(CriticalPathOfARun, AddsUpToTheStepToThePicosecond) {
  for (const Words& study : kStudies) {
    const json summary = summary_of(study);
    const json& path = summary.at("critical_path");
    ASSERT_TRUE(path.contains("shares")) << path;
    std::int64_t sum = 0, filled = 0;
    for (const json& share : path["shares"]) sum += share["time_ps"].get<std::int64_t>();
    EXPECT_EQ(sum, summary["simulated_time_ps"]);
    const std::vector<Row> rows = rows_of(workspace.read("path.csv"));
    EXPECT_EQ(rows.size(), path["elements"]);
    for (const Row& row : rows) {
      EXPECT_EQ(row.from_ps, filled);
      filled = row.until_ps;
    }
    EXPECT_EQ(filled, summary["simulated_time_ps"]);
  }
}

TEST_F(CriticalPathOfARun, LeavesTheRunAsItIs) {
  const json with = summary_of({});
  const json without = json::parse(workspace.run({"run", "study.yaml", "--json"}).out);
  EXPECT_EQ(with["digest"], without["digest"]);
  EXPECT_EQ(with["simulated_time_ps"], without["simulated_time_ps"]);
  EXPECT_FALSE(without.contains("critical_path"));
}

TEST_F(CriticalPathOfARun, GainsNoMoreThanItSaysWhereAResourceIsTenTimesFaster) {
  for (const Words& study : kStudies) {
    Words words = study;
    words.emplace_back("--critical-path-check");
    std::size_t checked = 0;
    std::int64_t most = 0, seen = 0;
    const json path = summary_of(words).at("critical_path");
    for (const json& gain : path.at("gain_if_infinitely_fast")) {
      if (!gain.contains("ten_times_faster_ps")) continue;
      ++checked;
      const auto at_most = gain["ten_times_faster_at_most_ps"].get<std::int64_t>();
      // A message without data takes 1 ps, which the bound leaves out.
      EXPECT_LE(gain["ten_times_faster_ps"].get<std::int64_t>(), at_most + at_most / 100'000)
          << gain;
      EXPECT_GE(gain["ten_times_faster_ps"].get<std::int64_t>(), 0) << gain;
      if (at_most <= most) continue;
      most = at_most;
      seen = gain["ten_times_faster_ps"];
    }
    EXPECT_GE(checked, 2u);
    EXPECT_GE(seen, most / 4);  // of the largest: the bound is no idle one
  }
}

TEST_F(CriticalPathOfARun, IsOneFileOnAnyNumberOfRanksAndThreads) {
  io::RunArguments arguments;
  arguments.study_file = "study.yaml";
  arguments.quiet = true;
  arguments.overrides = {"compute.jitter=0.05"};
  arguments.critical_path = "p.csv";
  arguments.options.critical_path = true;
  const auto file = [&](std::uint32_t ranks, std::uint32_t threads, pdes::Sync sync) {
    arguments.options.threads = threads;
    arguments.options.sync = sync;
    pdes::InProcessHub hub(ranks, 0);
    std::ostringstream out, err;
    std::vector<std::jthread> all;
    for (std::uint32_t r = 0; r < ranks; ++r) {
      all.emplace_back([&, r] {
        const auto transport = hub.endpoint({r});
        EXPECT_EQ(io::run_study(arguments, io::Console{out, err, false}, *transport), 0);
      });
    }
    all.clear();
    EXPECT_EQ(err.str(), "");
    return workspace.read("p.csv");
  };
  const std::string expected = file(1, 1, pdes::Sync::sequential);
  EXPECT_GT(expected.size(), 1'000u);
  EXPECT_EQ(file(1, 2, pdes::Sync::optimistic), expected);
  EXPECT_EQ(file(2, 1, pdes::Sync::optimistic), expected);
  EXPECT_EQ(file(2, 1, pdes::Sync::conservative), expected);
}

TEST_F(CriticalPathOfARun, RefusesWhatHasNoEffect) {
  EXPECT_EQ(workspace.run({"run", "study.yaml", "--critical-path-check"}).err,
            "--critical-path-check: has no effect without --critical-path FILE\n");
  EXPECT_EQ(
      workspace.run({"run", "study.yaml", "--critical-path", "p", "--timeline", "t"}).exit_code, 2);
}

}  // namespace
}  // namespace exawarp::tests
