// Closed forms: what one device, one ring, one pipeline takes, to the picosecond.
#include "model/device/device.h"

#include <gtest/gtest.h>

#include "model/workload/validate.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::Time;
using schema::CollectiveType;
using schema::NodeKind;
using schema::StreamKind;

Time ring_time(CollectiveType type, std::uint32_t devices, std::uint64_t bytes) {
  return simulate(tests::collectives(type, devices, bytes)).outcome.simulated_time();
}

// Two devices on `axis` 0; each gets a program of its own.
struct Pair {
  explicit Pair(std::uint32_t devices = 2) {
    axis = workload.add_axis("pipeline", devices);
    for (std::uint32_t d = 0; d < devices; ++d) {
      programs.push_back(&workload.add_program("device " + std::to_string(d)));
      workload.bind_range(d, {.axis = axis, .first = d, .count = 1});
    }
  }
  std::uint8_t stream(std::uint32_t device, StreamKind kind = StreamKind::COMMUNICATION) {
    return programs[device]->add_stream("s", kind);
  }
  std::uint32_t send(std::uint32_t from, std::uint8_t on, std::uint32_t to, std::uint64_t bytes,
                     std::uint32_t tag = 0, std::initializer_list<std::uint32_t> after = {}) {
    return node(NodeKind::SEND, from, on, to, bytes, tag, after);
  }
  std::uint32_t receive(std::uint32_t at, std::uint8_t on, std::uint32_t from,
                        std::uint64_t bytes, std::uint32_t tag = 0,
                        std::initializer_list<std::uint32_t> after = {}) {
    return node(NodeKind::RECEIVE, at, on, from, bytes, tag, after);
  }
  std::uint32_t node(NodeKind kind, std::uint32_t device, std::uint8_t on, std::uint32_t peer,
                     std::uint64_t bytes, std::uint32_t tag,
                     std::initializer_list<std::uint32_t> after) {
    return programs[device]->add_node({.kind = kind,
                                       .stream = on,
                                       .peer = static_cast<std::int32_t>(peer),
                                       .tag = tag,
                                       .comm_bytes = bytes},
                                      after);
  }
  std::uint32_t compute(std::uint32_t device, std::uint8_t on, std::int64_t ps,
                        std::initializer_list<std::uint32_t> after = {}) {
    return programs[device]->add_node(
        {.stream = on, .duration_ps = static_cast<std::uint64_t>(ps)}, after);
  }
  Simulated run(const ClusterOptions& options = {}) {
    WorkloadGraph graph = workload.build();
    validate(graph);
    return simulate(std::move(graph), options);
  }
  WorkloadBuilder workload{"pair"};
  std::uint8_t axis;
  std::vector<ProgramBuilder*> programs;
};

