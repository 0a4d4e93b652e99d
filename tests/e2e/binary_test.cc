// The program as a process: exit codes and streams as a shell sees them.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "core/mapped_file.h"
#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

// Runs the program through a shell, under its `limits`; its streams go to files "out" and "err".
int shell(const std::string& arguments, const std::string& limits = "") {
  const std::string command =
      limits + "'" EXAWARP_BINARY "' " + arguments + " > out 2> err < /dev/null";
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

TEST(Binary, FindsTheConfigurationsOfItsCheckout) {
  const Workspace workspace;
  EXPECT_EQ(shell("topology show llama2_7b_8"), 0) << workspace.read("err");
  EXPECT_EQ(shell("topology show llama2_7b"), 2);
  EXPECT_NE(workspace.read("err").find("; did you mean llama2_7b_8 or"), std::string::npos)
      << workspace.read("err");
}

TEST(Binary, DoctorEndsWithFourWhereSomethingWouldStopARun) {
  const Workspace workspace;
  EXPECT_EQ(shell("doctor", "ulimit -f 64; "), 4) << workspace.read("err");  // blocks of 512 bytes
  const std::string out = workspace.read("out");
  EXPECT_NE(out.find("\nstops    file size        32 KiB\n"), std::string::npos) << out;
  EXPECT_NE(out.find("\na run would be stopped; "), std::string::npos) << out;
  EXPECT_EQ(workspace.read("err"), "");
  EXPECT_EQ(shell("doctor --json", "ulimit -f 64; "), 4);
  EXPECT_NE(workspace.read("out").find("\"runs\": false"), std::string::npos);
}

TEST(Binary, RefusesAnExchangeThatItDoesNotKnow) {
  const Workspace workspace;
  ::setenv("EXAWARP_EXCHANGE", "mesages", 1);
  const int exit_code = shell("phold --lps 8 --start-events 1 --remote 0.5 --end 1");
  ::unsetenv("EXAWARP_EXCHANGE");
  EXPECT_EQ(exit_code, 2);
  EXPECT_EQ(workspace.read("err"),
            "EXAWARP_EXCHANGE: \"mesages\" is not known; expected one of: boards, messages; did "
            "you mean \"messages\"?\n");
  EXPECT_EQ(workspace.read("out"), "");
}

TEST(Binary, HasNoMorePartitionsThanThereIsToPlace) {
  const Workspace workspace;
  const std::string phold = "phold --lps 2 --start-events 1 --remote 0.5 --end 5 --json ";
  EXPECT_EQ(shell(phold + "--partitions 8000"), 0);
  EXPECT_EQ(workspace.read("err"),
            "partitions per rank: 8000 are more than there is to place; 2 are used\n");
  EXPECT_NE(workspace.read("out").find("\"partitions\": 2"), std::string::npos)
      << workspace.read("out");
}

void cut_a_mapped_file_short() {
  const Workspace workspace;
  static_cast<void>(workspace.run({"--version"}));
  workspace.write("mapped", "x");
  const core::MappedFile file("mapped");
  std::filesystem::resize_file("mapped", 0);
  const volatile std::byte* byte = file.bytes().data();
  static_cast<void>(*byte);
}

TEST(Binary, ExplainsAMappedFileThatIsCutShort) {
  EXPECT_EXIT(cut_a_mapped_file_short(), testing::ExitedWithCode(4), "/mapped: was cut short");
}

}  // namespace
}  // namespace exawarp::tests
