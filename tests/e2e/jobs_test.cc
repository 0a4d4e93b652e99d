// Studies with several jobs and background through the program: results, modes, refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/e2e/jobs_study.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;

class Jobs : public JobsStudy {};

const std::string kTwo = R"(devices: 24
jobs:
  - {name: a, workload: workload.yaml, placement: {kind: random, seed: 5}}
  - {name: b, workload: workload.yaml, placement: {kind: nodes, ranks: round_robin}, start: 1 us}
)";
const std::string kBusy = kTwo + "background:\n  - {pattern: uniform, load: 0.3, size: 8 KiB}\n";

TEST_F(Jobs, EachHasItsOwnFiguresAndSlowDown) {
  const json s = summary(kBusy, {"--compare-alone"});
  EXPECT_EQ(s["devices"], 24);
  ASSERT_EQ(s["jobs"].size(), 2u);
  for (const json& job : s["jobs"]) {
    EXPECT_EQ(job["devices"], 8);
    EXPECT_EQ(job["finished_devices"], 8);
    EXPECT_EQ(job["duration_ps"].get<long>(),
              job["finish_ps"].get<long>() - job["start_ps"].get<long>());
    EXPECT_GT(job["slowdown"].get<double>(), 1.0);
    EXPECT_GT(job["tokens_per_s"].get<double>(), 0);
    const json& b = job["breakdown"];
    EXPECT_NEAR(b["compute"].get<double>() + b["exposed_communication"].get<double>() +
                    b["waiting"].get<double>() + b["idle"].get<double>(),
                1.0, 1e-12);
  }
  EXPECT_EQ(s["jobs"][1]["start_ps"], 1'000'000);
  EXPECT_GT(s["background"]["sent_messages"], 0);
  EXPECT_EQ(s["background"]["sent_bytes"], s["background"]["received_bytes"]);
  const json calm = summary(kTwo, {"--compare-alone"});
  for (const json& job : calm["jobs"]) EXPECT_EQ(job["slowdown"], 1.0);
  EXPECT_FALSE(calm.contains("background"));
}

TEST_F(Jobs, EveryModeAgrees) {
  const json expected = summary(kBusy, {"--sync", "sequential"});
  for (const std::vector<std::string>& mode :
       {std::vector<std::string>{"--sync", "conservative", "--threads", "2", "--partitions", "3"},
        {"--sync", "optimistic", "--threads", "2", "--partitions", "4"},
        {"--sync", "optimistic", "--threads", "1", "--audit", "0.2"}}) {
    const json s = summary(kBusy, mode);
    EXPECT_EQ(s["digest"], expected["digest"]) << mode[1];
    EXPECT_EQ(s["jobs"], expected["jobs"]) << mode[1];
    EXPECT_EQ(s["background"], expected["background"]) << mode[1];
  }
}

TEST_F(Jobs, OneWorkloadIsOneLinearJob) {
  const json plain = summary("workload: workload.yaml\n");
  EXPECT_EQ(plain["jobs"].size(), 1u);
  EXPECT_EQ(plain["jobs"][0]["name"], "tiny");
  EXPECT_EQ(plain["jobs"][0]["placement"], "linear");
  EXPECT_EQ(plain["jobs"][0]["step_time_ps"], plain["iteration_time_ps"]);
  EXPECT_EQ(summary("jobs: [{name: x, workload: workload.yaml}]\n")["digest"], plain["digest"]);
  const json moved = summary("workload: workload.yaml\njob_placement: {kind: linear, first: 2}\n");
  EXPECT_EQ(moved["devices"], 10);
  EXPECT_NE(moved["digest"], plain["digest"]);
}

TEST_F(Jobs, TheStudysSeedPlacesThemWhereTheySayNone) {
  const std::string jobs = "devices: 16\nworkload: workload.yaml\njob_placement: random\n";
  const json one = summary(jobs, {"--seed", "1"});
  EXPECT_EQ(summary(jobs, {"--seed", "1"})["digest"], one["digest"]);
  EXPECT_NE(summary(jobs, {"--seed", "2"})["digest"], one["digest"]);
}

