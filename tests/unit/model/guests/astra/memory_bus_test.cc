// Packets over the memory bus: each crosses the bus between accelerator and adapter, and the one
// behind it (0.0038 ns/B) where the accelerator reads or writes; a transfer takes (size - 1) G and
// L + 2 o.
#include <gtest/gtest.h>

#include "tests/unit/model/guests/astra/one_collective.h"

namespace exawarp::tests {
namespace {

using namespace model::astra;

constexpr std::uint64_t kBytes = 100'000;
constexpr BusConfig kBus{.latency_ns = 7, .overhead_ns = 5, .gap_ns = 30, .gap_per_byte_ns = 0.01};

Ns transfer(double gap_per_byte) {
  return static_cast<Ns>(2 * 5 + (static_cast<double>(kBytes) - 1) * gap_per_byte + 7);
}
const Ns kOuterNs = transfer(0.01), kInnerNs = transfer(0.0038);

// Two ranks exchange `kBytes` once.
Job exchange(CollectiveKind kind) {
  const std::uint64_t bytes = kind == CollectiveKind::all_gather ? kBytes : 2 * kBytes;
  Job job = collective(kind, Algorithm::ring, 2, bytes);
  job.system.shared_bus = kBus;
  return job;
}

TEST(MemoryBus, APacketIsReadSentReceivedAndWritten) {
  EXPECT_EQ(time_of(exchange(CollectiveKind::all_gather)),
            2 * (kInnerNs + kOuterNs) + link(kBytes));
}

TEST(MemoryBus, AReductionReadsAndWritesItsDataAndTakesItsTime) {
  Job job = exchange(CollectiveKind::reduce_scatter);
  job.system.shared_bus->reduction_delay_ns = 2;
  // To memory and back to be processed, and to memory again.
  EXPECT_EQ(time_of(job), kInnerNs + kOuterNs + link(kBytes) + kOuterNs + 3 * kInnerNs +
                              kBytes / 100 * 2 + 50 + reduction(kBytes));
}

TEST(MemoryBus, AnAllReduceSendsWhatItReducedBack) {
  // The first half's packet goes to the accelerator and back: it is read again for its way out.
  // The second half's is written.
  EXPECT_EQ(time_of(exchange(CollectiveKind::all_reduce)),
            kInnerNs + kOuterNs + link(kBytes) + kOuterNs + 3 * kInnerNs + kBytes / 100 + 50 +
                reduction(kBytes) + link(kBytes) + kInnerNs + kOuterNs);
}

TEST(MemoryBus, TransfersOfASenderAreAGapApart) {
  Job job = collective(CollectiveKind::all_gather, Algorithm::ring, 2, 200);
  job.system.splits = job.system.active_chunks = 2;
  job.system.shared_bus = BusConfig{.gap_ns = 1'000};
  // The second chunk is read a gap after the first. The first, back after 501 ns, is written when
  // that read is over, and the second, back at 1,501 ns, a gap after it.
  EXPECT_EQ(time_of(job), 2'000u);
}

TEST(MemoryBus, AGroupOfSomeRanksPaysItsFixedDelayInstead) {
  Job job = exchange(CollectiveKind::all_gather);
  job.network.dimensions[0].npus = 3;
  auto idle = std::make_shared<Trace>();
  idle->nodes.push_back({.id = 1});
  idle->nodes[0].kind = NodeKind::compute;
  auto grouped = std::make_shared<Trace>(*job.traces[0]);
  grouped->nodes[0].group = 4;
  job.traces = {grouped, grouped, idle};
  job.groups[4] = {.id = 4, .members = {0, 1}, .positions = {}};
  job.groups[4].index();
  EXPECT_EQ(time_of(job), 2 * 10 + link(kBytes));
}

}  // namespace
}  // namespace exawarp::tests
