// Checkpoints and restarts through the commands: the same digest in any mode, and what is refused.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "io/life/directory_lock.h"
#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const std::vector<Words>& modes() {
  static const std::vector<Words> all{{"--sync", "sequential"},
                                      {"--sync", "conservative", "--partitions", "3"},
                                      {"--threads", "2", "--partitions", "4"}};
  return all;
}

class Checkpoints : public testing::Test {
 protected:
  Checkpoints() {
    workspace.write("study.yaml", small_study());
    workspace.write("workload.yaml", small_workload());
  }

  json done(const Words& arguments) const {
    const Ran ran = workspace.run(arguments);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return ran.exit_code == 0 ? json::parse(ran.out) : json();
  }
  // Writes checkpoints of the small study.
  void write() const {
    done(Words{"run", "study.yaml", "--json", "--checkpoint", "c", "--checkpoint-every",
               "100 us simulated"});
  }
  void expect_refused(const Words& arguments, const std::string& error) const {
    const Ran ran = workspace.run(arguments);
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_EQ(ran.err, error + "\n");
  }
  // A file's bytes with one of them changed.
  void damage(const std::string& file, std::size_t at) const {
    std::string bytes = workspace.read(file);
    ASSERT_LT(at, bytes.size());
    bytes[at] = static_cast<char>(bytes[at] ^ 0x20);
    workspace.write(file, bytes);
  }
  // The newest in c, and the one before.
  [[nodiscard]] std::vector<std::string> newest() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator("c")) {
      all.push_back(entry.path().string());
    }
    std::ranges::sort(all, std::greater{});
    return all;
  }

  const Workspace workspace;
};

TEST_F(Checkpoints, ARunGoesOnInAnyModeToTheSameSummary) {
  const json whole = done({"run", "study.yaml", "--json", "--out", "a"});
  write();
  ASSERT_EQ(newest().size(), 2u);
  for (const Words& mode : modes()) {
    const json again = done(Words{"run", "--restart", "c", "--json", "--out", "b"} + mode);
    EXPECT_EQ(again["digest"], whole["digest"]);
    EXPECT_EQ(again["committed_events"], whole["committed_events"]);
    const Ran compared = workspace.run({"compare", "a", "b"});
    EXPECT_EQ(compared.exit_code, 0) << compared.out;
    EXPECT_EQ(again["provenance"]["restarted_from"], newest().front());
  }
}

TEST_F(Checkpoints, ARunWaitsForOneThatStillWritesThere) {
  write();
  const auto started = std::chrono::steady_clock::now();
  constexpr std::chrono::milliseconds kLonger{300};
  auto other = std::make_unique<const io::DirectoryLock>(
      "c", io::DirectoryLock::Kind::exclusive, std::chrono::milliseconds{0});
  ASSERT_TRUE(other->is_held());
  const io::DirectoryLock late("c", io::DirectoryLock::Kind::shared, std::chrono::milliseconds{0});
  EXPECT_FALSE(late.is_held());
  std::jthread ends([&] {
    std::this_thread::sleep_for(kLonger);
    other.reset();
  });
  done(Words{"run", "--restart", "c", "--json", "--out", "b"});
  EXPECT_GE(std::chrono::steady_clock::now() - started, kLonger);
}

TEST_F(Checkpoints, OfTrafficGoalAndPhold) {
  workspace.write("traffic.yaml",
                  "study: small\ndevices: 16\nfabric:\n  name: small\n  topology:\n"
                  "    kind: fat_tree\n    radix: 4\n"
                  "    link: {bandwidth: 1 GB/s, latency: 100 ns}\n"
                  "    switch_latency: 10 ns\n    endpoint_latency: 0 ns\n"
                  "packet: {packet_size: 1000 B, cut_through: false}\n"
                  "traffic: {pattern: incast, senders: 3, size: 40000 B}\n");
  std::string goal = "num_ranks 2\n";
  goal += "rank 0 {\nl1: send 64b to 1 tag 1\nl2: recv 64b from 1 tag 2\nl3: calc 900000\n"
          "l2 requires l1\nl3 requires l2\n}\n";
  goal += "rank 1 {\nl1: recv 64b from 0 tag 1\nl2: calc 500000\nl3: send 64b to 0 tag 2\n"
          "l2 requires l1\nl3 requires l2\n}\n";
  workspace.write("s.goal", goal);
  struct Case {
    std::string command;
    Words what;
    std::string every;
  };
  const Case cases[] = {
      {"traffic", {"traffic.yaml", "--seed", "7"}, "20 us simulated"},
      {"goal", {"s.goal", "-L", "100"}, "500 us simulated"},
      {"phold",
       {"--lps", "64", "--start-events", "2", "--remote", "0.5", "--end", "20", "--seed", "3"},
       "5 us simulated"}};
  for (const auto& [command, what, every] : cases) {
    SCOPED_TRACE(command);
    const json whole = done(Words{command} + what + Words{"--json"});
    done(Words{command} + what + Words{"--json", "--checkpoint", command + ".c",
                                       "--checkpoint-every", every});
    for (const Words& mode : modes()) {
      const json again = done(Words{command, "--restart", command + ".c", "--json"} + mode);
      EXPECT_EQ(again["digest"], whole["digest"]);
      EXPECT_EQ(again["committed_events"], whole["committed_events"]);
      EXPECT_EQ(again.value("completion_ps", json()), whole.value("completion_ps", json()));
    }
  }
}

