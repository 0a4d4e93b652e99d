// Malformed .xwg files, through every command that reads one: exit code 2 and one line that names
// the file.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <ostream>

#include "model/workload/builder.h"
#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

namespace schema = model::schema;
using model::NodeFields;
using model::ProgramBuilder;
using model::WorkloadBuilder;

constexpr NodeFields kCompute{.kind = schema::NodeKind::COMPUTE, .flops = 1'000'000};

// A workload of two devices: 0 computes and sends, 1 computes and receives. A case spoils it.
struct Nodes {
  NodeFields send{.kind = schema::NodeKind::SEND,
                  .stream = 1,
                  .peer_axis = 0,
                  .peer = 1,
                  .comm_bytes = 4096};
  NodeFields receive{.kind = schema::NodeKind::RECEIVE,
                     .stream = 1,
                     .peer_axis = 0,
                     .peer = -1,
                     .comm_bytes = 4096};
  std::uint32_t devices_bound = 2;
  std::uint32_t axis_size = 2;
  bool cyclic = false;
};

void write_pair(const Nodes& nodes) {
  WorkloadBuilder workload("pair");
  const std::uint8_t axis = workload.add_axis("device", nodes.axis_size);
  std::uint32_t device = 0;
  for (const NodeFields& message : {nodes.send, nodes.receive}) {
    ProgramBuilder& program = workload.add_program(device == 0 ? "sender" : "receiver");
    program.add_stream("compute", schema::StreamKind::COMPUTE);
    program.add_stream("device", schema::StreamKind::COMMUNICATION);
    if (nodes.cyclic) {
      program.add_node(kCompute, {1u});
      program.add_node(message, {0u});
    } else {
      program.add_node(kCompute);
      program.add_node(message, {0u});
    }
    if (device < nodes.devices_bound) {
      workload.bind_range(program.index(), {.axis = axis, .first = device, .count = 1});
    }
    ++device;
  }
  workload.build().write("w.xwg");
}

struct Malformed {
  std::string name;
  std::function<void(Nodes&)> spoil;             // before the file is written
  std::function<void(std::string&)> spoil_file;  // its bytes
  std::string text;                              // what the line contains
};
void PrintTo(const Malformed& m, std::ostream* out) { *out << m.name; }

class MalformedXwg : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedXwg, EndsWithOneLineThatNamesTheFile) {
  const Malformed& m = GetParam();
  const Workspace workspace;
  Nodes nodes;
  if (m.spoil) m.spoil(nodes);
  write_pair(nodes);
  if (m.spoil_file) {
    std::string bytes = workspace.read("w.xwg");
    m.spoil_file(bytes);
    workspace.write("w.xwg", bytes);
  }
  workspace.write("study.yaml", replaced(small_study(), "workload.yaml", "w.xwg"));

  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"run", "study.yaml", "--out", "out"},
        {"workload", "validate", "w.xwg"},
        {"workload", "inspect", "w.xwg", "--json"},
        {"workload", "export", "chakra", "w.xwg", "-o", "out"},
        {"workload", "export", "json", "w.xwg", "-o", "out"},
        {"workload", "export", "dot", "w.xwg", "-o", "out"},
        {"workload", "export", "graphml", "w.xwg", "-o", "out"},
        {"workload", "diff", "w.xwg", "w.xwg"}}) {
    const Ran ran = workspace.run(arguments);
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
    EXPECT_TRUE(ran.err.starts_with("w.xwg: ")) << ran.err;
    EXPECT_NE(ran.err.find(m.text), std::string::npos) << ran.err;
  }
  EXPECT_FALSE(workspace.has("results"));
  for (const char* name : {"out", "out.0.et", "out.0.json"}) EXPECT_FALSE(workspace.has(name));
}

INSTANTIATE_TEST_SUITE_P(
    Files, MalformedXwg,
    testing::Values(
        Malformed{"Empty", {}, [](std::string& s) { s.clear(); }, "not a workload graph"},
        Malformed{"Truncated", {}, [](std::string& s) { s.resize(s.size() / 2); },
                  "not a workload graph"},
        Malformed{"OneByteShort", {}, [](std::string& s) { s.pop_back(); },
                  "not a workload graph"},
        Malformed{"Text", {}, [](std::string& s) { s = "transformer: {}\n"; },
                  "not a workload graph"},
        Malformed{"HugeSegmentTable", {},
                  [](std::string& s) { s.replace(0, 4, "\xff\xff\xff\x7f"); },
                  "not a workload graph"},
        Malformed{"FlippedRootPointer", {},
                  [](std::string& s) { s[11] = static_cast<char>(s[11] ^ 0x7f); }, ""},
        Malformed{"OtherSchema", {},
                  [](std::string& s) { s = std::string(4, '\0') + "\1" + std::string(11, '\0'); },
                  ""},
        Malformed{"Cyclic", [](Nodes& n) { n.cyclic = true; }, {}, "cycle"},
        Malformed{"PeerOutOfRange", [](Nodes& n) { n.send.peer = 2; }, {}, "peer"},
        Malformed{"PeerBelowZero", [](Nodes& n) { n.receive.peer = -2; }, {}, "peer"},
        Malformed{"AbsolutePeerOutOfRange",
                  [](Nodes& n) {
                    n.send.peer_axis = schema::NO_AXIS;
                    n.send.peer = 7;
                  },
                  {}, "peer"},
        Malformed{"NoSuchAxis", [](Nodes& n) { n.send.peer_axis = 9; }, {}, "axis"},
        Malformed{"NoSuchGroup",
                  [](Nodes& n) {
                    n.send.kind = schema::NodeKind::COLLECTIVE;
                    n.send.group = 3;
                  },
                  {}, "group"},
        Malformed{"SizesOfAMessage", [](Nodes& n) { n.send.sizes = 1'000'000; }, {}, "sizes"},
        Malformed{"GroupOfAMessage", [](Nodes& n) { n.receive.group = 0xffff; }, {}, "group"},
        Malformed{"RootOfAMessage", [](Nodes& n) { n.receive.root = 7; }, {}, "root"},
        Malformed{"MessageTooLarge", [](Nodes& n) { n.send.comm_bytes = 1ull << 41; }, {},
                  "commBytes"},
        Malformed{"DeviceWithoutProgram", [](Nodes& n) { n.devices_bound = 1; }, {}, "bind"},
        Malformed{"NoDevices", [](Nodes& n) { n.axis_size = 0; }, {}, "0"}),
    [](const auto& param) { return param.param.name; });

TEST(XwgBitFlips, NeverCrashAndNeverEndInAnInternalFault) {
  const Workspace workspace;
  write_pair({});
  const std::string sound = workspace.read("w.xwg");
  for (std::size_t bit = 0; bit < sound.size() * 8; bit += 7) {
    std::string bytes = sound;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    workspace.write("w.xwg", bytes);
    const Ran ran = workspace.run({"workload", "validate", "w.xwg"});
    ASSERT_TRUE(ran.exit_code == 0 || ran.exit_code == 2) << "bit " << bit << ": " << ran.err;
    ASSERT_EQ(std::ranges::count(ran.err, '\n'), ran.exit_code == 0 ? 0 : 1) << "bit " << bit;
  }
}

}  // namespace
}  // namespace exawarp::tests
