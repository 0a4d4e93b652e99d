// Faults at packet fidelity against closed forms.
#include <gtest/gtest.h>

#include "core/error.h"
#include "model/network/packet/port_counters.h"
#include "model/topology/torus.h"
#include "tests/support/traffic_fixture.h"
#include "tests/unit/model/network/faults/vertex_names.h"

namespace exawarp::tests {
namespace {

using core::Time;
using model::FlowControl;
using model::LinkFaultSpec;
using model::PacketOptions;
using model::Recovery;
using model::TrafficModel;
using model::TrafficPattern;

LinkFaultSpec on_link(model::VertexName a, model::VertexName b, std::int64_t factor_ppm = 0) {
  return {.links = {{.at = a, .to = b}}, .factor_ppm = factor_ppm, .place = "test"};
}
LinkFaultSpec on_switch(std::uint32_t s) { return {.switches = {s}, .place = "test"}; }

tests::TrafficRun run(const model::Topology& topology, const PacketOptions& options,
                     const model::TrafficOptions& traffic) {
  return tests::run_traffic(TrafficModel(topology, options, traffic, 0));
}

PacketOptions lossless(FlowControl control) {
  PacketOptions o = tests::plain_packets();
  o.flow_control = control;
  o.buffer_bytes = 16'000;
  o.xoff_bytes = 8'000;
  o.xon_bytes = 6'000;
  return o;
}

TEST(PacketFaults, ASlowLinkTakesItsFactor) {
  // Two switches, the link between them three times slower: its wire sets the pace of 20 packets.
  const auto topology = tests::chain(2, 1, 1);
  const Time usual = 3 * kHop + 2 * kSwitch;
  for (const FlowControl control : {FlowControl::none, FlowControl::credit, FlowControl::pfc}) {
    PacketOptions o = lossless(control);
    if (control == FlowControl::none) o.buffer_bytes = 0;
    o.link_faults = {on_link(node(0), node(1), 3'000'000)};
    for (const bool cut : {false, true}) {
      o.cut_through = cut;
      const tests::TrafficRun result =
          run(*topology, o, {.pattern = TrafficPattern::pairs, .message_bytes = 20'000});
      // Cutting through, the slow line starts with the first head, the last one after its last.
      EXPECT_EQ(result.flows.back().finished,
                usual + (cut ? line_time(3 * 20'000) : line_time(1'000 + 3 * 20'000 + 1'000)));
    }
  }
}

TEST(PacketFaults, OneOfKSpinesDownLeavesTheOthersShare) {
  // Every leaf sends all its devices can to the next one: k up-links for k devices. With one spine
  // down the same bytes share k - 1; spraying spreads them within 10 %.
  constexpr std::uint32_t k = 4;
  const auto topology = tests::leaf_spine(8 * k, k, k);
  PacketOptions o = tests::plain_packets();
  o.routing.policy = "adaptive";
  const model::TrafficOptions shift{
      .pattern = TrafficPattern::shift, .message_bytes = 1'000'000, .shift = k};
  const Time whole = run(*topology, o, shift).flows.back().finished;
  EXPECT_LT(whole.ps, line_time(1'100'000).ps);
  o.link_faults = {on_switch(8)};
  const tests::TrafficRun result = run(*topology, o, shift);
  EXPECT_EQ(result.totals.drops, 0u);
  const auto least = line_time(1'000'000 * k / (k - 1)).ps;
  EXPECT_GE(result.flows.back().finished.ps, least);
  EXPECT_LE(result.flows.back().finished.ps, least * 11 / 10);
}

TEST(PacketFaults, APacketOnATorusTakesThreeLinksAroundOne) {
  const model::Torus topology({{4, 4}, true, tests::round_link(), {kSwitch, Time{0}}});
  for (const FlowControl control : {FlowControl::none, FlowControl::credit, FlowControl::pfc}) {
    PacketOptions o = lossless(control);
    if (control == FlowControl::none) o.buffer_bytes = 0;
    o.routing.policy = "deterministic";
    o.link_faults = {on_link(device(0), device(1))};
    const model::TrafficOptions one{.pattern = TrafficPattern::shift, .message_bytes = 1'000};
    const tests::TrafficRun result = run(topology, o, one);
    EXPECT_EQ(result.totals.received, 16u);
    const auto flow = std::ranges::find_if(
        result.flows, [](const auto& f) { return f.source == 0 && f.destination == 1; });
    ASSERT_NE(flow, result.flows.end());
    EXPECT_GE(flow->took, 3 * (kHop + line_time(1'000)) + 2 * kSwitch);
    EXPECT_LE(flow->took, 3 * (kHop + 2 * line_time(1'000)) + 2 * kSwitch);  // others in its way
  }
}

TEST(PacketFaults, WhatNothingRepairsIsHeldUntilTheLinkIsBack) {
  const auto topology = tests::chain(2, 1, 1);
  for (const FlowControl control : {FlowControl::none, FlowControl::credit, FlowControl::pfc}) {
    PacketOptions o = lossless(control);
    if (control == FlowControl::none) o.buffer_bytes = 0;
    LinkFaultSpec down = on_link(node(0), node(1));
    // The tenth packet is on its way to the second switch; the eleventh waits.
    down.from = kHop + kSwitch + line_time(11'000);
    down.until = down.from + Time{40'000'000};
    o.link_faults = {down};
    const tests::TrafficRun result =
        run(*topology, o, {.pattern = TrafficPattern::pairs, .message_bytes = 20'000});
    EXPECT_EQ(result.totals.drops, 0u);
    EXPECT_EQ(result.flows.back().finished,
              3 * kHop + 2 * kSwitch + line_time(22'000) + Time{40'000'000});
  }
}

TEST(PacketFaults, WhatIsLostIsSentAgainAnotherWay) {
  // Both spines carry; one goes for good. ECMP's flows on it lose what is on the way and go on over
  // the other.
  const auto topology = tests::leaf_spine(8, 4, 2);
  for (const Recovery recovery : {Recovery::go_back_n, Recovery::selective_repeat}) {
    for (const FlowControl control : {FlowControl::none, FlowControl::credit, FlowControl::pfc}) {
      PacketOptions o = lossless(control);
      o.recovery = recovery;
      LinkFaultSpec down = on_switch(2);
      down.from = Time{30'000'000};
      o.link_faults = {down};
      const tests::TrafficRun result = run(
          *topology, o, {.pattern = TrafficPattern::shift, .message_bytes = 50'000, .shift = 4});
      EXPECT_EQ(result.totals.received, 8u);
      EXPECT_EQ(result.totals.unfinished, 0u);
      EXPECT_GT(result.totals.drops, 0u);
      EXPECT_GT(result.totals.repeated, 0u);
    }
  }
}

TEST(PacketFaults, ADeviceOfSeveralPortsMovesToOneThatWorks) {
  const model::Torus topology({{4, 4}, true, tests::round_link(), {kSwitch, Time{0}}});
  PacketOptions o = tests::plain_packets();
  o.recovery = Recovery::selective_repeat;
  o.routing.policy = "deterministic";
  LinkFaultSpec down = on_link(device(0), device(1));
  down.from = Time{5'000'000};
  o.link_faults = {down};
  const tests::TrafficRun result =
      run(topology, o, {.pattern = TrafficPattern::shift, .message_bytes = 40'000});
  EXPECT_EQ(result.totals.received, 16u);
  EXPECT_EQ(result.totals.unfinished, 0u);
}

TEST(PacketFaults, AMessageWithoutAnyWayIsGivenUpNotTriedForEver) {
  const auto topology = tests::chain(2, 1, 1);
  PacketOptions o = tests::plain_packets();
  o.recovery = Recovery::go_back_n;
  LinkFaultSpec down = on_link(node(0), node(1));
  down.from = Time{5'000'000};
  o.link_faults = {down};
  const tests::TrafficRun result =
      run(*topology, o, {.pattern = TrafficPattern::pairs, .message_bytes = 20'000});
  EXPECT_EQ(result.totals.received, 0u);
  EXPECT_GT(result.totals.unfinished, 0u);
}

TEST(PacketFaults, RefusesWhatCannotWork) {
  const auto topology = tests::chain(2, 1, 1);
  const auto refused = [&](const LinkFaultSpec& spec, const std::string& text) {
    PacketOptions o = tests::plain_packets();
    o.link_faults = {spec};
    try {
      const TrafficModel traffic(*topology, o, {.pattern = TrafficPattern::pairs}, 0);
      ADD_FAILURE() << "accepted";
    } catch (const core::InputError& error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  refused(on_link(node(0), node(1)), "devices 0 and 1 have no way to each other at any time");
  LinkFaultSpec later = on_link(node(0), node(1));
  later.from = Time{1};
  refused(later, "nothing sends them again");
}

TEST(PacketFaults, LatencyJitterDelaysPacketsAndKeepsTheirOrder) {
  const auto topology = tests::chain(1, 4, 4);
  PacketOptions o = tests::plain_packets();
  o.recovery = Recovery::go_back_n;
  o.latency_jitter.mean = Time{500'000};
  const tests::TrafficRun result =
      run(*topology, o, {.pattern = TrafficPattern::pairs, .message_bytes = 50'000});
  EXPECT_EQ(result.totals.received, 4u);
  EXPECT_EQ(result.totals.repeated, 0u);
  EXPECT_GT(result.flows.back().finished, 2 * kHop + kSwitch + line_time(51'000));
}

}  // namespace
}  // namespace exawarp::tests
