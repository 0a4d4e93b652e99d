// TrioSim's rules where what they come to is known in closed form.
#include "model/guests/triosim/rules.h"

#include <gtest/gtest.h>

#include "tests/unit/model/extrapolate/chain.h"

namespace exawarp::tests {
namespace {

using model::triosim::Case;
using model::triosim::Rules;

constexpr double kToleranceS = 1e-12;

Rules rules_of(Case which, std::uint32_t devices) {
  return {.which = which,
          .devices = devices,
          .trace_batch = 8,
          .batch = 8,
          .micro_batch = 2,
          .link_bytes_per_s = 1e9,
          .remote_bytes_per_s = 1e12};
}

double time_s(const model::RecordedStep& step, const Rules& rules) {
  EXPECT_EQ(refusal_of(step, rules), "");
  return step_time_s(step, rules).value_or(-1);
}

const model::RecordedStep kChain = chain_of({10, 20, 30, 40});
constexpr double kChainS = 306e-6;

TEST(TriosimRules, OneDeviceTakesWhatWasRecorded) {
  for (const auto& entry : model::triosim::kCaseNames) {
    EXPECT_NEAR(time_s(kChain, rules_of(entry.value, 1)), kChainS, kToleranceS) << entry.name;
  }
}

TEST(TriosimRules, AnAllReduceTakesItsBytesOverTheBandwidthOnAnyNumberOfDevices) {
  for (const std::uint32_t devices : {2u, 4u, 6u}) {
    EXPECT_NEAR(time_s(kChain, rules_of(Case::data_parallel, devices)),
                kChainS + 4 * kWeightBytes / 1e9, kToleranceS);
  }
}

TEST(TriosimRules, WhatDoesNotDivideIntoChunksGoesWithOneOfThem) {
  constexpr std::uint32_t kDevices = 7;
  constexpr std::uint64_t kBytes = 4 * kWeightBytes;
  const double round_s = (kBytes / kDevices + kBytes % kDevices) / (1e9 * 2 * 6 / 7);
  EXPECT_NEAR(time_s(kChain, rules_of(Case::data_parallel, kDevices)), kChainS + 12 * round_s,
              kToleranceS);
}

TEST(TriosimRules, OverlappedReductionsAreHiddenUntilTheyOutlastTheStep) {
  Rules rules = rules_of(Case::ddp, 2);
  EXPECT_NEAR(time_s(kChain, rules), kChainS, kToleranceS);
  rules.link_bytes_per_s = 1e6;  // the first bucket begins with the backward pass, after 100 us
  EXPECT_NEAR(time_s(kChain, rules), 100e-6 + 4 * kWeightBytes / 1e6, kToleranceS);
}

TEST(TriosimRules, SplitOperatorsReduceTheirShareOfWhatTheyWrite) {
  const double forward = kActivationBytes / 2.0, backward = (kActivationBytes + kWeightBytes) / 2.0;
  EXPECT_NEAR(time_s(kChain, rules_of(Case::tensor_parallel, 2)),
              300e-6 / 2 + 6e-6 + 4 * (forward + backward) / 1e9, kToleranceS);
}

// With transfers that take no time: micro-batches fill and drain the stages, one operator of each
// beside the one ahead of it.
TEST(TriosimRules, APipelineIsFasterThanOneDeviceAndSlowerThanItsShare) {
  Rules rules = rules_of(Case::pipeline, 2);
  rules.link_bytes_per_s = rules.remote_bytes_per_s = 1e15;
  const double piped = time_s(kChain, rules);
  EXPECT_LT(piped, kChainS);
  EXPECT_GT(piped, kChainS / 2);
  rules.micro_batch = 8;  // one alone: stages take turns
  EXPECT_NEAR(time_s(kChain, rules), kChainS, 1e-9);
}

TEST(TriosimRules, TimesAreInProportionToTheBatch) {
  for (const auto& entry : model::triosim::kCaseNames) {
    Rules rules = rules_of(entry.value, 2);
    const double once = time_s(kChain, rules);
    rules.batch = 16;
    rules.micro_batch = 4;
    EXPECT_NEAR(time_s(kChain, rules), 2 * once, kToleranceS) << entry.name;
  }
}

TEST(TriosimRules, OperatorsWaitForTransfersFromTheRemoteMemory) {
  Rules rules = rules_of(Case::single, 2);
  rules.link_bytes_per_s = rules.remote_bytes_per_s = 1e6;
  // What nothing on the GPU writes: the input, four weights, and the loss's gradient.
  EXPECT_NEAR(time_s(kChain, rules), (2 * kActivationBytes + 4 * kWeightBytes) / 1e6,
              kToleranceS);
}

TEST(TriosimRules, SaysWhyTheyDoNotApply) {
  Rules rules = rules_of(Case::pipeline, 5);
  EXPECT_EQ(refusal_of(kChain, rules),
            "5 stages are more than the 4 operators of the forward pass, or than the 5 after it; "
            "expected fewer");
  rules.devices = 2;
  rules.micro_batch = 3;
  EXPECT_EQ(refusal_of(kChain, rules), "a batch of 8 has no whole number of micro-batches of 3");
  rules = rules_of(Case::single, 2);
  rules.link_bytes_per_s = 2e12;
  EXPECT_EQ(refusal_of(kChain, rules),
            "links between GPUs are faster than those from the remote memory; expected at most as "
            "fast");
}

}  // namespace
}  // namespace exawarp::tests
