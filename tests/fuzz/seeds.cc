// Inputs that are right, for each target of targets.cc: what mutation starts from.
#include "tests/fuzz/seeds.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "io/chakra.pb.h"
#include "io/study/workload_spec.h"
#include "model/workload/builder.h"
#include "tests/fuzz/targets.h"
#include "tests/support/small_study.h"

namespace exawarp::fuzz {
namespace {

namespace schema = model::schema;

std::string temporary_file(const char* name) {
  return (std::filesystem::temp_directory_path() /
          ("exawarp_seed_" + std::to_string(getpid()) + "_" + name))
      .string();
}

// Runs `use` on the path of a file that holds `text`, for readers that take paths.
template <class Use>
auto with_file(const char* name, const std::string& text, const Use& use) {
  const std::string path = temporary_file(name);
  std::ofstream(path, std::ios::binary) << text;
  auto result = use(path);
  std::filesystem::remove(path);
  return result;
}

std::string bytes_of(const model::WorkloadGraph& graph) {
  const std::string path = temporary_file("seed.xwg");
  graph.write(path);
  std::ifstream in(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::filesystem::remove(path);
  return bytes;
}

model::WorkloadGraph graph_of(const std::string& spec) {
  return with_file("spec.yaml", spec, [](const std::string& path) {
    io::YamlDocument document(path);
    return io::generate(io::read_workload_spec(document.root()));
  });
}

// Groups and programs by list, absolute peers, recorded durations, tables of sizes, rotations, a
// program that no device runs: what generators seldom write or never.
model::WorkloadGraph irregular_graph() {
  model::WorkloadBuilder workload("irregular");
  const std::uint8_t axis = workload.add_axis("device", 4);
  const std::uint16_t pairs = workload.add_group_lists("pairs", {{0, 3}, {2, 1}}, {5, 9});
  const std::uint16_t all = workload.add_group("all", {axis});
  const std::uint32_t table = workload.add_sizes({0, 4'096, 8, 0});
  const auto collective = [](std::uint16_t group, schema::CollectiveType type) {
    return model::NodeFields{.kind = schema::NodeKind::COLLECTIVE,
                             .stream = 1,
                             .collective = type,
                             .group = group,
                             .comm_bytes = 4'096};
  };
  for (const std::uint32_t half : {0u, 1u, 2u}) {
    model::ProgramBuilder& program = workload.add_program(half == 0 ? "even" : "odd");
    program.add_stream("compute", schema::StreamKind::COMPUTE);
    program.add_stream("pairs", schema::StreamKind::COMMUNICATION);
    program.add_node({.kind = schema::NodeKind::COMPUTE, .duration_ps = 1'000'000});
    program.add_node(collective(pairs, schema::CollectiveType::ALL_REDUCE), {0u});
    model::NodeFields unequal = collective(pairs, schema::CollectiveType::ALL_TO_ALL);
    unequal.comm_bytes = 0;
    unequal.sizes = table;
    program.add_node(unequal);
    model::NodeFields rotation = collective(all, schema::CollectiveType::PERMUTE);
    rotation.root = 1;
    rotation.stream = program.add_stream("all", schema::StreamKind::COMMUNICATION);
    program.add_node(rotation, {1u});
    program.add_node({.kind = schema::NodeKind::MARKER, .name = workload.name("end")}, {2u, 3u});
    program.set_memory({.weights = 8, .gradients = 4, .optimizer = 2, .timeline = {{0, 16}}});
    if (half < 2) workload.bind_devices(program.index(), {half, half + 2});
  }
  return workload.build();
}

// Two ranks by number, as traces are imported: nodes with origins.
model::WorkloadGraph imported_graph() {
  model::WorkloadBuilder workload("imported");
  workload.add_axis("rank", 2);
  const std::uint32_t record = workload.record("");
  for (const std::uint32_t rank : {0u, 1u}) {
    model::ProgramBuilder& program = workload.add_program("rank");
    program.add_stream("compute", schema::StreamKind::COMPUTE);
    program.add_stream("messages", schema::StreamKind::COMMUNICATION);
    program.add_node({.kind = schema::NodeKind::COMPUTE, .flops = 1'000});
    program.add_origin({.id = 3, .record = record, .control_count = 0});
    program.add_node({.kind = rank == 0 ? schema::NodeKind::SEND : schema::NodeKind::RECEIVE,
                      .stream = 1,
                      .peer = static_cast<std::int32_t>(1 - rank),
                      .tag = 7,
                      .comm_bytes = 64},
                     {0u});
    program.add_origin({.id = 9, .record = record, .control_count = 1});
    workload.bind_devices(program.index(), {rank});
  }
  return workload.build();
}

}  // namespace

std::vector<std::string> xwg_seeds() {
  std::vector<std::string> seeds{bytes_of(irregular_graph()), bytes_of(imported_graph())};
  constexpr std::size_t kBytesMax = 50'000;  // mutations of larger files seldom hit what matters
  for (const std::string& spec : workload_spec_seeds()) {
    if (spec.find(kSeparator) != std::string::npos) continue;
    std::string bytes = bytes_of(graph_of(spec));
    if (bytes.size() <= kBytesMax) seeds.push_back(std::move(bytes));
  }
  return seeds;
}

std::vector<std::string> chakra_seeds() {
  using chakra::Node;
  const auto record = [](const google::protobuf::MessageLite& message) {
    const std::string bytes = message.SerializeAsString();
    return std::string(1, static_cast<char>(bytes.size())) + bytes;  // below 128 bytes
  };
  chakra::GlobalMetadata metadata;
  metadata.set_version("0.0.4");
  Node first, second, third;
  first.set_id(5);
  first.set_name("gemm");
  first.set_type(chakra::COMP_NODE);
  first.set_duration_micros(7);
  chakra::Attribute* attribute = first.add_attr();
  attribute->set_name("num_ops");
  attribute->set_int64_val(1 << 20);
  second.set_type(chakra::COMM_COLL_NODE);
  second.add_data_deps(5);
  for (const char* name : {"comm_type", "comm_size"}) {
    attribute = second.add_attr();
    attribute->set_name(name);
    attribute->set_uint64_val(name[6] == 'y' ? 2 : 4'096);
  }
  third.set_id(9);
  third.set_type(chakra::METADATA_NODE);
  third.mutable_inputs()->set_values("['[{\"pg_name\": \"1\", \"ranks\": [0]}]']");
  third.add_ctrl_deps(5);
  const std::string all = record(metadata) + record(first) + record(second) + record(third);
  return {record(metadata), record(metadata) + record(first), all};
}

std::vector<std::string> chakra_words() {
  return {"is_cpu_op", "comm_size", "tensor_size", "pg_name", "comm_dst", "op_type",
          "exawarp_stream", "exawarp_fields", "\x0a", "\x2a\x01", "\x22\x01", "\x18\x05",
          "\xff\xff\xff\xff\x0f", std::string(1, '\0')};
}

std::vector<std::string> kernel_table_seeds() {
  const std::string head = "exawarp-kernels 1\nsource here\noperation gemm\ntype bfloat16\n";
  return {head + "axis m 1 2 16\naxis n 8\nscale 0.5 0.0001\ncells\nabcdef",
          head + "keys a b\naxis tokens 1 64\nscale 0 0.0001\nslice 0 1\nslice 2 1\ncells\n"
                 "ab\xff\xff" "cdef"};
}

std::vector<std::string> kernel_table_words() {
  return {"keys ", "axis ", "slice ", "scale ", "cells\n", "source", "4294967295", "nan", "1e308"};
}

std::vector<std::string> expression_seeds() {
  return {"tensor * pipeline * data = devices",
          "divides(tensor, devices) and not (data > 8 or -tensor % 2 != 0)",
          "min(tensor, data) <= 1.5e1 and max(1, tensor - 2, data) / 4 < devices"};
}

std::vector<std::string> unit_seeds() {
  return {"400 Gb/s", "3.6 us", "16 MiB", "989.4 TFLOP/s", "1e-3 us", "0.5 KiB", " 2 h "};
}

std::vector<std::string> command_line_seeds() {
  std::vector<std::string> seeds{
      "run study.yaml --out here --sync optimistic --threads 2 --seed 3 --set a.b=c --json",
      "run study.yaml --placement block --partitions 4 --window 1us --audit 0.1 --quiet",
      "run study.yaml --time-limit 10 --set a=1 --set b.c=2",
      "workload generate spec.yaml -o file.xwg --set a.b=1 --max-size 4GiB",
      "workload inspect file.xwg --json",
      "workload validate file.xwg",
      "workload inspect file.xwg --device 3 --accelerator chip.yaml --timeline out.json",
      "workload import chakra prefix -o f.xwg --comm-groups g.json --element-bytes 2 --macs",
      "workload import goal file.goal -o f.xwg",
      "workload import pytorch trace.json -o f.xwg --kineto profile.json",
      "workload import stablehlo m.mlir -o f.xwg --mesh data=4,tensor=2 --trip-count 3 --entry f",
      "workload import text w.txt -o f.xwg --ranks 8 --model-parallel 2 --passes 2 --cycle 1ns",
      "workload import single-gpu t.csv --tensors s.csv --devices 4 --layout pipeline -o f.xwg",
      "extrapolate t.csv --tensors s.csv --devices 2,4 --layout pipeline --bucket 1MiB --json",
      "extrapolate t.csv --tensors s.csv --rules triosim --micro-batch 32 --link-bandwidth 65GB/s",
      "workload export chakra f.xwg -o prefix",
      "workload export dot f.xwg -o f.dot --device 1",
      "workload convert a.json -o a.et",
      "workload diff a.xwg b.xwg",
      "topology show study.yaml --links --set a=b",
      "topology show study.yaml --output net.svg",
      "traffic t.yaml --seed 3 --counters c.csv --sync conservative --json",
      "goal s.goal --sync optimistic --threads 2 --window 1us --json",
      "run s.yaml --compare-alone --stats s.csv --stats-interval 1s --ignore-memory",
      "astra --network-backend=congestion-aware --workload-configuration=w "
      "--system-configuration=s.json --network-configuration=n.yml "
      "--remote-memory-configuration=m.json --comm-group-configuration=empty",
      "phold --lps 64 --start-events 2 --remote 0.5 --end 20 --sync sequential --json",
      "--version",
      "run --help"};
  for (std::string& seed : seeds) std::ranges::replace(seed, ' ', kSeparator);
  return seeds;
}

std::vector<std::string> xwg_words() {
  return {std::string(4, '\0'),
          std::string(8, '\0'),
          "\xff\xff\xff\xff",
          "\x01",
          "\xff\xff",
          std::string("\0\0\0\x80", 4),
          std::string("\0\0\0\0\0\0\0\x40", 8),
          "\x7f"};
}

std::vector<std::string> expression_words() {
  return {"and", "or", "not", "divides(", "min(", "max(", "tensor", "devices", "(", ")",
          ",",   "<=", "!=",  "==",       "%",    "/ 0",  "1e308",  "0.5",     "-", "not not "};
}

std::vector<std::string> unit_words() {
  return {"e",    "e9",          "-",   "+", ".",  " ", "/s",     "b",
          "B",    "Ki",          "Mi",  "G", "T",  "P", "FLOP/s", "99999999999999999999",
          "e-99", "e2147483648", "min", "h", "ps", "\t"};
}

std::vector<std::string> command_line_words() {
  return {std::string(1, kSeparator),
          "--",
          "-",
          "=",
          "--set",
          "--sync",
          "--threads",
          "--window",
          "-o",
          "--help-all",
          "-1",
          "1e99",
          "nan",
          "18446744073709551616",
          "4294967296",
          "@",
          "[",
          "]",
          "{}",
          "--config",
          "++",
          "--lps"};
}

model::WorkloadGraph small_graph() { return graph_of(tests::small_workload()); }

io::SystemConfig small_system() {
  return with_file("system.yaml", small_system_text(), [](const std::string& path) {
    io::YamlDocument document(
        path, {"accelerator.matrix_rate={bf16: 9 TFLOP/s, fp8: 9 TFLOP/s, fp32: 1 TFLOP/s}"});
    return io::read_system(document.root());
  });
}

}  // namespace exawarp::fuzz
