// Whole runs through the program's commands: results, modes that agree, deadlocks.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "model/workload/builder.h"
#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;
namespace schema = model::schema;

// What the contract promises (docs/guide/user_guide.md).
const std::vector<std::string> kSummaryKeys{
    "schema", "study", "devices", "switches", "network_fidelity", "compute_fidelity", "sync",
    "ranks", "threads", "partitions", "seed", "simulated_time_ps", "iteration_time_ps",
    "committed_events", "processed_events", "rolled_back_events", "rollbacks", "gvt_rounds",
    "events_per_s", "setup_s", "run_s", "peak_rss_bytes", "digest", "breakdown", "tokens_per_s",
    "model_flops_utilisation", "tflops_per_device"};

class Run : public testing::Test {
 protected:
  Run() {
    workspace.write("study.yaml", small_study());
    workspace.write("workload.yaml", small_workload());
  }

  // Runs the study and returns its summary.
  json summary(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"run", "study.yaml", "--json"});
    const Ran ran = workspace.run(arguments);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return json::parse(ran.out);
  }

  const Workspace workspace;
};

TEST_F(Run, JsonOnStandardOutputIsTheSummaryFileAndNothingElse) {
  const Ran ran = workspace.run({"run", "study.yaml", "--json"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(ran.out, workspace.read("results/tiny/summary.json"));
  const json summary = json::parse(ran.out);
  for (const std::string& key : kSummaryKeys) EXPECT_TRUE(summary.contains(key)) << key;
  EXPECT_EQ(summary["schema"], "exawarp-summary-1");
  EXPECT_EQ(summary["status"], "finished");
  EXPECT_EQ(summary["devices"], 8);
}

TEST_F(Run, SaysWhatDevicesComputeInEachPhase) {
  const json s = summary({"--set", "workload.transformer.recompute=full"});
  double compute = 0;
  std::set<std::string> phases;
  for (const json& entry : s["compute"]) {
    compute += entry["time_s"].get<double>();
    phases.insert(entry["phase"].get<std::string>());
  }
  EXPECT_EQ(phases, (std::set<std::string>{"accumulate", "backward", "forward", "optimizer",
                                           "recompute"}));
  const double seconds = s["simulated_time_ps"].get<double>() * 1e-12;
  EXPECT_NEAR(compute, s["breakdown"]["compute"].get<double>() * seconds, 0.01 * compute);
}

TEST_F(Run, GraphsLaunchKernelsFaster) {
  const std::vector<std::string> set{"--set", "system.accelerator.graph_launch_latency=0 ns"};
  std::vector<std::string> graphs = set;
  graphs.insert(graphs.end(), {"--set", "compute.graphs=true"});
  const auto seconds_and_nodes = [&](const std::vector<std::string>& arguments) {
    std::pair<double, double> sum;
    const json said = summary(arguments);
    for (const json& entry : said["compute"]) {
      sum.first += entry["time_s"].get<double>();
      sum.second += entry["nodes"].get<double>();
    }
    return sum;
  };
  const auto [stream, nodes] = seconds_and_nodes(set);
  EXPECT_NEAR(stream - seconds_and_nodes(graphs).first, nodes * 1e-6, 1e-9);
}

TEST_F(Run, ASteadyStepIsWhatOneMoreAdds) {
  const std::vector<std::string> overlap{"--set", "workload.transformer.overlap.parameters=true"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), overlap.begin(), overlap.end());
    return summary(std::move(more));
  };
  const json one = with({"--steady-step"});
  const json two = with({"--set", "workload.transformer.steps=2"});
  EXPECT_EQ(one["steady_step_ps"].get<std::int64_t>(),
            two["simulated_time_ps"].get<std::int64_t>() -
                one["simulated_time_ps"].get<std::int64_t>());
  EXPECT_FALSE(two.contains("steady_step_ps"));
}