TEST_F(Checkpoints, ATimeLimitLeavesOneAndExitCode75) {
  const Words phold{"phold", "--lps", "1024", "--start-events", "2", "--remote", "0.5", "--end",
                    "2000"};
  const json whole = done(phold + Words{"--json"});
  const Ran stopped =
      workspace.run(phold + Words{"--time-limit", "0.001", "--checkpoint", "c"});
  EXPECT_EQ(stopped.exit_code, 75) << stopped.err;
  EXPECT_NE(stopped.err.find("--restart c/checkpoint-000001 goes on\n"), std::string::npos)
      << stopped.err;
  EXPECT_EQ(done({"phold", "--restart", "c", "--json"})["digest"], whole["digest"]);
}

TEST_F(Checkpoints, ARestartMayWriteMoreOfThem) {
  const json whole = done({"run", "study.yaml", "--json"});
  write();
  const std::string before = newest().front();
  done({"run", "--restart", newest().back(), "--json", "--checkpoint", "c", "--checkpoint-every",
        "100 us simulated"});
  EXPECT_GT(newest().front(), before);
  EXPECT_EQ(done({"run", "--restart", "c", "--json"})["digest"], whole["digest"]);
}

TEST_F(Checkpoints, OfSomethingElseAreRefused) {
  expect_refused({"run", "--restart", "nowhere"},
                 "nowhere: holds no checkpoint; expected a directory that --checkpoint was given");
  write();
  const std::string at = newest().front();
  expect_refused({"goal", "--restart", "c"},
                 at + ": is of `exawarp run`; expected `exawarp run --restart`");
  expect_refused({"run", "--restart", "c", "--seed", "9"},
                 "--set seed: changes what is simulated, of which the checkpoint holds the past; "
                 "expected a key of \"engine\" or \"placement\", or, for what is behind it, "
                 "faults, jitter, packet.routing, packet.ecn or numbers of the congestion control");
  const Ran other =
      workspace.run({"run", "study.yaml", "--seed", "9", "--checkpoint", "c", "--out", "o"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_EQ(other.err.find("c: holds checkpoints of something else: of study \""), 0u)
      << other.err;
  EXPECT_EQ(done({"run", "--restart", "c", "--json", "--set", "engine.window=3 us", "--out",
                  "w"})["status"],
            "finished");
}

TEST_F(Checkpoints, DamagedOnesAreRefusedByNameAndTheOneBeforeIsNamed) {
  write();
  const std::string at = newest().front(), before = newest().back();
  const std::string part = at + "/rank-00000.part", manifest = at + "/manifest.json";
  const std::string also = "; the one before is " + before;
  const std::string sound = workspace.read(part), sound_manifest = workspace.read(manifest);
  damage(part, sound.size() - 9);
  const Ran altered = workspace.run({"run", "--restart", "c"});
  EXPECT_EQ(altered.exit_code, 2);
  EXPECT_EQ(altered.err.find(part + ": is not as it was written: the checksum of its "), 0u)
      << altered.err;
  EXPECT_NE(altered.err.find(also), std::string::npos) << altered.err;
  workspace.write(part, sound.substr(0, sound.size() / 2));
  expect_refused({"run", "--restart", "c"},
                 part + ": has " + std::to_string(sound.size() / 2) + " bytes; expected " +
                     std::to_string(sound.size()) + ", as the checkpoint was written" + also);
  workspace.write(part, sound);
  workspace.write(manifest, replaced(sound_manifest, "exawarp-checkpoint-1",
                                     "exawarp-checkpoint-2"));
  expect_refused({"run", "--restart", "c"},
                 manifest + ": is of another version: \"exawarp-checkpoint-2\"; this program "
                            "reads \"exawarp-checkpoint-1\"" + also);
  workspace.write(manifest, replaced(sound_manifest, "\"at_ps\": ", "\"at_ps\": 1"));
  expect_refused({"run", "--restart", "c"},
                 manifest + ": is not as it was written: its checksum differs" + also);
  EXPECT_EQ(done({"run", "--restart", before, "--json"})["status"], "finished");
}

TEST_F(Checkpoints, OptionsThatContradictEachOtherAreRefused) {
  expect_refused({"run", "study.yaml", "--checkpoint-every", "1 s"},
                 "--checkpoint-every: has no effect without --checkpoint DIR");
  expect_refused({"run", "study.yaml", "--checkpoint", "c", "--checkpoint-every", "0 s"},
                 "--checkpoint-every: \"0 s\" is too short; expected e.g. \"10 min\" or "
                 "\"5 ms simulated\"");
  expect_refused({"run"}, "exawarp run: STUDY is required; expected it, or --restart DIR; see "
                          "exawarp run --help");
  EXPECT_EQ(workspace.run({"run", "study.yaml", "--restart", "c"}).exit_code, 2);
  expect_refused({"phold", "--restart", "c", "--lps", "4"},
                 "--lps: is what the checkpoint says; expected --restart without it");
  EXPECT_FALSE(workspace.has("c"));
}

}  // namespace
}  // namespace exawarp::tests
