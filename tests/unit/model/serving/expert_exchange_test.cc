// Tokens on their way to experts and back: how many bytes, in which order, and what they take.
#include "model/serving/expert_exchange.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "core/error.h"
#include "model/device/served_program.h"
#include "tests/unit/model/serving/small_pools.h"

namespace exawarp::tests {
namespace {

using namespace core::literals;
using namespace model::serving;
using core::Time;
using model::IterationBegins;
using model::ServedProgram;

// 4 layers, the first of which has no experts; 2 of 8 experts a token. One request of 50 tokens
// that asks for one; an iteration computes for 1 ms.
Pool experts_of(std::uint32_t tensor) {
  Pool pool;
  pool.layout.tensor = tensor;
  pool.model.layers = 4;
  pool.model.hidden = 1000;
  pool.model.heads = 8;
  pool.model.vocabulary = 500;
  pool.model.moe.experts = 8;
  pool.model.moe.top_k = 2;
  pool.model.moe.dense_layers = 1;
  pool.exchange.on = true;
  pool.spec.requests = {{.arrival = 0_ps, .prefill = 50, .decode = 1}};
  pool.spec.latency = 10_us;
  pool.spec.request_tokens_max = pool.spec.batch_tokens_max = 128;
  pool.spec.batch_requests_max = 16;
  pool.spec.blocks = 40;
  pool.spec.time = {.base = 1_ms, .per_token = 0_ps, .per_context = 0_ps, .per_pair_half = 0_ps};
  return pool;
}

Time first_token_of(const Pool& pool, bool analytical = false) {
  const model::WorkloadGraph graph = pool_graph(pool);
  model::ClusterOptions options;
  options.analytical_network = analytical;
  const model::Cluster cluster({model::Job{.name = "job", .graph = &graph, .pool = &pool}},
                               round_accelerator(), round_fabric(), options);
  ClusterOutcome outcome(cluster);
  run_served(cluster, outcome);
  return outcome.of(0).first_token(0);
}

// Five sums in rings of two steps of 50 kB, three exchanges: each device has 25 tokens, and sends
// of 2 x 2000 bytes of each one half to the other, there and back. A gather of 500 bytes.
TEST(ExpertExchange, TakesItsTimeOnTheNetwork) {
  const Time sums = 5 * 2 * (Time{50'000 * kNodePsPerByte} + kNodeLatency);
  const Time exchanges = 3 * 2 * (Time{50'000 * kNodePsPerByte} + kNodeLatency);
  const Time gather = Time{500 * kNodePsPerByte} + kNodeLatency;
  EXPECT_EQ(first_token_of(experts_of(2)), 30_us + 1_ps + 1_ms + sums + exchanges + gather);
  EXPECT_EQ(first_token_of(experts_of(2), true), first_token_of(experts_of(2)));
}

TEST(ExpertExchange, IsLeftOutWhereOutputsAreSummedUp) {
  Pool pool = experts_of(2);
  pool.exchange.on = false;
  EXPECT_EQ(exchanges_of(pool), 0u);
  const Time sums = 8 * 2 * (Time{50'000 * kNodePsPerByte} + kNodeLatency);
  const Time gather = Time{500 * kNodePsPerByte} + kNodeLatency;
  EXPECT_EQ(first_token_of(pool), 30_us + 1_ps + 1_ms + sums + gather);
  EXPECT_EQ(exchanges_of(experts_of(1)), 0u);
}

TEST(ExpertExchange, CarriesTheSameInFewer) {
  Pool pool = experts_of(4);
  EXPECT_EQ(exchanges_of(pool), 3u);
  const std::uint64_t each = exchange_bytes(pool, 64);
  EXPECT_EQ(each, 64u * 2 * 2000);
  pool.exchange.count = 1;
  EXPECT_EQ(exchange_bytes(pool, 64), 3 * each);
  pool.exchange.count = 7;
  EXPECT_EQ(exchange_bytes(pool, 64), (3 * each + 6) / 7);
}

TEST(ExpertExchange, SendsByTheSharesOfExperts) {
  Pool pool = experts_of(4);
  pool.exchange.imbalance = 0.8;
  const std::vector<std::uint64_t> table = exchange_table(pool, expert_shares(pool), 64);
  ASSERT_EQ(table.size(), 16u);
  const std::uint64_t all = std::accumulate(table.begin(), table.end(), std::uint64_t{0});
  EXPECT_LE(all, exchange_bytes(pool, 64));
  EXPECT_GT(all + 16, exchange_bytes(pool, 64));
  for (std::size_t i = 4; i < 16; ++i) EXPECT_EQ(table[i], table[i - 4]);
  EXPECT_NE(table[0], table[1]);
  EXPECT_GT(first_token_of(pool), first_token_of(experts_of(4)));
  pool.exchange.seed = 2;
  EXPECT_NE(exchange_table(pool, expert_shares(pool), 64), table);
}

TEST(ExpertExchange, RefusesDevicesThatDoNotDivideExperts) {
  Pool pool = experts_of(8);
  pool.model.moe.experts = 12;
  EXPECT_THROW(pool_graph(pool), core::InputError);
}

// Whatever their numbers, all pieces come in turn, an exchange behind its share of the sums.
TEST(ServedProgram, HasItsPiecesInOrder) {
  const IterationBegins it{.compute_ps = 1, .batch = 0, .tokens = 0, .outputs = 0};
  for (const bool marks : {false, true}) {
    for (std::uint32_t sums = 0; sums < 8; ++sums) {
      for (std::uint32_t exchanges = 0; exchanges < 8; ++exchanges) {
        ServedProgram program;
        program.all_reduces.first = {0, 2};  // in two stages
        program.dispatches.first = {2, 3};
        program.combines.first = {3, 4};
        program.sums = sums;
        program.exchanges = exchanges;
        program.pieces = sums + 2 * exchanges;
        program.by_layer = marks;
        std::uint32_t i = 0, reduced = 0, sent = 0, back = 0;
        for (std::uint32_t piece = 0; piece < program.pieces; ++piece) {
          const auto first = program.piece_task(i, it);
          const std::uint32_t tasks = program.tasks_of_piece(*first.message, it);
          for (std::uint32_t task = 0; task < tasks; ++task, ++i) {
            const auto at = program.piece_task(i, it);
            ASSERT_EQ(at.piece, piece);
            ASSERT_EQ(at.task, task);
            ASSERT_EQ(at.message, first.message);
          }
          reduced += first.message == &program.all_reduces ? 1 : 0;
          sent += first.message == &program.dispatches ? 1 : 0;
          back += first.message == &program.combines ? 1 : 0;
          ASSERT_TRUE(sent == back || sent == back + 1);
          if (exchanges != 0 && sent == back) {
            ASSERT_GE(reduced, back * sums / exchanges);
          }
        }
        ASSERT_EQ(i, program.tasks_of_pieces(it));
        EXPECT_EQ(reduced, sums);
        EXPECT_EQ(sent, exchanges);
        EXPECT_EQ(back, exchanges);
      }
    }
  }
}

}  // namespace
}  // namespace exawarp::tests