TEST_F(Run, ASteadyStepIsOfAGeneratedTrainingJob) {
  const Ran ran = workspace.run({"run", "study.yaml", "--steady-step", "--set",
                                 "workload={microbenchmark: {kind: collective, collective: "
                                 "all_reduce, bytes: 1 MiB, devices: 8}}"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.err.find("expected a workload with \"transformer\""), std::string::npos) << ran.err;
  EXPECT_FALSE(workspace.has("results"));
}

TEST_F(Run, RunsAtEveryFidelityAndCountsPackets) {
  const json message = summary({});
  EXPECT_FALSE(message.contains("packets"));
  const json packet = summary({"--set", "network.fidelity=packet", "--set",
                               "network.packet.packet_size=8 KiB"});
  EXPECT_EQ(packet["network_fidelity"], "packet");
  EXPECT_GT(packet["packets"]["packet_hops"].get<std::uint64_t>(), 0u);
  EXPECT_EQ(packet["packets"]["drops"], 0);
  const double slower = packet["simulated_time_ps"].get<double>() /
                        message["simulated_time_ps"].get<double>();
  EXPECT_GT(slower, 0.9);
  EXPECT_LT(slower, 1.5);
}

TEST_F(Run, FoldedSaysOfTheJobWhatTheWholeRunSays) {
  const json whole = summary({"--set", "network.fidelity=analytical"});
  const json folded = summary({"--set", "network.fidelity=analytical", "--set", "fold=replicas"});
  for (const char* key : {"devices", "iteration_time_ps", "simulated_time_ps", "tokens_per_s",
                          "model_flops_utilisation", "breakdown", "classes", "jobs"}) {
    EXPECT_EQ(folded[key], whole[key]) << key;
  }
  EXPECT_FALSE(whole.contains("fold"));
  EXPECT_EQ(folded["fold"]["folded"], true);
  EXPECT_EQ(folded["fold"]["devices"], 8);
  EXPECT_LT(folded["fold"]["simulated_devices"], 8);
  EXPECT_LT(folded["committed_events"], whole["committed_events"]);
}

TEST_F(Run, RefusesToFoldWhatDiffersAndSaysWhyWhereItMayNot) {
  const Ran ran = workspace.run({"run", "study.yaml", "--set", "fold=replicas", "--set",
                                 "network.fidelity=packet"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.err,
            "study.yaml: fold: messages contend in the network at network.fidelity flow and "
            "packet; expected \"none\" or \"auto\"\n");
  EXPECT_FALSE(workspace.has("results"));
  const json whole = summary({"--set", "fold=auto"});
  EXPECT_EQ(whole["fold"]["folded"], false);
  EXPECT_EQ(whole["fold"]["why_not"], "messages contend at network.fidelity message");
}

TEST_F(Run, FoldsMessagesWhereItIsTold) {
  const json folded = summary({"--set", "fold=replicas"}), whole = summary({});
  EXPECT_EQ(folded["iteration_time_ps"], whole["iteration_time_ps"]);
  EXPECT_EQ(folded["breakdown"], whole["breakdown"]);
  EXPECT_EQ(folded["fold"]["exact"], false);
  EXPECT_LT(folded["fold"]["simulated_devices"], 8);
}

TEST_F(Run, NoiseOfRanksSlowsItDownByASystemsKey) {
  const json usual = summary({}), noisy = summary({"--set", "system.rank_noise=0.1"});
  EXPECT_EQ(usual["rank_noise"], 0);
  EXPECT_EQ(noisy["rank_noise"], 0.1);
  // Of two replicas the slower lies 0.1 / sqrt(pi) above the mean; communication takes its time.
  const double slower = noisy["iteration_time_ps"].get<double>() /
                        usual["iteration_time_ps"].get<double>();
  EXPECT_GT(slower, 1.01);
  EXPECT_LT(slower, 1.0565);
}

TEST_F(Run, RefusesPacketOptionsInOneLineAndWritesNothing) {
  const Ran ran = workspace.run({"run", "study.yaml", "--set", "network.fidelity=packet", "--set",
                                 "network.packet.flow_control=credit"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.err.find("packet network: buffer: \"0 B\" an input and channel; credits need 4 "
                         "packets"),
            std::string::npos)
      << ran.err;
  EXPECT_FALSE(workspace.has("results"));
}

TEST_F(Run, TheBreakdownAddsUpToTheWholeOfDeviceTime) {
  const json b = summary({})["breakdown"];
  const double sum = b["compute"].get<double>() + b["exposed_communication"].get<double>() +
                     b["waiting"].get<double>() + b["idle"].get<double>();
  EXPECT_NEAR(sum, 1.0, 1e-12);
}

TEST_F(Run, TheTextSummaryIsPrintedAndKept) {
  const Ran ran = workspace.run({"run", "study.yaml", "--out", "deep/er"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.out, workspace.read("deep/er/summary.txt"));
  for (const char* word : {"Step time", "TFLOP/s per device", "stage 0", "stage 1", "Digest",
                           "deep/er/summary.json"}) {
    EXPECT_NE(ran.out.find(word), std::string::npos) << word;
  }
  EXPECT_FALSE(workspace.has("results"));
}

TEST_F(Run, QuietPrintsNothingAndStillWrites) {
  const Ran ran = workspace.run({"run", "study.yaml", "--quiet"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.out + ran.err, "");
  EXPECT_TRUE(workspace.has("results/tiny/summary.json"));
}

TEST_F(Run, WhereThreadsDoNotPayItRunsSequentiallyUnlessAskedOtherwise) {
  const auto sync = [&](std::vector<std::string> more) { return summary(std::move(more))["sync"]; };
  EXPECT_EQ(sync({}), "sequential");  // a few thousand events
  const std::string longer = "workload.transformer.global_batch_sequences=1024";
  EXPECT_EQ(sync({"--set", longer}), "optimistic");
  const std::string packets = "network.fidelity=packet";
  EXPECT_EQ(sync({"--set", packets}), "sequential");
  const std::string analytical = "network.fidelity=analytical";
  EXPECT_EQ(sync({"--set", longer, "--set", analytical}), "optimistic");
  EXPECT_EQ(sync({"--set", longer, "--set", analytical, "--set", "fold=replicas"}), "sequential");
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--set", "network.packet.trains=false"},
        {"--threads", "1"},
        {"--sync", "optimistic"},
        {"--partitions", "2"},
        {"--audit", "0.1"},
        {"--window", "1 us"}}) {
    std::vector<std::string> all{"--set", packets};
    all.insert(all.end(), more.begin(), more.end());
    EXPECT_EQ(sync(all), "optimistic") << more[0] << " " << more[1];
  }
}

TEST_F(Run, EveryModePlacementAndPartitioningHasTheSameDigestAndFigures) {
  const json reference = summary({"--sync", "sequential"});
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--sync", "conservative", "--threads", "2"},
        {"--threads", "1", "--partitions", "1"},
        {"--threads", "2", "--partitions", "2", "--placement", "block"},
        {"--threads", "2", "--partitions", "2", "--placement", "topology-aware"},
        {"--threads", "2", "--partitions", "2", "--placement", "metis"},
        {"--threads", "2", "--partitions", "2", "--window", "1 ms"}}) {
    const json other = summary(arguments);
    for (const char* key : {"digest", "simulated_time_ps", "committed_events", "breakdown",
                            "classes", "tokens_per_s"}) {
      EXPECT_EQ(other[key], reference[key]) << key << " with " << arguments[1];
    }
  }
}

TEST_F(Run, EveryPlacementHasTheSameDigestAtPacketFidelity) {
  const auto packets = [&](std::vector<std::string> arguments) {
    for (const char* key : {"network.fidelity=packet", "network.packet.packet_size=16 KiB",
                            "network.packet.routing=adaptive", "network.packet.flow_control=pfc",
                            "compute.jitter=0.1"}) {
      arguments.insert(arguments.end(), {"--set", key});
    }
    return summary(arguments);
  };
  const json reference = packets({"--sync", "sequential"});
  for (const char* placement : {"block", "topology-aware", "metis"}) {
    const json other = packets({"--threads", "2", "--partitions", "3", "--placement", placement});
    for (const char* key : {"digest", "simulated_time_ps", "breakdown"}) {
      EXPECT_EQ(other[key], reference[key]) << key << " with " << placement;
    }
    EXPECT_EQ(other["packets"]["packet_hops"], reference["packets"]["packet_hops"]);
  }
}

// So many devices that handlers' lines are asked for ahead, trains' among them.
TEST_F(Run, MoreDevicesThanCachesHoldHaveOneDigestAtPacketFidelity) {
  workspace.write("study.yaml",
                  "study: large\n"
                  "workload: {microbenchmark: {kind: collective, collective: all_reduce,\n"
                  "  mesh: {data: 528, pipeline: 16}, along: [pipeline], bytes: 64 KiB}}\n"
                  "system: " EXAWARP_SOURCE_DIR "/configs/systems/h100_hgx_roce400.yaml\n"
                  "network: {fidelity: packet, packet: {packet_size: 1 KiB, routing: ecmp}}\n"
                  "placement: {method: topology-aware}\n");
  const json reference = summary({"--sync", "sequential"});
  EXPECT_EQ(reference["devices"], 8'448);
  const json other = summary({"--sync", "optimistic", "--threads", "2"});
  EXPECT_EQ(other["digest"], reference["digest"]);
  EXPECT_EQ(other["simulated_time_ps"], reference["simulated_time_ps"]);
  EXPECT_EQ(other["packets"]["packet_hops"], reference["packets"]["packet_hops"]);
}

TEST_F(Run, AStudyMayAskForMetis) {
  const json metis = summary({"--set", "placement.method=metis", "--set",
                              "placement.partitions_per_rank=2", "--threads", "2"});
  EXPECT_EQ(metis["placement"], "metis");
  EXPECT_EQ(metis["partitions"], 2);
}

TEST_F(Run, TheSummarySaysWhatARankHolds) {
  const json memory = summary({"--sync", "optimistic"})["engine"]["memory_of_a_rank"];
  for (const char* key : {"lp_bytes", "history_bytes", "event_bytes", "directory_bytes"}) {
    EXPECT_GT(memory[key]["minimum"], 0) << key;
    EXPECT_EQ(memory[key]["minimum"], memory[key]["maximum"]) << key;  // one rank
  }
}

TEST_F(Run, AnOverrideReachesIntoReferencedFiles) {
  const json fast = summary({});
  const json slow = summary({"--set", "system.accelerator.launch_latency=9 us", "--set",
                             "workload.transformer.parallel.data=4"});
  EXPECT_EQ(slow["devices"], 16);
  EXPECT_GT(slow["iteration_time_ps"], fast["iteration_time_ps"]);
}

TEST_F(Run, TheSeedMattersOnlyWhereTheStudyDrawsRandomNumbers) {
  EXPECT_EQ(summary({"--seed", "1"})["digest"], summary({"--seed", "2"})["digest"]);
  const std::string jitter = "compute={jitter: 0.1}";
  EXPECT_NE(summary({"--seed", "1", "--set", jitter})["digest"],
            summary({"--seed", "2", "--set", jitter})["digest"]);
}

TEST_F(Run, AGeneratedFileRunsAsItsSpecificationDoes) {
  ASSERT_EQ(workspace.run({"workload", "generate", "workload.yaml", "-o", "w.xwg"}).exit_code, 0);
  EXPECT_EQ(workspace.run({"workload", "validate", "w.xwg"}).exit_code, 0);
  const Ran inspected = workspace.run({"workload", "inspect", "w.xwg", "--json"});
  EXPECT_EQ(json::parse(inspected.out)["devices"], 8);
  const json generated = summary({});
  EXPECT_EQ(summary({"--set", "workload=w.xwg"})["digest"], generated["digest"]);
}

TEST_F(Run, AWorkloadThatDoesNotFitEndsWithCodeTwoUnlessToldToGoOn) {
  const std::vector<std::string> small{"run", "study.yaml", "--set",
                                       "system.accelerator.memory_capacity=1 MB"};
  const Ran refused = workspace.run(small);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("study.yaml: program \"stage"), std::string::npos) << refused.err;
  EXPECT_EQ(refused.out, "");
  std::vector<std::string> told = small;
  told.push_back("--ignore-memory");
  EXPECT_EQ(workspace.run(told).exit_code, 0);
}

TEST_F(Run, AnUnmatchedReceiveEndsAsADeadlockThatNamesTheDevice) {
  model::WorkloadBuilder workload("alone");
  const std::uint8_t axis = workload.add_axis("device", 2);
  model::ProgramBuilder& program = workload.add_program("waiter");
  program.add_stream("in", schema::StreamKind::COMMUNICATION);
  program.add_node({.kind = schema::NodeKind::RECEIVE, .tag = 7, .comm_bytes = 8});
  model::ProgramBuilder& idle = workload.add_program("idler");
  idle.add_stream("in", schema::StreamKind::COMPUTE);
  idle.add_node({.kind = schema::NodeKind::COMPUTE, .flops = 1});
  workload.bind_range(program.index(), {.axis = axis, .first = 1, .count = 1});
  workload.bind_range(idle.index(), {.axis = axis, .first = 0, .count = 1});
  workload.build().write("w.xwg");

  const Ran ran = workspace.run({"run", "study.yaml", "--set", "workload=w.xwg", "--quiet"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_NE(ran.err.find("deadlocked: 1 of 2 devices wait"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("device 1"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("tag 7"), std::string::npos) << ran.err;
  const json summary = json::parse(workspace.read("results/tiny/summary.json"));
  EXPECT_EQ(summary["status"], "deadlocked");

  const Ran validated = workspace.run({"workload", "validate", "w.xwg"});
  EXPECT_EQ(validated.exit_code, 2);
  EXPECT_NE(validated.err.find("cannot finish"), std::string::npos) << validated.err;
}

TEST_F(Run, ADirectoryThatCannotBeMadeEndsWithCodeFour) {
  workspace.write("file", "");
  const Ran ran = workspace.run({"run", "study.yaml", "--out", "file/below"});
  EXPECT_EQ(ran.exit_code, 4);
  EXPECT_NE(ran.err.find("file/below: cannot create"), std::string::npos) << ran.err;
}

TEST(Commands, HelpAndVersionPrintOnStandardOutput) {
  const Workspace workspace;
  EXPECT_EQ(workspace.run({"--version"}).out.rfind("exawarp ", 0), 0u);
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--help"}, {"run", "--help"}, {"workload", "generate", "-h"}}) {
    const Ran ran = workspace.run(arguments);
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_NE(ran.out.find("Usage"), std::string::npos);
    EXPECT_EQ(ran.err, "");
  }
}

TEST(Commands, PholdAgreesInEveryMode) {
  const Workspace workspace;
  std::string digest;
  for (const char* sync : {"sequential", "conservative", "optimistic"}) {
    const Ran ran = workspace.run({"phold", "--lps", "64", "--start-events", "2", "--remote",
                                   "0.5", "--end", "20", "--sync", sync, "--json"});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    const json out = json::parse(ran.out);
    for (const char* key : {"committed_events", "run_s", "events_per_s", "rolled_back_events",
                            "digest", "peak_rss_bytes"}) {
      EXPECT_TRUE(out.contains(key)) << key;
    }
    if (digest.empty()) digest = out["digest"];
    EXPECT_EQ(out["digest"], digest) << sync;
  }
}

// What benchmarks/run takes the memory of an idle LP from.
TEST(Commands, PholdWithoutEventsEndsAtOnce) {
  const Ran ran = Workspace().run({"phold", "--lps", "64", "--start-events", "0", "--remote", "0.5",
                                   "--end", "1", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const json out = json::parse(ran.out);
  EXPECT_EQ(out["committed_events"], 0);
  EXPECT_GT(out["lp_state_bytes"], 0);
}

}  // namespace
}  // namespace exawarp::tests
