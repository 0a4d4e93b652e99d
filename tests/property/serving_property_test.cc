// Random serving studies in random modes: the digest is the sequential run's, each request is
// answered once, and no block is left, on device or host.
// EXAWARP_PROPERTY_CASES raises the number of cases (scripts/nightly does); a failure prints the
// seed, which replays it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "core/random.h"
#include "model/serving/kv_pool.h"
#include "model/serving/outcome.h"
#include "pdes/transport.h"
#include "tests/support/run_matrix.h"
#include "tests/support/seeds.h"

namespace exawarp::tests {
namespace {

using namespace core::literals;
using namespace model::serving;

class SpecDraw {
 public:
  explicit SpecDraw(std::uint64_t seed) : stream_(core::stream_of(seed, 0x5e12e)) {}

  Spec operator()() {
    Spec spec;
    spec.policy = kPolicyNames[below(2) == 0 ? 5 : below(6)].value;
    spec.router = kRouterNames[below(4)].value;
    spec.replicas = 1 + below(5);
    spec.latency = below(2) == 0 ? 1_ps : 300_us;
    spec.router_slack = below(4);
    const bool is_lightllm = spec.policy == Policy::lightllm;
    spec.stages = is_lightllm ? 1 : 1 + below(3);
    spec.block_tokens = is_lightllm ? 1 : 1 + below(24);
    spec.request_tokens_max = 160;
    draw_blocks(spec);
    spec.chunk_tokens = 8 + below(100);
    spec.batch_requests_max = spec.stages + below(12);
    spec.reserved_requests_max = 1 + below(8);
    spec.batch_tokens_max = 160 + below(200);
    spec.time = {.base = core::Time{1 + below(5) * 1'000'000'000},
                 .per_token = core::Time{below(2) * 20'000'000},
                 .per_context = 0_ps,
                 .per_pair_half = 100_ps};
    if (spec.policy == Policy::vllm_v1) add_engine(spec);
    if (spec.policy == Policy::vllm_v1 && spec.preemption != Preemption::swap) add_groups(spec);
    add_requests(spec);
    return spec;
  }

 private:
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>(core::random_bits(stream_, draws_++) % n);
  }

  void add_engine(Spec& spec) {
    spec.order = below(2) == 0 ? Order::first_come : Order::priority;
    spec.chunked_prefill = below(4) != 0;
    if (spec.chunked_prefill) spec.batch_tokens_max = 1 + below(200);
    spec.reserve_prompt = below(2) == 0;
    spec.watermark = 0.1 * below(4);
    spec.prefix_cache = below(3) != 0;
    if (below(2) == 0) {
      spec.preemption = Preemption::swap;
      spec.swap = {.host_blocks = 1 + below(60), .token_bytes = 1'000, .bytes_per_s = 100'000'000};
    }
    if (below(3) == 0) {
      spec.speculation = {
          .tokens = 1 + below(5), .acceptance = 0.25 * below(5), .draft = core::Time{below(2)}};
    }
    for (std::uint32_t c = 0; c < 3; ++c)
      spec.priorities.push_back(static_cast<std::int32_t>(below(5)) - 2);
  }

  void add_groups(Spec& spec) {
    if (below(2) == 0) return;
    spec.groups = {.full = below(3), .windowed = 1 + below(3), .window = 1 + below(80)};
    draw_blocks(spec);
  }

  // Somewhat more than one request needs, up to twice that.
  void draw_blocks(Spec& spec) {
    const auto least =
        static_cast<std::uint32_t>(most_at_once(spec.blocks_for(spec.request_tokens_max), spec));
    spec.blocks = least + least / 50 + 2 + below(least);
  }

  // Sessions that begin alike; some come together.
  void add_requests(Spec& spec) {
    const std::uint32_t count = 20 + below(20), sessions = 1 + below(10);
    std::vector<std::uint32_t> last(sessions, 0), context(sessions, 0);
    core::Time arrival{0};
    spec.prefixes.shared_tokens = below(2) * below(40);
    for (std::uint32_t i = 0; i < count; ++i) {
      arrival = arrival + core::Time{below(3) * (1 + below(8'000'000)) * std::int64_t{1'000}};
      std::uint32_t prefill = 1 + below(60);
      const std::uint32_t decode = 1 + below(30), session = below(sessions);
      if (context[session] + prefill + decode <= 160) prefill += context[session];
      context[session] = prefill + decode;
      spec.requests.push_back(
          {.arrival = arrival, .prefill = prefill, .decode = decode, .class_id = below(3)});
      spec.prefixes.of.push_back({.session = session, .parent = last[session]});
      last[session] = i + 1;
    }
  }

  std::uint64_t stream_, draws_ = 0;
};

struct Kept {
  std::uint64_t held = 0, restarts = 0, found = 0, swaps = 0, accepted = 0, forgotten = 0;
};

void run_alone(const Serving& serving, std::uint64_t seed, Outcome& outcome, Kept& kept) {
  const auto transport = pdes::make_single_transport();
  pdes::Engine engine(serving, blocks_of(serving.processes(), 0)(1, 1),
                      {.sync = pdes::Sync::sequential, .seed = seed}, *transport, &outcome);
  engine.run();
  engine.visit([&](core::LpId lp, const void* state) {
    if (lp.value == serving.spec().replicas) return;
    const auto& s = *static_cast<const Replica::State*>(state);
    kept.held += s.held + s.holders + s.host_blocks + cached_in_use(s);
    kept.restarts += s.restarts;
    kept.found += s.found_tokens;
    kept.swaps += s.swaps;
    kept.accepted += s.accepted;
    kept.forgotten += s.forgotten;
    EXPECT_LE(s.held_most, serving.spec().blocks) << "seed " << seed;
    EXPECT_LE(s.cached.size(), serving.spec().blocks) << "seed " << seed;
  });
}

TEST(RandomServing, AgreesWithTheSequentialRunAndKeepsNothing) {
  const char* wanted = std::getenv("EXAWARP_PROPERTY_CASES");
  const std::uint64_t cases = wanted == nullptr ? 24 : std::strtoull(wanted, nullptr, 10);
  Kept kept;
  for (const std::uint64_t seed : case_seeds(1, cases)) {
    SpecDraw draw(seed);
    const Serving serving(draw());
    Outcome outcome(serving.spec());
    run_alone(serving, seed, outcome, kept);
    ASSERT_EQ(kept.held, 0u) << "seed " << seed;
    for (std::size_t i = 0; i < serving.spec().requests.size(); ++i)
      ASSERT_TRUE(outcome.is_done(i)) << "seed " << seed << ", request " << i;
    const MatrixModel matrix{
        .model = &serving, .placer = blocks_of(serving.processes(), 0), .seed = seed};
    const pdes::RunResult expected = run_case(matrix, {});
    const RunCase run = random_case(seed);
    ASSERT_EQ(to_hex(run_case(matrix, run).digest), to_hex(expected.digest))
        << "seed " << seed << ' ' << run.text();
    const RunCase audited = audited_case(5_ms, 0.2);
    ASSERT_EQ(to_hex(run_case(matrix, audited).digest), to_hex(expected.digest))
        << "seed " << seed << " audited";
  }
  if (cases < 100) return;  // fewer need not have all of these
  EXPECT_GT(kept.restarts, 0u);
  EXPECT_GT(kept.found, 0u);
  EXPECT_GT(kept.swaps, 0u);
  EXPECT_GT(kept.accepted, 0u);
  EXPECT_GT(kept.forgotten, 0u);
}

}  // namespace
}  // namespace exawarp::tests