TEST(RingTime, AllReduceInANodeIsTheClosedForm) {
  EXPECT_EQ(ring_time(CollectiveType::ALL_REDUCE, 4, 1'000),
            6 * (tests::kNodeLatency + Time{250 * tests::kNodePsPerByte}));
}

TEST(RingTime, RoundsTheShareUp) {
  EXPECT_EQ(ring_time(CollectiveType::ALL_REDUCE, 4, 1'001),
            6 * (tests::kNodeLatency + Time{251 * tests::kNodePsPerByte}));
}

TEST(RingTime, ReduceScatterInANodeIsTheClosedForm) {
  EXPECT_EQ(ring_time(CollectiveType::REDUCE_SCATTER, 3, 3'000),
            2 * (tests::kNodeLatency + Time{1'000 * tests::kNodePsPerByte}));
}

TEST(RingTime, AllGatherInANodeIsTheClosedForm) {
  EXPECT_EQ(ring_time(CollectiveType::ALL_GATHER, 3, 1'000),
            2 * (tests::kNodeLatency + Time{1'000 * tests::kNodePsPerByte}));
}

TEST(RingTime, BarrierTakesAPicosecondOnEachInterface) {
  EXPECT_EQ(ring_time(CollectiveType::BARRIER, 4, 0), 6 * (tests::kNodeLatency + Time{1}));
}

TEST(RingTime, OfOneTakesNone) {
  EXPECT_EQ(ring_time(CollectiveType::ALL_REDUCE, 1, 1'000), Time{0});
}

TEST(RingTime, RepeatsAddUp) {
  const auto run = simulate(tests::collectives(CollectiveType::ALL_REDUCE, 4, 1'000, 5));
  EXPECT_EQ(run.outcome.simulated_time(),
            5 * 6 * (tests::kNodeLatency + Time{250 * tests::kNodePsPerByte}));
}

// One device a node, in one leaf: every hop is the same.
TEST(RingTime, AcrossNodesIsTheClosedForm) {
  for (const CollectiveType type :
       {CollectiveType::ALL_REDUCE, CollectiveType::REDUCE_SCATTER, CollectiveType::ALL_GATHER}) {
    const WorkloadGraph graph = tests::collectives(type, 8, 8'000);
    Fabric fabric = tests::round_fabric();
    fabric.nodes->devices = 1;
    const Cluster cluster(graph, tests::round_accelerator(), fabric, {});
    const std::int64_t steps = type == CollectiveType::ALL_REDUCE ? 14 : 7;
    const std::int64_t chunk = type == CollectiveType::ALL_GATHER ? 8'000 : 1'000;
    EXPECT_EQ(tests::run_cluster(cluster).outcome.simulated_time(),
              steps * (tests::kLeafLatency + Time{chunk * tests::kScaleOutPsPerByte}));
  }
}

TEST(RingTime, GroupsByListsMayDifferInSize) {
  WorkloadBuilder workload("lists");
  const auto axis = workload.add_axis("device", 4);
  const auto group = workload.add_group_lists("some", {{2, 0, 1}});  // device 3 is alone
  ProgramBuilder& program = workload.add_program("member");
  const auto network = program.add_stream("network", StreamKind::COMMUNICATION);
  program.add_node({.kind = NodeKind::COLLECTIVE,
                    .stream = network,
                    .group = group,
                    .comm_bytes = 3'000});
  workload.bind_range(0, {.axis = axis, .first = 0, .count = 3});
  workload.add_program("none").add_stream("network", StreamKind::COMMUNICATION);
  workload.bind_range(1, {.axis = axis, .first = 3, .count = 1});
  WorkloadGraph graph = workload.build();
  validate(graph);
  EXPECT_EQ(simulate(std::move(graph)).outcome.simulated_time(),
            4 * (tests::kNodeLatency + Time{1'000 * tests::kNodePsPerByte}));
}

// 2 x 2 x 3 devices: axis by axis a scalar takes 2 + 2 + 4 steps instead of 22.
TEST(RingTime, AScalarOverSeveralAxesGoesAxisByAxis) {
  WorkloadBuilder workload("norm");
  std::vector<std::uint8_t> axes;
  for (const std::uint32_t size : {2u, 2u, 3u}) {
    axes.push_back(workload.add_axis("axis " + std::to_string(axes.size()), size));
  }
  const auto group = workload.add_group("all", axes);
  ProgramBuilder& program = workload.add_program("member");
  const auto network = program.add_stream("network", StreamKind::COMMUNICATION);
  const auto compute = program.add_stream("compute", StreamKind::COMPUTE);
  const NodeFields norm{
      .kind = NodeKind::COLLECTIVE, .stream = network, .group = group, .comm_bytes = 4};
  const auto reduced = program.add_node(norm);
  program.add_node({.stream = compute, .duration_ps = 1'000}, {reduced});
  workload.bind_range(0, {.axis = axes[0], .first = 0, .count = 2});
  WorkloadGraph graph = workload.build();
  validate(graph);
  Fabric fabric = tests::round_fabric();
  fabric.nodes->devices = 16;
  const Cluster cluster(graph, tests::round_accelerator(), fabric, {});
  const tests::ClusterRun run = tests::run_cluster(cluster);
  EXPECT_EQ(run.result.total.committed_events(), 12u * (2 + 2 + 4 + 1));
  EXPECT_EQ(run.outcome.simulated_time(),
            4 * (tests::kNodeLatency + Time{2 * tests::kNodePsPerByte}) +
                4 * (tests::kNodeLatency + Time{2 * tests::kNodePsPerByte}) + Time{1'000});
}

TEST(PointToPoint, PingPongIsTwoMessages) {
  Pair pair;
  const auto a = pair.stream(0), b = pair.stream(1);
  pair.send(0, a, 1, 1'000);
  pair.receive(0, a, 1, 1'000, 1);
  pair.receive(1, b, 0, 1'000);
  pair.send(1, b, 0, 1'000, 1);
  EXPECT_EQ(pair.run().outcome.simulated_time(),
            2 * (tests::kNodeLatency + Time{1'000 * tests::kNodePsPerByte}));
}

TEST(PointToPoint, PaysTheLatencyOfItsTier) {
  const std::pair<std::uint32_t, Time> cases[] = {{3, tests::kNodeLatency},
                                                  {7, tests::kLeafLatency},
                                                  {15, tests::kPodLatency},
                                                  {16, tests::kCoreLatency}};
  for (const auto& [peer, latency] : cases) {
    Pair pair(17);
    for (std::uint32_t d = 0; d < 17; ++d) pair.stream(d);
    pair.send(0, 0, peer, 0);
    pair.receive(peer, 0, 0, 0);
    EXPECT_EQ(pair.run().outcome.simulated_time(), latency + Time{1}) << peer;
  }
}

TEST(PointToPoint, TwoMessagesFromOneInterfaceLeaveOneAfterTheOther) {
  Pair pair(3);
  const auto first = pair.stream(0), second = pair.stream(0);
  pair.send(0, first, 1, 1'000);
  pair.send(0, second, 2, 1'000);
  pair.receive(1, pair.stream(1), 0, 1'000);
  pair.receive(2, pair.stream(2), 0, 1'000);
  EXPECT_EQ(pair.run().outcome.simulated_time(),
            tests::kNodeLatency + Time{2'000 * tests::kNodePsPerByte});
}

TEST(PointToPoint, TwoMessagesToOneInterfaceArriveOneAfterTheOther) {
  Pair pair(3);
  const auto first = pair.stream(2), second = pair.stream(2);
  pair.send(0, pair.stream(0), 2, 1'000);
  pair.send(1, pair.stream(1), 2, 1'000);
  pair.receive(2, first, 0, 1'000);
  pair.receive(2, second, 1, 1'000);
  EXPECT_EQ(pair.run().outcome.simulated_time(),
            tests::kNodeLatency + Time{2'000 * tests::kNodePsPerByte});
}

TEST(PointToPoint, AMessageBeforeItsReceiveIsTakenAtOnce) {
  Pair pair;
  pair.send(0, pair.stream(0), 1, 1'000);
  const auto compute = pair.stream(1, StreamKind::COMPUTE);
  const auto network = pair.stream(1);
  const auto late = pair.compute(1, compute, 50'000'000);
  pair.receive(1, network, 0, 1'000, 0, {late});
  EXPECT_EQ(pair.run().outcome.simulated_time(), Time{50'000'000});
}

TEST(PointToPoint, EarlyMessagesAreMatchedByTagAndOrder) {
  Pair pair;
  const auto out = pair.stream(0);
  for (const std::uint32_t tag : {7u, 8u, 7u}) pair.send(0, out, 1, 10, tag);
  const auto compute = pair.stream(1, StreamKind::COMPUTE);
  const auto network = pair.stream(1);
  const auto late = pair.compute(1, compute, 50'000'000);
  for (const std::uint32_t tag : {8u, 7u, 7u}) pair.receive(1, network, 0, 10, tag, {late});
  const Simulated run = pair.run();
  EXPECT_EQ(run.outcome.unfinished(), 0u);
  EXPECT_EQ(run.outcome.simulated_time(), Time{50'000'000});
}

const ClusterOptions kAsksFirst{.eager_max_bytes = 999};

TEST(Rendezvous, TakesARequestAnAnswerAndTheMessage) {
  Pair pair;
  pair.send(0, pair.stream(0), 1, 1'000);
  pair.receive(1, pair.stream(1), 0, 1'000);
  EXPECT_EQ(pair.run(kAsksFirst).outcome.simulated_time(),
            3 * tests::kNodeLatency + Time{1'000 * tests::kNodePsPerByte});
}

TEST(Rendezvous, IsNotForShortMessages) {
  Pair pair;
  pair.send(0, pair.stream(0), 1, 999);
  pair.receive(1, pair.stream(1), 0, 999);
  EXPECT_EQ(pair.run(kAsksFirst).outcome.simulated_time(),
            tests::kNodeLatency + Time{999 * tests::kNodePsPerByte});
}

TEST(Rendezvous, HoldsTheSenderUntilTheReceiveIsThere) {
  Pair pair;
  const auto out = pair.stream(0);
  pair.send(0, out, 1, 1'000, 7);
  pair.send(0, out, 1, 10, 8);
  const auto late = pair.compute(1, pair.stream(1, StreamKind::COMPUTE), 50'000'000);
  const auto in = pair.stream(1);
  pair.receive(1, in, 0, 1'000, 7, {late});
  pair.receive(1, in, 0, 10, 8);
  // The answer leaves at 50 us, the message a latency later; the short one follows it.
  EXPECT_EQ(pair.run(kAsksFirst).outcome.simulated_time(),
            Time{50'000'000} + 2 * tests::kNodeLatency + Time{1'010 * tests::kNodePsPerByte});
}

TEST(Analytical, MessagesDoNotWaitForEachOther) {
  Pair pair(3);
  pair.send(0, pair.stream(0), 2, 1'000);
  pair.send(1, pair.stream(1), 2, 1'000);
  pair.receive(2, pair.stream(2), 0, 1'000);
  pair.receive(2, pair.stream(2), 1, 1'000);
  EXPECT_EQ(pair.run({.analytical_network = true}).outcome.simulated_time(),
            tests::kNodeLatency + Time{1'000 * tests::kNodePsPerByte});
}

TEST(Analytical, AgreesWithMessagesWhereNothingContends) {
  const auto run = [](bool analytical) {
    return simulate(tests::small_llama({.tensor = 4}), {.analytical_network = analytical})
        .outcome.simulated_time();
  };
  EXPECT_EQ(run(true), run(false));
}

// Members come at 1 us and, the last, at 9 us; the ring of 4 then takes 6 steps.
TEST(Analytical, CountsFromTheLastMember) {
  Pair pair(4);
  const auto group = pair.workload.add_group("tensor", {pair.axis});
  for (std::uint32_t d = 0; d < 4; ++d) {
    const auto ready =
        pair.compute(d, pair.stream(d, StreamKind::COMPUTE), d == 2 ? 9'000'000 : 1'000'000);
    pair.programs[d]->add_node({.kind = NodeKind::COLLECTIVE,
                                .stream = pair.stream(d),
                                .collective = CollectiveType::ALL_REDUCE,
                                .group = group,
                                .comm_bytes = 1'000},
                               {ready});
  }
  const Simulated run = pair.run({.analytical_network = true});
  const Time each = tests::kNodeLatency + Time{250 * tests::kNodePsPerByte};
  EXPECT_EQ(run.outcome.simulated_time(), Time{9'000'000} + 6 * each);
  EXPECT_EQ(run.time_in(TimeClass::waiting), 3 * 8'000'000);
  EXPECT_EQ(run.time_in(TimeClass::tensor), 4 * 6 * each.ps);
}

TEST(SlowDevices, ProgressSlowerWhileTheyAreSlow) {
  const std::vector<Slowdown> slow{
      {.devices = {3}, .factor_ppm = 2'000'000, .from = Time{100}, .until = Time{300}},
      {.devices = {3, 5}, .factor_ppm = 4'000'000, .from = Time{200}, .until = Time{400}}};
  EXPECT_EQ(slowed(slow, 4, Time{0}, Time{500}), Time{500});
  EXPECT_EQ(slowed(slow, 3, Time{0}, Time{100}), Time{100});
  EXPECT_EQ(slowed(slow, 3, Time{0}, Time{150}), Time{200});   // 100 at full, 50 at half speed
  EXPECT_EQ(slowed(slow, 3, Time{250}, Time{10}), Time{66});   // 6 of 50 at an eighth, 4 at 1/4
  EXPECT_EQ(slowed(slow, 3, Time{0}, Time{1'000}), Time{1'213});  // 100 + 50 + 12 + 25, then 813
  EXPECT_EQ(slowed(slow, 5, Time{400}, Time{7}), Time{7});
}

TEST(SlowDevices, DrawnByAShareAreThatManyAndHaveThoseOfALesserShare) {
  const auto drawn = [](double share, std::uint64_t seed) {
    return with_drawn_devices({{.devices = {}, .drawn = FaultDraw{.share = share, .seed = seed}}},
                              1'000)
        .front()
        .devices;
  };
  const std::vector<std::uint32_t> few = drawn(0.01, 7), more = drawn(0.05, 7);
  EXPECT_EQ(few.size(), 10u);
  EXPECT_EQ(more.size(), 50u);
  EXPECT_TRUE(std::ranges::is_sorted(more));
  EXPECT_TRUE(std::ranges::includes(more, few));
  EXPECT_NE(few, drawn(0.01, 8));
  EXPECT_TRUE(drawn(0, 7).empty());
  EXPECT_EQ(drawn(1, 7).size(), 1'000u);
}

TEST(SlowDevices, DelayTheWholeJob) {
  Pair pair(2);
  for (const std::uint32_t d : {0u, 1u}) {
    pair.compute(d, pair.stream(d, StreamKind::COMPUTE), 1'000);
  }
  ClusterOptions options;
  options.slow_devices = {{.devices = {1}, .factor_ppm = 1'500'000}};
  EXPECT_EQ(pair.run(options).outcome.simulated_time(), Time{1'500});
}

TEST(Streams, OverlapComputationWithCommunication) {
  Pair pair;
  for (const std::uint32_t d : {0u, 1u}) {
    const auto compute = pair.stream(d, StreamKind::COMPUTE);
    pair.compute(d, compute, 1'500'000);
  }
  const auto group = pair.workload.add_group("tensor", {pair.axis});
  for (const std::uint32_t d : {0u, 1u}) {
    pair.programs[d]->add_node({.kind = NodeKind::COLLECTIVE,
                                .stream = pair.stream(d),
                                .collective = CollectiveType::ALL_GATHER,
                                .group = group,
                                .comm_bytes = 100'000});
  }
  const Simulated run = pair.run();
  // All-gather: 1 us latency and 1 us of bytes; compute hides the first 1.5 us of it.
  EXPECT_EQ(run.outcome.simulated_time(), Time{2'000'000});
  EXPECT_EQ(run.time_in(TimeClass::compute), 2 * 1'500'000);
  EXPECT_EQ(run.time_in(TimeClass::tensor), 2 * 500'000);
}

TEST(Streams, ANodeWaitsForEveryStreamItDependsOn) {
  Pair pair(1);
  const auto a = pair.stream(0, StreamKind::COMPUTE), b = pair.stream(0, StreamKind::COMPUTE),
             c = pair.stream(0, StreamKind::COMPUTE);
  const auto x = pair.compute(0, a, 100);
  const auto y1 = pair.compute(0, b, 100);
  const auto y2 = pair.compute(0, b, 150);
  pair.compute(0, c, 10, {x, y1, y2});
  EXPECT_EQ(pair.run().outcome.simulated_time(), Time{260});
}

TEST(Streams, ManyNodesOfNoDurationEndAtOnce) {
  Pair pair(1);
  const auto a = pair.stream(0, StreamKind::COMPUTE), b = pair.stream(0, StreamKind::COMPUTE);
  std::uint32_t last = pair.compute(0, a, 0);
  for (int i = 0; i < 100; ++i) last = pair.compute(0, i % 2 == 0 ? b : a, 0, {last});
  pair.compute(0, a, 42, {last});
  EXPECT_EQ(pair.run().outcome.simulated_time(), Time{42});
}

TEST(Collective, ALateMemberFindsItsChunksWaiting) {
  Pair pair(3);
  const auto group = pair.workload.add_group("all", {pair.axis});
  for (std::uint32_t d = 0; d < 3; ++d) {
    const auto compute = pair.stream(d, StreamKind::COMPUTE);
    const auto network = pair.stream(d);
    const auto ready = pair.compute(d, compute, d == 1 ? 100'000'000 : 0);
    for (int i = 0; i < 2; ++i) {
      pair.programs[d]->add_node({.kind = NodeKind::COLLECTIVE,
                                  .stream = network,
                                  .collective = CollectiveType::ALL_GATHER,
                                  .group = group,
                                  .comm_bytes = 1'000},
                                 {ready});
    }
  }
  // Device 1 holds both its predecessors' chunks when it starts, so its three sends leave back to
  // back: device 2 has all of the first collective after latency + 2 chunks.
  const Simulated run = pair.run();
  EXPECT_EQ(run.outcome.unfinished(), 0u);
  const Time chunk{1'000 * tests::kNodePsPerByte};
  EXPECT_GT(run.outcome.simulated_time(), Time{100'000'000} + 2 * (tests::kNodeLatency + chunk));
  EXPECT_LE(run.outcome.simulated_time(),
            Time{100'000'000} + 4 * (tests::kNodeLatency + 2 * chunk));
}

TEST(Pipeline, OneForwardOneBackwardTakesTheFormula) {
  constexpr Time kForward{100'000'000}, kBackward{200'000'000};
  const Time round = kForward + kBackward;
  const Time message = tests::kNodeLatency + Time{1};
  for (const std::uint32_t m : {1u, 2u, 3u, 6u, 7u}) {
    const Simulated run = simulate(tests::two_stage_pipeline(
        {.micro_batches = m, .forward = kForward, .backward = kBackward}));
    // (m + p - 1)(tf + tb) and the messages: stage 0 has two micro-batches under way, so the first
    // round and every second one after it wait for a message there and back.
    const Time messages = 2 * (1 + (m - 1) / 2) * message;
    EXPECT_EQ(run.outcome.simulated_time(), (m + 1) * round + messages) << m;
    EXPECT_EQ(run.time_in(TimeClass::compute), 2 * (m * round).ps) << m;
    // What is no computation is the bubble, (p - 1)(tf + tb) a stage, and the messages.
    EXPECT_EQ(run.time_in(TimeClass::waiting) + run.time_in(TimeClass::pipeline) +
                  run.time_in(TimeClass::idle),
              2 * (round + messages).ps)
        << m;
  }
}

TEST(Account, SplitsAWaitWhereTheMessageSetsOut) {
  Pair pair;
  const auto compute = pair.stream(0, StreamKind::COMPUTE);
  const auto out = pair.stream(0);
  const auto ready = pair.compute(0, compute, 5'000'000);
  pair.programs[0]->add_node({.kind = NodeKind::SEND,
                              .stream = out,
                              .peer_axis = pair.axis,
                              .peer = 1,
                              .comm_bytes = 1'000},
                             {ready});
  pair.programs[1]->add_node({.kind = NodeKind::RECEIVE,
                              .stream = pair.stream(1),
                              .peer_axis = pair.axis,
                              .peer = -1,
                              .comm_bytes = 1'000});
  const Simulated run = pair.run();
  const Time transfer = tests::kNodeLatency + Time{1'000 * tests::kNodePsPerByte};
  const auto& receiver = run.outcome.classes()[1];
  EXPECT_EQ(run.outcome.time_in(receiver, TimeClass::waiting), 5'000'000u);
  EXPECT_EQ(run.outcome.time_in(receiver, TimeClass::pipeline),
            static_cast<DeviceTime>(transfer.ps));
  EXPECT_EQ(run.outcome.time_in(run.outcome.classes()[0], TimeClass::pipeline), 10'000u);
}

TEST(Account, SplitsACollectiveWhereItsLastMemberComes) {
  Pair pair(4);
  const auto group = pair.workload.add_group("tensor", {pair.axis});
  for (std::uint32_t d = 0; d < 4; ++d) {
    const auto compute = pair.stream(d, StreamKind::COMPUTE);
    const auto network = pair.stream(d);
    const auto ready = pair.compute(d, compute, d == 2 ? 9'000'000 : 1'000'000);
    pair.programs[d]->add_node({.kind = NodeKind::COLLECTIVE,
                                .stream = network,
                                .collective = CollectiveType::ALL_REDUCE,
                                .group = group,
                                .comm_bytes = 1'000},
                               {ready});
  }
  const Simulated run = pair.run();
  for (const std::uint32_t d : {0u, 1u, 3u}) {
    EXPECT_EQ(run.outcome.time_in(run.outcome.classes()[d], TimeClass::waiting), 8'000'000u) << d;
  }
  const auto& straggler = run.outcome.classes()[2];
  EXPECT_EQ(run.outcome.time_in(straggler, TimeClass::waiting), 0u);
  EXPECT_EQ(run.outcome.time_in(straggler, TimeClass::tensor),
            static_cast<DeviceTime>(straggler.last_finish.ps - 9'000'000));
}

TEST(Account, AddsUpToTheTimeOfAllDevices) {
  const Simulated run =
      simulate(tests::small_training_step({}), {.compute_jitter = 0.1, .seed = 3});
  std::int64_t sum = 0;
  for (std::size_t c = 0; c < kTimeClassCount; ++c) {
    sum += run.time_in(static_cast<TimeClass>(c));
  }
  EXPECT_EQ(run.outcome.unfinished(), 0u);
  EXPECT_EQ(sum, run.outcome.simulated_time().ps * 32);
}

TEST(State, OfALlamaDeviceFitsSixLinesAndTwoOfItsInterfaces) {
  DeviceSlots slots{.stream_slots = 8, .channel_slots = 3};
  EXPECT_LE(slots.state_bytes() + 16, 6u * 64u);
  slots.lines = true;
  EXPECT_LE(slots.state_bytes() + 16, 8u * 64u);
}

// Sizes added up by hand; with the engine's 16 bytes an endpoint's 48 end at a cache line.
TEST(State, IsAsLongAsItsParts) {
  const DeviceSlots plain{.stream_slots = 8, .channel_slots = 3, .stepped = true};
  EXPECT_EQ(plain.state_bytes(), 48u + 3 * 32 + 8 * 16 + 96 + 32);
  const DeviceSlots messages{
      .stream_slots = 4, .channel_slots = 2, .stepped = true, .background = true, .further = 3};
  EXPECT_EQ(messages.state_bytes(),
            48u + 2 * 32 + 4 * 16 + 96 + 32 + (8 + 6 * 8) + 168 + 3 * 40);
  DeviceSlots lines = messages;
  lines.lines = true;
  EXPECT_EQ(lines.state_bytes(), messages.state_bytes() + (2 + 3) * 64u);
  const DeviceSlots packets{.stream_slots = 4,
                            .channel_slots = 3,
                            .packets = true,
                            .background = true,
                            .further = kRailClocks,
                            .endpoint_bytes = 1'000};
  constexpr std::uint32_t kOwn =
      48 + 3 * 32 + 4 * 16 + 96 + (8 + kRailClocks * 16) + 168 + 16 + 3 * 16;
  EXPECT_EQ(packets.state_bytes(), (kOwn + 63) / 64 * 64 + 1'000);
}

}  // namespace
}  // namespace exawarp::tests
