// `exawarp workload sample` through the program's commands: equal bytes, one digest in every mode,
// what the report says, what does not leak, and errors that leave nothing behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/workload/builder.h"
#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

class SampleCommand : public testing::Test {
 protected:
  SampleCommand() {
    workspace.write("workload.yaml",
                    replaced(small_workload(), "name: tiny", "name: confidential"));
    workspace.write("other.yaml",
                    replaced(small_workload(), "gradient_buckets: 1", "gradient_buckets: 2"));
    make("workload");
    make("other");
  }
  void make(const std::string& name) const {
    const Ran ran =
        workspace.run({"workload", "generate", name + ".yaml", "-o", name + ".xwg"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
  }
  [[nodiscard]] Ran sample(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{"workload", "sample", "--like", "workload.xwg",
                                       "other.xwg"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return workspace.run(arguments);
  }
  [[nodiscard]] std::string digest(const std::string& graph,
                                   const std::vector<std::string>& more) const {
    workspace.write("study.yaml", replaced(small_study(), "workload.yaml", graph));
    std::vector<std::string> arguments{"run", "study.yaml", "--out", "results"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = workspace.run(arguments);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return nlohmann::json::parse(workspace.read("results/summary.json")).at("digest").dump();
  }
  const Workspace workspace;
};

TEST_F(SampleCommand, OneSeedGivesOneFile) {
  for (const char* name : {"a.xwg", "b.xwg"}) {
    EXPECT_EQ(sample({"--seed", "7", "-o", name}).exit_code, 0);
  }
  EXPECT_EQ(sample({"--seed", "8", "-o", "c.xwg"}).exit_code, 0);
  EXPECT_EQ(workspace.read("a.xwg"), workspace.read("b.xwg"));
  EXPECT_NE(workspace.read("a.xwg"), workspace.read("c.xwg"));
}

TEST_F(SampleCommand, SampledGraphsRunWithOneDigestInEveryMode) {
  ASSERT_EQ(sample({"--seed", "3", "--count", "3", "-o", "s.xwg"}).exit_code, 0);
  for (const std::string name : {"s.0.xwg", "s.1.xwg", "s.2.xwg"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(workspace.run({"workload", "validate", name}).exit_code, 0);
    for (const std::string fidelity : {"analytical", "message"}) {
      const std::string network = "network.fidelity=" + fidelity;
      const std::string expected = digest(name, {"--sync", "sequential", "--set", network});
      EXPECT_EQ(digest(name, {"--sync", "conservative", "--threads", "2", "--set", network}),
                expected);
      EXPECT_EQ(digest(name, {"--threads", "2", "--partitions", "3", "--audit", "0.1", "--set",
                              network}),
                expected);
    }
  }
}

TEST_F(SampleCommand, TheReportComparesWithHalvesOfTheGiven) {
  const Ran ran = sample({"--count", "4", "--json", "--report", "r.json", "-o", "s.xwg"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, workspace.read("r.json"));
  const nlohmann::json report = nlohmann::json::parse(ran.out);
  EXPECT_EQ(report.at("given"), 2);
  EXPECT_EQ(report.at("sampled"), 4);
  EXPECT_GE(report.at("measures").size(), 12u);
  for (const nlohmann::json& measure : report.at("measures")) {
    EXPECT_FALSE(measure.at("sampled").is_null()) << measure;
    EXPECT_FALSE(measure.at("halves").is_null()) << measure;
  }
  const Ran text = sample({"--count", "4", "-o", "s.xwg"});
  EXPECT_NE(text.out.find("halves of the given"), std::string::npos) << text.out;
}

TEST_F(SampleCommand, NoTextOfTheSourceIsInTheFile) {
  const std::string source = workspace.read("workload.xwg");
  ASSERT_EQ(sample({"--count", "2", "--report", "r.json", "-o", "s.xwg"}).exit_code, 0);
  for (const char* file : {"s.0.xwg", "s.1.xwg", "r.json"}) {
    const std::string sampled = workspace.read(file);
    for (const char* text : {"confidential", "tensor", "pipeline", "attention.", "gradient",
                             "workload.xwg", "stage"}) {
      EXPECT_EQ(sampled.find(text), std::string::npos) << file << " has " << text;
    }
  }
  for (const char* text : {"confidential", "tensor", "pipeline", "gradient"}) {
    EXPECT_NE(source.find(text), std::string::npos) << text << " was never there";
  }
}

TEST_F(SampleCommand, BadInputIsOneLineAndLeavesNothing) {
  workspace.write("bad.xwg", "no graph");
  const struct {
    std::vector<std::string> arguments;
    std::string says;
  } cases[] = {
      {{"-o", "z.xwg"}, "--like is required"},
      {{"--like", "missing.xwg", "-o", "z.xwg"}, "missing.xwg: cannot open"},
      {{"--like", "missing", "-o", "z.xwg"}, "missing.0.et: there is no such file"},
      {{"--like", "bad.xwg", "-o", "z.xwg"}, "bad.xwg: not a workload graph"},
      {{"--like", "workload.xwg", "empty.xwg", "-o", "z.xwg"}, "empty.xwg: no node; expected"},
      {{"--like", "workload.xwg"}, "--output is required"},
      {{"--like", "workload.xwg", "--nodes", "0", "-o", "z.xwg"}, "from 1 to"},
      {{"--like", "workload.xwg", "--ranks", "0", "-o", "z.xwg"}, "from 1 to"},
      {{"--like", "workload.xwg", "--count", "-1", "-o", "z.xwg"}, "from 1 to"},
      {{"--like", "workload.xwg", "--seed", "one", "-o", "z.xwg"}, "whole number"},
      {{"--like", "workload.xwg", "-o", "workload.xwg"}, "is one of the graphs given"},
  };
  model::WorkloadBuilder empty("empty");
  empty.add_axis("device", 1);
  empty.add_program("nothing");
  empty.bind_range(0, {.axis = 0, .first = 0, .count = 1});
  empty.build().write("empty.xwg");
  const std::string before = workspace.read("workload.xwg");
  for (const auto& [arguments, says] : cases) {
    SCOPED_TRACE(says);
    std::vector<std::string> all{"workload", "sample"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Ran ran = workspace.run(all);
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_NE(ran.err.find(says), std::string::npos) << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_FALSE(workspace.has("z.xwg"));
  }
  EXPECT_EQ(workspace.read("workload.xwg"), before);
}

}  // namespace
}  // namespace exawarp::tests
