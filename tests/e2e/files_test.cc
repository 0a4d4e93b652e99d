// What the program does to files, pipes, devices and its standard streams, as a process.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

namespace fs = std::filesystem;

// `command` of a shell to which E is the program; what it leaves open goes to "out" and "err".
int shell(const std::string& command, const std::string& before = "") {
  const std::string whole =
      "exec 2> err; " + before + " E() { '" EXAWARP_BINARY "' \"$@\"; }; " + command;
  const int status = std::system(whole.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Starts the program with `out` as its standard output.
pid_t start(const std::vector<std::string>& arguments, int out) {
  const pid_t child = fork();
  if (child != 0) return child;
  std::vector<char*> argv{const_cast<char*>(EXAWARP_BINARY)};
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  const int err = open("err", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  execv(EXAWARP_BINARY, argv.data());
  std::_Exit(127);
}

const std::string kTraffic = R"(study: two
devices: 4
fabric:
  name: star
  topology: {kind: single_switch, link: {bandwidth: 1 GB/s, latency: 100 ns},
             switch_latency: 10 ns, endpoint_latency: 0 ns}
packet: {packet_size: "1000 B"}
traffic: {pattern: incast, senders: 1, size: "4000 B"}
)";
const std::string kGoal =
    "num_ranks 2\nrank 0 { send 8b to 1 tag 1 }\nrank 1 { recv 8b from 0 tag 1 }\n";

class Files : public testing::Test {
 protected:
  Files() {
    w.write("study.yaml", small_study());
    w.write("workload.yaml", small_workload());
    w.write("traffic.yaml", kTraffic);
    w.write("s.goal", kGoal);
  }
  // A device like /dev/null, for a test must not risk that one; false where none can be made.
  static bool make_null_device() {
    if (mknod("null", S_IFCHR | 0600, makedev(1, 3)) != 0) return false;
    const int opened = open("null", O_WRONLY);
    if (opened >= 0) close(opened);
    return opened >= 0;
  }
  static std::size_t temporaries() {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(".")) {
      count += entry.path().extension() == ".tmp" ? 1 : 0;
    }
    return count;
  }

  const Workspace w;
};

TEST_F(Files, ADeviceThatIsWrittenToStaysADevice) {
  if (!make_null_device()) GTEST_SKIP() << "no right to make a device here";
  const char* const packets = "--set 'network={fidelity: packet, packet: {packet_size: 4 KiB}}'";
  for (const std::string& command :
       {std::string("run study.yaml --stats null"),
        std::string("run study.yaml --counters null ") + packets,
        std::string("phold --lps 8 --start-events 1 --remote 0.5 --end 2 --stats null"),
        std::string("traffic traffic.yaml --counters null"),
        std::string("workload generate workload.yaml -o null")}) {
    EXPECT_EQ(shell("E " + command + " > out"), 0) << command << w.read("err");
    EXPECT_TRUE(fs::is_character_file("null")) << command;
  }
}

TEST_F(Files, AFullDiskDuringAnExportLeavesAllFilesOfBeforeAndSaysWhy) {
  ASSERT_EQ(shell("E workload generate workload.yaml -o w.xwg > out"), 0);
  ASSERT_EQ(shell("E workload export chakra w.xwg -o t > out"), 0);
  w.write("t.0.et", "old");
  for (const char* name : {"t.1.et", "t.json", "line.svg", "g.dot", "n.xwg"}) w.write(name, "old");
  ASSERT_EQ(shell("E workload export chakra w.xwg -o whole > out"), 0);
  const char* const small = "ulimit -f 1;";  // 512 bytes
  for (const auto& [command, file] :
       {std::pair<std::string, std::string>{"workload export chakra w.xwg -o t", "t.0.et"},
        {"workload export json w.xwg -o t", "t.0.json"},
        {"workload convert whole.0.et -o t.json", "t.json"},
        {"workload inspect w.xwg --timeline line.svg", "line.svg"},
        {"workload export dot w.xwg -o g.dot", "g.dot"},
        {"workload generate workload.yaml -o n.xwg", "n.xwg"}}) {
    EXPECT_EQ(shell("E " + command + " > out", small), 4) << command;
    EXPECT_EQ(w.read("err"), file + ": cannot write: File too large\n") << command;
    EXPECT_EQ(w.has(file) ? w.read(file) : "old", "old") << command;
  }
  EXPECT_EQ(w.read("t.1.et"), "old");
  EXPECT_EQ(temporaries(), 0u);
}

TEST_F(Files, SummariesAreBothOldOrBothNew) {
  fs::create_directories("results/tiny");
  w.write("results/tiny/summary.txt", "old");
  w.write("results/tiny/summary.json", "old");
  // The text fits, the JSON does not.
  EXPECT_EQ(shell("E run study.yaml --quiet --force", "ulimit -f 8;"), 4);
  EXPECT_EQ(w.read("err"), "results/tiny/summary.json: cannot write: File too large\n");
  EXPECT_EQ(w.read("results/tiny/summary.txt"), "old");
  EXPECT_EQ(w.read("results/tiny/summary.json"), "old");
  EXPECT_EQ(temporaries(), 0u);
}

TEST_F(Files, ASummaryThatCannotBeWrittenIsFoundBeforeTheRun) {
  fs::create_directories("results/tiny/summary.json");
  const Ran ran = w.run({"run", "study.yaml"});
  EXPECT_EQ(ran.exit_code, 4);
  EXPECT_EQ(ran.err, "results/tiny/summary.json: cannot write: Is a directory\n");
  EXPECT_EQ(ran.out, "");
}

TEST_F(Files, WhatWasComputedIsPrintedThoughItsFileCannotBeWritten) {
  for (const char* command :
       {"run study.yaml --stats /dev/full",
        "phold --lps 8 --start-events 1 --remote 0.5 --end 2 --stats /dev/full",
        "traffic traffic.yaml --counters /dev/full"}) {
    EXPECT_EQ(shell(std::string("E ") + command + " > out"), 4) << command;
    EXPECT_EQ(w.read("err"), "/dev/full: cannot write: No space left on device\n");
    EXPECT_NE(w.read("out").find("igest"), std::string::npos) << command;
  }
}

TEST_F(Files, ACounterFileThatCannotBeWrittenIsFoundBeforeTheRun) {
  const std::vector<std::string> runs[] = {
      {"run", "study.yaml", "--set", "network={fidelity: packet, packet: {packet_size: 4 KiB}}"},
      {"traffic", "traffic.yaml"}};
  for (std::vector<std::string> arguments : runs) {
    arguments.insert(arguments.end(), {"--counters", "s.goal/below/c.csv"});
    const Ran ran = w.run(arguments);
    EXPECT_EQ(ran.exit_code, 4);
    EXPECT_TRUE(ran.err.starts_with("s.goal/below/c.csv: cannot ")) << ran.err;
    EXPECT_EQ(ran.out, "");
  }
  EXPECT_FALSE(w.has("results/tiny/summary.json"));
}

TEST_F(Files, AClosedStandardOutputIsNoFileOfTheProgram) {
  EXPECT_EQ(shell("E run study.yaml --stats s.csv >&-"), 4);
  EXPECT_TRUE(w.read("s.csv").starts_with("scope,rank,")) << w.read("s.csv").substr(0, 100);
  EXPECT_EQ(w.read("err"), "standard output: cannot write: Bad file descriptor\n");
  EXPECT_TRUE(w.has("results/tiny/summary.json"));
  EXPECT_EQ(shell("E run study.yaml --quiet <&- >&- 2>&-"), 0) << "nothing to print";
}

TEST_F(Files, AFullStandardOutputEndsWithCodeFour) {
  for (const char* command :
       {"run study.yaml --json", "--version", "phold --lps 8 --start-events 1 --remote 0.5 --end 2",
        "topology show study.yaml"}) {
    EXPECT_EQ(shell(std::string("E ") + command + " > /dev/full"), 4) << command;
    EXPECT_EQ(w.read("err"), "standard output: cannot write: No space left on device\n");
  }
}

TEST_F(Files, AReaderThatLeavesEndsTheProgramQuietlyAndKeepsTheFiles) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  int status = 0;
  waitpid(start({"run", "study.yaml", "--json", "--stats", "s.csv"}, ends[1]), &status, 0);
  close(ends[1]);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE) << status;
  EXPECT_EQ(w.read("err"), "");
  EXPECT_TRUE(w.has("results/tiny/summary.json") && w.has("s.csv"));
  EXPECT_EQ(temporaries(), 0u);
}

