// `exawarp astra` on small set-ups, against what follows from docs/guide/astra.md by hand.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/astra_set_up.h"

namespace exawarp::tests {
namespace {

using chakra::COMM_COLL_NODE;
using chakra::COMM_RECV_NODE;
using chakra::COMM_SEND_NODE;
using chakra::COMP_NODE;
using chakra::MEM_LOAD_NODE;

constexpr std::int64_t kAllReduce = 0, kAllGather = 2, kAllToAll = 6;

class Astra : public testing::Test {
 protected:
  static chakra::Node collective(std::int64_t type, std::int64_t bytes) {
    return trace_node(1, COMM_COLL_NODE, {{"comm_type", type}, {"comm_size", bytes}});
  }
  static chakra::Node after(chakra::Node node, std::uint64_t id) {
    node.add_data_deps(id);
    return node;
  }
  // `count` ranks with the same node.
  static std::vector<std::vector<chakra::Node>> all(int count, const chakra::Node& node) {
    return std::vector<std::vector<chakra::Node>>(static_cast<std::size_t>(count), {node});
  }
  // The set-up is refused with this line, and with nothing else.
  void expect_refused(const AstraSetUp& set_up, const std::string& line) const {
    const Ran ran = set_up.run(workspace_);
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_EQ(ran.err, line + "\n");
    EXPECT_EQ(ran.out, "");
  }
  void expect_cycles(const AstraSetUp& set_up, int rank, std::uint64_t cycles) const {
    const Ran ran = set_up.run(workspace_);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    const std::string line =
        "sys[" + std::to_string(rank) + "] finished, " + std::to_string(cycles) + " cycles,";
    EXPECT_NE(ran.out.find(line), std::string::npos) << line << "\n" << ran.out;
  }

