// `exawarp traffic` through the program's commands: results, modes that agree, and errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;

class TrafficCommand : public testing::Test {
 protected:
  TrafficCommand() {
    workspace.write("fabric.yaml", R"(name: small
topology:
  kind: fat_tree
  radix: 4
  link: {bandwidth: "1 GB/s", latency: "100 ns"}
  switch_latency: "10 ns"
  endpoint_latency: "0 ns"
)");
    workspace.write("study.yaml", R"(study: small
devices: 16
fabric: fabric.yaml
packet: {packet_size: "1000 B", cut_through: false}
traffic: {pattern: incast, senders: 1, size: "4000 B"}
)");
  }
  json result(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"traffic", "study.yaml", "--json"});
    const Ran ran = workspace.run(arguments);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return json::parse(ran.out);
  }
  std::string error(const std::vector<std::string>& overrides) const {
    std::vector<std::string> arguments{"traffic", "study.yaml"};
    for (const std::string& text : overrides) arguments.insert(arguments.end(), {"--set", text});
    const Ran ran = workspace.run(arguments);
    EXPECT_EQ(ran.exit_code, 2);
    return ran.err;
  }
  const Workspace workspace;
};

TEST_F(TrafficCommand, PrintsCompletionTimesByTheFormula) {
  // Below one leaf: 2 links of 100 ns, a switch of 10 ns, 4 + 1 packets of 1 us.
  const json r = result({});
  EXPECT_EQ(r["schema"], "exawarp-traffic-1");
  EXPECT_EQ(r["completion_ps"]["max"], 210'000 + 5'000'000);
  EXPECT_EQ(r["messages"], 1);
  EXPECT_EQ(r["packet_hops"], 4);
}

TEST_F(TrafficCommand, EveryModePrintsTheSameDigest) {
  const std::vector<std::string> pattern{"--set", "traffic.pattern=permutation"};
  const auto digest = [&](std::vector<std::string> more) {
    more.insert(more.end(), pattern.begin(), pattern.end());
    return result(more)["digest"];
  };
  const json expected = digest({"--sync", "sequential"});
  EXPECT_EQ(digest({"--sync", "conservative", "--threads", "2"}), expected);
  EXPECT_EQ(digest({"--sync", "optimistic", "--threads", "2", "--audit", "0.2"}), expected);
}

TEST_F(TrafficCommand, AnIncastRunsSequentiallyUnlessAskedOtherwise) {
  EXPECT_EQ(result({})["sync"], "sequential");
  EXPECT_EQ(result({"--sync", "optimistic"})["sync"], "optimistic");
  EXPECT_EQ(result({"--set", "traffic.pattern=permutation"})["sync"], "optimistic");
}

TEST_F(TrafficCommand, SharesLinksAmongFlowsInEveryMode) {
  const auto flows = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--set", "fidelity=flow", "--set", "traffic.senders=3"});
    return result(more);
  };
  // Device 1 is below device 0's switch, 2 and 3 below another: 4 links, 3 switches.
  const json expected = flows({"--sync", "sequential"});
  EXPECT_EQ(expected["fidelity"], "flow");
  EXPECT_NEAR(expected["completion_ps"]["max"].get<double>(), 430'000 + 3 * 4'000'000, 1);
  EXPECT_EQ(expected["flows"]["ended"], 3);
  EXPECT_EQ(expected["flows"]["largest_part"], 3);
  EXPECT_EQ(flows({"--sync", "conservative", "--threads", "2"})["digest"], expected["digest"]);
  EXPECT_EQ(flows({"--sync", "optimistic", "--threads", "2", "--audit", "0.2"})["digest"],
            expected["digest"]);
}

TEST_F(TrafficCommand, RefusesOfFlowsWhatOnlyPacketsMeet) {
  const auto refused = [&](const std::string& rule, const std::string& text) {
    const std::string line = error({"fidelity=flow", rule});
    EXPECT_NE(line.find(text), std::string::npos) << line;
    EXPECT_EQ(std::ranges::count(line, '\n'), 1) << line;
  };
  refused("faults.slow_links=[{links: [d0 s0], factor: 2}]", "expected fidelity: packet");
  refused("latency_jitter={mean: 1 us}", "expected fidelity: packet");
  refused("packet.routing=spray", "expected one of: deterministic, destination, ecmp");
  refused("traffic.size=1 TiB", "at fidelity flow");
}

TEST_F(TrafficCommand, SaysWhatIsWrongInOneLine) {
  EXPECT_EQ(error({"packet.flow_control=credits"}),
            "--set packet.flow_control: \"credits\" is not known here; expected one of: none, "
            "credit, pfc; did you mean \"credit\"?\n");
  EXPECT_EQ(error({"traffic.senders=16"}),
            "study.yaml: traffic: senders: \"16\"; this pattern has 15 at most on 16 devices\n");
  EXPECT_EQ(error({"packet.flow_control=credit", "packet.buffer=100 B"}),
            "study.yaml: packet network: buffer: \"100 B\" an input and channel; credits need 4 "
            "packets, 4000 B, at least\n");
  EXPECT_EQ(error({"packet.routing=adaptiv"}),
            "--set packet.routing: \"adaptiv\" is not known here; expected one of: deterministic, "
            "destination, ecmp, spray, adaptive, valiant, ugal; did you mean \"adaptive\"?\n");
  for (const char* key : {"packet.transport", "packet.recovery", "traffic.pattern"}) {
    const std::string line = error({std::string(key) + "=nonsense"});
    EXPECT_TRUE(line.starts_with("--set " + std::string(key) + ": \"nonsense\" is not known here;"))
        << line;
  }
}

TEST_F(TrafficCommand, WritesCountersThatAddUpAndChangeNothing) {
  const json without = result({"--set", "traffic.senders=3"});
  const json with = result(
      {"--set", "traffic.senders=3", "--set", "counters.buckets=4", "--counters", "ports.csv"});
  EXPECT_EQ(with["digest"], without["digest"]);
  std::istringstream lines(workspace.read("ports.csv"));
  std::string line;
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("vertex,port,peer,peer_port,link,from_ps,until_ps,bytes,packets,"));
  std::uint64_t bytes_to_device_0 = 0;
  while (std::getline(lines, line)) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    ASSERT_EQ(cells.size(), 15u) << line;
    if (cells[2] == "d0") bytes_to_device_0 += std::stoull(cells[7]);
  }
  EXPECT_EQ(bytes_to_device_0, 3u * 4'000);
}

