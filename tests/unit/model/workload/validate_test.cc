// What validation refuses, and what it says. Each case changes one thing in a sound graph.
#include "model/workload/validate.h"

#include <capnp/message.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/error.h"
#include "model/generate/transformer.h"
#include "tests/support/workload_builders.h"

namespace exawarp::tests {
namespace {

using namespace model;
using Change = std::function<void(schema::Workload::Builder)>;

// Eight devices: tensor 2 (stride 1), data 2, pipeline 2 (stride 4); programs "stage 0" and
// "stage 1"; groups tensor, data, pipeline and, by lists, embedding.
const WorkloadGraph& sound() {
  static const WorkloadGraph graph = [] {
    TransformerSpec spec = tests::tiny_gpt();
    spec.model.layers = 2;
    spec.parallel = {.tensor = 2, .pipeline = 2, .data = 2};
    spec.global_batch_sequences = 4;
    return generate_transformer(spec);
  }();
  return graph;
}

WorkloadGraph changed(const WorkloadGraph& graph, const Change& change) {
  auto message = std::make_unique<capnp::MallocMessageBuilder>();
  message->setRoot(graph.root());
  change(message->getRoot<schema::Workload>());
  return WorkloadGraph::from_message(std::move(message));
}

std::string error_of(WorkloadGraph graph) {
  try {
    validate(graph);
  } catch (const core::InputError& error) {
    return error.what();
  }
  return "accepted";
}

struct Case {
  const char* name;
  Change change;
  const char* expected;  // after "generated workload: "
};

class Refused : public testing::TestWithParam<Case> {};

TEST_P(Refused, SaysWhereWhatAndWhatWasExpected) {
  EXPECT_EQ(error_of(changed(sound(), GetParam().change)),
            std::string("generated workload: ") + GetParam().expected);
}

using W = schema::Workload::Builder;

// The first node of a kind in a program.
schema::Node::Builder first(W w, unsigned program, schema::NodeKind kind) {
  for (schema::Node::Builder node : w.getPrograms()[program].getNodes()) {
    if (node.getKind() == kind) return node;
  }
  throw std::logic_error("no such node");
}

void set_raw_enum(schema::Node::Builder node, std::uint16_t value) {
  node.setOperation(static_cast<schema::Operation>(value));
}

const Case kCases[] = {
    {"Version", [](W w) { w.setVersion(9); },
     "version: not a workload graph of this format: 9; expected 1"},
    {"DeviceCount", [](W w) { w.setDeviceCount(9); },
     "deviceCount: 9 is not the product of the axes' sizes; expected 8"},
    {"NoDevices", [](W w) { w.setDeviceCount(0); },
     "deviceCount: out of range: 0; expected 1 to 16777216"},
    {"EmptyAxis", [](W w) { w.getAxes()[1].setSize(0); },
     "axes[1] \"data\": size is 0; expected at least 1"},
    {"HugeAxes",
     [](W w) {
       for (auto axis : w.getAxes()) axis.setSize(0xffffffffu);
     },
     "deviceCount: 8 is not the product of the axes' sizes; expected at least 4294967295"},
    {"NegativeFlops", [](W w) { w.getTraining().setModelFlopsPerStep(-1); },
     "training: modelFlopsPerStep: out of range: -1; expected 0 to 1e+30"},
    {"FlopsNotANumber", [](W w) { w.getTraining().setModelFlopsPerStep(std::nan("")); },
     "training: modelFlopsPerStep: out of range: nan; expected 0 to 1e+30"},
    {"NoPrograms", [](W w) { w.initPrograms(0); },
     "programs: there is none; expected at least one"},
    {"GroupAxis", [](W w) { w.getGroups()[0].getAxes().set(0, 3); },
     "groups[0] \"tensor\": axes: no such axis: 3; expected less than 3"},
    {"GroupAxisTwice", [](W w) { w.getGroups()[2].initAxes(2); },
     "groups[2] \"pipeline\": axes: axis 0 is listed twice"},
    {"GroupWithoutAxes", [](W w) { w.getGroups()[2].initAxes(0); },
     "groups[2] \"pipeline\": axes: there is none; expected at least one"},
    {"GroupDevice", [](W w) { w.getGroups()[3].getLists()[1].set(0, 8); },
     "groups[3] \"embedding\": lists[1][0]: no such device: 8; expected less than 8"},
    {"GroupDeviceTwice", [](W w) { w.getGroups()[3].getLists()[1].set(1, 0); },
     "groups[3] \"embedding\": lists[1][1]: device 0 is listed twice; expected once in all lists"},
    {"NotInGroup", [](W w) { w.getGroups()[3].getLists().init(1, 0); },
     "programs[0] \"stage 0\": runs collectives on group 3, which has 3 of the 4 devices of the "
     "program; expected all"},
    {"Unbound", [](W w) { w.getBindings()[1].getRule().setFirst(0); },
     "bindings: devices with coordinate 0 on axis 2 are bound twice: to programs 0 and 1; "
     "expected once"},
    {"BindingProgram", [](W w) { w.getBindings()[1].setProgram(2); },
     "bindings: no such program: 2; expected less than 2"},
    {"BindingAxis", [](W w) { w.getBindings()[1].getRule().setAxis(7); },
     "bindings: rule over no such axis: 7; expected less than 3"},
    {"BindingOutside", [](W w) { w.getBindings()[1].getRule().setCount(0xffffffffu); },
     "bindings: rule over axis 2: coordinates 1 to 4294967296 (exclusive); expected a part of 0 "
     "to 2"},
    {"BindingOtherAxis", [](W w) { w.getBindings()[1].getRule().setAxis(0); },
     "bindings: devices with coordinate 1 on axis 0 and 0 on axis 2 are bound twice; expected "
     "rules over one axis"},
    {"DeviceUnbound", [](W w) { w.getBindings()[1].initDevices(1).set(0, 4); },
     "bindings: device 5 is bound to no program; expected each device once"},
    {"DeviceBoundTwice",
     [](W w) {
       auto devices = w.getBindings()[1].initDevices(4);
       for (unsigned i = 0; i < 4; ++i) devices.set(i, 3 + i);
     },
     "bindings: device 3 is bound twice: by list to program 1 and by rule to program 0; expected "
     "once"},
    {"ListedTwice",
     [](W w) {
       auto devices = w.getBindings()[1].initDevices(4);
       for (unsigned i = 0; i < 4; ++i) devices.set(i, i == 3 ? 4 : 4 + i);
     },
     "bindings: device 4 is bound twice: to programs 1 and 1; expected once"},
    {"ListedDevice", [](W w) { w.getBindings()[1].initDevices(1).set(0, 8); },
     "bindings: no such device: 8; expected less than 8"},
    {"ManyStreams", [](W w) { w.getPrograms()[0].initStreams(33); },
     "programs[0] \"stage 0\": streams: too many: 33; expected at most 32"},
    {"NoOrder", [](W w) { w.getPrograms()[0].initOrder(3); },
     "programs[0] \"stage 0\": order: has 3 entries; expected one for each of the 54 nodes"},
    {"StreamOutside", [](W w) { w.getPrograms()[0].getStreams()[0].setCount(0xffffffffu); },
     "programs[0] \"stage 0\": streams[0]: nodes 0 to 4294967295 (exclusive) of the order; "
     "expected at most 54"},
    {"StreamsMiss", [](W w) { w.getPrograms()[0].getStreams()[1].setCount(1); },
     "programs[0] \"stage 0\": streams: hold 42 nodes in all; expected each of the 54 nodes once"},
    {"NodeStream", [](W w) { w.getPrograms()[1].getNodes()[5].setStream(77); },
     "programs[1] \"stage 1\" nodes[5]: stream: no such stream: 77; expected less than 7"},
    {"NodePosition", [](W w) { w.getPrograms()[1].getNodes()[5].setPosition(1); },
     "programs[1] \"stage 1\" nodes[5]: position: place 1 of stream 0 holds node 2; expected this "
     "node"},
    {"NodePositionOutside", [](W w) { w.getPrograms()[1].getNodes()[5].setPosition(1000); },
     "programs[1] \"stage 1\" nodes[5]: position: 1000 in stream 0; expected less than its length, "
     "40"},
    {"Enumerator", [](W w) { set_raw_enum(w.getPrograms()[0].getNodes()[1], 99); },
     "programs[0] \"stage 0\" nodes[1]: operation: no such value: 99; expected 0 to 9"},
    {"DependencyRange", [](W w) { w.getPrograms()[0].getNodes()[4].setFirstDependency(1000); },
     "programs[0] \"stage 0\" nodes[4]: dependencies: 1000 to 1001 (exclusive); expected at most "
     "36"},
    {"DependencyOverflow",
     [](W w) { w.getPrograms()[0].getNodes()[4].setDependencyCount(0xffffffffu); },
     "programs[0] \"stage 0\" nodes[4]: dependencies: 1 to 4294967296 (exclusive); expected at "
     "most 36"},
    {"DependencyNode", [](W w) { w.getPrograms()[0].getDependencies().set(2, 500); },
     "programs[0] \"stage 0\" nodes[5]: dependencies: no such node: 500; expected less than 54"},
    {"DependencyOnItself", [](W w) { w.getPrograms()[0].getDependencies().set(2, 5); },
     "programs[0] \"stage 0\" nodes[5]: dependencies: the node waits for itself"},
    {"Cycle", [](W w) { w.getPrograms()[0].getDependencies().set(0, 6); },
     "programs[0] \"stage 0\": nodes[4]: waits for nodes[3], which waits for it through "
     "dependencies and the order of streams; expected no cycle"},
    {"Name", [](W w) { w.getPrograms()[0].getNodes()[2].setName(1000); },
     "programs[0] \"stage 0\" nodes[2]: name: no such name: 1000; expected less than 47"},
    {"Group", [](W w) { first(w, 0, schema::NodeKind::COLLECTIVE).setGroup(4); },
     "programs[0] \"stage 0\" nodes[3]: group: no such group: 4; expected less than 4"},
    {"GroupOnTwoStreams", [](W w) { first(w, 0, schema::NodeKind::COLLECTIVE).setGroup(1); },
     "programs[0] \"stage 0\" nodes[45]: group: collectives of group 1 are on streams 1 and 2; "
     "expected one stream"},
    {"CollectivesDiffer",
     [](W w) {
       for (auto node : w.getPrograms()[0].getNodes()) {
         if (node.getKind() == schema::NodeKind::COLLECTIVE && node.getGroup() == 3) {
           node.setCommBytes(4);
         }
       }
     },
     "programs[1] \"stage 1\": runs 1 collectives on group 3, which differ in number, order, type "
     "or size from the 1 of programs[0], a member of the same communicator; expected the same"},
    {"RootOfNone", [](W w) { first(w, 0, schema::NodeKind::COLLECTIVE).setRoot(1); },
     "programs[0] \"stage 0\" nodes[3]: root: out of range: 1; expected 0 for a collective without "
     "a root"},
    {"RootOutside",
     [](W w) {
       auto node = first(w, 0, schema::NodeKind::COLLECTIVE);
       node.setCollective(schema::CollectiveType::BROADCAST);
       node.setRoot(2);
     },
     "programs[0] \"stage 0\" nodes[3]: root: out of range: 2; expected less than 2, the members "
     "of the group"},
    {"SizesOfNoAllToAll", [](W w) { first(w, 0, schema::NodeKind::COLLECTIVE).setSizes(1); },
     "programs[0] \"stage 0\" nodes[3]: sizes: 1 for a collective that is no all-to-all; expected "
     "0"},
    {"NoSuchSizes",
     [](W w) {
       auto node = first(w, 0, schema::NodeKind::COLLECTIVE);
       node.setCollective(schema::CollectiveType::ALL_TO_ALL);
       node.setSizes(1);
     },
     "programs[0] \"stage 0\" nodes[3]: sizes: no such table: 1; expected at most 0"},
    {"SizesOfAnotherGroup",
     [](W w) {
       auto node = first(w, 0, schema::NodeKind::COLLECTIVE);
       node.setCollective(schema::CollectiveType::ALL_TO_ALL);
       node.setSizes(1);
       w.initSizeTables(1).init(0, 3);
     },
     "programs[0] \"stage 0\" nodes[3]: sizes: a table of 3 entries for groups of 2 to 2 members; "
     "expected one size of group, and as many entries as members or their square"},
    {"GroupOfACompute", [](W w) { first(w, 0, schema::NodeKind::COMPUTE).setGroup(3); },
     "programs[0] \"stage 0\" nodes[2]: group: 3 for a node that is no collective; expected 0"},
    {"RootOfACompute", [](W w) { first(w, 0, schema::NodeKind::COMPUTE).setRoot(1); },
     "programs[0] \"stage 0\" nodes[2]: root: 1 for a node that is no collective; expected 0"},
    {"SizesOfACompute", [](W w) { first(w, 0, schema::NodeKind::COMPUTE).setSizes(1'000'000); },
     "programs[0] \"stage 0\" nodes[2]: sizes: 1000000 for a node that is no collective; expected "
     "0"},
    {"NoSuchShape", [](W w) { first(w, 0, schema::NodeKind::COMPUTE).setShape(9'999); },
     "programs[0] \"stage 0\" nodes[2]: shape: no such shape: 9999; expected at most 18"},
    {"ShapeOfASend", [](W w) { first(w, 0, schema::NodeKind::SEND).setShape(1); },
     "programs[0] \"stage 0\" nodes[19]: shape: 1 for a node that computes nothing; expected 0"},
    {"ShapeOfNothing", [](W w) { w.initShapes(1)[0].initGemm().setM(4); },
     "shapes[0]: out of range: 0; expected 1 or more, less than 1099511627776"},
    {"HugeShape", [](W w) { w.initShapes(1)[0].initExperts().setTokens(1ull << 40); },
     "shapes[0]: out of range: 1099511627776; expected 1 or more, less than 1099511627776"},
    {"SizesOfASend", [](W w) { first(w, 0, schema::NodeKind::SEND).setSizes(1); },
     "programs[0] \"stage 0\" nodes[19]: sizes: 1 for a node that is no collective; expected 0"},
    {"PeerOfACompute", [](W w) { first(w, 0, schema::NodeKind::COMPUTE).setPeer(-5); },
     "programs[0] \"stage 0\" nodes[2]: peer: no such device: -5; expected 0 to 7"},
    {"PeerAxisOfACollective", [](W w) { first(w, 0, schema::NodeKind::COLLECTIVE).setPeerAxis(3); },
     "programs[0] \"stage 0\" nodes[3]: peerAxis: no such axis: 3; expected less than 3, or 255"},
    {"MemoryNode",
     [](W w) { w.getPrograms()[0].getMemory().getTimeline()[0].setNode(54); },
     "programs[0] \"stage 0\": memory: timeline[0]: no such node: 54; expected less than 54"},
    {"MemoryBytes",
     [](W w) { w.getPrograms()[0].getMemory().getTimeline()[0].setBytes(~0ull); },
     "programs[0] \"stage 0\": memory: timeline[0]: bytes: out of range: 18446744073709551615; "
     "expected less than 4611686018427387904"},
    {"Weights", [](W w) { w.getPrograms()[1].getMemory().setWeights(1ull << 62); },
     "programs[1] \"stage 1\": memory: weights: out of range: 4611686018427387904; expected less "
     "than 4611686018427387904"},
    {"Parameters", [](W w) { w.getPrograms()[1].setParameterCount(1ull << 62); },
     "programs[1] \"stage 1\": parameterCount: out of range: 4611686018427387904; expected less "
     "than 4611686018427387904"},
    {"HugeSizes", [](W w) { w.initSizeTables(1).init(0, 1).set(0, ~0ull); },
     "sizeTables[0]: out of range: 18446744073709551615; expected less than 1099511627776, less "
     "than 4611686018427387904 in all"},
    {"PeerOutside", [](W w) { first(w, 0, schema::NodeKind::SEND).setPeer(2); },
     "programs[0] \"stage 0\" nodes[19]: peer: offset 2 along axis 2, from coordinates 0 to 0, "
     "leaves the axis; expected peers in 0 to 1"},
    {"PeerHuge", [](W w) { first(w, 0, schema::NodeKind::SEND).setPeer(INT32_MIN); },
     "programs[0] \"stage 0\" nodes[19]: peer: offset -2147483648 along axis 2, from coordinates 0 "
     "to 0, leaves the axis; expected peers in 0 to 1"},
    {"PeerIsSelf", [](W w) { first(w, 0, schema::NodeKind::SEND).setPeer(0); },
     "programs[0] \"stage 0\" nodes[19]: peer: offset 0 along axis 2: a device is its own peer"},
    {"PeerAxis", [](W w) { first(w, 0, schema::NodeKind::SEND).setPeerAxis(9); },
     "programs[0] \"stage 0\" nodes[19]: peerAxis: no such axis: 9; expected less than 3, or 255"},
    {"PeerOtherAxis", [](W w) { first(w, 0, schema::NodeKind::SEND).setPeerAxis(0); },
     "programs[0] \"stage 0\" nodes[19]: peer: offset 1 along axis 0, from coordinates 0 to 1, "
     "leaves the axis; expected peers in 0 to 1"},
    {"PeerDevice",
     [](W w) {
       first(w, 0, schema::NodeKind::SEND).setPeerAxis(schema::NO_AXIS);
       first(w, 0, schema::NodeKind::SEND).setPeer(-1);
     },
     "programs[0] \"stage 0\" nodes[19]: peer: no such device: -1; expected 0 to 7"},
    {"PeerOwnDevice",
     [](W w) {
       first(w, 0, schema::NodeKind::SEND).setPeerAxis(schema::NO_AXIS);
       first(w, 0, schema::NodeKind::SEND).setPeer(3);
     },
     "programs[0] \"stage 0\" nodes[19]: peer: device 3 runs this program, so it is its own peer"},
    {"Flops", [](W w) { w.getPrograms()[0].getNodes()[4].setFlops(~0ull); },
     "programs[0] \"stage 0\" nodes[4]: flops: out of range: 18446744073709551615; expected less "
     "than 4611686018427387904"},
    {"FlopsSum",
     [](W w) {
       for (auto node : w.getPrograms()[0].getNodes()) node.setFlops(1ull << 61);
     },
     "programs[0] \"stage 0\" nodes[1]: flops: the program's nodes sum up to 4611686018427387904 "
     "so far; expected less than 4611686018427387904"},
    {"CommBytes", [](W w) { w.getPrograms()[0].getNodes()[3].setCommBytes(1ull << 40); },
     "programs[0] \"stage 0\" nodes[3]: commBytes: out of range: 1099511627776; expected less "
     "than 1099511627776"},
    {"Durations",
     [](W w) {
       for (auto node : w.getPrograms()[1].getNodes()) node.setDurationPs(1ull << 61);
     },
     "programs[1] \"stage 1\" nodes[1]: durationPs: the program's nodes sum up to "
     "4611686018427387904 so far; expected less than 4611686018427387904"},
};

INSTANTIATE_TEST_SUITE_P(Validate, Refused, testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Validate, AcceptsWhatTheGeneratorMakes) {
  EXPECT_EQ(error_of(changed(sound(), [](W) {})), "accepted");
}

TEST(Validate, RefusesOriginsThatAreNotOneForEachNode) {
  const auto with_origins = [](unsigned count, unsigned records, std::uint32_t record) {
    return error_of(changed(sound(), [&](W w) {
      w.initRecords(records);
      auto program = w.getPrograms()[0];
      const unsigned nodes = count == 0 ? program.getNodes().size() : count;
      for (auto origin : program.initOrigins(nodes)) origin.setRecord(record);
    }));
  };
  EXPECT_EQ(with_origins(0, 1, 0), "accepted");
  EXPECT_NE(with_origins(1, 1, 0).find("programs[0] \"stage 0\": origins: has 1 entries"),
            std::string::npos);
  EXPECT_NE(with_origins(0, 1, 1).find("origins[0]: record 1 or controlCount 0 out of range"),
            std::string::npos);
}

TEST(Validate, RefusesCommunicatorsThatAreNotOneForEachList) {
  const auto with_communicators = [](std::vector<std::uint32_t> ids) {
    WorkloadBuilder workload("lists");
    workload.add_axis("device", 4);
    workload.add_group_lists("pairs", {{0, 1}, {2, 3}}, std::move(ids));
    workload.add_program("empty");
    workload.bind_range(0, {.axis = 0, .first = 0, .count = 4});
    return error_of(workload.build());
  };
  EXPECT_EQ(with_communicators({7, 9}), "accepted");
  EXPECT_NE(with_communicators({7}).find("communicators: has 1 entries; expected none, or one for "
                                         "each of 2 lists"),
            std::string::npos);
}

// A program that no device runs is inspected, exported and made ready to run like any other.
WorkloadBuilder with_unbound_program(const NodeFields& node) {
  WorkloadBuilder workload("unbound");
  const std::uint8_t axis = workload.add_axis("device", 4);
  workload.add_group_lists("nobody", {});
  workload.add_group_lists("empty", {{}, {}});
  workload.add_program("idle");
  ProgramBuilder& program = workload.add_program("unbound");
  program.add_stream("only", schema::StreamKind::COMMUNICATION);
  program.add_node(node);
  workload.bind_range(0, {.axis = axis, .first = 0, .count = 4});
  return workload;
}

TEST(Validate, RefusesAPeerOutsideTheAxisOfAProgramThatNoDeviceRuns) {
  for (const std::int32_t peer : {4, -4, INT32_MAX, INT32_MIN}) {
    const NodeFields send{.kind = schema::NodeKind::SEND, .peer_axis = 0, .peer = peer};
    EXPECT_EQ(error_of(with_unbound_program(send).build()),
              "generated workload: programs[1] \"unbound\" nodes[0]: peer: offset " +
                  std::to_string(peer) + " along axis 0; expected -3 to 3");
  }
  const NodeFields send{.kind = schema::NodeKind::SEND, .peer_axis = 0, .peer = -3};
  EXPECT_EQ(error_of(with_unbound_program(send).build()), "accepted");
}

TEST(Validate, RefusesCollectivesOfGroupsWithoutMembers) {
  for (const std::uint16_t group : {std::uint16_t{0}, std::uint16_t{1}}) {
    const NodeFields node{.kind = schema::NodeKind::COLLECTIVE, .group = group};
    EXPECT_EQ(error_of(with_unbound_program(node).build()),
              "generated workload: programs[1] \"unbound\" nodes[0]: group: group " +
                  std::to_string(group) + " has no members; expected at least one");
  }
}

TEST(Validate, RefusesOfAHostAllButComputationsOfARecordedDuration) {
  const auto with = [](const NodeFields& node) {
    WorkloadBuilder workload("hosted");
    const std::uint8_t axis = workload.add_axis("device", 2);
    workload.add_group("all", {axis});
    ProgramBuilder& program = workload.add_program("program");
    program.add_stream("host", schema::StreamKind::HOST);
    program.add_node(node);
    workload.bind_range(0, {.axis = axis, .first = 0, .count = 2});
    return error_of(workload.build());
  };
  const std::string refusal =
      "generated workload: programs[0] \"program\" nodes[0]: kind: of another kind than stream 0, "
      "a host's, has; expected a computation of a recorded duration, or a marker";
  EXPECT_EQ(with({.duration_ps = 5}), "accepted");
  EXPECT_EQ(with({.kind = schema::NodeKind::MARKER}), "accepted");
  EXPECT_EQ(with({}), refusal);
  EXPECT_EQ(with({.kind = schema::NodeKind::COLLECTIVE}), refusal);
  EXPECT_EQ(with({.kind = schema::NodeKind::MEMORY, .duration_ps = 5}), refusal);
}

TEST(Validate, AcceptsOneDeviceThatDoesNothing) {
  WorkloadBuilder workload("nothing");
  workload.add_axis("device", 1);
  workload.add_program("empty");
  workload.bind_range(0, {.axis = 0, .first = 0, .count = 1});
  EXPECT_EQ(error_of(workload.build()), "accepted");
}

TEST(Validate, AnEmptyMessageIsNoWorkload) {
  EXPECT_EQ(error_of(WorkloadGraph::from_message(std::make_unique<capnp::MallocMessageBuilder>())),
            "generated workload: version: not a workload graph of this format: 0; expected 1");
}

TEST(Validate, NamesInMessagesArePrintable) {
  const auto graph = changed(sound(), [](W w) {
    w.getPrograms()[0].setName("a\nb\x1b[31m");
    w.getPrograms()[0].getNodes()[0].setStream(200);
  });
  EXPECT_NE(error_of(changed(graph, [](W) {})).find("\"a?b?[31m\""), std::string::npos);
}

TEST(Unmatched, MatchingEndsGiveNoFinding) {
  WorkloadGraph graph = two_devices().build();
  validate(graph);
  EXPECT_TRUE(find_unmatched(graph).empty());
}

TEST(Unmatched, OtherTagsAreFoundFromBothEnds) {
  WorkloadGraph graph = two_devices(5).build();
  validate(graph);
  EXPECT_EQ(find_unmatched(graph),
            (std::vector<std::string>{
                "programs[0] \"sender\" sends 1 message(s), 8 bytes in all, to programs[1] "
                "\"receiver\" with tag 5; the peer receives 0 of them, 0 bytes",
                "programs[1] \"receiver\" receives 1 message(s), 8 bytes in all, from programs[0] "
                "\"sender\" with tag 7; the peer sends 0 of them, 0 bytes"}));
}

TEST(Unmatched, AbsoluteAndRelativePeersMeet) {
  const WorkloadGraph base = two_devices().build();
  WorkloadGraph graph = changed(base, [](W w) {
    first(w, 1, schema::NodeKind::RECEIVE).setPeerAxis(schema::NO_AXIS);
    first(w, 1, schema::NodeKind::RECEIVE).setPeer(0);
  });
  validate(graph);
  EXPECT_TRUE(find_unmatched(graph).empty());
}

TEST(Unmatched, DevicesBoundByListAreMatchedByProgram) {
  const WorkloadGraph base = two_devices(5).build();
  WorkloadGraph graph = changed(base, [](W w) {
    for (unsigned program : {0u, 1u}) {
      w.getBindings()[program].initDevices(1).set(0, program);
    }
  });
  validate(graph);
  EXPECT_EQ(find_unmatched(graph).size(), 2u);
}

TEST(Unmatched, OtherSizesAreFound) {
  const WorkloadGraph base = two_devices().build();
  WorkloadGraph graph =
      changed(base, [](W w) { first(w, 1, schema::NodeKind::RECEIVE).setCommBytes(9); });
  validate(graph);
  EXPECT_EQ(find_unmatched(graph),
            (std::vector<std::string>{
                "programs[0] \"sender\" sends 1 message(s), 8 bytes in all, to programs[1] "
                "\"receiver\" with tag 7; the peer receives 1 of them, 9 bytes"}));
}

TEST(Unmatched, AMissingReceiveInOneStageIsFound) {
  WorkloadGraph graph = changed(sound(), [](W w) {
    first(w, 1, schema::NodeKind::RECEIVE).setKind(schema::NodeKind::MARKER);
  });
  validate(graph);
  EXPECT_EQ(find_unmatched(graph).size(), 1u);
  EXPECT_EQ(find_unmatched(graph, 0), std::vector<std::string>{"... and 1 more"});
}

}  // namespace
}  // namespace exawarp::tests
