// Critical paths of workloads whose longest chain one sees.
#include "model/timeline/critical_path.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "model/workload/validate.h"
#include "pdes/transport.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using core::Time;
using model::CriticalPath;
using model::NodeFields;
using model::PathElement;
using model::PathPart;
using model::ProgramBuilder;
using model::Timeline;
using model::WorkloadBuilder;
using model::schema::NodeKind;
using model::schema::StreamKind;

constexpr model::TimelineOptions kAll{.tasks_alone = true};

constexpr std::int64_t kUs = 1'000'000;

struct Found {
  CriticalPath path;
  Time end;

  [[nodiscard]] std::int64_t in(PathPart part) const {
    std::int64_t sum = 0;
    for (const PathElement& e : path.elements) {
      if (e.part == part) sum += (e.until - e.from).ps;
    }
    return sum;
  }
  // By element: where it ends.
  [[nodiscard]] std::vector<std::uint32_t> devices(PathPart part) const {
    std::vector<std::uint32_t> all;
    for (const PathElement& e : path.elements) {
      if (e.part == part) all.push_back(e.lp.value);
    }
    return all;
  }
};

Found found(const model::WorkloadGraph& graph, model::ClusterOptions options = {}) {
  options.timeline_of_all = true;
  const model::Cluster cluster(graph, round_accelerator(), round_fabric(), options);
  Timeline timeline(1, kAll, nullptr);
  const pdes::RunResult result =
      run_case({.model = &cluster, .placer = blocks_of(cluster.lp_count(), cluster.atom_shift())},
               {.sync = pdes::Sync::sequential}, &timeline);
  const auto transport = pdes::make_single_transport();
  timeline.combine(*transport);
  timeline.finish(cluster, {.at = result.last_event, .all_finished = true});
  const auto path = model::critical_path(cluster, timeline);
  EXPECT_TRUE(path.has_value());
  if (!path) return {};
  Time filled = path->from;
  for (const PathElement& e : path->elements) {
    EXPECT_EQ(e.from, filled);
    EXPECT_LT(e.from, e.until);
    filled = e.until;
  }
  EXPECT_EQ(filled, path->until);
  return {*path, path->until};
}

NodeFields work(std::uint8_t stream, std::int64_t us) {
  return {.kind = NodeKind::COMPUTE,
          .stream = stream,
          .duration_ps = static_cast<std::uint64_t>(us * kUs)};
}

// `devices` along one axis, device d running what write(program, d) says.
model::WorkloadGraph each(std::uint32_t devices,
                          const std::function<void(ProgramBuilder&, std::uint32_t)>& write) {
  WorkloadBuilder workload("each");
  const std::uint8_t axis = workload.add_axis("pipeline", devices);
  workload.add_group("all", {axis});
  for (std::uint32_t d = 0; d < devices; ++d) {
    ProgramBuilder& program = workload.add_program("program " + std::to_string(d));
    write(program, d);
    workload.bind_range(program.index(), {.axis = axis, .first = d, .count = 1});
  }
  model::WorkloadGraph graph = workload.build();
  model::validate(graph);
  return graph;
}

NodeFields message(NodeKind kind, std::uint8_t stream, std::uint32_t tag, std::uint64_t bytes) {
  return {.kind = kind,
          .stream = stream,
          .peer_axis = 0,
          .peer = kind == NodeKind::SEND ? 1 : -1,
          .tag = tag,
          .comm_bytes = bytes};
}

TEST(CriticalPathOf, AChainIsAllOfIt) {
  const Found f = found(each(1, [](ProgramBuilder& p, std::uint32_t) {
    const std::uint8_t s = p.add_stream("compute", StreamKind::COMPUTE);
    for (const std::int64_t us : {3, 5, 2}) p.add_node(work(s, us));
  }));
  EXPECT_EQ(f.path.elements.size(), 3u);
  EXPECT_EQ(f.in(PathPart::work), 10 * kUs);
}

TEST(CriticalPathOf, TwoBranchesIsTheLongerOneAlsoThroughTasksThatTakeNoTime) {
  const Found f = found(each(1, [](ProgramBuilder& p, std::uint32_t) {
    const std::uint8_t a = p.add_stream("a", StreamKind::COMPUTE);
    const std::uint8_t b = p.add_stream("b", StreamKind::COMPUTE);
    p.add_node(work(a, 4));                               // 0
    const std::uint32_t longer = p.add_node(work(b, 7));  // 1
    const std::uint32_t none = p.add_node(work(b, 0), {0});
    p.add_node(work(a, 1), {none, longer});
  }));
  ASSERT_EQ(f.path.elements.size(), 2u);
  EXPECT_EQ(f.in(PathPart::work), 8 * kUs);
  EXPECT_EQ(f.path.elements[0].until, Time{7 * kUs});
}

// Launches of 6 us each, of kernels of 2, 9 and 1 us: the second one is why the third waits.
TEST(CriticalPathOf, AHostIsThatOfLaunchesThatKernelsWaitFor) {
  const Found f = found(each(1, [](ProgramBuilder& p, std::uint32_t) {
    const std::uint8_t host = p.add_stream("host", StreamKind::HOST);
    const std::uint8_t s = p.add_stream("compute", StreamKind::COMPUTE);
    for (const std::int64_t us : {2, 9, 1}) p.add_node(work(s, us), {p.add_node(work(host, 6))});
  }));
  EXPECT_EQ(f.in(PathPart::host), 12 * kUs);
  EXPECT_EQ(f.in(PathPart::work), 10 * kUs);
}

