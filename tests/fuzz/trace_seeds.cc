// Seeds and words of the readers of other tools' traces and set-ups.
#include "tests/fuzz/seeds.h"
#include "tests/fuzz/targets.h"

namespace exawarp::fuzz {
namespace {

const char* const kFeeder =
    R"({"workload_graph": [
 {"Id": 1, "Name": "a", "NodeType": 4, "ctrlDeps": [], "data_deps": [], "runtime": 5,
  "is_cpu_op": true},
 {"Id": 2, "Name": "k", "NodeType": 4, "data_deps": [1], "runtime": 9, "is_cpu_op": false,
  "num_ops": 10, "tensor_size": 4},
 {"Id": 3, "Name": "c", "NodeType": 7, "data_deps": [2], "is_cpu_op": false, "comm_type": 0,
  "comm_size": 64, "runtime": 2}], "workload_name": "w", "ngpus": 1})";

const char* const kMessages =
    R"({"version": "0.0.4", "attr": [{"name": "schema", "string_val": "x"}]}
{"id": "7", "name": "m", "type": "METADATA_NODE", "inputs": {"values": "['[]']"}}
{"id": "8", "name": "n", "type": "COMP_NODE", "data_deps": ["7"], "durationMicros": "3",
 "attr": [{"name": "is_cpu_op", "boolVal": false},
 {"name": "x", "int64_list": {"values": [-1]}}]})";

const char* const kTrace =
    R"({"schema": "1.0.2-chakra.0.0.4", "pid": 1, "nodes": [
 {"id": 1, "name": "[pytorch|profiler|execution_trace|process]", "ctrl_deps": 1},
 {"id": 2, "name": "## process_group:init ##", "ctrl_deps": 1, "inputs": {"values":
  ["[{\"pg_name\": \"0\", \"backend_id\": 9, \"ranks\": []}]"], "shapes": [[]],
  "types": ["String"]},
  "attrs": [{"name": "rf_id", "type": "uint64", "value": 1}]},
 {"id": 3, "name": "aten::mm", "ctrl_deps": 1, "inputs": {"values": [[1, 2, 0, 8, 4, "cuda:0"]]},
  "outputs": {"values": [[3, 4, 0, 8, 4, "cuda:0"]]}, "attrs": [
  {"name": "rf_id", "type": "uint64", "value": 2}, {"name": "tid", "type": "uint64", "value": 1}]},
 {"id": 5, "name": "record_param_comms", "ctrl_deps": 3, "inputs": {"values":
  [[[1, 4, 0, 8, 4, "cuda:0"]], 12, 9, 0, "all_gather", [], [], 2]}, "attrs": [
  {"name": "rf_id", "type": "uint64", "value": 3}, {"name": "tid", "type": "uint64", "value": 2}]},
 {"id": 6, "name": "record_param_comms", "ctrl_deps": 3, "inputs": {"values": [12, 0, 0, "wait"]},
  "attrs": [{"name": "tid", "type": "uint64", "value": 2}]}]})";

const char* const kProfile =
    R"({"traceEvents": [
 {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1.5, "dur": 10,
  "args": {"External id": 4, "Record function id": 2}},
 {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 2, "ts": 20, "dur": 9,
  "args": {"External id": 5, "Record function id": 3}},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 2, "ts": 21,
  "dur": 1, "args": {"correlation": 7}},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 1, "tid": 2, "ts": 23,
  "dur": 5, "args": {"correlation": 8}},
 {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 12, "dur": 0.25,
  "args": {"External id": "4", "stream": 7}},
 {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllGather", "ts": 22, "dur": 3,
  "args": {"correlation": 7, "stream": 20}}]})";

const char* const kText =
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 checkpoints: 1 0 "
    "checkpoint_initiates: 1 1\n2\na -1 5 ALLREDUCE 64 5 NONE 0 5 ALLREDUCE 1048576 5\n"
    "b -1 5 NONE 0 5 ALLTOALL 8 5 REDUCESCATTER 32 5\n";
const char* const kDlrm =
    "HYBRID_DLRM 1\n3\ne -1 5 ALLTOALL 64 5 ALLTOALL 64 5 NONE 0 1\n"
    "b\t-1\t5\tNONE\t0\t5\tNONE\t0\t5\tALLREDUCE\t32\t5\nt -1 5 NONE 0 5 NONE 0 5 NONE 0 5\n";

const char* const kSystem =
    R"({"scheduling-policy": "LIFO", "endpoint-delay": 10, "active-chunks-per-dimension": 1,
 "preferred-dataset-splits": 4, "all-reduce-implementation": ["ring"],
 "all-gather-implementation": ["direct2"], "reduce-scatter-implementation": ["halvingDoubling"],
 "all-to-all-implementation": ["direct"], "collective-optimization": "localBWAware",
 "local-mem-bw": 1600, "boost-mode": 0, "roofline-enabled": 1, "peak-perf": 900})";

