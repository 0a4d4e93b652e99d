// What a run leaves behind: results that say what they are, and do not take each other's place.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;

class Results : public testing::Test {
 protected:
  Results() {
    workspace.write("study.yaml", small_study());
    workspace.write("workload.yaml", small_workload());
  }

  json summary(const std::vector<std::string>& arguments) const {
    const Ran ran = workspace.run(arguments);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return json::parse(ran.out);
  }

  const Workspace workspace;
};

TEST_F(Results, TheResolvedStudyAloneGivesTheSameDigest) {
  const json first = summary({"run", "study.yaml", "--json", "--out", "a", "--seed", "5", "--set",
                              "compute.jitter=0.1", "--placement", "block"});
  const std::string resolved = workspace.read("a/study.resolved.yaml");
  const Workspace elsewhere;
  elsewhere.write("s.yaml", resolved);
  const Ran again = elsewhere.run({"run", "s.yaml", "--json"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  const json second = json::parse(again.out);
  EXPECT_EQ(second["digest"], first["digest"]);
  EXPECT_EQ(second["placement"], "block");
  EXPECT_EQ(second["seed"], 5);
  EXPECT_EQ(second["provenance"]["resolved_study_hash"],
            first["provenance"]["resolved_study_hash"]);
}

TEST_F(Results, SayWhatTheyWereMadeOf) {
  const json s = summary({"run", "study.yaml", "--json", "--set", "seed=3"})["provenance"];
  EXPECT_EQ(s["command_line"],
            json::parse(R"(["run", "study.yaml", "--json", "--set", "seed=3"])"));
  EXPECT_EQ(s["overrides"], json::parse(R"(["seed=3"])"));
  for (const char* key : {"version", "commit", "build", "compiler", "mpi", "host", "date"}) {
    EXPECT_NE(s[key], "") << key;
  }
}

TEST_F(Results, AnotherStudyGoesBesideAndTheSameOneReplaces) {
  EXPECT_EQ(workspace.run({"run", "study.yaml", "--out", "r"}).err, "");
  const std::string first = workspace.read("r/summary.json");
  const Ran other = workspace.run({"run", "study.yaml", "--out", "r", "--set", "seed=2"});
  EXPECT_EQ(other.exit_code, 0);
  EXPECT_EQ(other.err,
            "r: holds the results of another study; these go to r.2 (--force replaces)\n");
  EXPECT_NE(other.out.find("r.2/summary.json"), std::string::npos) << other.out;
  EXPECT_EQ(workspace.read("r/summary.json"), first);
  EXPECT_EQ(workspace.run({"run", "study.yaml", "--out", "r", "--threads", "1"}).err, "");
  EXPECT_FALSE(workspace.has("r.3"));
  EXPECT_EQ(workspace.run({"run", "study.yaml", "--out", "r", "--seed", "3"}).exit_code, 0);
  EXPECT_TRUE(workspace.has("r.3/summary.json"));
  EXPECT_EQ(workspace.run({"run", "study.yaml", "--out", "r", "--seed", "4", "--force"}).err, "");
  EXPECT_FALSE(workspace.has("r.4"));
  EXPECT_EQ(json::parse(workspace.read("r/summary.json"))["seed"], 4);
}

TEST_F(Results, ThatArePrintedNeedNoDirectory) {
  workspace.write("results", "in the way of the directory");
  const Ran ran = workspace.run({"run", "study.yaml", "--json"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_TRUE(json::parse(ran.out).contains("digest"));
  EXPECT_NE(ran.err.find("the results are printed only"), std::string::npos) << ran.err;
  EXPECT_EQ(workspace.run({"run", "study.yaml"}).exit_code, 4);
}

TEST_F(Results, SayWhatWasOverriddenAndWhetherMemorySuffices) {
  const Ran fits = workspace.run({"run", "study.yaml", "--out", "a"});
  EXPECT_EQ(fits.out.find("Overrides"), std::string::npos);
  EXPECT_NE(fits.out.find(" a device at most\n"), std::string::npos) << fits.out;
  const std::string small = "system.accelerator.memory_capacity=1 MB";
  EXPECT_EQ(workspace.run({"run", "study.yaml", "--out", "b", "--set", small}).exit_code, 2);
  const Ran ignored =
      workspace.run({"run", "study.yaml", "--out", "b", "--set", small, "--ignore-memory"});
  EXPECT_NE(ignored.out.find("Overrides   " + small + " memory.ignore=true\n"), std::string::npos)
      << ignored.out;
  EXPECT_NE(ignored.out.find("DOES NOT FIT"), std::string::npos) << ignored.out;
  EXPECT_EQ(json::parse(workspace.read("a/summary.json"))["memory"]["fits"], true);
  const json memory = json::parse(workspace.read("b/summary.json"))["memory"];
  EXPECT_EQ(memory["fits"], false);
  EXPECT_EQ(memory["capacity_bytes"], 1'000'000);
  EXPECT_GT(memory["programs"][0]["peak_bytes"], 1'000'000);
}

// Without exchanges a pass takes what it computes; passes and the bubble are the step.
TEST_F(Results, TellHowLongPassesTakeWhereSomeRunTogether) {
  const std::string split = "workload.transformer.parallel={tensor: 1, pipeline: 2, data: 4}";
  const json s = summary({"run", "study.yaml", "--json", "--set", "network.fidelity=analytical",
                          "--set", split,
                          "--set", "workload.transformer.schedule={kind: dualpipe}", "--set",
                          "workload.transformer.global_batch_sequences=32"});
  const json& passes = s["passes"];
  double all = 0;
  for (const auto& [name, seconds] : passes.items()) {
    EXPECT_GE(seconds.get<double>(), 0) << name;
    all += seconds.get<double>();
  }
  EXPECT_NEAR(all, s["iteration_time_ps"].get<double>() * 1e-12, 1e-9);
  for (const char* phase : {"forward", "weights"}) {
    double computed = 0;
    for (const json& c : s["compute"]) {
      if (c["phase"] == phase) computed += c["time_s"].get<double>();
    }
    EXPECT_GT(computed, 0) << phase;
    EXPECT_GE(passes[std::string(phase) + "_s"].get<double>(), computed * 0.999) << phase;
  }
  EXPECT_GT(passes["overlapped_s"], passes["forward_s"]);
  EXPECT_FALSE(summary({"run", "study.yaml", "--json"}).contains("passes"));
}

// The account of passes is a part of a device's state that is rolled back with it.
TEST_F(Results, PassesAreTheSameInEveryMode) {
  std::vector<std::string> run{"run", "study.yaml", "--json", "--set",
                               "workload.transformer.overlap.experts=true"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = run;
    all.insert(all.end(), more.begin(), more.end());
    return summary(all);
  };
  const json one = with({"--sync", "sequential"});
  EXPECT_GT(one["passes"]["overlapped_s"], 0);
  for (const std::vector<std::string>& mode : std::vector<std::vector<std::string>>{
           {"--sync", "optimistic", "--partitions", "4"},
           {"--sync", "optimistic", "--audit", "0.5"},
           {"--sync", "conservative"}}) {
    const json other = with(mode);
    EXPECT_EQ(other["digest"], one["digest"]) << mode[1];
    EXPECT_EQ(other["passes"], one["passes"]) << mode[1];
  }
}

TEST_F(Results, StateWhatAReaderWouldWorkOut) {
  const Ran ran = workspace.run({"run", "study.yaml", "--out", "r"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("\nLayout      TP 2, PP 2, DP 2, CP 1, EP 1; chunks a stage 1, "
                         "micro-batches 4\nBubble      "),
            std::string::npos)
      << ran.out;
  const json s = json::parse(workspace.read("r/summary.json"));
  const json& statements = s["statements"];
  EXPECT_EQ(statements["layout"]["micro_batches"], 4);
  EXPECT_EQ(statements["bubble"]["ideal"], 0.2);
  EXPECT_EQ(statements["bubble"]["measured"], s["breakdown"]["waiting"]);
  EXPECT_GT(statements["largest_loss"]["share"], 0);
}

TEST_F(Results, SayWhatLinksAreAskedFor) {
  const std::string on_a_ring =
      "system.fabric=" EXAWARP_SOURCE_DIR "/configs/fabrics/ring_example.yaml";
  const Ran ran = workspace.run({"run", "study.yaml", "--out", "r", "--set", on_a_ring});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("\nFabric      busiest link against busiest interface: "),
            std::string::npos)
      << ran.out;
  const json asked = json::parse(workspace.read("r/summary.json"))["statements"]["fabric"];
  ASSERT_FALSE(asked.empty());
  for (const json& kind : asked) {
    EXPECT_EQ(kind["times"], kind["link_s"].get<double>() / kind["interface_s"].get<double>());
  }
  const json flow = summary({"run", "study.yaml", "--json", "--out", "f", "--set", on_a_ring,
                             "--set", "network.fidelity=flow"});
  EXPECT_FALSE(flow["statements"].contains("fabric"));
}

TEST_F(Results, ElideALongTableInPrintAlone) {
  const Ran ran = workspace.run({"run", "study.yaml", "--out", "r", "--set",
                                 "workload.transformer.model.layers=8", "--set",
                                 "workload.transformer.parallel.pipeline=8"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("\n  stage 1 "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("\n  ... (5 classes)\n  stage 7 "), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("\n  stage 2 "), std::string::npos) << ran.out;
  EXPECT_EQ(json::parse(workspace.read("r/summary.json"))["classes"].size(), 8u);
}

TEST_F(Results, AreComparedInputsFirst) {
  EXPECT_EQ(workspace.run({"run", "study.yaml", "--out", "a"}).exit_code, 0);
  EXPECT_EQ(workspace.run({"run", "study.yaml", "--out", "b", "--sync", "sequential"}).exit_code,
            0);
  EXPECT_EQ(workspace.run({"run", "study.yaml", "--out", "c", "--set",
                           "workload.transformer.model.ffn=2048"}).exit_code, 0);
  EXPECT_EQ(workspace.run({"compare", "a", "b"}).exit_code, 0);
  const Ran drifted = workspace.run({"compare", "a", "c/summary.json", "--json"});
  EXPECT_EQ(drifted.exit_code, 1) << drifted.err;
  const json comparison = json::parse(drifted.out);
  EXPECT_EQ(comparison["inputs"][0]["key"], "study.workload.transformer.model.ffn");
  EXPECT_GT(comparison["drifted"], 0);
  EXPECT_EQ(workspace.run({"compare", "a", "c", "--tolerance", "1e9"}).exit_code, 0);
  EXPECT_EQ(workspace.run({"compare", "a", "study.yaml"}).exit_code, 2);
}

}  // namespace
}  // namespace exawarp::tests
