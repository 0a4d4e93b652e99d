// The example of docs/guide/writing_a_model.md: it reproduces Jackson's closed form, gives
// one answer in every mode, and its deliberately wrong variants fail the rollback audit.
#include <gtest/gtest.h>

#include <cmath>

#include "core/exponential.h"
#include "core/random.h"
#include "docs/examples/queueing_network/jackson.h"
#include "docs/examples/queueing_network/network.h"
#include "partition/block.h"
#include "pdes/transport.h"
#include "tests/support/run_matrix.h"

namespace exawarp::examples {
namespace {

using namespace core::literals;
using tests::MatrixModel;
using tests::RunCase;

constexpr Time kServiceTime = 1_us;  // of about this order are all times of the example

class QueueingNetwork : public testing::Test {
 protected:
  static std::uint32_t partitions_of(const RunCase& run) {
    return run.ranks * run.partitions_per_rank;
  }

  Network network_{example_network()};
  MatrixModel matrix_{.model = &network_, .placer = tests::blocks_of(12, 0), .end = 500_us};
  RunCase wide_{.sync = pdes::Sync::optimistic,
                .ranks = 2,
                .threads = 2,
                .partitions_per_rank = 3,
                .window = 20 * kServiceTime};
};

TEST(Exponential, AgreesWithTheLibrarysLogarithm) {
  for (std::uint64_t n = 0; n < 20'000; ++n) {
    const std::uint64_t bits = core::random_bits(n % 2, n) >> (n % 64);
    const double expected = -std::log(static_cast<double>(bits | 1) * 0x1p-64);
    ASSERT_NEAR(static_cast<double>(core::minus_ln(bits)) * 0x1p-32, expected, 0x1p-31) << bits;
  }
}

// Tolerance: five of Whitt's standard errors (jackson.cc). They are M/M/1's; over 60 seeds the
// root mean square of a station's error was 0.92 to 1.26 of them, the greatest of all 720 was 3.3.
// The start at an empty network shows in the mean of those errors, which was below 0.2.
TEST_F(QueueingNetwork, ReproducesTheClosedForm) {
  constexpr Time kEnd = 100_ms;
  constexpr double kErrors = 5;
  const NetworkTheory theory = theory_of(network_.spec());
  const auto transport = pdes::make_single_transport();
  Departures departures(1);
  pdes::Engine engine(network_, matrix_.placer(1, 1), {.sync = pdes::Sync::sequential, .end = kEnd},
                      *transport, &departures);
  engine.run();

  std::uint32_t stations = 0;
  engine.visit([&](LpId lp, const void* state) {
    const StationMeans means = means_of(*static_cast<const Station::State*>(state), kEnd);
    const StationTheory& expected = theory.stations[lp.value];
    const double tolerance = kErrors * customers_error(expected, kEnd);
    EXPECT_NEAR(means.customers, expected.customers, tolerance) << lp.value;
    EXPECT_LT(tolerance, 0.25 * expected.customers) << "too short a run to show anything";
    // Little's law holds in the run too, up to the randomness of its arrivals.
    EXPECT_NEAR(means.sojourn_s, expected.sojourn_s, tolerance / expected.arrivals_per_s)
        << lp.value;
    ++stations;
  });
  EXPECT_EQ(stations, 12u);
  const Departures::Sum left = departures.total();
  const double mean_s =
      static_cast<double>(left.time_ps) * 1e-12 / static_cast<double>(left.customers);
  // Over the same 60 seeds its standard deviation was 0.7 % of the closed form.
  EXPECT_NEAR(mean_s, theory.sojourn_s, kErrors * 0.007 * theory.sojourn_s);
}

TEST_F(QueueingNetwork, OneStationIsAnMM1Queue) {
  const NetworkTheory theory = theory_of(
      {.stations = {{.entry_interval = 2_us, .service = 1_us, .routes = {}}}, .transfer = 1_us});
  EXPECT_DOUBLE_EQ(theory.stations[0].customers, 1.0);
  EXPECT_DOUBLE_EQ(theory.sojourn_s, 2e-6);
}

TEST_F(QueueingNetwork, EveryModeGivesTheSequentialAnswer) {
  Departures expected_left(1);
  const pdes::RunResult expected = tests::run_case(matrix_, {}, &expected_left);
  for (const RunCase& run : tests::differential_cases(core::Time{100'000})) {
    Departures left(partitions_of(run));
    const pdes::RunResult result = tests::run_case(matrix_, run, &left);
    EXPECT_EQ(to_hex(result.digest), to_hex(expected.digest)) << run.text();
    EXPECT_EQ(result.total.committed_events(), expected.total.committed_events()) << run.text();
    EXPECT_EQ(left.total(), expected_left.total()) << run.text();
  }
}

TEST_F(QueueingNetwork, AWindowBeyondTheLookaheadRollsBack) {
  const pdes::RunResult result = tests::run_case(matrix_, wide_);
  EXPECT_GT(result.total.rolled_back_events, 0u);
  EXPECT_GT(result.total.anti_messages, 0u);
}

TEST_F(QueueingNetwork, PassesTheRollbackAudit) {
  const pdes::RunResult expected = tests::run_case(matrix_, {});
  RunCase run = wide_;
  run.audit_probability = 0.5;
  const pdes::RunResult result = tests::run_case(matrix_, run);
  EXPECT_EQ(result.digest, expected.digest);
  EXPECT_GT(result.total.audited_events, 1000u);
}

TEST_F(QueueingNetwork, IsMadeAnewFromItsDescription) {
  const pdes::RunResult expected = tests::run_case(matrix_, {});
  RunCase run = wide_;
  run.rebuild_events = 500;
  EXPECT_EQ(tests::run_case(matrix_, run).digest, expected.digest);
  EXPECT_EQ(tests::run_case(matrix_, {.rebuild_events = 500}).digest, expected.digest);
}

// --- what not to do, each with what the audit says of it -----------------------------------------

// A network whose stations are handled by Faulty::handle.
template <class Faulty>
class FaultyNetwork final : public Network {
 public:
  FaultyNetwork() : Network(example_network()) {}
  [[nodiscard]] std::span<const pdes::LpType> types() const override { return {&type_, 1}; }

 private:
  pdes::LpType type_ = pdes::make_lp_type<Faulty>("faulty station");
};

template <class Faulty>
void run_audited() {
  const FaultyNetwork<Faulty> network;
  tests::run_case({.model = &network, .placer = tests::blocks_of(12, 0), .end = 100_us},
                 {.sync = pdes::Sync::optimistic, .audit_probability = 1});
}

struct WritesDirectly : Station {
  static void handle(State& s, const pdes::Event& event, pdes::Context& ctx) {
    Station::handle(s, event, ctx);
    ++s.served;  // wrong: ctx.add(s.served, 1)
  }
};

TEST(QueueingNetworkAudit, FindsAWriteThatByPassesTheContext) {
  EXPECT_EXIT(run_audited<WritesDirectly>(), testing::ExitedWithCode(1),
              "a write by-passed the context.*faulty station 16");
}

std::uint64_t draws_so_far = 0;

struct DrawsFromOutside : Station {
  static void handle(State& s, const pdes::Event& event, pdes::Context& ctx) {
    const std::uint64_t bits = core::random_bits(1, draws_so_far++);  // wrong: not of the process
    ctx.send(ctx.self(), core::exponential(1_us, bits), event.kind, event.payload);
    ctx.add(s.served, 1);
  }
};

TEST(QueueingNetworkAudit, FindsASendThatDependsOnSomethingOutside) {
  EXPECT_EXIT(run_audited<DrawsFromOutside>(), testing::ExitedWithCode(1),
              "the second execution sent or emitted something else.*faulty station");
}

struct EmitsFromOutside : Station {
  static void handle(State& s, const pdes::Event& event, pdes::Context& ctx) {
    Station::handle(s, event, ctx);
    ctx.emit(kLeftChannel, draws_so_far++);
  }
};

TEST(QueueingNetworkAudit, FindsOutputThatDependsOnSomethingOutside) {
  EXPECT_EXIT(run_audited<EmitsFromOutside>(), testing::ExitedWithCode(1),
              "the second execution sent or emitted something else.*faulty station");
}

struct RemembersTheOutside : Station {
  static void handle(State& s, const pdes::Event& event, pdes::Context& ctx) {
    Station::handle(s, event, ctx);
    ctx.set(s.sojourn_ps, draws_so_far++);
  }
};

TEST(QueueingNetworkAudit, FindsStateThatDependsOnSomethingOutside) {
  EXPECT_EXIT(run_audited<RemembersTheOutside>(), testing::ExitedWithCode(1),
              "the second execution left another state.*faulty station");
}

struct LeavesAFieldOut : Station {
  static void describe(State& s, pdes::StateArchive& archive) {
    archive.word(s.sojourn_ps);  // wrong: served, area_ps and changed are missing
    s.customers.describe(archive, [&](Customer& customer) { archive.bytes(&customer); });
  }
};

TEST(QueueingNetworkRebuild, FindsAFieldThatTheDescriptionLeavesOut) {
  const FaultyNetwork<LeavesAFieldOut> network;
  const MatrixModel matrix{.model = &network, .placer = tests::blocks_of(12, 0), .end = 100_us};
  const core::Digest expected = tests::run_case(matrix, {}).digest;
  EXPECT_NE(tests::run_case(matrix, {.rebuild_events = 500}).digest, expected);
}

}  // namespace
}  // namespace exawarp::examples