const char* const kThreeDimensions =
    R"({"scheduling-policy": "FIFO", "endpoint-delay": 1.5, "active-chunks-per-dimension": 2,
 "preferred-dataset-splits": 64, "all-reduce-implementation": ["ring", "direct",
 "halvingDoubling"], "all-gather-implementation": ["ring", "direct4", "doubleBinaryTree"],
 "reduce-scatter-implementation": ["ring", "oneRing", "ring"],
 "all-to-all-implementation": ["direct1", "direct", "oneDirect"],
 "collective-optimization": "baseline", "local-mem-bw": 50, "local-reduction-delay": 1,
 "trace-enabled": 0, "replay-only": 0, "track-local-mem": 0})";
const char* const kLinkFigures =
    R"({"scheduling-policy": "EXPLICIT", "L": 1, "o": 2, "g": 3, "G": 0.5,
 "endpoint-delay": 0, "preferred-dataset-splits": 1, "local-mem-bw": 9,
 "active-chunks-per-dimension": 1, "model-shared-bus": 0,
 "all-reduce-implementation": ["doubleBinaryTree"],
 "all-gather-implementation": ["ring"], "reduce-scatter-implementation": ["ring"],
 "all-to-all-implementation": ["ring"]})";

}  // namespace

std::vector<std::string> trace_json_seeds() { return {kFeeder, kMessages}; }

std::vector<std::string> pytorch_seeds() {
  return {kTrace, std::string(kTrace) + kSeparator + kProfile};
}

std::vector<std::string> text_workload_seeds() {
  return {kText, kDlrm, "MICRO\n1\nc -1 5 NONE 0 5 NONE 0 5 ALLREDUCE 1048576 5\n"};
}

std::vector<std::string> astra_file_seeds() {
  const auto files = [](const std::string& system, const std::string& network,
                        const std::string& memory, const std::string& groups) {
    return system + kSeparator + network + kSeparator + memory + kSeparator + groups;
  };
  return {files(kSystem,
                "topology: [Ring]\nnpus_count: [8]\nbandwidth: [50.0]\nlatency: [500.0]\n",
                R"({"memory-type": "PER_NODE_MEMORY_EXPANSION", "num-nodes": 2,
                   "num-npus-per-node": 4, "remote-mem-latency": 100, "remote-mem-bw": 50})",
                R"({"1": [0, 1], "2": [2, 3]})"),
          files(kThreeDimensions,
                "topology: [ Ring, FullyConnected, Switch ]  # a dimension each\n"
                "npus_count: [ 2, 8, 4 ]\nbandwidth: [ 200.0, 100.0, 50.0 ]  # GB/s\n"
                "latency: [ 50.0, 500.0, 2000.0 ]  # ns\n",
                R"({"memory-type": "NO_MEMORY_EXPANSION"})", "{}"),
          files(kLinkFigures,
                "topology: [Switch]\nnpus_count: [4]\nbandwidth: [50]\nlatency: [1.5e3]\n",
                R"({"memory-type": "MEMORY_POOL", "remote-mem-latency": 1, "remote-mem-bw": 2.5})",
                R"({"4294967295": [3, 2, 1, 0], "7": [5]})")};
}

std::vector<std::string> trace_json_words() {
  return {"{",
          "}",
          "[",
          "]",
          ":",
          "\"",
          "\\",
          "\"Id\"",
          "\"NodeType\"",
          "\"data_deps\"",
          "-1",
          "18446744073709551615",
          "1e308",
          "null",
          "true",
          "\"COMM_COLL_NODE\"",
          "\"attr\"",
          "\"workload_graph\"",
          "{\"name\": \"comm_type\", \"int64_val\": \"0\"}"};
}

std::vector<std::string> pytorch_words() {
  std::vector<std::string> words = trace_json_words();
  for (const char* word : {"\"record_param_comms\"", "\"ctrl_deps\"", "\"wait\"", "\"send\"",
                           "\"External id\"", "\"correlation\"", "\"ts\"", "\"dur\"",
                           "cudaStreamSynchronize", "[1,2,0,8,4,\"cuda:0\"]"}) {
    words.emplace_back(word);
  }
  return words;
}

std::vector<std::string> text_workload_words() {
  return {"DATA",
          "MODEL",
          "HYBRID_DATA_MODEL",
          "HYBRID_CUSTOMIZED",
          "NONE",
          "ALLGATHER",
          "-1",
          "checkpoints:",
          "99999999999999999999",
          "\n",
          "\t",
          "0",
          "65535"};
}

std::vector<std::string> astra_file_words() {
  std::vector<std::string> words{"{", "}", "[", "]", "FullyConnected", "Switch", "Ring", "-1", "0",
                                 "1e300", "null", "4294967296", "topology: ", "npus_count: ",
                                 "bandwidth: ", "latency: "};
  for (const char* quoted :
       {"ring", "oneRing", "direct3", "halvingDoubling", "oneHalvingDoubling", "doubleBinaryTree",
        "EXPLICIT", "LIFO", "MEMORY_POOL", "PER_NPU_MEMORY_EXPANSION", "memory-type", "num-nodes",
        "preferred-dataset-splits", "active-chunks-per-dimension", "all-reduce-implementation",
        "all-to-all-implementation", "all-reduce-implementation-custom", "roofline-enabled",
        "peak-perf", "local-mem-bw", "per-node-custom-implementation", "local-reduction-delay"}) {
    words.push_back('"' + std::string(quoted) + '"');
  }
  return words;
}

}  // namespace exawarp::fuzz
