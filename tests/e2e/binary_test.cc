// The program as a process: exit codes and streams as a shell sees them.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

// Runs the program through a shell; its streams go to files "out" and "err".
int shell(const std::string& arguments) {
  const std::string command =
      std::string("'" EXAWARP_BINARY "' ") + arguments + " > out 2> err < /dev/null";
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Binary, RunsAStudyAndPrintsItsSummary) {
  const Workspace workspace;
  workspace.write("study.yaml", small_study());
  workspace.write("workload.yaml", small_workload());
  EXPECT_EQ(shell("run study.yaml --out here"), 0);
  EXPECT_EQ(workspace.read("err"), "");
  EXPECT_EQ(workspace.read("out"), workspace.read("here/summary.txt"));
}

TEST(Binary, RefusesBadInputWithCodeTwoAndOneLine) {
  const Workspace workspace;
  workspace.write("study.yaml", replaced(small_study(), "100 Gb/s", "100 Gb"));
  workspace.write("workload.yaml", small_workload());
  EXPECT_EQ(shell("run study.yaml"), 2);
  EXPECT_EQ(workspace.read("out"), "");
  EXPECT_EQ(workspace.read("err"),
            "study.yaml:23: key \"system.fabric.scale_out.bandwidth\": \"100 Gb\" has no time "
            "unit; expected e.g. \"400 Gb/s\" or \"50 GB/s\"\n");
  EXPECT_FALSE(workspace.has("results"));
}

TEST(Binary, WithoutACommandPointsToTheHelp) {
  const Workspace workspace;
  EXPECT_EQ(shell(""), 2);
  EXPECT_EQ(workspace.read("err"), "exawarp: A subcommand is required; see exawarp --help\n");
  EXPECT_EQ(shell("--version"), 0);
  EXPECT_EQ(workspace.read("out").rfind("exawarp ", 0), 0u);
}

}  // namespace
}  // namespace exawarp::tests