TEST(CriticalPathOf, APipelineGoesFromStageToStageAndBack) {
  const Found f = found(two_stage_pipeline(
      {.micro_batches = 4, .forward = Time{10 * kUs}, .backward = Time{20 * kUs}, .bytes = 1'000}));
  EXPECT_EQ(f.in(PathPart::work), 150 * kUs);
  EXPECT_EQ(f.in(PathPart::latency), 4 * kNodeLatency.ps);
  EXPECT_EQ(f.in(PathPart::bandwidth), 4 * 1'000 * kNodePsPerByte);
  EXPECT_EQ(f.in(PathPart::queue), 0);
  // Forward 0 on both, backward 0 on both, forward 2 of the first, for which the last one waits
  // (1F1B), forward and backward 2 and 3 there, and backward 3 of the first.
  EXPECT_EQ(f.devices(PathPart::work), (std::vector<std::uint32_t>{0, 1, 1, 0, 0, 1, 1, 1, 1, 0}));
}

TEST(CriticalPathOf, AnAllReduceLeadsToTheMemberThatCameLast) {
  for (const bool analytical : {false, true}) {
    const Found f = found(
        each(4,
             [](ProgramBuilder& p, std::uint32_t d) {
               const std::uint8_t s = p.add_stream("compute", StreamKind::COMPUTE);
               const std::uint8_t n = p.add_stream("network", StreamKind::COMMUNICATION);
               const std::uint32_t before = p.add_node(work(s, d == 2 ? 50 : 10));
               const std::uint32_t reduced = p.add_node(
                   {.kind = NodeKind::COLLECTIVE, .stream = n, .group = 0, .comm_bytes = 4'000},
                   {before});
               p.add_node(work(s, 5), {reduced});
             }),
        {.analytical_network = analytical});
    EXPECT_EQ(f.in(PathPart::work), 55 * kUs);
    EXPECT_EQ(f.devices(PathPart::work).front(), 2u);
    // A message without data takes 1 ps, which counts as latency where steps are closed forms.
    const std::int64_t least = analytical ? 6 : 0;
    EXPECT_EQ(f.in(PathPart::latency), 6 * kNodeLatency.ps + least);
    EXPECT_EQ(f.in(PathPart::bandwidth), 6 * 1'000 * kNodePsPerByte - least);
    EXPECT_EQ(f.in(PathPart::queue), 0);
  }
}

TEST(CriticalPathOf, MessagesOnOneInterfaceHasTheWaitOfTheSecond) {
  const Found f = found(each(2, [](ProgramBuilder& p, std::uint32_t d) {
    for (std::uint32_t tag = 0; tag < 2; ++tag) {
      const std::uint8_t s = p.add_stream("network", StreamKind::COMMUNICATION);
      p.add_node(message(d == 0 ? NodeKind::SEND : NodeKind::RECEIVE, s, tag, 30'000 - tag));
    }
  }));
  EXPECT_EQ(f.in(PathPart::queue), 30'000 * kNodePsPerByte);
  EXPECT_EQ(f.in(PathPart::bandwidth), 29'999 * kNodePsPerByte);
  EXPECT_EQ(f.in(PathPart::latency), kNodeLatency.ps);
}

// Who is late is the receiver or the sender.
TEST(CriticalPathOf, ALongMessageLeadsToTheLaterEnd) {
  for (const std::uint32_t late : {0u, 1u}) {
    const Found f =
        found(each(2,
                   [&](ProgramBuilder& p, std::uint32_t d) {
                     const std::uint8_t s = p.add_stream("compute", StreamKind::COMPUTE);
                     const std::uint8_t n = p.add_stream("network", StreamKind::COMMUNICATION);
                     const std::uint32_t before = p.add_node(work(s, d == late ? 90 : 20));
                     p.add_node(message(d == 0 ? NodeKind::SEND : NodeKind::RECEIVE, n, 0, 1'000),
                                {before});
                   }),
              {.eager_max_bytes = 10});
    EXPECT_EQ(f.devices(PathPart::work), std::vector<std::uint32_t>{late});
    EXPECT_EQ(f.in(PathPart::work), 90 * kUs);
    EXPECT_EQ(f.in(PathPart::latency), (late == 0 ? 3 : 2) * kNodeLatency.ps);
    EXPECT_EQ(f.in(PathPart::queue), 0);
  }
}

TEST(CriticalPathOf, TasksThatTakeLongerThanUsualSaysByHowMuch) {
  const Found f = found(each(1,
                             [](ProgramBuilder& p, std::uint32_t) {
                               p.add_node(work(p.add_stream("compute", StreamKind::COMPUTE), 10));
                             }),
                        {.slow_devices = {{.devices = {0}, .factor_ppm = 1'500'000}}});
  EXPECT_EQ(f.in(PathPart::work), 10 * kUs);
  EXPECT_EQ(f.in(PathPart::variation), 5 * kUs);
}

TEST(CriticalPathOf, AnUnfinishedOrPartialTimelineIsNotKnown) {
  const model::WorkloadGraph graph = small_training_step({});
  const model::Cluster cluster(graph, round_accelerator(), round_fabric(), {.timeline = {{0}}});
  Timeline timeline(1, kAll, nullptr);
  const auto transport = pdes::make_single_transport();
  timeline.combine(*transport);
  timeline.finish(cluster, {.at = Time{1}, .all_finished = true});
  EXPECT_FALSE(model::critical_path(cluster, timeline).has_value());
}

}  // namespace
}  // namespace exawarp::tests
