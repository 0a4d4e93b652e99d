// Counterparts of Chakra's companion tools: JSON, drawings, PyTorch traces, text workloads; and
// what `workload inspect` shows.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;

class Companions : public testing::Test {
 protected:
  void expect_ok(const std::vector<std::string>& arguments) const {
    const Ran ran = workspace_.run(arguments);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
  }
  [[nodiscard]] std::string error_of(const std::vector<std::string>& arguments) const {
    const Ran ran = workspace_.run(arguments);
    EXPECT_EQ(ran.exit_code, 2) << ran.out;
    return ran.err;
  }
  void generate() const {
    workspace_.write("w.yaml", small_workload());
    expect_ok({"workload", "generate", "w.yaml", "-o", "g.xwg"});
  }
  [[nodiscard]] json inspected(const std::string& file) const {
    const Ran ran = workspace_.run({"workload", "inspect", file, "--json"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return json::parse(ran.out);
  }
  const Workspace workspace_;
};

TEST_F(Companions, TracesGoToJsonAndBack) {
  generate();
  expect_ok({"workload", "export", "chakra", "g.xwg", "-o", "t"});
  expect_ok({"workload", "convert", "t.0.et", "-o", "t.json"});
  expect_ok({"workload", "convert", "t.json", "-o", "again.et"});
  EXPECT_EQ(workspace_.read("t.0.et"), workspace_.read("again.et"));
  expect_ok({"workload", "export", "json", "g.xwg", "-o", "j"});
  EXPECT_EQ(workspace_.read("j.0.json"), workspace_.read("t.json"));
  expect_ok({"workload", "import", "chakra", "j", "--comm-groups", "j.comm_groups.json", "-o",
             "back.xwg"});
  expect_ok({"workload", "diff", "g.xwg", "back.xwg"});
  EXPECT_EQ(error_of({"workload", "convert", "t.json", "-o", "t.txt"}),
            "t.txt: \"t.json\" cannot become that; expected FILE.et and FILE.json, or the other "
            "way\n");
}

TEST_F(Companions, JsonErrorsNameTheNode) {
  const auto error = [&](const std::string& text) {
    workspace_.write("t.0.json", text);
    return error_of({"workload", "import", "chakra", "t", "-o", "t.xwg"});
  };
  EXPECT_EQ(error(R"({"workload_graph": [{"Id": -1, "NodeType": 4}]})"),
            "t.0.json: workload_graph[0]: Id \"-1\": expected a number from 0\n");
  EXPECT_EQ(error(R"({"workload_graph": [{"Id": 1, "NodeType": 9}]})"),
            "t.0.json: workload_graph[0]: NodeType \"9\": expected 0 to 7\n");
  EXPECT_EQ(error(R"({"nodes": []})"),
            "t.0.json: is a PyTorch execution trace; expected `workload import pytorch`\n");
  EXPECT_EQ(error("{} [1]"), "t.0.json: byte 3: expected a JSON object\n");
  EXPECT_NE(error(R"({} {"id": {}})").find("t.0.json: byte 3: is no Chakra Node"),
            std::string::npos);
}

TEST_F(Companions, DrawingsHaveEveryNodeAndDependency) {
  generate();
  std::uint64_t nodes = 0;
  const json facts = inspected("g.xwg");
  for (const json& program : facts.at("programs")) {
    for (const json& number : program.at("per_device").at("nodes")) {
      nodes += static_cast<std::uint64_t>(number.get<double>());
    }
  }
  const auto count = [](const std::string& text, const std::string& part) {
    std::uint64_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++found;
    }
    return found;
  };
  expect_ok({"workload", "export", "dot", "g.xwg", "-o", "g.dot"});
  EXPECT_EQ(count(workspace_.read("g.dot"), "fillcolor="), nodes);
  expect_ok({"workload", "export", "graphml", "g.xwg", "-o", "g.graphml"});
  EXPECT_EQ(count(workspace_.read("g.graphml"), "<node "), nodes);
  EXPECT_EQ(count(workspace_.read("g.graphml"), "<edge "), count(workspace_.read("g.dot"), " -> "));
  expect_ok({"workload", "export", "dot", "g.xwg", "-o", "one.dot", "--device", "7"});
  EXPECT_LT(count(workspace_.read("one.dot"), "fillcolor="), nodes);
  EXPECT_EQ(error_of({"workload", "export", "dot", "g.xwg", "-o", "x.dot", "--device", "8"}),
            "--device: 8; expected less than 8\n");
}

// Two threads of a host, two streams of a device: a matrix product, its all-gather and what
// follows it.
constexpr const char* kTrace = R"({"schema": "1.0.2-chakra.0.0.4", "nodes": [
 {"id": 1, "name": "process", "ctrl_deps": 1},
 {"id": 2, "name": "## process_group:init ##", "ctrl_deps": 1, "inputs": {"values":
  ["[{\"pg_name\": \"0\", \"backend_id\": 9, \"ranks\": []}]"]}},
 {"id": 3, "name": "aten::mm", "ctrl_deps": 1, "inputs": {"values": []},
  "outputs": {"values": [[3, 4, 0, 8, 4, "cuda:0"]]}, "attrs": [
  {"name": "rf_id", "type": "uint64", "value": 2}, {"name": "tid", "type": "uint64", "value": 1}]},
 {"id": 5, "name": "record_param_comms", "ctrl_deps": 1, "inputs": {"values":
  [[[3, 4, 0, 8, 4, "cuda:0"]], 12, 9, 0, "all_gather", [], [], 2]}, "attrs": [
  {"name": "rf_id", "type": "uint64", "value": 3}, {"name": "tid", "type": "uint64", "value": 2}]},
 {"id": 6, "name": "record_param_comms", "ctrl_deps": 1, "inputs": {"values": [12, 0, 0, "wait"]},
  "attrs": [{"name": "tid", "type": "uint64", "value": 2}]},
 {"id": 7, "name": "aten::relu", "ctrl_deps": 1, "attrs": [
  {"name": "rf_id", "type": "uint64", "value": 5}, {"name": "tid", "type": "uint64", "value": 2}]}
 ]})";