// The program has made the file of --stats and waits for a reader of the pipe that never comes.
TEST_F(Files, ATerminatedRunLeavesTheFilesOfBeforeAndNoOther) {
  w.write("s.csv", "old");
  ASSERT_EQ(mkfifo("pipe", 0600), 0);
  const int watch = inotify_init1(IN_CLOEXEC);
  inotify_add_watch(watch, ".", IN_CREATE);
  const int null = open("/dev/null", O_WRONLY);
  for (const int number : {SIGTERM, SIGINT}) {
    const pid_t child = start(
        {"run", "study.yaml", "--set", "network={fidelity: packet, packet: {packet_size: 4 KiB}}",
         "--stats", "s.csv", "--counters", "pipe"},
        null);
    while (temporaries() == 0) {
      alignas(inotify_event) std::array<char, 4'096> events;
      ASSERT_GT(read(watch, events.data(), events.size()), 0);
    }
    kill(child, number);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number) << status;
    EXPECT_EQ(temporaries(), 0u);
    EXPECT_EQ(w.read("s.csv"), "old");
  }
  close(null);
  close(watch);
}

TEST_F(Files, APipeAsInputIsRefusedAtOnceByAllThatRead) {
  for (const char* name : {"pipe", "p.0.et", "q.0.json", "pipe.et"}) {
    ASSERT_EQ(mkfifo(name, 0600), 0);
  }
  w.write("through.yaml", replaced(small_study(), "workload.yaml", "pipe"));
  for (const char* command :
       {"run pipe", "run through.yaml", "traffic pipe", "topology show pipe", "goal pipe",
        "workload validate pipe", "workload inspect pipe", "workload generate pipe -o o.xwg",
        "workload import goal pipe -o o.xwg", "workload import stablehlo pipe -o o.xwg",
        "workload import text pipe --ranks 2 -o o.xwg", "workload import pytorch pipe -o o.xwg",
        "workload import chakra p -o o.xwg", "workload import chakra q -o o.xwg",
        "workload convert pipe.et -o o.json", "workload diff pipe pipe",
        "workload export chakra pipe -o o",
        "astra --workload-configuration p --system-configuration pipe --network-configuration "
        "pipe --remote-memory-configuration pipe"}) {
    EXPECT_EQ(shell(std::string("E ") + command + " > out"), 2) << command << w.read("err");
    EXPECT_NE(w.read("err").find(": is a pipe; expected a file, or - for standard input\n"),
              std::string::npos)
        << command << ": " << w.read("err");
  }
}

