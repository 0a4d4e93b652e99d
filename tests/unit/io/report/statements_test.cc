// The short statements of a summary: from a layout and shares of device time.
#include "io/report/statements.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace exawarp::tests {
namespace {

using namespace io;
using model::ScheduleKind;
using model::TimeClass;
using model::TransformerSpec;

constexpr PassTimes kEqual{.forward = 1, .inputs = 1, .weights = 1};

// 16 micro-batches on 16 stages.
TransformerSpec deep() {
  TransformerSpec spec;
  spec.model.layers = 126;
  spec.parallel = {.tensor = 8, .pipeline = 16, .data = 4, .context = 2};
  spec.global_batch_sequences = 64;
  return spec;
}

TimeShares shares(std::initializer_list<std::pair<TimeClass, double>> given) {
  TimeShares all{};
  for (const auto& [c, share] : given) all[model::index_of(c)] = share;
  return all;
}

std::string setting(TimeClass c, const TransformerSpec& spec) {
  return largest_loss(shares({{TimeClass::compute, 0.8}, {c, 0.2}}), &spec)->setting;
}

TEST(Statements, TheIdealBubbleIsTheSchedules) {
  TransformerSpec spec = deep();
  EXPECT_DOUBLE_EQ(*ideal_bubble(spec, {}), 15.0 / 31);
  spec.schedule.kind = ScheduleKind::kGpipe;
  EXPECT_DOUBLE_EQ(*ideal_bubble(spec, {}), 15.0 / 31);
  spec.schedule = {.kind = ScheduleKind::k1F1B, .virtual_stages = 8};
  EXPECT_DOUBLE_EQ(*ideal_bubble(spec, {}), 15.0 / 143);
  spec.schedule = {.kind = ScheduleKind::kZeroH1};
  EXPECT_DOUBLE_EQ(*ideal_bubble(spec, kEqual), 15.0 / (15 + 3 * 16));
}

TEST(Statements, NoIdealBubbleIsClaimedWhereNoFormulaHolds) {
  TransformerSpec spec = deep();
  spec.overlap.experts = true;
  EXPECT_FALSE(ideal_bubble(spec, kEqual));
  spec.overlap.experts = false;
  spec.schedule.kind = ScheduleKind::kDualPipe;
  EXPECT_FALSE(ideal_bubble(spec, kEqual));
  spec.schedule.kind = ScheduleKind::kZeroH1;
  EXPECT_FALSE(ideal_bubble(spec, {}));
  spec.schedule.kind = ScheduleKind::k1F1B;
  spec.parallel.pipeline = 1;
  EXPECT_FALSE(ideal_bubble(spec, kEqual));
}

TEST(Statements, TheLargestLossIsNotCompute) {
  const auto loss = largest_loss(
      shares({{TimeClass::compute, 0.7}, {TimeClass::tensor, 0.1}, {TimeClass::waiting, 0.2}}),
      nullptr);
  EXPECT_EQ(loss->name, "bubble");
  EXPECT_EQ(loss->share, 0.2);
  EXPECT_EQ(loss->setting, "");  // of a workload whose settings are not known
  EXPECT_FALSE(largest_loss(shares({{TimeClass::compute, 1}}), nullptr));
}

TEST(Statements, ABubbleIsMovedByChunksWhileThereAreLayersForThem) {
  TransformerSpec spec = deep();
  spec.schedule.virtual_stages = 2;
  EXPECT_EQ(setting(TimeClass::waiting, spec), "schedule.virtual_stages, global_batch_sequences");
  spec.schedule.virtual_stages = 4;  // twice as many would be 128 for 126 layers
  EXPECT_EQ(setting(TimeClass::waiting, spec), "global_batch_sequences");
  spec.schedule.count_ends = true;
  EXPECT_EQ(setting(TimeClass::waiting, spec), "schedule.virtual_stages, global_batch_sequences");
  spec.schedule.kind = ScheduleKind::kZeroH1;
  EXPECT_EQ(setting(TimeClass::waiting, spec), "global_batch_sequences");
}

TEST(Statements, CommunicationIsMovedByWhatIsLeftToOverlap) {
  TransformerSpec spec = deep();
  EXPECT_EQ(setting(TimeClass::tensor, spec), "overlap.tensor");
  spec.overlap.tensor = model::TensorOverlap::kPipelined;
  EXPECT_EQ(setting(TimeClass::tensor, spec), "parallel.tensor");
  EXPECT_EQ(setting(TimeClass::data, spec), "overlap.parameters");
  spec.overlap.gradients = false;
  EXPECT_EQ(setting(TimeClass::data, spec), "overlap.gradients");
  spec.gradient_reduction = model::GradientReduction::kMicroBatch;
  EXPECT_EQ(setting(TimeClass::data, spec), "gradient_reduction");
}

TEST(Statements, TextAndJsonSayTheSame) {
  const Statements s{.layout = deep(),
                     .ideal_bubble = 0.105,
                     .shares = shares({{TimeClass::compute, 0.72},
                                       {TimeClass::tensor, 0.05},
                                       {TimeClass::data, 0.07},
                                       {TimeClass::waiting, 0.16}}),
                     .loss = Loss{"bubble", 0.16, "global_batch_sequences"},
                     .fabric = {{TimeClass::tensor, 0.5, 0.5, "d0 to s0"},
                                {TimeClass::data, 0.25, 1.0, "s8 to s9"},
                                {TimeClass::pipeline, 0.125, 0.25, "s2 to s9"}}};
  EXPECT_EQ(statements_text(s),
            "Layout      TP 8, PP 16, DP 4, CP 2, EP 1; chunks a stage 1, micro-batches 16\n"
            "Bubble      16.0 % of device time; the schedule's own 10.5 %\n"
            "Exposed     data 7.0 %, tensor 5.0 %\n"
            "Loss        most: bubble, 16.0 %; moved by global_batch_sequences\n"
            "Fabric      busiest link against busiest interface: data 4.0 times (s8 to s9), "
            "pipeline 2.0 times (s2 to s9);\n"
            "            analytical and message count interfaces alone, flow and packet links, "
            "too\n");
  EXPECT_EQ(statements_json(s), nlohmann::ordered_json::parse(R"({
      "layout": {"tensor": 8, "pipeline": 16, "data": 4, "context": 2, "expert": 1, "chunks": 1,
                 "micro_batches": 16},
      "bubble": {"ideal": 0.105, "measured": 0.16},
      "largest_loss": {"name": "bubble", "share": 0.16, "setting": "global_batch_sequences"},
      "fabric": [{"kind": "tensor", "times": 1.0, "interface_s": 0.5, "link_s": 0.5,
                  "link": "d0 to s0"},
                 {"kind": "data", "times": 4.0, "interface_s": 0.25, "link_s": 1.0,
                  "link": "s8 to s9"},
                 {"kind": "pipeline", "times": 2.0, "interface_s": 0.125, "link_s": 0.25,
                  "link": "s2 to s9"}]})"));
}

TEST(Statements, WhatIsNotKnownIsLeftOut) {
  EXPECT_EQ(statements_text({}), "");
  EXPECT_TRUE(statements_json({}).empty());
}

}  // namespace
}  // namespace exawarp::tests