TEST_F(Jobs, TheTextHasATableOfThem) {
  workspace.write("study.yaml", replaced(small_study(), "workload: workload.yaml\n", kBusy));
  const Ran ran = workspace.run({"run", "study.yaml", "--compare-alone"});
  EXPECT_NE(ran.out.find("slow-down"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("\n  b                         8 nodes "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("\nBackground  "), std::string::npos) << ran.out;
}

std::string jobs_of(const std::string& placement_a, const std::string& placement_b) {
  return "devices: 16\njobs:\n  - {name: a, workload: workload.yaml, placement: " + placement_a +
         "}\n  - {name: b, workload: workload.yaml, placement: " + placement_b + "}\n";
}

TEST_F(Jobs, PlacementsThatCannotBeAreRefusedInOneLine) {
  const auto expect = [&](const std::string& jobs, const std::string& text) {
    const std::string line = refusal(jobs);
    EXPECT_NE(line.find(text), std::string::npos) << line;
    EXPECT_EQ(line.rfind("study.yaml:", 0), 0u) << line;
  };
  expect(jobs_of("{devices: [0-7]}", "{devices: [7-14]}"), "device 7 is taken by job \"a\"");
  expect(jobs_of("{kind: linear, first: 1}", "nodes"),
         "needs 2 whole nodes of 4 devices; 1 are free");
  expect(jobs_of("linear", "{devices: [8-14, 8]}"), "device 8 occurs twice");
  expect(jobs_of("linear", "{devices: [9-16]}"), "no such device: 16; expected 0 to 15");
  expect(jobs_of("linear", "{devices: [9-15]}"), "7 devices for a workload of 8");
  expect(jobs_of("linear", "{devices: [x]}"), "\"x\" names no devices");
  expect(jobs_of("linear", "{kind: linear, first: 9}"), "no such device: 16");
  expect(jobs_of("linear", "rnadom"), "did you mean \"random\"");
  expect(jobs_of("linear", "list"), "list names no devices");
  expect(jobs_of("linear", "{kind: random, first: 3}"), "unknown key");
}

TEST_F(Jobs, JobsThatCannotBeAreRefusedInOneLine) {
  const auto expect = [&](const std::string& jobs, const std::string& text) {
    EXPECT_NE(refusal(jobs).find(text), std::string::npos) << refusal(jobs);
  };
  const std::string job = "{name: a, workload: workload.yaml}";
  expect("jobs: []\n", "is empty; expected at least one job");
  expect("jobs: [" + job + ", " + job + "]\n", "is another job's name, too");
  expect("workload: workload.yaml\njobs: [" + job + "]\n", "is given beside jobs");
  expect("jobs: [{name: a}]\n", "workload");
  expect("jobs: [{name: a, workload: nowhere.yaml}]\n", "nowhere.yaml");
  expect("jobs: [{name: a, workload: workload.yaml, start: 2 days}]\n", "start");
  expect("devices: 7\njobs: [" + job + "]\n", "needs 8 devices; 7 of 7 are free");
}

TEST_F(Jobs, BackgroundsThatCannotBeAreRefusedInOneLine) {
  const auto expect = [&](const std::string& background, const std::string& text) {
    const std::string line =
        refusal("workload: workload.yaml\nbackground:\n  - {" + background + "}\n");
    EXPECT_NE(line.find(text), std::string::npos) << line;
  };
  expect("pattern: uniform", "load");
  expect("pattern: uniform, load: 1.5", "load");
  expect("pattern: uniform, load: 0.5, rate: 4 Gb/s", "is given beside rate");
  expect("pattern: unifrom, load: 0.5", "did you mean \"uniform\"");
  expect("pattern: incast, load: 0.5", "has no targets");
  expect("pattern: uniform, load: 0.5, devices: [1, 8]", "no such device: 8; expected 0 to 7");
  expect("pattern: uniform, load: 0.5, devices: [1, 1]", "device 1 occurs twice");
  expect("pattern: uniform, load: 0.5, devices: [1, 2], fraction: 0.5", "beside devices");
  expect("pattern: uniform, load: 0.5, from: 2 s, until: 1 s", "is not after from");
  expect("pattern: uniform, load: 0.5, size: {kind: pareto, min: 2 KB, max: 1 KB}", "below min");
  workspace.write("study.yaml", small_study() +
                                    "network: {fidelity: analytical}\nbackground:\n"
                                    "  - {pattern: uniform, load: 0.5}\n");
  const Ran ran = workspace.run({"run", "study.yaml"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.err.find("nothing contends at network.fidelity analytical"), std::string::npos);
}

}  // namespace
}  // namespace exawarp::tests
