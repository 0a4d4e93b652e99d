// Futures that begin at a checkpoint: each is the run that knew of its change from the start.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

class Forks : public testing::Test {
 protected:
  Forks() {
    workspace.write("study.yaml", small_study());
    workspace.write("workload.yaml", small_workload());
  }

  json done(const Words& arguments) const {
    const Ran ran = workspace.run(arguments);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return ran.exit_code == 0 ? json::parse(ran.out) : json();
  }
  // Runs the study with these overrides, and writes checkpoints.
  json write(const Words& overrides) const {
    Words words{"run", "study.yaml", "--json", "--out", "past", "--force", "--checkpoint", "c",
                "--checkpoint-every", "100 us simulated"};
    words.insert(words.end(), overrides.begin(), overrides.end());
    return done(words);
  }
  [[nodiscard]] static std::string oldest() {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator("c")) {
      all.push_back(entry.path().string());
    }
    return std::ranges::min(all);
  }
  void expect_refused(const Words& arguments, const std::string& error) const {
    const Ran ran = workspace.run(arguments);
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_NE(ran.err.find(error), std::string::npos) << ran.err;
    EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
  }

  const Workspace workspace;
};

TEST_F(Forks, AreTheRunsThatKnewOfTheChangeFromTheStart) {
  const json usual = write({});
  const std::string changes[] = {"faults.slow_devices=[{devices: [1], factor: 1.5}]",
                                 "faults.slow_devices=[{share: 0.5, factor: 0.5}]",
                                 "faults.slow_links=[{links: [\"d0:0\"], factor: 3}]",
                                 "network.latency_jitter={mean: 2 us}", "compute.jitter=0.1"};
  for (const std::string& change : changes) {
    SCOPED_TRACE(change);
    const json fork = done({"run", "--restart", "c", "--set", change, "--json", "--out", "fork",
                            "--force", "--threads", "2", "--partitions", "3"});
    const json whole = done({"run", "fork/study.resolved.yaml", "--json", "--out", "whole",
                             "--force", "--sync", "sequential"});
    EXPECT_EQ(fork["digest"], whole["digest"]);
    EXPECT_EQ(fork["iteration_time_ps"], whole["iteration_time_ps"]);
    EXPECT_EQ(fork["committed_events"], whole["committed_events"]);
    EXPECT_NE(fork["digest"], usual["digest"]);
  }
}

TEST_F(Forks, OfPacketsMayTakeOtherRoutes) {
  const json usual =
      write({"--set", "network.fidelity=packet", "--set", "network.packet.trains=false"});
  for (const std::string change :
       {"network.packet.routing=destination", "network.packet.ecn={kmin: 1 kB, kmax: 2 kB}",
        "faults.slow_links=[{links: [\"d0:0\"], factor: 3}]",
        "faults.slow_switches=[{switches: [s0], factor: 3}]"}) {
    SCOPED_TRACE(change);
    const json fork =
        done({"run", "--restart", oldest(), "--set", change, "--json", "--out", "fork", "--force"});
    const json whole =
        done({"run", "fork/study.resolved.yaml", "--json", "--out", "whole", "--force"});
    EXPECT_EQ(fork["digest"], whole["digest"]);
    EXPECT_NE(fork["digest"], usual["digest"]);
  }
}

TEST_F(Forks, AreRefusedWherePacketsTravelAsTrains) {
  write({"--set", "network.fidelity=packet"});
  expect_refused({"run", "--restart", oldest(), "--set", "network.packet.routing=destination"},
                 "--set: changes a network whose packets travel as trains; expected a checkpoint "
                 "of a run with network.packet.trains=false");
}

TEST_F(Forks, GoOnFromTheirOwnCheckpoints) {
  write({});
  const std::string slow = "faults.slow_devices=[{devices: [1], factor: 1.5}]";
  const json fork = done({"run", "--restart", oldest(), "--set", slow, "--json",
                          "--out", "fork", "--checkpoint", "d", "--checkpoint-every",
                          "100 us simulated"});
  const json again = done({"run", "--restart", "d", "--json", "--out", "again"});
  EXPECT_EQ(again["digest"], fork["digest"]);
  const json twice = done({"run", "--restart", "d", "--set", "compute.jitter=0.1", "--json",
                           "--out", "twice"});
  const json whole =
      done({"run", "twice/study.resolved.yaml", "--json", "--out", "whole"});
  EXPECT_EQ(twice["digest"], whole["digest"]);
  EXPECT_NE(twice["digest"], fork["digest"]);
  expect_refused({"run", "--restart", "c", "--set", slow, "--checkpoint", "c"}, "c");
}

