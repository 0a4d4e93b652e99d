// The mapped graph: files in and out, and the tables over mesh axes and lists.
#include "model/workload/graph.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "core/error.h"
#include "model/generate/microbenchmark.h"
#include "model/generate/transformer.h"
#include "model/workload/validate.h"
#include "tests/support/workload_builders.h"

namespace exawarp::tests {
namespace {

using namespace model;

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// What open() and validate() say about a file of these bytes; "" where they accept it.
std::string error_of(const std::string& bytes) {
  const std::string path = temporary_path("x.xwg");
  write_file(path, bytes);
  std::string text;
  try {
    WorkloadGraph graph = WorkloadGraph::open(path);
    validate(graph);
  } catch (const core::InputError& error) {
    text = error.what();
    EXPECT_EQ(text.rfind(path + ": ", 0), 0u) << text;
    text = text.substr(path.size() + 2);
  }
  std::remove(path.c_str());
  return text;
}

TransformerSpec mesh_2_3_4() {
  TransformerSpec spec = tests::tiny_llama();
  spec.parallel = {.tensor = 2, .pipeline = 4, .data = 3};
  spec.global_batch_sequences = 12;
  return spec;
}

TEST(WorkloadFile, ReadsBackAsWritten) {
  const WorkloadGraph graph = generate_transformer(mesh_2_3_4());
  const std::string path = temporary_path("a.xwg");
  graph.write(path);
  WorkloadGraph read = WorkloadGraph::open(path);
  validate(read);
  EXPECT_EQ(read.place(), path);
  EXPECT_EQ(capnp::AnyStruct::Reader(read.root()), capnp::AnyStruct::Reader(graph.root()));
  const std::string again = temporary_path("b.xwg");
  read.write(again);
  EXPECT_EQ(read_file(again), read_file(path));
  std::remove(path.c_str());
  std::remove(again.c_str());
}

TEST(WorkloadFile, IsTheSameForTheSameSpec) {
  const std::string a = temporary_path("a.xwg");
  const std::string b = temporary_path("b.xwg");
  generate_transformer(mesh_2_3_4()).write(a);
  generate_transformer(mesh_2_3_4()).write(b);
  EXPECT_EQ(read_file(a), read_file(b));
  std::remove(a.c_str());
  std::remove(b.c_str());
}

TEST(WorkloadFile, MissingFileIsTheUsersError) {
  try {
    WorkloadGraph::open("/nonexistent/x.xwg");
    FAIL();
  } catch (const core::InputError& error) {
    EXPECT_STREQ(error.what(), "/nonexistent/x.xwg: cannot open: No such file or directory");
  }
}

TEST(WorkloadFile, UnwritablePlaceIsTheWorldsError) {
  const WorkloadGraph graph = generate_transformer(tests::tiny_llama());
  EXPECT_THROW(graph.write("/nonexistent/x.xwg"), core::SystemError);
}

TEST(WorkloadFile, EmptyFileIsRefused) {
  EXPECT_EQ(error_of(""),
            "not a workload graph: the file is empty; expected a whole file made by `exawarp "
            "workload`");
}

TEST(WorkloadFile, OddSizeIsRefused) {
  EXPECT_EQ(error_of("some text that is no workload"),
            "not a workload graph: its size, 29 bytes, is no multiple of 8: it is cut off or of "
            "another kind; expected a whole file made by `exawarp workload`");
}

TEST(WorkloadFile, TextOfWholeWordsIsRefused) {
  EXPECT_EQ(error_of("transformer:\n  model: llama.yaml ").rfind("not a workload graph", 0), 0u);
}

TEST(WorkloadFile, ZerosAreRefused) {
  EXPECT_EQ(error_of(std::string(64, '\0')),
            "not a workload graph: bytes follow the end of the message; expected a whole file "
            "made by `exawarp workload`");
}

TEST(WorkloadFile, EveryTruncationIsRefused) {
  MicrobenchmarkSpec spec;
  spec.repeats = 3;
  const std::string path = temporary_path("whole.xwg");
  generate_microbenchmark(spec).write(path);
  const std::string whole = read_file(path);
  ASSERT_EQ(error_of(whole), "");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(error_of(whole.substr(0, size)), "") << size;
  }
  std::remove(path.c_str());
}

TEST(WorkloadFile, TrailingBytesAreRefused) {
  const std::string path = temporary_path("whole.xwg");
  generate_microbenchmark({}).write(path);
  EXPECT_NE(error_of(read_file(path) + std::string(8, 'x')).find("bytes follow the end"),
            std::string::npos);
  std::remove(path.c_str());
}

// A list of structs without content takes no space, whatever its length says.
TEST(WorkloadFile, SmallFileThatClaimsToBeHugeIsRefused) {
  const std::uint64_t words[] = {
      10ull << 32,            // one segment of ten words
      0x0007'0001'0000'0000,  // root: a word of data, seven pointers
      1ull << 32 | 1,         // version 1, one device
      0,
      0,
      0,                        // name, axes, groups: none
      7ull << 32 | 3 << 2 | 1,  // programs: a list of structs, three words further
      0,
      0,
      0,                    // bindings, names, training: none
      0x1fff'ffffull << 2,  // 2^29 - 1 structs of no words
  };
  const std::string error =
      error_of(std::string(reinterpret_cast<const char*>(words), sizeof words));
  EXPECT_EQ(error.rfind("not a workload graph: ", 0), 0u) << error;
  EXPECT_NE(error.find("traversal limit"), std::string::npos) << error;
}

TEST(WorkloadGraph, MembersDifferOnlyAlongTheGroupsAxes) {
  const WorkloadGraph graph = generate_transformer(mesh_2_3_4());  // strides 1, 2, 6
  const Membership data = graph.membership(1, {2 * 6 + 1 * 2 + 1});
  EXPECT_EQ(data.size, 3u);
  EXPECT_EQ(data.position, 1u);
  EXPECT_EQ(graph.member(1, {15}, 0).value, 13u);
  EXPECT_EQ(graph.member(1, {15}, 2).value, 17u);
  for (std::uint32_t group = 0; group < 3; ++group) {
    for (std::uint32_t device = 0; device < graph.device_count(); ++device) {
      const Membership place = graph.membership(group, {device});
      EXPECT_EQ(graph.member(group, {device}, place.position).value, device);
    }
  }
}

TEST(WorkloadGraph, ProgramFollowsTheRule) {
  const WorkloadGraph graph = generate_transformer(mesh_2_3_4());
  for (std::uint32_t device = 0; device < 24; ++device) {
    EXPECT_EQ(graph.program_of({device}), device / 6);
  }
}

TEST(WorkloadGraph, ListsGiveProgramsAndPlaces) {
  WorkloadBuilder workload("lists");
  workload.add_axis("device", 4);
  workload.add_group_lists("pairs", {{3, 0}, {1, 2}});
  workload.add_program("a");
  workload.add_program("b");
  workload.bind_devices(0, {3, 1});
  workload.bind_devices(1, {0, 2});
  WorkloadGraph graph = workload.build();
  validate(graph);
  EXPECT_EQ(graph.program_of({3}), 0u);
  EXPECT_EQ(graph.program_of({2}), 1u);
  EXPECT_EQ(graph.membership(0, {0}).position, 1u);
  EXPECT_EQ(graph.membership(0, {0}).size, 2u);
  EXPECT_EQ(graph.member(0, {0}, 0).value, 3u);
  EXPECT_EQ(graph.member(0, {1}, 1).value, 2u);
}

TEST(Microbenchmark, PingPongAlternates) {
  const WorkloadGraph graph = generate_microbenchmark(
      {.name = {}, .kind = MicrobenchmarkKind::kPingPong, .bytes = 100, .repeats = 3});
  EXPECT_EQ(graph.program(0).node_count(), 6u);
  EXPECT_TRUE(find_unmatched(graph).empty());
  const Program& first = graph.program(0);
  const auto second_send = first.node(first.node_at(0, 1));
  ASSERT_EQ(second_send.getDependencyCount(), 1u);
  EXPECT_EQ(first.dependency(second_send, 0), first.node_at(1, 0));
}

TEST(Microbenchmark, CollectiveIsOverAllDevices) {
  const WorkloadGraph graph =
      generate_microbenchmark({.name = {}, .devices = 1000, .bytes = 1 << 20, .repeats = 2});
  EXPECT_EQ(graph.membership(0, {999}).size, 1000u);
  EXPECT_EQ(graph.program(0).node(1).getCommBytes(), 1u << 20);
}

TEST(Microbenchmark, BadSpecsNameTheKey) {
  const auto text = [](const MicrobenchmarkSpec& spec) -> std::string {
    try {
      check(spec);
    } catch (const SpecProblem& problem) {
      return problem.what();
    }
    return "";
  };
  EXPECT_EQ(text({.name = {}, .devices = 0}), "devices: out of range: 0; expected 1 to 16777216");
  EXPECT_EQ(text({.name = {}, .kind = MicrobenchmarkKind::kSend, .devices = 3}),
            "devices: out of range: 3; expected 2 to 2");
  EXPECT_EQ(text({.name = {}, .bytes = -1}),
            "bytes: out of range: -1; expected 0 to 1099511627775");
}

}  // namespace
}  // namespace exawarp::tests
