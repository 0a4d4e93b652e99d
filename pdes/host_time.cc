#include "pdes/host_time.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "core/check.h"
#include "pdes/transport.h"

namespace exawarp::pdes {
namespace {

using Extremes = std::array<PartitionLoad, 2>;  // heaviest, lightest

Extremes extremes_of(std::span<const PartitionLoad> loads) {
  const auto lighter = [](const PartitionLoad& a, const PartitionLoad& b) {
    return a.busy_ns < b.busy_ns;
  };
  return {*std::max_element(loads.begin(), loads.end(), lighter),
          *std::min_element(loads.begin(), loads.end(), lighter)};
}

std::vector<PartitionLoad> loads_of(const RankHostTime& mine) {
  std::vector<PartitionLoad> loads;
  for (const Statistics& s : mine.partitions)
    loads.push_back({.partition = mine.first_partition + loads.size(),
                     .busy_ns = s.process_ns + s.exchange_ns + s.collect_ns,
                     .committed_events = s.committed_events()});
  return loads;
}

// Of all ranks on rank 0, of this rank elsewhere.
Extremes over_all_ranks(const Extremes& mine, Transport& transport) {
  const std::vector<std::byte> bytes = transport.gather(std::as_bytes(std::span(mine)));
  if (transport.rank().value != 0) return mine;
  std::vector<PartitionLoad> all(bytes.size() / sizeof(PartitionLoad));
  std::memcpy(all.data(), bytes.data(), bytes.size());
  return extremes_of(all);
}

}  // namespace

HostTime account_host_time(const RankHostTime& mine, Transport& transport) {
  EXAWARP_CHECK(!mine.partitions.empty(), mine.first_partition);
  enum Word : std::size_t { worker, process, exchange, collect, gvt, partitions, kWords };
  std::array<std::uint64_t, kWords> sums{};
  sums[worker] = static_cast<std::uint64_t>(mine.run_s * 1e9) * mine.workers;
  sums[gvt] = mine.gvt_ns * mine.workers;
  sums[partitions] = mine.partitions.size();
  for (const Statistics& s : mine.partitions) {
    sums[process] += s.process_ns;
    sums[exchange] += s.exchange_ns;
    sums[collect] += s.collect_ns;
  }
  transport.all_reduce_sum(sums);

  const std::uint64_t busy_ns = sums[process] + sums[exchange] + sums[collect];
  // Clocks are read at different places, so the parts may exceed the whole by a little.
  const std::uint64_t whole_ns = std::max(sums[worker], busy_ns + sums[gvt]);
  const auto share = [whole_ns](std::uint64_t ns) {
    return whole_ns == 0 ? 0.0 : static_cast<double>(ns) / static_cast<double>(whole_ns);
  };
  const Extremes extremes = over_all_ranks(extremes_of(loads_of(mine)), transport);
  return {.worker_s = static_cast<double>(whole_ns) * 1e-9,
          .executing = share(sums[process]),
          .mailboxes = share(sums[exchange]),
          .collecting = share(sums[collect]),
          .synchronising = share(sums[gvt]),
          .waiting = share(whole_ns - busy_ns - sums[gvt]),
          .mean_busy_s =
              static_cast<double>(busy_ns) * 1e-9 / static_cast<double>(sums[partitions]),
          .heaviest = extremes[0],
          .lightest = extremes[1]};
}

}  // namespace exawarp::pdes
