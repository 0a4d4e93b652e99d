// Background traffic: what generators draw, and what it costs a job, against closed forms.
#include "model/network/background.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/error.h"
#include "core/random.h"
#include "model/generate/microbenchmark.h"
#include "model/workload/validate.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using core::DeviceId;
using core::Time;
using model::Background;
using model::BackgroundPattern;
using model::BackgroundSpec;
using model::MessageSizes;
using model::SizeKind;

constexpr std::int64_t kLink = 10'000'000'000;  // as round_fabric() across nodes

std::string refusal(const BackgroundSpec& spec) {
  try {
    const Background background(spec, 16, kLink);
  } catch (const core::InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(MessageSizes, AParetoHasItsClosedFormQuantilesAndMean) {
  const MessageSizes sizes{SizeKind::pareto, 1'000, 10'000'000, 1'200};
  const double low = 1e3, high = 1e7, alpha = 1.2;
  for (const double share : {0.0, 0.1, 0.5, 0.9, 0.99, 0.999}) {
    const double p = std::pow(low / high, alpha);
    const double expected = low * std::pow(1 - share * (1 - p), -1 / alpha);
    const auto bits = static_cast<std::uint64_t>(share * 0x1p64);
    EXPECT_NEAR(static_cast<double>(sizes.quantile(bits)) / expected, 1, 1e-3) << share;
  }
  const double mean = alpha / (alpha - 1) * std::pow(low, alpha) /
                      (1 - std::pow(low / high, alpha)) *
                      (std::pow(low, 1 - alpha) - std::pow(high, 1 - alpha));
  EXPECT_NEAR(static_cast<double>(sizes.mean_bytes()) / mean, 1, 0.01);
}

TEST(MessageSizes, WebSearchHasTheMeanOfItsTable) {
  // Sum of share * middle over the table's rows.
  const MessageSizes sizes{.kind = SizeKind::web_search};
  EXPECT_NEAR(static_cast<double>(sizes.mean_bytes()) / 1.7113e6, 1, 0.01);
  EXPECT_EQ(sizes.quantile(std::uint64_t{1} << 63), 73'076);  // 50 %: between 40 and 53
}

TEST(MessageSizes, TheExponentialIsRightToEightDigits) {
  for (const double x : {0.0, 0.001, 1.0, 10.0, 30.0, 43.0}) {
    const double got =
        static_cast<double>(model::exp_fixed(static_cast<std::uint64_t>(x * 0x1p32))) / 0x1p32;
    EXPECT_NEAR(got / std::exp(x), 1, 1e-8) << x;
  }
}

TEST(Background, OffersItsLoadWhateverItsSizesAndGaps) {
  for (const SizeKind kind : {SizeKind::fixed, SizeKind::uniform, SizeKind::pareto}) {
    const BackgroundSpec spec{.sizes = {kind, 1'000, 50'000, 1'500}, .load_ppm = 300'000};
    const Background background(spec, 16, kLink);
    double bytes = 0, ps = 0;
    for (std::uint64_t k = 0; k < 100'000; ++k) {
      bytes += static_cast<double>(background.message({3}, k).bytes);
      ps += static_cast<double>(background.gap({3}, k).ps);
    }
    EXPECT_NEAR(bytes / ps * 1e12 / static_cast<double>(kLink), 0.3, 0.01);
  }
}

TEST(Background, APermutationSendsAndReceivesOnceEverywhere) {
  const Background background({.pattern = BackgroundPattern::permutation,
                               .devices = {1, 4, 5, 6, 9, 15},
                               .load_ppm = 1'000},
                              16, kLink);
  std::map<std::uint32_t, int> received;
  for (std::uint32_t d = 0; d < 16; ++d) {
    if (!background.sends({d})) continue;
    const DeviceId to = background.message({d}, 0).to;
    EXPECT_NE(to.value, d);
    EXPECT_TRUE(background.sends(to));
    EXPECT_EQ(background.message({d}, 7).to, to);
    ++received[to.value];
  }
  EXPECT_EQ(received.size(), 6u);
}

TEST(Background, UniformMessagesReachAllOthersEquallyAndAHotSpotMore) {
  const Background uniform({.load_ppm = 1'000}, 16, kLink);
  const Background hot({.pattern = BackgroundPattern::hotspot,
                        .targets = {2},
                        .hot_ppm = 250'000,
                        .load_ppm = 1'000},
                       16, kLink);
  std::map<std::uint32_t, int> got, got_hot;
  for (std::uint64_t k = 0; k < 30'000; ++k) {
    ++got[uniform.message({5}, k).to.value];
    ++got_hot[hot.message({5}, k).to.value];
  }
  EXPECT_EQ(got.size(), 15u);
  EXPECT_EQ(got.count(5), 0u);
  for (const auto& [to, count] : got) EXPECT_NEAR(count, 2'000, 250) << to;
  EXPECT_NEAR(got_hot[2], 30'000 * (0.25 + 0.75 / 15), 500);
}

TEST(Background, AFractionOfTheDevicesSends) {
  const Background background({.share_ppm = 250'000, .load_ppm = 1'000}, 64, kLink);
  int senders = 0;
  for (std::uint32_t d = 0; d < 64; ++d) {
    if (!background.sends({d})) continue;
    ++senders;
    EXPECT_TRUE(background.sends(background.message({d}, 1).to));
  }
  EXPECT_EQ(senders, 16);
}

TEST(Background, RefusesWhatMakesNoSense) {
  EXPECT_EQ(refusal({.devices = {3, 16}}), "background: no such device: 16; expected 0 to 15");
  EXPECT_EQ(refusal({.pattern = BackgroundPattern::incast}),
            "background: has no targets; expected e.g. targets: [0-3]");
  EXPECT_EQ(refusal({.targets = {1}}),
            "background: targets are for the patterns incast and hotspot");
  EXPECT_EQ(refusal({.sizes = {.min_bytes = 86'400, .max_bytes = 86'400}, .bytes_per_s = 1}),
            "background: sends less than a message a device and day; expected a greater load or "
            "rate");
  EXPECT_EQ(refusal({.devices = {3}}),
            "background: fewer than 2 devices; expected some that send to each other");
  EXPECT_EQ(refusal({.pattern = BackgroundPattern::incast, .devices = {3}, .targets = {3}}),
            "background: every device is a target; expected others that send");
}

// ---- beside a job

// Rank 0 on device 0 sends `repeats` messages to rank 1 on device 4.
struct Transfer {
  std::int64_t bytes, repeats;
  model::WorkloadGraph graph =
      model::generate_microbenchmark({.name = "transfer",
                                      .kind = model::MicrobenchmarkKind::kSend,
                                      .bytes = bytes,
                                      .repeats = repeats});
  model::Fabric fabric = tests::round_fabric();

  model::Outcome run(const std::vector<BackgroundSpec>& backgrounds) {
    cluster = std::make_unique<model::Cluster>(
        std::vector<model::Job>{
            {.name = "transfer",
             .graph = &graph,
             .placement = {.kind = model::PlacementKind::list, .devices = {0, 4}}}},
        tests::round_accelerator(), fabric,
        model::ClusterOptions{.devices = 32, .backgrounds = backgrounds});
    return tests::run_cluster(*cluster).outcome;
  }
  std::unique_ptr<model::Cluster> cluster = nullptr;
};

BackgroundSpec to_device(std::uint32_t target, std::vector<std::uint32_t> from,
                         std::int64_t load_ppm) {
  return {.pattern = BackgroundPattern::incast,
          .sizes = {.min_bytes = 16'384, .max_bytes = 16'384},
          .devices = std::move(from),
          .targets = {target},
          .load_ppm = load_ppm,
          .even = true};
}

double ratio(Time a, Time b) { return static_cast<double>(a.ps) / static_cast<double>(b.ps); }

// Bytes share the receiver's line in order of arrival: (1 + rho) W + latency.
TEST(Background, ALoadOnTheReceiversLinkSlowsALargeMessageByOnePlusRho) {
  const Time wire{200'000'000 * tests::kScaleOutPsPerByte};
  Transfer transfer{200'000'000, 1};
  const Time alone = transfer.run({}).simulated_time();
  EXPECT_EQ(alone, wire + tests::kLeafLatency);
  for (const double rho : {0.1, 0.3, 0.6}) {
    const auto half = static_cast<std::int64_t>(rho * 5e5);
    const model::Outcome outcome = transfer.run({to_device(4, {8, 16}, half)});
    EXPECT_NEAR(ratio(outcome.simulated_time(), alone), 1 + rho, 0.01) << rho;
  }
}

// Small messages do not: what one takes of the line is its own share.
TEST(Background, ALightLoadSlowsAMessageLightly) {
  Transfer transfer{200'000'000, 1};
  const Time alone = transfer.run({}).simulated_time();
  const model::Outcome outcome = transfer.run({to_device(4, {8}, 10'000)});
  EXPECT_NEAR(ratio(outcome.simulated_time(), alone), 1.01, 0.002);
}

// Messages one after the other wait for what was posted before them: 1 / (1 - rho).
// A stream has half of the line, however much background there is.
TEST(Background, ALoadOnTheSendersLinkSlowsAStreamByOneOverOneMinusRho) {
  Transfer transfer{1'000'000, 200};
  const Time alone = transfer.run({}).simulated_time();
  for (const double rho : {0.1, 0.3, 0.6}) {
    const model::Outcome outcome =
        transfer.run({to_device(12, {0}, static_cast<std::int64_t>(rho * 1e6))});
    const double slowed = ratio(outcome.simulated_time(), alone);
    EXPECT_NEAR(slowed * std::max(1 - rho, 0.5), 1, 0.01) << rho;
  }
}

TEST(Background, ElsewhereItDoesNotTouchAJobAndEndsWithIt) {
  Transfer transfer{20'000'000, 1};
  const Time alone = transfer.run({}).simulated_time();
  const model::Outcome outcome = transfer.run({to_device(12, {8, 16}, 300'000)});
  EXPECT_EQ(outcome.simulated_time(), alone);
  const auto b = outcome.background();
  EXPECT_EQ(b.sent_messages, b.received_messages);
  EXPECT_EQ(b.sent_bytes, b.received_bytes);
  // As long as the job lasts, and the time that its end takes to get about.
  const double expected = 2 * 0.3 * static_cast<double>(kLink) * core::to_seconds(alone);
  EXPECT_NEAR(static_cast<double>(b.sent_bytes) / expected, 1, 0.03);
}

TEST(Background, FromAndUntilBoundIt) {
  Transfer transfer{20'000'000, 1};
  BackgroundSpec spec = to_device(12, {8}, 500'000);
  spec.from = Time{500'000'000};
  spec.until = Time{1'000'000'000};
  const auto b = transfer.run({spec}).background();
  EXPECT_NEAR(static_cast<double>(b.sent_bytes), 0.5 * 10e9 * 0.5e-3, 2 * 16'384);
}

// Two interfaces out of each device, and a node of one: messages take them by turns.
TEST(Background, TakesItsPartOfEachOfSeveralInterfacesInEveryMode) {
  const model::LinkKind link{"link", kLink, Time{1'000'000}};
  const model::FamilySpec planes{.shape = model::SingleSwitchSpec{2, link, {}}, .place = "t"};
  Transfer transfer{200'000'000, 1};
  transfer.fabric = {.networks = {planes}, .place = "t"};
  const Time alone = transfer.run({}).simulated_time();
  const std::vector<BackgroundSpec> load{to_device(4, {8, 16}, 300'000)};
  const model::Outcome outcome = transfer.run(load);
  EXPECT_NEAR(ratio(outcome.simulated_time(), alone), 1 + 0.6 / 2, 0.01);
  Transfer stream{1'000'000, 200};  // on one interface, as all of a connection
  stream.fabric = transfer.fabric;
  const Time stream_alone = stream.run({}).simulated_time();
  const Time beside = stream.run({to_device(12, {0}, 600'000)}).simulated_time();
  EXPECT_NEAR(ratio(beside, stream_alone) * (1 - 0.3), 1, 0.01);

  transfer.run(load);
  const tests::ClusterRun expected = tests::run_cluster(*transfer.cluster);
  for (const tests::RunCase& run :
       {tests::RunCase{.sync = pdes::Sync::conservative, .threads = 2, .partitions_per_rank = 4},
        tests::RunCase{.sync = pdes::Sync::optimistic, .ranks = 2, .partitions_per_rank = 2},
        tests::audited_case(Time{5'000'000}, 0.3)}) {
    EXPECT_EQ(tests::run_cluster(*transfer.cluster, run).result.digest, expected.result.digest)
        << run.text();
  }
}

// Events never run out by themselves, yet the run ends, and says who waits.
TEST(Background, ADeadlockedJobEndsTheRunAllTheSame) {
  model::WorkloadBuilder workload("stuck");
  const std::uint8_t axis = workload.add_axis("device", 2);
  model::ProgramBuilder& program = workload.add_program("program");
  const std::uint8_t stream = program.add_stream("s", model::schema::StreamKind::COMMUNICATION);
  program.add_node({.kind = model::schema::NodeKind::COMPUTE,
                    .stream = stream,
                    .duration_ps = 100'000'000'000});  // longer than the first questions
  program.add_node({.kind = model::schema::NodeKind::RECEIVE,
                    .stream = stream,
                    .peer_axis = model::schema::NO_AXIS,
                    .peer = 1,
                    .comm_bytes = 8});
  workload.add_program("idle").add_stream("s", model::schema::StreamKind::COMMUNICATION);
  workload.bind_range(0, {.axis = axis, .first = 0, .count = 1});
  workload.bind_range(1, {.axis = axis, .first = 1, .count = 1});
  model::WorkloadGraph graph = workload.build();
  model::validate(graph);
  const model::Cluster cluster(
      {{.name = "stuck", .graph = &graph}}, tests::round_accelerator(), tests::round_fabric(),
      {.devices = 40, .backgrounds = {{.devices = {9, 20}, .load_ppm = 10'000}}});
  const tests::ClusterRun run = tests::run_cluster(cluster);
  EXPECT_EQ(run.outcome.unfinished(), 1u);
  EXPECT_GT(run.result.last_event, Time{100'000'000'000});
}

}  // namespace
}  // namespace exawarp::tests
