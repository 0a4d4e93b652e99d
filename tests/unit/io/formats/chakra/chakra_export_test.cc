// What an export makes of workloads that no generator writes.
#include "io/formats/chakra/export.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/error.h"
#include "io/formats/chakra/converter.h"
#include "io/formats/chakra/utf8.h"
#include "model/workload/builder.h"
#include "model/workload/validate.h"

namespace exawarp::tests {
namespace {

using namespace io;

namespace schema = model::schema;

TEST(Utf8, OnlyBytesOfNoCharacterAreReplaced) {
  EXPECT_EQ(as_utf8("plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
            "plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(as_utf8("\xff\x80 a\xc3"), "?? a?");
  EXPECT_EQ(as_utf8("\xc0\xaf \xe0\x80\xaf"), "?? ???");          // overlong
  EXPECT_EQ(as_utf8("\xed\xa0\x80 \xf4\x90\x80\x80"), "??? ????");  // a surrogate, beyond the last
}

// Two devices, each with a message to the other, and a rotation.
model::WorkloadGraph rotating(std::uint32_t tag, std::vector<std::uint32_t> communicators = {}) {
  model::WorkloadBuilder workload("rotating");
  const std::uint8_t axis = workload.add_axis("device", 2);
  workload.add_group_lists("pair", {{0, 1}}, std::move(communicators));
  const std::uint16_t swapped = workload.add_group_lists("swapped", {{1, 0}});
  for (const std::int32_t device : {0, 1}) {
    model::ProgramBuilder& program = workload.add_program("p");
    program.add_stream("s", schema::StreamKind::COMMUNICATION);
    program.add_node({.kind = device == 0 ? schema::NodeKind::SEND : schema::NodeKind::RECEIVE,
                      .peer_axis = axis,
                      .peer = device == 0 ? 1 : -1,
                      .tag = tag,
                      .name = workload.name("\xff"),
                      .comm_bytes = 8});
    program.add_node({.kind = schema::NodeKind::COLLECTIVE,
                      .collective = schema::CollectiveType::PERMUTE,
                      .group = swapped,
                      .root = 1,
                      .comm_bytes = 8});
    workload.bind_devices(program.index(), {static_cast<std::uint32_t>(device)});
  }
  model::WorkloadGraph graph = workload.build();
  model::validate(graph);
  return graph;
}

TEST(ChakraExport, NamesBecomeUtf8) {
  const model::WorkloadGraph graph = rotating(7);
  chakra::Node node;
  Converter(graph).convert(graph.program(0), 0, node);
  EXPECT_EQ(node.name(), "?");
}

TEST(ChakraExport, APermutationsTagsFollowThoseOfMessages) {
  const model::WorkloadGraph last = rotating(0xfffffffd);  // two more: one for each group
  chakra::Node node;
  Converter(last).convert(last.program(0), 1, node);
  for (const chakra::Attribute& a : node.attr()) {
    if (a.name() == "comm_tag") { EXPECT_EQ(a.uint32_val(), 0xffffffffu); }
  }
  const model::WorkloadGraph beyond = rotating(0xfffffffe);
  try {
    const Converter converter(beyond);
    ADD_FAILURE() << "accepted";
  } catch (const core::InputError& error) {
    EXPECT_STREQ(error.what(),
                 "generated workload: messages have tags up to 4294967294; expected 2 above them, "
                 "for permutations");
  }
}

TEST(ChakraExport, ACommunicatorGetsANumberThatNoneHas) {
  const model::WorkloadGraph graph = rotating(7, {0xffffffff});
  Communicators communicators(graph);
  EXPECT_EQ(communicators.number(0, {0}), 0xffffffffu);
  EXPECT_EQ(communicators.number(1, {0}), 1u);
  const model::WorkloadGraph taken = rotating(7, {1});
  EXPECT_EQ(Communicators(taken).number(1, {0}), 2u);
}

}  // namespace
}  // namespace exawarp::tests
