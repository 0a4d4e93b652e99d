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

// Sums in two stages, and messages of each kind of which some have two tasks.
ServedProgram program_of(std::uint32_t sums, std::uint32_t exchanges, std::uint32_t regroupings) {
  ServedProgram program;
  program.all_reduces.first = {0, 2};
  program.dispatches.first = {2, 3};
  program.combines.first = {3, 4};
  program.regathers.first = {4, 6};
  program.rescatters.first = {6, 7};
  program.sums = sums;
  program.exchanges = exchanges;
  program.regroupings = regroupings;
  program.pieces = sums + 2 * (exchanges + regroupings);
  return program;
}

// All pieces come in turn, a pair behind its share of the sums, and an exchange behind its share of
// the pairs.
void expect_pieces_in_order(const ServedProgram& program) {
  const IterationBegins it{.compute_ps = 1, .batch = 0, .tokens = 0, .outputs = 0};
  const std::uint32_t pairs = program.exchanges + program.regroupings;
  std::uint32_t i = 0, reduced = 0, sent = 0, back = 0, gathered = 0, scattered = 0;
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
    gathered += first.message == &program.regathers ? 1 : 0;
    scattered += first.message == &program.rescatters ? 1 : 0;
    ASSERT_LE((sent - back) + (gathered - scattered), 1u);
    const std::uint32_t done = back + scattered;
    if (pairs == 0 || sent + gathered != done) continue;
    ASSERT_GE(reduced, done * program.sums / pairs);
    ASSERT_EQ(back, done * program.exchanges / pairs);
  }
  ASSERT_EQ(i, program.tasks_of_pieces(it));
  EXPECT_EQ(reduced, program.sums);
  EXPECT_EQ(sent, program.exchanges);
  EXPECT_EQ(back, program.exchanges);
  EXPECT_EQ(gathered, program.regroupings);
  EXPECT_EQ(scattered, program.regroupings);
}

TEST(ServedProgram, HasItsPiecesInOrder) {
  for (const bool marks : {false, true}) {
    for (std::uint32_t sums = 0; sums < 8; ++sums) {
      for (std::uint32_t exchanges = 0; exchanges < 8; ++exchanges) {
        for (std::uint32_t regroupings = 0; regroupings < 8; ++regroupings) {
          ServedProgram program = program_of(sums, exchanges, regroupings);
          program.by_layer = marks;
          expect_pieces_in_order(program);
        }
      }
    }
  }
}

// Gathers and scatters are of all that a batch has, other messages of what a group has.
TEST(ServedProgram, TellsTheTokensOfAGroupFromThoseOfABatch) {
  const IterationBegins it{
      .compute_ps = 1, .batch = 0, .tokens = 1, .outputs = 0, .group_below = 1};
  ServedProgram program = program_of(1, 0, 1);
  program.all_reduces.first = {0, 1, 4};
  program.regathers.first = program.rescatters.first = {0, 1, 6};
  program.regathers.of_batch = program.rescatters.of_batch = true;
  EXPECT_EQ(program.tasks_of_pieces(it), (1u + 1) + 2 * (1 + 5));
  EXPECT_EQ(program.piece_task(2, it).message, &program.regathers);
}

}  // namespace
}  // namespace exawarp::tests
