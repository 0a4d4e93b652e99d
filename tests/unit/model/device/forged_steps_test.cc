// A device believes no index that a message of a collective brings, whether the collective is in
// progress or still to come: one that the collective does not have ends the run.
#include <gtest/gtest.h>

#include <string>

#include "model/network/message/message.h"
#include "model/workload/validate.h"
#include "pdes/context.h"
#include "pdes/transport.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::Time;
using schema::CollectiveType;
using schema::NodeKind;
using schema::StreamKind;

struct Forged {
  std::uint32_t ordinal = 0, step = 0, lane = 0;
  std::uint16_t interface = 0;
  std::int64_t wire_ps = 0;
  std::uint32_t copies = 1;
  [[nodiscard]] Chunk chunk() const { return {wire_ps, 0, ordinal, step, 0, interface, lane}; }
};

// A cluster in which device 0 also sends `forged` to device 1.
class Forger final : public Cluster {
 public:
  Forger(const WorkloadGraph& graph, const ClusterOptions& options, const Forged& forged)
      : Cluster(graph, tests::round_accelerator(), tests::round_fabric(), options),
        forged_(forged) {}
  void initialise(core::LpId lp, void* state, pdes::Context& ctx) const override {
    Cluster::initialise(lp, state, ctx);
    if (lp.value != 0) return;
    for (std::uint32_t i = 0; i < forged_.copies; ++i) {
      ctx.send(core::LpId{1}, lookahead(), static_cast<pdes::EventKind>(DeviceEvent::step_arrives),
               forged_.chunk());
    }
  }

 private:
  Forged forged_;
};

// Four members compute for 50 us, then run a halving all-reduce of four phases twice.
WorkloadGraph late_collectives() {
  WorkloadBuilder workload("late");
  const auto axis = workload.add_axis("device", 4);
  const auto group = workload.add_group("all", {axis});
  ProgramBuilder& program = workload.add_program("member");
  const auto compute = program.add_stream("compute", StreamKind::COMPUTE);
  const auto network = program.add_stream("network", StreamKind::COMMUNICATION);
  const auto ready = program.add_node({.stream = compute, .duration_ps = 50'000'000});
  for (int i = 0; i < 2; ++i) {
    program.add_node({.kind = NodeKind::COLLECTIVE,
                      .stream = network,
                      .collective = CollectiveType::ALL_REDUCE,
                      .group = group,
                      .comm_bytes = 4'000},
                     {ready});
  }
  workload.bind_range(0, {.axis = axis, .first = 0, .count = 4});
  WorkloadGraph graph = workload.build();
  validate(graph);
  return graph;
}

void run(const WorkloadGraph& graph, const Forged& forged, pdes::Sync sync) {
  ClusterOptions options;
  options.collectives = {CollectiveRule{.choice = {.algorithm = Algorithm::halving}}};
  const Forger model(graph, options, forged);
  const auto transport = pdes::make_single_transport();
  pdes::Engine engine(model, tests::blocks_of(model.lp_count(), model.atom_shift())(1, 1),
                      {.sync = sync}, *transport);
  engine.run();
}

void expect_end(const WorkloadGraph& graph, const Forged& forged, const std::string& text) {
  for (const pdes::Sync sync : {pdes::Sync::sequential, pdes::Sync::optimistic}) {
    EXPECT_EXIT(run(graph, forged, sync), testing::ExitedWithCode(1), text + ".*LP=1 LVT=");
  }
}

constexpr std::uint32_t kPhases = 4;

// The forged message comes a microsecond after the start: in the middle of the first collective,
// or long before it, or before the second.
TEST(ForgedSteps, EndTheRunWhereTheCollectiveIsInProgress) {
  const WorkloadGraph graph = tests::collectives(CollectiveType::ALL_REDUCE, 4, 4'000);
  expect_end(graph, {.step = 1, .lane = 1}, "names a lane that the collective does not have");
  expect_end(graph, {.step = kPhases}, "names a phase that the collective does not have");
}

TEST(ForgedSteps, EndTheRunWhereTheCollectiveBeginsThatTheyCameEarlyFor) {
  const WorkloadGraph graph = late_collectives();
  for (const std::uint32_t ordinal : {0u, 1u}) {
    expect_end(graph, {.ordinal = ordinal, .lane = 1},
               "names a lane that the collective does not have");
    expect_end(graph, {.ordinal = ordinal, .step = kPhases},
               "names a phase that the collective does not have");
    expect_end(graph, {.ordinal = ordinal, .lane = 0x10001}, "names a lane that no collective has");
    expect_end(graph, {.ordinal = ordinal, .step = 1}, "arrived after its phase");
    expect_end(graph, {.ordinal = ordinal, .step = 1, .copies = 2},
               "received more messages than it waits for");
  }
}

TEST(ForgedSteps, EndTheRunAtAnInterfaceThatIsNotThere) {
  const WorkloadGraph graph = late_collectives();
  for (const pdes::Sync sync : {pdes::Sync::sequential, pdes::Sync::optimistic}) {
    EXPECT_EXIT(run(graph, {.interface = 200, .wire_ps = 1}, sync), testing::ExitedWithCode(1),
                "interface - kInterfaceCount < further_count");
  }
}

}  // namespace
}  // namespace exawarp::tests
