#include "model/network/packet/port_counters.h"

#include <gtest/gtest.h>

#include <map>

#include "model/network/packet/traffic_outcome.h"
#include "pdes/transport.h"
#include "tests/support/traffic_fixture.h"

namespace exawarp::tests {
namespace {

using core::Time;
using model::PortCounters;

struct Counted {
  std::string digest;
  Time width;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, PortCounters::Bucket> buckets;
};

Counted count(const model::TrafficModel& traffic, pdes::Sync sync, std::uint32_t partitions,
              const model::PortCountersOptions& options) {
  const auto transport = pdes::make_single_transport();
  const std::uint32_t lps = traffic.packet_network().lp_count();
  PortCounters counters(partitions, options, nullptr);
  pdes::Engine engine(traffic, tests::blocks_of(lps, 0)(1, partitions),
                      {.sync = sync, .threads = 2}, *transport, &counters);
  Counted out{to_hex(engine.run().digest), {}, {}};
  counters.combine(*transport);
  out.width = counters.width();
  for (const PortCounters::Row& r : counters.rows()) {
    out.buckets[{r.lp.value, r.port, r.index}] = r.bucket;
  }
  return out;
}

class Counters : public testing::Test {
 protected:
  static model::PacketOptions options(bool counts) {
    model::PacketOptions o = tests::plain_packets();
    o.buffer_bytes = 10'000;
    o.recovery = model::Recovery::selective_repeat;
    o.ecn = {.kmin_bytes = 2'000, .kmax_bytes = 8'000};
    o.count_ports = counts;
    return o;
  }
  std::unique_ptr<model::Topology> topology_ = tests::chain(2, 4, 4);
  model::TrafficOptions pairs_{.pattern = model::TrafficPattern::pairs, .message_bytes = 60'000};
  model::TrafficModel traffic_{*topology_, options(true), pairs_, 0};
};

TEST_F(Counters, AddUpToWhatPortsRemember) {
  const tests::TrafficRun run = tests::run_traffic(traffic_);
  const Counted counted = count(traffic_, pdes::Sync::sequential, 1, {});
  PortCounters::Bucket sum;
  std::uint64_t hops = 0;
  for (const auto& [key, b] : counted.buckets) {
    sum.marks += b.marks;
    sum.drops += b.drops;
    sum.queue_peak_ps = std::max(sum.queue_peak_ps, b.queue_peak_ps);
    if (std::get<0>(key) >= 8) hops += b.packets;
    EXPECT_LE(b.busy_ps, counted.width.ps);
    EXPECT_GE(b.busy_ps, 0);
  }
  EXPECT_GT(run.totals.drops, 0u);
  EXPECT_EQ(sum.drops, run.totals.drops);
  EXPECT_EQ(sum.marks, run.totals.marks);
  EXPECT_EQ(hops, run.totals.packet_hops);
  EXPECT_EQ(sum.queue_peak_ps, run.totals.deepest_queue.ps);
}

TEST_F(Counters, AreTheSameInEveryModeAndChangeNoDigest) {
  const model::TrafficModel silent(*topology_, options(false), pairs_, 0);
  const std::string digest = tests::run_traffic(silent).digest;
  const model::PortCountersOptions few{.bucket = Time{10'000}, .buckets_max = 16};
  const Counted expected = count(traffic_, pdes::Sync::sequential, 1, few);
  EXPECT_EQ(expected.digest, digest);
  EXPECT_GT(expected.width, few.bucket);
  for (const std::uint32_t partitions : {2u, 5u}) {
    const Counted result = count(traffic_, pdes::Sync::optimistic, partitions, few);
    EXPECT_EQ(result.digest, digest);
    EXPECT_EQ(result.width, expected.width);
    ASSERT_EQ(result.buckets.size(), expected.buckets.size());
    for (const auto& [key, b] : expected.buckets) {
      const PortCounters::Bucket& other = result.buckets.at(key);
      EXPECT_EQ(std::tuple(b.bytes, b.busy_ps, b.queue_peak_ps, b.packets, b.marks, b.drops),
                std::tuple(other.bytes, other.busy_ps, other.queue_peak_ps, other.packets,
                           other.marks, other.drops));
      EXPECT_LT(std::get<2>(key), few.buckets_max);
    }
  }
}

}  // namespace
}  // namespace exawarp::tests