TEST_F(Files, StandardInputIsRead) {
  ASSERT_EQ(shell("E workload generate workload.yaml -o w.xwg > out"), 0);
  for (const char* command :
       {"cat study.yaml | E run - --quiet", "cat s.goal | E goal -",
        "cat w.xwg | E workload validate -", "E workload validate - < w.xwg",
        "cat w.xwg | E workload diff w.xwg -", "cat traffic.yaml | E traffic -",
        "cat traffic.yaml | E topology show -",
        "cat workload.yaml | E workload generate - -o o.xwg"}) {
    EXPECT_EQ(shell(std::string(command) + " > out"), 0) << command << ": " << w.read("err");
  }
  EXPECT_EQ(w.read("o.xwg"), w.read("w.xwg"));
  EXPECT_EQ(shell("E workload validate - <&- > out"), 4);
  EXPECT_EQ(w.read("err"), "-: cannot read: Bad file descriptor\n");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they take address space

TEST_F(Files, MemoryThatEndsIsNoFaultOfTheProgram) {
  const std::string benchmarks = EXAWARP_SOURCE_DIR "/benchmarks/";
  for (const std::string& command :
       {"workload generate '" + benchmarks + "workloads/llama3_405b_16k_1f1b.yaml' -o o.xwg",
        "topology show '" + benchmarks + "studies/llama3_405b_16k_1f1b.yaml'"}) {
    for (int kibibytes = 45'000; kibibytes <= 57'000; kibibytes += 3'000) {
      const int code =
          shell("E " + command + " > out", "ulimit -v " + std::to_string(kibibytes) + ";");
      EXPECT_NE(code, 1) << kibibytes << ": " << w.read("err");
      EXPECT_TRUE(code != 4 || w.read("err").starts_with("memory: ")) << w.read("err");
    }
  }
  EXPECT_EQ(temporaries(), 0u);
}

#endif

}  // namespace
}  // namespace exawarp::tests