TEST_F(TrafficCommand, EndsWithCodeThreeWhereAFailureCutsSomeoneOff) {
  const Ran ran = workspace.run({"traffic", "study.yaml", "--set", "packet.recovery=go_back_n",
                                 "--set", "faults.failed_links=[{links: [d0 s0], from: 2 us}]"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(
      ran.err,
      "study.yaml: the simulated network cannot go on: 0 of 1 messages were received, and some "
      "wait for ever; faults left no way for them\n");
}

TEST_F(TrafficCommand, RefusesFaultsThatMakeNoSense) {
  const auto refused = [&](const std::string& rule, const std::string& text) {
    const std::string line = error({"faults." + rule});
    EXPECT_NE(line.find(text), std::string::npos) << line;
    EXPECT_EQ(std::ranges::count(line, '\n'), 1) << line;
  };
  refused("failed_links=[{links: [d0]}]", "\"d0\" is no link; expected e.g. \"s0 s4\"");
  refused("failed_links=[{links: [d0 s1]}]", "no link between d0 and s1");
  refused("failed_links=[{links: [d16 s0]}]", "no device 16; expected 0 to 15");
  refused("failed_links=[{links: ['s0:4']}]", "s0 has no port 4; expected below 4");
  refused("failed_switches=[{switches: [20]}]", "no switch 20; expected 0 to 19");
  refused("failed_switches=[{switches: [x]}]", "\"x\" names no switches");
  refused("slow_links=[{links: [d0 s0]}]", "factor");
  refused("slow_links=[{share: 0.5, kind: spine, factor: 2}]",
          "no links of kind \"spine\"; expected one of: host, leaf-spine, spine-core");
  refused("slow_links=[{share: 2, factor: 2}]", "share");
  refused("slow_links=[{share: 0.1, links: [d0 s0], factor: 2}]", "stands beside share");
  refused("slow_links=[{factor: 2}]", "expected it, or a share");
  refused("failed_links=[{links: [d0 s0], from: 2 us, until: 1 us}]", "is not after from");
  refused("failed_links=[{links: [d0 s0]}]",
          "devices 1 and 0 have no way to each other at any time");
  refused("failed_links=[{links: [s0 s8], from: 1 us}]", "a link fails for ever");
  refused("failed_link=[]", "did you mean \"failed_links\"?");
}

// Rows of a CSV table, without its head.
std::vector<std::vector<std::uint64_t>> counter_rows_of(const std::string& text) {
  std::vector<std::vector<std::uint64_t>> rows;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream row(line);
    rows.emplace_back();
    for (std::string cell; std::getline(row, cell, ',');) rows.back().push_back(std::stoull(cell));
  }
  return rows;
}

class ListedTraffic : public TrafficCommand {
 protected:
  ListedTraffic() {
    workspace.write("list.csv",
                    "source,destination,bytes,start\n"
                    "0,1,4000,0 s\n1,15,1000,5 us\n0,1,2000,20 us\n");
  }
  [[nodiscard]] std::string refused(const std::string& list) const {
    workspace.write("wrong.csv", list);
    return error({"traffic.pattern=flows", "traffic.flows=wrong.csv"});
  }
  const std::vector<std::string> listed{"--set", "traffic.pattern=flows", "--set",
                                        "traffic.flows=list.csv"};
};

TEST_F(ListedTraffic, SendsEachFlowAtItsTime) {
  std::vector<std::string> arguments = listed;
  arguments.insert(arguments.end(), {"--flows", "flows.csv"});
  EXPECT_EQ(result(arguments)["received"], 3);
  const std::string text = workspace.read("flows.csv");
  EXPECT_TRUE(text.starts_with("source,destination,bytes,start_ps,end_ps\n"));
  // Below one leaf: 210 ns and, stored and forwarded once, one packet of 1 us more. Across the core
  // six links of 100 ns, five switches of 10 ns and six times a packet's 1 us.
  const std::vector<std::vector<std::uint64_t>> expected{{0, 1, 4'000, 0, 5'210'000},
                                                         {1, 15, 1'000, 5'000'000, 11'650'000},
                                                         {0, 1, 2'000, 20'000'000, 23'210'000}};
  EXPECT_EQ(counter_rows_of(text), expected);
}

TEST_F(ListedTraffic, WhatIsWrittenIsAListOfFlows) {
  std::vector<std::string> arguments = listed;
  arguments.insert(arguments.end(), {"--flows", "flows.csv"});
  const json first = result(arguments);
  const json again = result({"--set", "traffic.pattern=flows", "--set", "traffic.flows=flows.csv"});
  EXPECT_EQ(again["digest"], first["digest"]);
}

TEST_F(TrafficCommand, WritesTheSameFlowsInEveryMode) {
  const auto flows = [&](const std::vector<std::string>& mode) {
    std::vector<std::string> arguments{"--set", "traffic.pattern=all_to_all", "--flows", "f.csv"};
    arguments.insert(arguments.end(), mode.begin(), mode.end());
    const json r = result(arguments);
    const std::string text = workspace.read("f.csv");
    const auto rows = counter_rows_of(text);
    EXPECT_EQ(rows.size(), r["received"]);
    std::uint64_t last = 0;
    for (const auto& row : rows) last = std::max(last, row[4]);
    EXPECT_EQ(last, r["simulated_time_ps"]);
    EXPECT_EQ(rows.back()[4], last);
    return text;
  };
  const std::string expected = flows({"--sync", "sequential"});
  EXPECT_EQ(counter_rows_of(expected).size(), 16u * 15u);
  EXPECT_EQ(flows({"--sync", "conservative", "--threads", "2"}), expected);
  EXPECT_EQ(flows({"--threads", "2", "--partitions", "5", "--audit", "0.2"}), expected);
}

TEST_F(ListedTraffic, SaysWhichLineIsWrong) {
  EXPECT_EQ(refused("source,destination,bytes\n0,1,1\n"),
            "wrong.csv:1: has no column \"start\"; expected it among: source, destination, "
            "bytes\n");
  const std::string head = "source,destination,bytes,start\n";
  EXPECT_EQ(refused(head + "0,16,1,0 s\n"),
            "wrong.csv:2: column destination: \"16\"; expected a whole number up to 15\n");
  EXPECT_EQ(refused(head + "0,1,1,0 s\n3,3,1,0 s\n"),
            "wrong.csv:3: column destination: \"3\"; expected another device than the source\n");
  EXPECT_EQ(refused(head + "0,1,-1,0 s\n"),
            "wrong.csv:2: column bytes: \"-1\"; expected a whole number up to 1099511627776\n");
  EXPECT_EQ(refused(head + "0,1,1,5\n"),
            "wrong.csv:2: column start: \"5\"; expected a time, e.g. \"5 us\"\n");
  EXPECT_EQ(refused(head + "0,1,1,25 h\n"),
            "wrong.csv:2: column start: \"25 h\"; expected at most a day\n");
  EXPECT_EQ(error({"traffic.pattern=flows"}),
            "study.yaml: traffic: flows: is absent; expected a list of flows for this pattern\n");
  EXPECT_EQ(error({"traffic.flows=list.csv"}),
            "study.yaml: traffic: flows: \"list.csv\" is of no use to this pattern; expected "
            "pattern: flows\n");
}

TEST_F(TrafficCommand, WritesResultsIntoADirectory) {
  const json printed = result({"--out", "r"});
  EXPECT_EQ(json::parse(workspace.read("r/summary.json"))["digest"], printed["digest"]);
  EXPECT_NE(workspace.read("r/summary.txt").find("completion"), std::string::npos);
  EXPECT_NE(workspace.read("r/study.resolved.yaml").find("incast"), std::string::npos);
  // Results of another study stay.
  result({"--out", "r", "--set", "traffic.size=9 kB"});
  EXPECT_EQ(json::parse(workspace.read("r/summary.json"))["digest"], printed["digest"]);
  EXPECT_NE(workspace.read("r.2/summary.json"), "");
}

}  // namespace
}  // namespace exawarp::tests
