// Ranks that are not told the same end together, with a line that names what differs; and so do
// ranks of which one lacks what it needs. Each program of an mpirun gets arguments of its own.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

const std::string kProgram = "'" EXAWARP_BINARY "' ";
const std::string kPhold =
    kProgram + "phold --lps 64 --start-events 1 --remote 0.5 --end 5 --threads 1 ";

class RankAgreement : public testing::Test {
 protected:
  // One rank each; -1 where they wait for each other.
  [[nodiscard]] int ranks(const std::string& first, const std::string& second) const {
    // mpirun would give ranks a second between telling them to end and ending them.
    const std::string command = "OMPI_MCA_odls_base_sigkill_timeout=0 timeout 60 "
                                "'" EXAWARP_SOURCE_DIR "/scripts/mpirun' -n 1 " + first +
                                " : -n 1 " + second + " > out 2> err < /dev/null";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) && WEXITSTATUS(status) != 124 ? WEXITSTATUS(status) : -1;
  }
  void expect_difference(const std::string& first, const std::string& second,
                         const std::string& line) const {
    EXPECT_EQ(ranks(first, second), 2);
    const std::string err = workspace_.read("err");
    EXPECT_NE(err.find(line), std::string::npos) << err;
    EXPECT_EQ(workspace_.read("out").find("Engine"), std::string::npos);
  }

  const Workspace workspace_;
};

TEST_F(RankAgreement, AnotherSeedIsNoticed) {
  expect_difference(kPhold, kPhold + "--seed 2",
                    "--seed: differs between ranks: nothing on rank 0, \"2\" on rank 1; expected");
}

TEST_F(RankAgreement, AnOptionOfOneRankIsNoticed) {
  expect_difference(kPhold + "--stats s.csv", kPhold,
                    "--stats: differs between ranks: \"s.csv\" on rank 0, nothing on rank 1");
  EXPECT_FALSE(workspace_.has("s.csv"));
}

TEST_F(RankAgreement, AnotherCommandIsNoticed) {
  expect_difference(kPhold, kProgram + "--help",
                    "command: differs between ranks: \"exawarp phold\" on rank 0, \"exawarp "
                    "--help\" on rank 1");
}

TEST_F(RankAgreement, AnotherExchangeIsNoticed) {
  expect_difference(kPhold, "env EXAWARP_EXCHANGE=messages " + kPhold,
                    "EXAWARP_EXCHANGE: differs between ranks: \"boards\" on rank 0, \"messages\" "
                    "on rank 1");
}

// Of one name, as on machines whose copies differ.
TEST_F(RankAgreement, AnotherContentOfTheStudyIsNoticed) {
  for (const std::string machine : {"a", "b"}) {
    std::filesystem::create_directory(machine);
    workspace_.write(machine + "/study.yaml",
                     small_study() + "seed: " + (machine == "a" ? "1" : "2") + "\n");
    workspace_.write(machine + "/workload.yaml", small_workload());
  }
  const std::string run = kProgram + "run study.yaml --threads 1";
  expect_difference("-wdir a " + run, "-wdir b " + run,
                    "seed: differs between ranks: \"1\" on rank 0, \"2\" on rank 1");
  EXPECT_FALSE(workspace_.has("a/results"));
}

TEST_F(RankAgreement, AnotherContentOfTheWorkloadIsNoticed) {
  for (const std::string machine : {"a", "b"}) {
    std::filesystem::create_directory(machine);
    workspace_.write(machine + "/study.yaml",
                     replaced(small_study(), "workload.yaml", "workload.xwg"));
    workspace_.write("workload.yaml", machine == "a"
                                          ? small_workload()
                                          : replaced(small_workload(), "layers: 4", "layers: 8"));
    const std::string generate = EXAWARP_BINARY " workload generate workload.yaml -o " + machine +
                                 "/workload.xwg >/dev/null";
    ASSERT_EQ(std::system(generate.c_str()), 0);
  }
  const std::string run = kProgram + "run study.yaml --threads 1";
  expect_difference("-wdir a " + run, "-wdir b " + run, "workload.xwg: differs between ranks");
}

TEST_F(RankAgreement, ThreadsMayDiffer) {
  const std::string phold =
      kProgram + "phold --lps 64 --start-events 1 --remote 0.5 --end 5 --json ";
  ASSERT_EQ(ranks(phold + "--threads 1", phold + "--threads 3"), 0) << workspace_.read("err");
  const std::string differing = workspace_.read("out");
  const auto digest = [](const std::string& json) {
    return json.substr(json.find("\"digest\""), 28);
  };
  ASSERT_EQ(ranks(phold + "--threads 1", phold + "--threads 1"), 0) << workspace_.read("err");
  EXPECT_EQ(digest(differing), digest(workspace_.read("out")));
}

TEST_F(RankAgreement, ARankWithoutThreadsEndsAll) {
  const std::string phold =
      kProgram + "phold --lps 4096 --start-events 1 --remote 0.5 --end 1 --partitions 200 ";
  EXPECT_EQ(
      ranks(phold + "--threads 1", "sh -c \"ulimit -v 400000; exec " + phold + "--threads 200\""),
      4);
  EXPECT_NE(workspace_.read("err").find("threads: the system gives "), std::string::npos)
      << workspace_.read("err");
}

}  // namespace
}  // namespace exawarp::tests
