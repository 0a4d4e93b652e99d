// What a pool's devices send, and what requests take on a cluster where nothing is in their way.
#include "model/serving/pool.h"

#include <gtest/gtest.h>

#include <numeric>

#include "core/error.h"
#include "model/serving/size_classes.h"
#include "tests/unit/model/serving/small_pools.h"

namespace exawarp::tests {
namespace {

using namespace core::literals;
using namespace model::serving;
using core::Time;
using model::Cluster;
using model::ClusterOptions;
using model::Job;
using model::ModelSpec;

struct Answer {
  Time first_token, end, keys_transfer;
};

Answer answer_of(std::vector<Pool> pools, const ClusterOptions& options = {}) {
  std::vector<model::WorkloadGraph> graphs;
  for (const Pool& pool : pools) graphs.push_back(pool_graph(pool));
  std::vector<Job> jobs;
  for (std::size_t j = 0; j < pools.size(); ++j) {
    pools[j].continues = j > 0;
    jobs.push_back({.name = std::to_string(j), .graph = &graphs[j], .pool = &pools[j]});
  }
  const Cluster cluster(jobs, round_accelerator(), round_fabric(), options);
  ClusterOutcome outcome(cluster);
  run_served(cluster, outcome);
  EXPECT_TRUE(outcome.of(0).is_done(0));
  Answer out{outcome.of(0).first_token(0), outcome.of(0).end(0), 0_ps};
  if (pools.size() > 1) out.keys_transfer = outcome.of(0).keys_transfer(0);
  return out;
}

TEST(SizeClasses, HoldEachSizeWithinA32nd) {
  std::uint32_t before = 0;
  for (std::uint64_t size = 1; size < 100'000; ++size) {
    const std::uint32_t c = size_class_of(size);
    ASSERT_GE(size_of_class(c), size);
    ASSERT_LT((size_of_class(c) - size) * 32, size);
    ASSERT_LE(c, before + 1);
    ASSERT_EQ(size_class_of(size_of_class(c)), c);
    before = c;
  }
}

TEST(KvPlan, SendsEachReceiverItsLayersAndHeads) {
  const ModelSpec model = small_model();  // 2 heads of 400 bytes a token and layer, 4 layers
  for (const PoolLayout from : {PoolLayout{1, 1}, {2, 1}, {8, 2}, {1, 4}}) {
    for (const PoolLayout to : {PoolLayout{1, 1}, {4, 1}, {2, 2}, {8, 4}}) {
      for (const std::uint32_t layers : {0u, 1u, 2u, 9u}) {
        const KvPlan plan = kv_plan(model, from, to, layers);
        std::vector<std::uint64_t> got(to.replica_devices());
        std::uint32_t messages = 0;
        for (const auto& parts : plan.parts) {
          for (const KvPart& part : parts) got[part.to] += part.bytes_per_token;
          messages += static_cast<std::uint32_t>(parts.size());
        }
        EXPECT_EQ(messages, plan.messages);
        const std::uint64_t heads = to.tensor >= 2 ? 1 : 2;
        for (const std::uint64_t bytes : got) EXPECT_EQ(bytes, 400 * heads * 4 / to.pipeline);
      }
    }
  }
}

// Two stages of two layers, one device each; the other pool has one stage, or four.
TEST(KvPlan, SendsLayersInTheOrderInWhichTheyAreComputed) {
  const auto parts_of = [](std::uint32_t stages, std::uint32_t layers) {
    return kv_plan(small_model(), {.pipeline = 2}, {.pipeline = stages}, layers).parts[1];
  };
  ASSERT_EQ(parts_of(1, 0).size(), 1u);
  EXPECT_EQ(parts_of(1, 0)[0].layers, 2u);
  EXPECT_EQ(parts_of(1, 0)[0].bytes_per_token, 2u * 800);
  for (const std::uint32_t stages : {1u, 4u}) {
    ASSERT_EQ(parts_of(stages, 1).size(), 2u);
    for (std::uint32_t i = 0; i < 2; ++i) {
      const KvPart part = parts_of(stages, 1)[i];
      EXPECT_EQ(part.layers, i + 1);
      EXPECT_EQ(part.to, stages == 1 ? 0 : 2 + i);
      EXPECT_EQ(part.bytes_per_token, 800u);
    }
  }
  // Who has but one of the layers of a message need not wait for the other.
  ASSERT_EQ(parts_of(4, 2).size(), 2u);
  EXPECT_EQ(parts_of(4, 2)[0].layers, 1u);
}

TEST(KvPlan, HasHalfOfTheBytesWithKeysOfFp8) {
  const KvPlan wide = kv_plan(small_model(), {.tensor = 2}, {}, 0);
  const KvPlan narrow =
      kv_plan(small_model(), {.tensor = 2}, {}, 0, model::schema::DataType::FP8);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    ASSERT_EQ(narrow.parts[rank].size(), 1u);
    EXPECT_EQ(2 * narrow.parts[rank][0].bytes_per_token, wide.parts[rank][0].bytes_per_token);
  }
}

TEST(KvPlan, ReceiversOfOneHeadTakeTurnsWithThoseThatHaveIt) {
  const KvPlan plan = kv_plan(small_model(), {.tensor = 4}, {.tensor = 8}, 0);
  for (const auto& parts : plan.parts) EXPECT_EQ(parts.size(), 2u);
}

// With and without messages of a layer each: at no time do two stages send to the same rank.
TEST(KvPlan, StagesBeginWithReceiversOfTheirOwn) {
  for (const std::uint32_t layers : {0u, 1u}) {
    const KvPlan plan = kv_plan(small_model(), {.pipeline = 2}, {.tensor = 2}, layers);
    ASSERT_EQ(plan.parts[0].size(), plan.parts[1].size());
    for (std::size_t i = 0; i < plan.parts[0].size(); ++i) {
      EXPECT_EQ(plan.parts[0][i].layers, plan.parts[1][i].layers);
      EXPECT_NE(plan.parts[0][i].to, plan.parts[1][i].to) << i;
    }
  }
  // Two stages send to each stage of the other pool.
  const KvPlan staged = kv_plan(small_model(), {.pipeline = 4}, {.tensor = 2, .pipeline = 2}, 0);
  EXPECT_EQ(staged.parts[0][0].to, 0u);
  EXPECT_EQ(staged.parts[1][0].to, 1u);
  EXPECT_EQ(staged.parts[2][0].to, 2u);
  EXPECT_EQ(staged.parts[3][0].to, 3u);
}

// The scheduler hears of a request after 10 us, its device of the batch after 10 more, and it of
// the end; the picosecond of the scheduler's instant is in there as well.
TEST(ServedCluster, OneDeviceTakesItsTimeAndThreeMessagesToTheScheduler) {
  const Answer answer = answer_of({pool_of({}, 50, 3)});
  EXPECT_EQ(answer.first_token, 10_us + 1_ps + 10_us + 1_ms + 50_us + 10_us);
  const Time step = 1_ps + 10_us + 1_ms + 1_us + 10_us;
  EXPECT_EQ(answer.end, answer.first_token + 2 * step);
}

// Two devices of a node: 8 all-reduces of 50 x 2000 bytes in a ring of two steps, a gather of 1 x
// 500 bytes. A step takes 10 ps a byte and 1 us.
TEST(ServedCluster, TensorParallelDevicesAllReduceOnTheNetwork) {
  const Answer answer = answer_of({pool_of({.tensor = 2}, 50, 1)});
  const Time all_reduces = 8 * 2 * (Time{50'000 * kNodePsPerByte} + kNodeLatency);
  const Time gather = Time{500 * kNodePsPerByte} + kNodeLatency;
  EXPECT_EQ(answer.first_token, 30_us + 1_ps + 1_ms + 50_us + all_reduces + gather);
}

// Stages take half each, and one message of 50 x 2000 bytes lies between them.
TEST(ServedCluster, StagesOfAPipelineSendActivations) {
  const Answer answer = answer_of({pool_of({.pipeline = 2}, 50, 1)});
  const Time sends = Time{100'000 * kNodePsPerByte} + kNodeLatency;
  EXPECT_EQ(answer.first_token, 30_us + 1_ps + 1_ms + 50_us + sends);
}

// Offer: two messages by way of the router; then pull, order, keys, word of them. 50 tokens of 2 x
// 400 x 4 bytes each.
TEST(ServedCluster, KeysAndValuesTakeTheirTimeOnTheNetwork) {
  const Answer answer = answer_of({pool_of({}, 50, 2), pool_of({}, 50, 2)});
  const Time keys = Time{std::int64_t{50} * 3200 * kNodePsPerByte} + kNodeLatency;
  EXPECT_EQ(answer.keys_transfer, 10_us + 10_us + keys + 10_us);
  const Time step = 1_ps + 10_us + 1_ms + 1_us + 10_us;
  EXPECT_EQ(answer.end, answer.first_token + 20_us + answer.keys_transfer + step);
}

// Two stages have two layers each, whose heads go to two ranks: none waits for the other's.
TEST(ServedCluster, KeysOfTwoStagesDoNotMeet) {
  const Answer answer = answer_of({pool_of({.pipeline = 2}, 50, 2), pool_of({.tensor = 2}, 50, 2)});
  const Time keys = 2 * Time{std::int64_t{50} * 2 * 400 * kNodePsPerByte} + kNodeLatency;
  EXPECT_EQ(answer.keys_transfer, 10_us + 10_us + keys + 10_us);
}

TEST(ServedCluster, RefusesLayoutsThatDoNotDivideTheModel) {
  Pool pool = pool_of({.tensor = 3}, 10, 1);
  EXPECT_THROW(pool_graph(pool), core::InputError);
  pool = pool_of({.pipeline = 5}, 10, 1);
  EXPECT_THROW(pool_graph(pool), core::InputError);
}

}  // namespace
}  // namespace exawarp::tests