  const Workspace workspace_;
};

// A ring of two: ep before the send, the link (500 ns, 1,000 B at 50 GiB/s), ep after it.
TEST_F(Astra, TheScaleOfInjectionAppliesToADelayThatIsGiven) {
  AstraSetUp set_up{.system = R"("preferred-dataset-splits": 1, "all-gather-implementation":
      ["ring"])", .ranks = all(2, collective(kAllGather, 1'000))};
  expect_cycles(set_up, 0, 10 + 518 + 10);
  set_up.arguments = {"--injection-scale=3"};
  expect_cycles(set_up, 0, 10 + 518 + 10);
  set_up.system += R"(, "endpoint-delay": 10)";
  expect_cycles(set_up, 0, 30 + 518 + 30);
}

TEST_F(Astra, KeysAreWantedWhereTheyAreRead) {
  AstraSetUp set_up{.system = R"("all-reduce-implementation": ["ring"])",
                    .ranks = all(2, collective(kAllReduce, 1'000))};
  expect_refused(set_up, "t.0.et: node 1: a collective, but the system configuration has no "
                         "preferred-dataset-splits; expected a number of chunks");
  set_up.system += R"(, "preferred-dataset-splits": 1)";
  expect_refused(set_up, "t.0.et: node 1: all-reduce reduces, but the system configuration has no "
                         "local-mem-bw");
  set_up.system += R"(, "local-mem-bw": 1600)";
  EXPECT_EQ(set_up.run(workspace_).exit_code, 0);
  set_up.arguments = {"--num-queues-per-dim=2"};
  expect_refused(set_up, "t.0.et: node 1: all-reduce over several dimensions or queues, but the "
                         "system configuration has no collective-optimization; expected baseline "
                         "or localBWAware");
  set_up.arguments.clear();
  set_up.system += R"(, "roofline-enabled": 1)";
  expect_refused(set_up, "sys.json: key \"peak-perf\": is 0 or missing; expected TFLOPS, as "
                         "roofline-enabled is set");
}

TEST_F(Astra, ValuesOfAnotherTypeAreNamed) {
  AstraSetUp set_up{.ranks = all(2, collective(kAllReduce, 1'000))};
  const std::string before = set_up.system;
  for (const auto& [value, line] : std::initializer_list<std::pair<const char*, const char*>>{
           {R"("endpoint-delay": "10")", "key \"endpoint-delay\": \"\"10\"\"; expected a number of "
                                         "at least 0"},
           {R"("active-chunks-per-dimension": 0)",
            "key \"active-chunks-per-dimension\": \"0\"; expected a number of at least 1"},
           {R"("all-gather-implementation": "ring")",
            "key \"all-gather-implementation\": \"\"ring\"\"; expected a list of texts"},
           {R"("all-gather-implementation": ["rnig"])",
            "key \"all-gather-implementation\": \"rnig\" is not known; expected ring, direct, "
            "halvingDoubling, doubleBinaryTree, oneRing, oneDirect or oneHalvingDoubling"},
           {R"("collective-optimization": "")",
            "key \"collective-optimization\": \"\"; expected baseline or localBWAware"},
           {R"("L": -1)", "key \"L\": \"-1\"; expected a number of at least 0"}}) {
    set_up.system = before + ", " + value;
    expect_refused(set_up, std::string("sys.json: ") + line);
  }
}

TEST_F(Astra, AFlagThatIsFalseIsOffAndSaysThatItIsOnThere) {
  AstraSetUp set_up{.ranks = all(2, collective(kAllReduce, 1'000))};
  set_up.system += R"(, "roofline-enabled": false)";
  const Ran ran = set_up.run(workspace_);
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "sys.json: key \"roofline-enabled\": false is off here; ASTRA-sim takes it "
                     "for on, write 0\n");
}

TEST_F(Astra, KeysAndTracesThatAreNotReadAreNamed) {
  AstraSetUp set_up{.ranks = all(3, collective(kAllReduce, 1'000))};
  set_up.network += "latencies: [500.0]\n";
  set_up.memory = R"({"memory-type": "NO_MEMORY_EXPANSION", "remote-mem-bw": 1, "bw": 2})";
  const Ran ran = set_up.run(workspace_);
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err,
            "net.yml: key \"latencies\" is not read, by ASTRA-sim neither; did you mean "
            "\"latency\"?\n"
            "mem.json: key \"bw\" is not read, by ASTRA-sim neither\n"
            "t.2.et is not read: the network has 2 ranks\n");
}

TEST_F(Astra, NodesThatWaitForEachOtherAreADeadlock) {
  AstraSetUp set_up{.ranks = {{after(trace_node(1, COMP_NODE, {}), 2),
                               after(trace_node(2, COMP_NODE, {}), 1)},
                              {trace_node(1, COMP_NODE, {})}}};
  const Ran ran = set_up.run(workspace_);
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_NE(ran.err.find("rank 0: 2 nodes are left and none runs: they wait for each other"),
            std::string::npos)
      << ran.err;
}

TEST_F(Astra, MessagesNameBothEndsTagAndSize) {
  const auto refused = [&](std::initializer_list<std::pair<const char*, std::int64_t>> attributes,
                           const std::string& what) {
    expect_refused({.ranks = {{trace_node(1, COMM_SEND_NODE, attributes)}, {}}},
                   "t.0.et: node 1: " + what);
  };
  refused({{"comm_tag", 1}, {"comm_size", 8}}, "has no comm_dst");
  refused({{"comm_dst", 1}, {"comm_size", 8}}, "has no comm_tag");
  refused({{"comm_dst", 1}, {"comm_tag", 1}}, "has no comm_size");
  refused({{"comm_dst", 1}, {"comm_tag", 1}, {"comm_size", 0}},
          "comm_size 0; expected at least 1 B");
  refused({{"comm_dst", 1}, {"comm_tag", 1}, {"comm_size", 8}, {"comm_src", 1}},
          "comm_src 1 in the file of rank 0; expected 0 or none");
}

// 1,000 B at 10 B/ns after 100 ns: 200 ns each.
TEST_F(Astra, ASharedMemoryServesOneAfterTheOther) {
  AstraSetUp set_up{.ranks = all(2, trace_node(1, MEM_LOAD_NODE, {{"tensor_size", 1'000}}))};
  const std::string rates = R"(, "remote-mem-latency": 100, "remote-mem-bw": 10})";
  set_up.memory = R"({"memory-type": "PER_NPU_MEMORY_EXPANSION")" + rates;
  expect_cycles(set_up, 1, 200);
  set_up.memory = R"({"memory-type": "MEMORY_POOL")" + rates;
  expect_cycles(set_up, 0, 200);
  expect_cycles(set_up, 1, 400);
  const std::string nodes = R"({"memory-type": "PER_NODE_MEMORY_EXPANSION", "num-nodes": )";
  set_up.memory = nodes + R"(1, "num-npus-per-node": 2)" + rates;
  expect_cycles(set_up, 1, 400);
  set_up.memory = nodes + R"(2, "num-npus-per-node": 1)" + rates;
  expect_cycles(set_up, 1, 200);
  set_up.memory = nodes + R"(1, "num-npus-per-node": 1)" + rates;
  // Equal files are one, under the first name.
  expect_refused(set_up, "t.0.et: node 1: memory node of rank 1, which is beyond num-nodes 1 of "
                         "num-npus-per-node 1");
  set_up.memory = R"({"memory-type": "MEMORY_POOL"})";
  expect_refused(set_up, "t.0.et: node 1: memory node, but the memory configuration has no "
                         "remote-mem-bw");
  set_up.memory = R"({"memory-type": "NO_MEMORY_EXPANSION"})";
  expect_refused(set_up,
                 "t.0.et: node 1: memory node, but memory-type is NO_MEMORY_EXPANSION");
}

// At rank 0 a computation of 1,000 ns at 10 FLOPs/B (memory bound: 1,600 GB/s, 32 TFLOPS), beside a
// message of 518 ns; at rank 1 a receive.
TEST_F(Astra, PrintsWhatARankWasBusyWith) {
  AstraSetUp set_up{.ranks = {
      {trace_node(1, COMP_NODE, {{"num_ops", 16'000'000}, {"tensor_size", 1'600'000}}),
       trace_node(2, COMM_SEND_NODE, {{"comm_size", 1'000}, {"comm_tag", 3}, {"comm_dst", 1}})},
      {trace_node(2, COMM_RECV_NODE, {{"comm_size", 1'000}, {"comm_tag", 3}, {"comm_src", 0}})}}};
  set_up.system += R"(, "roofline-enabled": 1, "peak-perf": 32)";
  const Ran ran = set_up.run(workspace_);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "sys[1] finished, 518 cycles, exposed communication 518 cycles.\n"
            "sys[1], Wall time: 518\n"
            "sys[1], Comm time: 518\n"
            "sys[1], Total compute-communication overlap: 0\n"
            "sys[1], Compute bound percentage: 0.000%\n"
            "sys[1], Average compute utilization: 0.000%\n"
            "sys[1], Average memory utilization: 0.000%\n"
            "sys[1], Average operation intensity: 0.000\n"
            "sys[0] finished, 1000 cycles, exposed communication 0 cycles.\n"
            "sys[0], Wall time: 1000\n"
            "sys[0], GPU time: 1000\n"
            "sys[0], Comm time: 518\n"
            "sys[0], Total compute-communication overlap: 518\n"
            // One ns is added to the sum of the times that these are averages over.
            "sys[0], Compute bound percentage: 0.000%\n"
            "sys[0], Average compute utilization: 49.950%\n"
            "sys[0], Average memory utilization: 99.900%\n"
            "sys[0], Average operation intensity: 9.990\n");
}

TEST_F(Astra, ACustomCollectiveRunsOnceWhateverTheNumberOfChunks) {
  // Rank 0 sends 1,000 B to rank 1 and gets them back.
  const AstraSetUp graph{.ranks = {
      {trace_node(1, COMM_SEND_NODE, {{"comm_size", 1'000}, {"comm_tag", 3}, {"comm_dst", 1}}),
       trace_node(2, COMM_RECV_NODE, {{"comm_size", 1'000}, {"comm_tag", 4}, {"comm_src", 1}})},
      {trace_node(1, COMM_RECV_NODE, {{"comm_size", 1'000}, {"comm_tag", 3}, {"comm_src", 0}}),
       after(trace_node(2, COMM_SEND_NODE,
                        {{"comm_size", 1'000}, {"comm_tag", 4}, {"comm_dst", 0}}), 1)}}};
  graph.write_traces(workspace_, "graph");
  AstraSetUp set_up{.system = R"("preferred-dataset-splits": 4,
      "all-reduce-implementation-custom": ["graph"])",
                    .ranks = all(2, collective(kAllReduce, 1'000))};
  expect_cycles(set_up, 0, 2 * 518);
  EXPECT_EQ(set_up.run(workspace_).err,
            "preferred-dataset-splits: 4, but a custom collective runs once; ASTRA-sim waits for "
            "the other chunks for ever\n");
}

// On 3 x 2 ranks: rings of three, a tree of two at the turning point. Reduce-scatter and all-gather
// of 6,000 B: 2 steps of 2,000 B (537 ns), three delays of 10 ns, and each of the former's steps
// reduces for 3 ns. The tree: 10 to the parent's 537, 10 + 3 to reduce, 537 back, 10.
TEST_F(Astra, ATreeMayBeTheTurningPointOfAnAllReduce) {
  AstraSetUp set_up{.system = R"("preferred-dataset-splits": 1, "local-mem-bw": 1600,
      "collective-optimization": "localBWAware",
      "all-reduce-implementation": ["ring", "doubleBinaryTree"])",
                    .network = "topology: [FullyConnected, FullyConnected]\nnpus_count: [3, 2]\n"
                               "bandwidth: [50.0, 50.0]\nlatency: [500.0, 500.0]\n",
                    .ranks = all(6, collective(kAllReduce, 6'000))};
  const std::uint64_t scatter = 30 + 2 * (537 + 3), gather = 30 + 2 * 537;
  expect_cycles(set_up, 0, scatter + 10 + 537 + 13 + 537 + 10 + gather);
  expect_cycles(set_up, 3, scatter + 10 + 537 + 13 + gather);  // in the root's row
  EXPECT_EQ(set_up.run(workspace_).err, "");
  set_up.system = replaced(set_up.system, R"(["ring", "doubleBinaryTree"])",
                           R"(["doubleBinaryTree", "ring"])");
  set_up.network = replaced(set_up.network, "[3, 2]", "[2, 3]");
  EXPECT_EQ(set_up.run(workspace_).err,
            "all-reduce-implementation: doubleBinaryTree in dimension 0 runs a whole all-reduce in "
            "place of its part, as in ASTRA-sim\n");
}

TEST_F(Astra, DimensionsWithoutAnImplementationAreNamed) {
  AstraSetUp set_up{.system = R"("preferred-dataset-splits": 1,
      "all-gather-implementation": ["ring"])",
                    .network = "topology: [Ring, Switch]\nnpus_count: [2, 3]\n"
                               "bandwidth: [50.0, 50.0]\nlatency: [500.0, 500.0]\n",
                    .ranks = all(6, collective(kAllGather, 1'000))};
  expect_cycles(set_up, 5, 10 + 518 + 10);
  EXPECT_EQ(set_up.run(workspace_).err, "all-gather-implementation: 1 for 2 dimensions; the others "
                                        "take no part, as in ASTRA-sim\n");
}

// A list of several makes a group of some ranks a ring, whatever the list says: three steps of
// 333 B over 500 ns (506 ns), and 10 ns four times.
TEST_F(Astra, AGroupOfSomeRanksIsARingUnderSeveralImplementations) {
  chakra::Node node = collective(kAllToAll, 1'000);
  chakra::Attribute& group = *node.add_attr();
  group.set_name("pg_name");
  group.set_string_val("7");
  workspace_.write("groups.json", R"({"7": [3, 0, 1]})");
  AstraSetUp set_up{.system = R"("preferred-dataset-splits": 1, "endpoint-delay": 50,
      "all-to-all-implementation": ["oneDirect", "oneDirect"])",
                    .network = "topology: [FullyConnected, FullyConnected]\nnpus_count: [2, 2]\n"
                               "bandwidth: [50.0, 50.0]\nlatency: [500.0, 500.0]\n",
                    .ranks = {{node}, {node}, {}, {node}},
                    .arguments = {"--comm-group-configuration=groups.json"}};
  set_up.ranks[2] = {trace_node(1, COMP_NODE, {})};
  expect_cycles(set_up, 0, 4 * 10 + 3 * 506);
  set_up.system = replaced(set_up.system, R"(["oneDirect", "oneDirect"])", R"(["direct"])");
  expect_cycles(set_up, 0, 2 * 10 + 506);
}

TEST_F(Astra, JsonHasWhatTheLinesSay) {
  AstraSetUp set_up{.ranks = all(2, collective(kAllReduce, 1'000))};
  const Ran lines = set_up.run(workspace_);
  set_up.arguments = {"--json", "--out=r"};
  const Ran ran = set_up.run(workspace_);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json["schema"], "exawarp-astra-1");
  EXPECT_EQ(json["status"], "finished");
  ASSERT_EQ(json["finishes"].size(), 2u);
  for (const auto& rank : json["finishes"]) {
    const std::string line = "sys[" + std::to_string(rank["rank"].get<int>()) + "] finished, " +
                             std::to_string(rank["cycles"].get<std::uint64_t>()) + " cycles,";
    EXPECT_NE(lines.out.find(line), std::string::npos) << line << "\n" << lines.out;
    EXPECT_EQ(rank["communication_cycles"], rank["cycles"]);
  }
  EXPECT_EQ(workspace_.read("r/summary.json"), ran.out);
  EXPECT_EQ(workspace_.read("r/summary.txt"), lines.out);
  EXPECT_NE(workspace_.read("r/study.resolved.yaml").find("net.yml"), std::string::npos);
}

TEST_F(Astra, ADeadlockIsInTheJson) {
  AstraSetUp set_up{.ranks = {{trace_node(1, COMM_RECV_NODE, {{"comm_src", 1}, {"comm_dst", 0},
                                                              {"comm_size", 8}, {"comm_tag", 1}})},
                              {}},
                    .arguments = {"--json"}};
  const Ran ran = set_up.run(workspace_);
  EXPECT_EQ(ran.exit_code, 3);
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json["status"], "deadlocked");
  EXPECT_EQ(json["unfinished"].size(), 1u);
}

// What `astra convert` makes of a set-up, run at a fidelity of our own.
class ConvertedAstra : public Astra {
 protected:
  // Simulated nanoseconds.
  double converted_ns(AstraSetUp set_up, const std::string& fidelity) const {
    set_up.arguments = {"convert", "-o", "made"};
    const Ran made = set_up.run(workspace_);
    EXPECT_EQ(made.exit_code, 0) << made.err;
    EXPECT_EQ(made.out, "made/study.yaml\n");
    const Ran ran = workspace_.run({"run", "made/study.yaml", "--json", "--set",
                                    "network.fidelity=" + fidelity, "--set",
                                    "network.packet.packet_size=64 KiB"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    if (ran.exit_code != 0) return 0;
    return nlohmann::json::parse(ran.out)["simulated_time_ps"].get<double>() / 1'000;
  }
  double astra_ns(AstraSetUp set_up) const {
    set_up.arguments = {"--json"};
    const Ran ran = set_up.run(workspace_);
    return nlohmann::json::parse(ran.out)["end_cycles"].get<double>();
  }
  std::string refusal(AstraSetUp set_up) const {
    set_up.arguments.insert(set_up.arguments.begin(), {"convert", "-o", "made"});
    const Ran ran = set_up.run(workspace_);
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_FALSE(workspace_.has("made"));
    return ran.err;
  }
  static std::string network(const std::string& kind, int npus) {
    return "topology: [" + kind + "]\nnpus_count: [" + std::to_string(npus) +
           "]\nbandwidth: [50.0]\nlatency: [500.0]\n";
  }
  // Reductions take next to nothing, as they do in a study.
  static std::string ring(const std::string& algorithm = "ring") {
    return R"("preferred-dataset-splits": 1, "local-mem-bw": 1e9,
        "all-reduce-implementation": [")" +
           algorithm + R"("])";
  }
};

TEST_F(ConvertedAstra, ARingTakesItsTime) {
  const AstraSetUp set_up{.system = ring(), .network = network("Ring", 8),
                          .ranks = all(8, collective(kAllReduce, 8 << 20))};
  const double expected = astra_ns(set_up);
  EXPECT_NEAR(converted_ns(set_up, "message") / expected, 1, 0.01);
  EXPECT_NEAR(converted_ns(set_up, "packet") / expected, 1, 0.05);
}

TEST_F(ConvertedAstra, HalvingOnASwitchAndAFullMeshTakeTheirTime) {
  for (const char* const kind : {"FullyConnected", "Switch"}) {
    const AstraSetUp set_up{.system = ring("halvingDoubling"), .network = network(kind, 8),
                            .ranks = all(8, collective(kAllReduce, 8 << 20))};
    EXPECT_NEAR(converted_ns(set_up, "message") / astra_ns(set_up), 1, 0.01) << kind;
  }
}

TEST_F(ConvertedAstra, ComputationTakesItsRecordedTimeOrThatOfTheRoofline) {
  AstraSetUp set_up{.system = ring()};
  chakra::Node node = trace_node(1, COMP_NODE, {{"num_ops", 1'000'000}, {"tensor_size", 1'000}});
  node.set_duration_micros(7);
  set_up.ranks = all(2, node);
  EXPECT_EQ(converted_ns(set_up, "message"), 7'000);
  set_up.system = R"("local-mem-bw": 100, "roofline-enabled": 1, "peak-perf": 10)";
  EXPECT_EQ(converted_ns(set_up, "message"), 100);
  EXPECT_EQ(astra_ns(set_up), 100);
}

TEST_F(ConvertedAstra, WhatHasNoCounterpartIsNamed) {
  AstraSetUp set_up{.ranks = all(2, collective(kAllReduce, 1'000))};
  const auto refused = [&](const std::string& system) {
    set_up.system = system;
    return refusal(set_up);
  };
  EXPECT_EQ(refused(ring() + R"(, "model-shared-bus": 1)"),
            "sys.json: key \"model-shared-bus\": a study has no memory bus\n");
  EXPECT_EQ(refused(ring("direct2")),
            "sys.json: key \"all-reduce-implementation\": a direct exchange has no window here; "
            "expected direct\n");
  set_up.arguments = {"--rendezvous-protocol=true"};
  EXPECT_EQ(refused(ring()), "--rendezvous-protocol: has no counterpart\n");
  set_up.arguments.clear();
  set_up.network = "topology: [Ring, Switch]\nnpus_count: [2, 2]\nbandwidth: [50.0, 25.0]\n"
                   "latency: [500.0, 500.0]\n";
  set_up.ranks = all(4, collective(kAllReduce, 1'000));
  EXPECT_TRUE(refused(R"("preferred-dataset-splits": 1, "local-mem-bw": 1600,
                         "collective-optimization": "baseline",
                         "all-reduce-implementation": ["ring", "ring"])")
                  .starts_with("sys.json: key \"all-reduce-implementation\": runs through 2 "
                               "dimensions, one after another"));
}

}  // namespace
}  // namespace exawarp::tests
