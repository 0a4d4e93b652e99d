// `--counters` of `exawarp run`: the ports' table adds up to the summary, and every way of running
// a study writes the same file.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "io/cli/commands/run.h"
#include "pdes/transport_in_process.h"
#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;

class CountersOfARun : public testing::Test {
 protected:
  CountersOfARun() {
    workspace.write("study.yaml", small_study());
    workspace.write("workload.yaml", small_workload());
    arguments.study_file = "study.yaml";
    arguments.quiet = true;
    arguments.options.sync = pdes::Sync::optimistic;
    arguments.overrides = {
        "network={fidelity: packet, packet: {packet_size: 4 KiB, buffer: 12 KiB, recovery: "
        "selective_repeat, ecn: {kmin: 4 KiB, kmax: 8 KiB}}}",
        "system.fabric.scale_out.spines_per_pod=1", "counters={bucket: 1 us, buckets: 64}"};
  }
  // The counters' file after a run on `ranks` ranks, which are threads here.
  std::string counters(std::uint32_t ranks, std::uint32_t threads) {
    arguments.options.threads = threads;
    arguments.counters = "ports.csv";
    pdes::InProcessHub hub(ranks, 0);
    std::ostringstream out, err;
    std::vector<std::jthread> all;
    for (std::uint32_t r = 0; r < ranks; ++r) {
      all.emplace_back([&, r] {
        const auto transport = hub.endpoint({r});
        EXPECT_EQ(io::run_study(arguments, io::Console{out, err, false}, *transport), 0);
      });
    }
    all.clear();
    return workspace.read("ports.csv");
  }
  const Workspace workspace;
  io::RunArguments arguments;
};

struct Sums {
  std::uint64_t switch_packets = 0, device_packets = 0, marks = 0, drops = 0;
  std::int64_t deepest_queue_ps = 0;
};

Sums sums_of(const std::string& csv) {
  Sums sums;
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("vertex,port,peer,peer_port,link,from_ps,until_ps,bytes,packets,"));
  while (std::getline(lines, line)) {
    std::array<std::string, 15> cells;
    std::istringstream row(line);
    for (std::string& cell : cells) std::getline(row, cell, ',');
    (cells[0][0] == 's' ? sums.switch_packets : sums.device_packets) += std::stoull(cells[8]);
    EXPECT_LE(std::stod(cells[9]), 1.0);
    sums.deepest_queue_ps = std::max<std::int64_t>(sums.deepest_queue_ps, std::stoll(cells[11]));
    sums.marks += std::stoull(cells[12]);
    sums.drops += std::stoull(cells[13]);
  }
  return sums;
}

TEST_F(CountersOfARun, AddUpToTheSummaryAndChangeNoDigest) {
  const Sums sums = sums_of(counters(1, 1));
  const json with = json::parse(workspace.read("results/tiny/summary.json"));
  const json& packets = with["packets"];
  EXPECT_GT(packets["drops"], 0);
  EXPECT_GT(packets["marks"], 0);
  EXPECT_EQ(sums.switch_packets, packets["packet_hops"]);
  EXPECT_EQ(sums.device_packets, packets["packets_sent"]);
  EXPECT_EQ(sums.marks, packets["marks"]);
  EXPECT_EQ(sums.drops, packets["drops"]);
  EXPECT_EQ(sums.deepest_queue_ps, packets["deepest_queue_ps"]);
  arguments.counters.clear();
  EXPECT_EQ(workspace.run({"run", "study.yaml", "--quiet", "--set", arguments.overrides[0], "--set",
                           arguments.overrides[1]})
                .exit_code,
            0);
  EXPECT_EQ(json::parse(workspace.read("results/tiny/summary.json"))["digest"], with["digest"]);
}

TEST_F(CountersOfARun, AreOneFileOnAnyNumberOfRanksAndThreads) {
  const std::string expected = counters(1, 1);
  EXPECT_EQ(counters(1, 2), expected);
  EXPECT_EQ(counters(2, 1), expected);
  EXPECT_EQ(counters(2, 2), expected);
}

TEST_F(CountersOfARun, AreRefusedWhereThereAreNoPackets) {
  const Ran ran = workspace.run({"run", "study.yaml", "--counters", "ports.csv"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.err,
            "--counters: only packets are counted by port; expected study.yaml with "
            "network.fidelity: packet\n");
  EXPECT_FALSE(workspace.has("ports.csv"));
}

}  // namespace
}  // namespace exawarp::tests
