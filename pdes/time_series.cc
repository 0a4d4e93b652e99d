// Samples are appended as flat arrays, so that dropping every other moment and gathering the arrays
// of all ranks are one pass each.
#include "pdes/time_series.h"

#include <algorithm>
#include <cstring>

#include "core/check.h"
#include "pdes/transport.h"

namespace exawarp::pdes {
namespace {

// Keeps the chunks of `size` entries with an even number.
template <class T>
void keep_even_chunks(std::vector<T>& values, std::size_t size) {
  const std::size_t chunks = values.size() / size;
  std::size_t kept = 0;
  for (std::size_t chunk = 0; chunk < chunks; chunk += 2, ++kept) {
    const auto from = values.begin() + static_cast<std::ptrdiff_t>(chunk * size);
    std::copy_n(from, size, values.begin() + static_cast<std::ptrdiff_t>(kept * size));
  }
  values.resize(kept * size);
}

// What ranks sent, which lies by rank and moment, by moment and rank. `size`: entries that a rank
// has of one moment.
template <class T>
std::vector<T> gathered_by_moment(const std::vector<T>& mine, std::size_t size,
                                  Transport& transport) {
  const std::vector<std::byte> bytes = transport.gather(std::as_bytes(std::span(mine)));
  const std::size_t ranks = transport.ranks();
  const std::size_t moments = mine.size() / size;
  std::vector<T> all;
  if (transport.rank().value != 0) return all;
  EXAWARP_CHECK(bytes.size() == ranks * mine.size() * sizeof(T), bytes.size(), ranks, mine.size());
  all.resize(ranks * mine.size());
  for (std::size_t m = 0; m < moments; ++m)
    for (std::size_t r = 0; r < ranks; ++r)
      std::memcpy(&all[(m * ranks + r) * size], &bytes[(r * moments + m) * size * sizeof(T)],
                  size * sizeof(T));
  return all;
}

}  // namespace

void PartitionFigures::add(const PartitionFigures& other) {
  processed_events += other.processed_events;
  rolled_back_events += other.rolled_back_events;
  pending_events += other.pending_events;
  history_events += other.history_events;
  event_bytes += other.event_bytes;
  log_bytes += other.log_bytes;
  process_ns += other.process_ns;
  exchange_ns += other.exchange_ns;
  collect_ns += other.collect_ns;
}

std::size_t moments_max_for(std::uint32_t partitions_of_all_ranks) {
  constexpr std::size_t kFiguresMax = std::size_t{1} << 18;  // of a partition at a moment
  return std::clamp<std::size_t>(kFiguresMax / partitions_of_all_ranks, 8, 4096);
}

Sampler::Sampler(const SamplerSetup& setup) : setup_(setup) {
  EXAWARP_CHECK(setup.moments_max >= 2 && setup.partitions_per_rank >= 1, setup.moments_max,
                setup.partitions_per_rank);
  mine_.ranks = 1;
  mine_.partitions_per_rank = setup.partitions_per_rank;
}

core::Time Sampler::newest_gvt() const {
  return mine_.moments.empty() ? core::Time{0} : mine_.moments.back().gvt;
}

void Sampler::add(const Moment& moment, const RankFigures& rank,
                  std::span<const PartitionFigures> partitions) {
  EXAWARP_CHECK(partitions.size() == setup_.partitions_per_rank, partitions.size());
  if (mine_.moments.size() >= setup_.moments_max) drop_every_other();
  mine_.moments.push_back(moment);
  mine_.rank_figures.push_back(rank);
  mine_.partition_figures.insert(mine_.partition_figures.end(), partitions.begin(),
                                 partitions.end());
  next_ns_ = moment.host_ns + setup_.interval_ns;
}

void Sampler::drop_every_other() {
  keep_even_chunks(mine_.moments, 1);
  keep_even_chunks(mine_.rank_figures, 1);
  keep_even_chunks(mine_.partition_figures, setup_.partitions_per_rank);
  setup_.interval_ns *= 2;
}

TimeSeries Sampler::gathered(Transport& transport) const {
  TimeSeries all;
  all.rank_figures = gathered_by_moment(mine_.rank_figures, 1, transport);
  all.partition_figures =
      gathered_by_moment(mine_.partition_figures, setup_.partitions_per_rank, transport);
  if (transport.rank().value != 0) return all;
  all.ranks = transport.ranks();
  all.partitions_per_rank = setup_.partitions_per_rank;
  all.moments = mine_.moments;
  return all;
}

}  // namespace exawarp::pdes