constexpr const char* kProfile = R"({"traceEvents": [
 {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 10,
  "args": {"External id": 4, "Record function id": 2}},
 {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 2, "ts": 20, "dur": 9,
  "args": {"External id": 5, "Record function id": 3}},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 2, "ts": 21,
  "dur": 1, "args": {"correlation": 7}},
 {"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 1, "tid": 2, "ts": 40, "dur": 5,
  "args": {"External id": 6, "Record function id": 5}},
 {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 12, "dur": 0.25,
  "args": {"External id": 4, "stream": 7}},
 {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllGather", "ts": 22, "dur": 30,
  "args": {"correlation": 7, "stream": 20}},
 {"ph": "X", "cat": "kernel", "name": "relu", "ts": 60, "dur": 2,
  "args": {"External id": 6, "stream": 7}}]})";

TEST_F(Companions, ProfilesAreLinkedToExecutionTraces) {
  workspace_.write("host.0.json", kTrace);
  workspace_.write("host.1.json", kTrace);
  workspace_.write("profile.0.json", kProfile);
  workspace_.write("profile.1.json", kProfile);
  const Ran ran = workspace_.run({"workload", "import", "pytorch", "host.{rank}.json", "--kineto",
                                  "profile.{rank}.json", "-o", "p.xwg"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("12 host operations, 6 of them timed; 6 device operations; 2 transfers"),
            std::string::npos)
      << ran.out;
  EXPECT_NE(ran.out.find("2 ranks, 1 programs"), std::string::npos) << ran.out;
  expect_ok({"workload", "export", "json", "p.xwg", "-o", "p"});
  std::map<std::string, json> nodes;
  std::istringstream lines(workspace_.read("p.0.json"));
  for (std::string line; std::getline(lines, line);) {
    json node = json::parse(line);
    if (!node.contains("id")) continue;  // the metadata
    const std::string id = node.at("id").get<std::string>();
    nodes[id] = std::move(node);
  }
  ASSERT_EQ(nodes.size(), 9u);
  using Ids = std::vector<std::string>;
  EXPECT_EQ(nodes["5"].at("data_deps").get<Ids>(), Ids({"3"}));  // reads what thread 1 wrote
  EXPECT_EQ(nodes["8"].at("data_deps").get<Ids>(), Ids({"3"}));  // gemm: launched by mm
  EXPECT_EQ(nodes["9"].at("type"), "COMM_COLL_NODE");
  EXPECT_EQ(nodes["9"].at("data_deps").get<Ids>(), Ids({"5"}));
  EXPECT_EQ(nodes["10"].at("data_deps").get<Ids>(), Ids({"7", "8", "9"}));  // relu, after the wait
  const json gathered = inspected("p.xwg").at("communication").at(0);
  EXPECT_EQ(gathered.at("type"), "all_gather");
  EXPECT_EQ(gathered.at("bytes"), 2 * 32);
  EXPECT_EQ(gathered.at("wire_bytes"), 2 * 32);
}

TEST_F(Companions, ProfilesHaveToBeAsManyAsTraces) {
  workspace_.write("host.0.json", kTrace);
  workspace_.write("host.1.json", kTrace);
  workspace_.write("profile.0.json", kProfile);
  EXPECT_EQ(error_of({"workload", "import", "pytorch", "host.{rank}.json", "--kineto",
                      "profile.{rank}.json", "-o", "p.xwg"}),
            "profile.{rank}.json: names 1 files; expected 2, as many as host.{rank}.json\n");
  EXPECT_EQ(error_of({"workload", "import", "pytorch", "profile.0.json", "-o", "p.xwg"}),
            "profile.0.json: is no JSON object with nodes; expected a PyTorch execution trace\n");
  EXPECT_FALSE(workspace_.has("p.xwg"));
}

TEST_F(Companions, TextWorkloadsRunTheirPassesInOrder) {
  workspace_.write("two.txt",
                   "DATA\n2\na -1 3 NONE 0 5 NONE 0 7 ALLREDUCE 64 1\n"
                   "b -1 11 NONE 0 13 NONE 0 17 ALLREDUCE 64 2\n");
  expect_ok(
      {"workload", "import", "text", "two.txt", "--ranks", "4", "--passes", "2", "-o", "two.xwg"});
  // Forward a and b, weight gradient of b, input gradient of b, weight gradient of a; updates.
  EXPECT_EQ(inspected("two.xwg").at("critical_path").at("length"),
            2 * (3 + 11 + 17 + 13 + 7 + 1 + 2) * 1'000);
  expect_ok({"workload", "import", "text", "two.txt", "--ranks", "4", "--cycle", "1 us", "-o",
             "slow.xwg"});
  EXPECT_EQ(inspected("slow.xwg").at("critical_path").at("length"), 54'000'000);
}

TEST_F(Companions, TextWorkloadErrorsNameTheLine) {
  const auto error = [&](const std::string& text) {
    workspace_.write("t.txt", text);
    return error_of({"workload", "import", "text", "t.txt", "--ranks", "6", "-o", "t.xwg"});
  };
  EXPECT_EQ(error("DATA\n1\na -1 3 NONE 0 5 NONE 0 7 ALLREDUC 64 1\n"),
            "t.txt:3: \"ALLREDUC\" is no collective; expected NONE, ALLREDUCE, ALLGATHER, "
            "ALLTOALL or REDUCESCATTER\n");
  EXPECT_EQ(error("DATA\n2\na -1 3 NONE 0 5 NONE 0 7 NONE 0 1\n"),
            "t.txt: has 1 layers; expected the 2 that line 2 tells, and at least one\n");
  EXPECT_EQ(error("DATA\n1\na -1 3 NONE 0 5\n"), "t.txt:3: ends before a collective\n");
  EXPECT_EQ(error("HYBRID_DATA_MODEL\n1\na -1 3 NONE 0 5 NONE 0 7 NONE 0 1\n"),
            "t.txt: does not say how many ranks share a model; expected --model-parallel N\n");
  EXPECT_EQ(error("HYBRID_TRANSFORMER model_parallel_NPU_group: 4\n1\n"
                  "a -1 3 NONE 0 5 NONE 0 7 NONE 0 1\n"),
            "t.txt: 6 ranks are no multiple of model-parallel groups of 4\n");
}

TEST_F(Companions, MicrobenchmarksOfEachKindOfNodeAreGenerated) {
  const std::pair<const char*, const char*> kinds[] = {
      {"collective", "{kind: collective, collective: broadcast, devices: 4, bytes: 1 MiB}"},
      {"send", "{kind: send, bytes: 1 MiB}"},
      {"compute", "{kind: compute, flops: 1000000, bytes_read: 1 MiB}"},
      {"memory", "{kind: memory, bytes_written: 1 MiB, place: host}"}};
  for (const auto& [node, text] : kinds) {
    workspace_.write("m.yaml", std::string("microbenchmark: ") + text + "\n");
    expect_ok({"workload", "generate", "m.yaml", "-o", "m.xwg"});
    EXPECT_GE(inspected("m.xwg").at("total").at("nodes").at(node), 1) << node;
    expect_ok({"workload", "export", "chakra", "m.xwg", "-o", "m"});
  }
  workspace_.write("m.yaml", "microbenchmark: {kind: memory, place: disk}\n");
  EXPECT_NE(error_of({"workload", "generate", "m.yaml", "-o", "n.xwg"})
                .find("\"disk\" is not known here; expected one of: device, host"),
            std::string::npos);
}

TEST_F(Companions, AWorkloadLargerThanItMayBeIsRefusedWithItsSize) {
  workspace_.write("m.yaml", "microbenchmark: {kind: compute, flops: 1, repeats: 1000}\n");
  const auto generated = [&](const std::string& size_max) {
    return workspace_.run(
        {"workload", "generate", "m.yaml", "-o", "m.xwg", "--max-size", size_max});
  };
  const Ran refused = generated("64 KiB");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.err,
            "m.yaml: makes a workload of about 97.7 KiB; expected at most 64 KiB: `workload "
            "generate --max-size SIZE` makes larger ones, as much memory given\n");
  EXPECT_NE(generated("1 KiB").err.find("makes a workload of more than 16"), std::string::npos);
  EXPECT_EQ(generated("64 apples").exit_code, 2);
  EXPECT_FALSE(workspace_.has("m.xwg"));
  EXPECT_EQ(generated("1MiB").exit_code, 0);
  EXPECT_LT(workspace_.read("m.xwg").size(), 110'000u);
}

TEST_F(Companions, InspectShowsTheTrafficMatrixAndTheCriticalPath) {
  generate();
  const json facts = inspected("g.xwg");
  ASSERT_EQ(facts.at("messages").size(), 2u);  // stage 0 to stage 1, and back
  EXPECT_EQ(facts.at("messages").at(0).at("over"), "pipeline");
  EXPECT_EQ(facts.at("messages").at(0).at("from"), 0);
  EXPECT_EQ(facts.at("messages").at(0).at("to"), 1);
  EXPECT_EQ(facts.at("messages").at(0).at("bytes"), facts.at("messages").at(1).at("bytes"));
  const json& path = facts.at("critical_path");
  EXPECT_EQ(path.at("unit"), "flops");
  EXPECT_GT(path.at("flops"), 0);
  std::uint64_t end = 0;
  for (const json& step : path.at("steps")) {
    EXPECT_LE(step.at("start"), step.at("end"));
    EXPECT_GE(step.at("end"), end);
    end = step.at("end");
  }
  EXPECT_EQ(path.at("length"), end);
  const Ran text = workspace_.run({"workload", "inspect", "g.xwg", "--accelerator",
                                   EXAWARP_SOURCE_DIR "/configs/accelerators/h100_sxm.yaml"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("without a network (roofline_ps)"), std::string::npos) << text.out;
}

TEST_F(Companions, InspectWritesATimelineInThreeForms) {
  generate();
  for (const char* name : {"t.txt", "t.svg", "t.json"}) {
    expect_ok({"workload", "inspect", "g.xwg", "--accelerator",
               EXAWARP_SOURCE_DIR "/configs/accelerators/h100_sxm.yaml", "--timeline", name,
               "--device", "5"});
  }
  const json trace = json::parse(workspace_.read("t.json"));
  std::size_t nodes = 0;
  for (const json& event : trace.at("traceEvents")) {
    EXPECT_EQ(event.at("pid"), 5);
    if (event.at("ph") == "X") ++nodes;
  }
  EXPECT_GT(nodes, 50u);
  const std::string text = workspace_.read("t.txt"), svg = workspace_.read("t.svg");
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(text, '\n')), nodes + 1);
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  EXPECT_EQ(error_of({"workload", "inspect", "g.xwg", "--timeline", "t.pdf"}),
            "--timeline: \"t.pdf\"; expected FILE.txt, .svg or .json\n");
}

}  // namespace
}  // namespace exawarp::tests