TEST_F(Forks, OfADamagedCheckpointLeaveNothing) {
  write({});
  const std::string part = oldest() + "/rank-00000.part";
  std::string bytes = workspace.read(part);
  bytes[100] = static_cast<char>(bytes[100] ^ 1);
  workspace.write(part, bytes);
  workspace.write("fork.yaml", "fork: f\nfutures: [{name: noise, set: [compute.jitter=0.1]}]\n");
  const Ran ran =
      workspace.run({"fork", oldest(), "--variants", "fork.yaml", "--out", "new/futures"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.err.find("rank-00000.part: is not as it was written"), std::string::npos)
      << ran.err;
  EXPECT_FALSE(workspace.has("new"));
}

TEST_F(Forks, WhatThePastHasSeenCannotChange) {
  write({});
  const Words restart{"run", "--restart", "c", "--set"};
  const auto with = [&restart](const std::string& set) {
    Words words = restart;
    words.push_back(set);
    return words;
  };
  expect_refused(with("seed=3"), "--set seed: changes what is simulated, of which the checkpoint");
  expect_refused(with("network.packet.transport=swift"), "--set network.packet.transport: changes");
  expect_refused(with("changes=[{at: 1 us, set: [compute.jitter=0.1]}]"),
                 "--set changes: at 1000000 ps is in the past of the checkpoint; expected ");
  expect_refused(with("faults.slow_device=[]"), "unknown key");
}

TEST_F(Forks, SideBySide) {
  const json usual = write({});
  workspace.write("futures.yaml",
                  "fork: tries\nfutures:\n"
                  "  - name: slow\n    set: [\"faults.slow_devices=[{devices: [1], factor: 2}]\"]\n"
                  "  - name: fast\n"
                  "    set: [\"faults.slow_devices=[{devices: [1], factor: 0.5}]\"]\n"
                  "  - name: link\n    at: 1 ms\n"
                  "    set: ['faults.slow_links=[{links: [\"d0:0\"], factor: 3}]']\n"
                  "  - name: same\n    set: [network.packet.routing=spray]\n");
  const json report = done({"fork", "c", "--variants", "futures.yaml", "--json"});
  ASSERT_EQ(report["futures"].size(), 5u);
  const json& unchanged = report["futures"][0];
  EXPECT_EQ(unchanged["digest"], usual["digest"]);
  EXPECT_EQ(unchanged["simulated_time_ps"], usual["simulated_time_ps"]);
  for (const json& future : report["futures"]) {
    const std::string directory = future["directory"];
    EXPECT_EQ(directory, "results/tries/" + std::string(future["name"]));
    const json whole = done({"run", directory + "/study.resolved.yaml", "--json", "--out", "w",
                             "--force", "--sync", "sequential"});
    EXPECT_EQ(future["digest"], whole["digest"]) << directory;
    EXPECT_EQ(future["simulated_time_ps"], whole["simulated_time_ps"]) << directory;
  }
  const json& slow = report["futures"][1];
  EXPECT_EQ(slow["departs"]["where"], "device 1");
  EXPECT_EQ(slow["departs"]["in"], "unchanged");
  EXPECT_GT(slow["departs"]["other_at_ps"], slow["departs"]["at_ps"]);
  EXPECT_GE(slow["departs"]["at_ps"], report["at_ps"]);
  EXPECT_EQ(report["futures"][2]["departs"]["in"], "fast");
  EXPECT_FALSE(report["futures"][4].contains("departs"));
  EXPECT_EQ(report["futures"][4]["digest"], usual["digest"]);
  const Ran text = workspace.run({"fork", "c", "--variants", "futures.yaml"});
  EXPECT_NE(text.out.find("nowhere: it has the same events"), std::string::npos) << text.out;
}

TEST_F(Forks, WhatIsWrongWithAFutureIsToldBeforeAnyIsSimulated) {
  write({});
  const auto refused = [this](const std::string& futures, const std::string& error) {
    workspace.write("futures.yaml", "fork: tries\nfutures:\n" + futures);
    expect_refused({"fork", "c", "--variants", "futures.yaml"}, error);
    EXPECT_FALSE(std::filesystem::exists("results/tries"));
  };
  refused("  - {name: a, set: [seed=2]}\n", "future \"a\": --set seed: changes what");
  refused("  - {name: a, set: [compute.jitter=0.1], at: 1 us}\n", "in the past of the checkpoint");
  refused("  - {name: a, set: []}\n  - {name: a, set: []}\n", "is the name of another one, too");
  refused("  - {name: unchanged, set: []}\n", "is the future without one");
  refused("  - {name: a/b, set: []}\n", "is no name");
  refused("  []\n", "is empty; expected a future at least");
  expect_refused({"fork", "c", "--variants", "study.yaml"},
                 "is a study; expected a file of futures");
  workspace.write("futures.yaml", "fork: tries\nfutures: [{name: a, set: []}]\n");
  expect_refused({"fork", "nothing", "--variants", "futures.yaml"}, "nothing: holds no checkpoint");
}

TEST_F(Forks, AStudyMayChangeByItself) {
  const auto with = [](const std::string& changes) {
    return Words{"run", "study.yaml", "--json", "--set", "changes=" + changes};
  };
  const json usual = done({"run", "study.yaml", "--json"});
  const json late = done(with("[{at: 50 ms, set: [compute.jitter=0.1]}]"));
  EXPECT_EQ(late["iteration_time_ps"], usual["iteration_time_ps"]);  // when all is over
  const json early = done(with("[{at: 1 ps, set: [compute.jitter=0.1]}]"));
  EXPECT_NE(early["iteration_time_ps"], usual["iteration_time_ps"]);
  expect_refused(with("[{at: 1 us, set: [network.fidelity=packet]}]"),
                 "key \"changes\": from 1 us on: network.fidelity: cannot change; expected");
  expect_refused(with("[{at: 2 us, set: [compute.jitter=0.1]}, {at: 1 us, set: []}]"),
                 "is not after the change before");
  expect_refused(with("[{at: 2 us, set: [compute.jitter=2]}]"), "compute.jitter");
}

}  // namespace
}  // namespace exawarp::tests
