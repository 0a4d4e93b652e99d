// Measured kernels through the program: chosen by default where an accelerator has them, told of in
// the summary, the same in every mode; files that are not sound end a run before it begins.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;

class KernelTables : public testing::Test {
 protected:
  KernelTables() {
    workspace.write("study.yaml", small_study());
    workspace.write("workload.yaml", small_workload());
    write_table(small_kernel_table());
  }

  void write_table(const std::string& text) const {
    workspace.write("gemm_bfloat16.xkt", text);
  }
  Ran run(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"run", "study.yaml", "--json", "--set",
                                       "system.accelerator.tables=."};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return workspace.run(arguments);
  }
  json summary(const std::vector<std::string>& more = {}) const {
    const Ran ran = run(more);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return json::parse(ran.out);
  }
  // What a run without tables says.
  json plain() const { return json::parse(workspace.run({"run", "study.yaml", "--json"}).out); }

  const Workspace workspace;
};

TEST_F(KernelTables, AreTheDefaultAndTheSummarySaysHowTimesAreKnown) {
  const json tabled = summary();
  EXPECT_EQ(tabled["compute_fidelity"], "table");
  EXPECT_NE(tabled["digest"], plain()["digest"]);
  const json& pedigree = tabled["pedigree"];
  EXPECT_GT(pedigree["interpolated"].get<double>(), 0.1);
  EXPECT_GT(pedigree["modelled"].get<double>(), 0.1);
  EXPECT_GT(pedigree["step_time_error"].get<double>(), 0);
  double all = 0;
  for (const json& operation : pedigree["operations"]) all += operation["share"].get<double>();
  EXPECT_NEAR(all, 1, 1e-9);
}

TEST_F(KernelTables, LeaveTheRooflineAsItIs) {
  const json expected = plain();
  EXPECT_EQ(expected["compute_fidelity"], "roofline");
  const json roofline = summary({"--set", "compute.fidelity=roofline"});
  EXPECT_EQ(roofline["digest"], expected["digest"]);
  EXPECT_EQ(roofline["pedigree"]["modelled"], 1.0);
  EXPECT_EQ(summary({"--set", "compute.by_operation.gemm=roofline"})["digest"],
            expected["digest"]);
}

TEST_F(KernelTables, GiveTheSameDigestInEveryMode) {
  const json expected = summary({"--sync", "sequential"});
  for (const char* sync : {"conservative", "optimistic"}) {
    EXPECT_EQ(summary({"--sync", sync, "--threads", "2"})["digest"], expected["digest"]) << sync;
  }
}

TEST_F(KernelTables, AFileThatIsNotSoundIsRefused) {
  const std::string table = small_kernel_table();
  write_table(table.substr(0, table.find("cells\n")) + "cells\nabc");
  const Ran ran = run();
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.err.find("gemm_bfloat16.xkt:8: 3 bytes of cells; expected 16"), std::string::npos)
      << ran.err;
  EXPECT_EQ(run({"--set", "compute.fidelity=roofline"}).exit_code, 0) << "never read";
}

TEST_F(KernelTables, AFolderThatIsNotThereIsRefused) {
  const Ran ran = workspace.run(
      {"run", "study.yaml", "--set", "system.accelerator.tables=nowhere"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.err.find("there is no folder \"nowhere\""), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace exawarp::tests
