// How a run went, over host time: totals since its start, at moments a set interval apart.
//
// All ranks sample the same epochs (rank 0's clock decides, and says so in its GVT vote), so the
// figures of a moment add up over ranks. Memory is bounded: a full series drops every other moment
// and doubles the interval; as its figures are totals, that costs only resolution.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/time.h"

namespace exawarp::pdes {

class Transport;

// A moment between two epochs, the same on every rank.
struct Moment {
  std::uint64_t host_ns = 0;  // since the run began, by rank 0's clock
  std::uint64_t epoch = 0;    // epochs done
  core::Time gvt{0};
  core::Time window{0};       // of the epoch that just ended
};

// Plain words, so that ranks can send them.
struct RankFigures {
  std::uint64_t worker_ns = 0;  // host time since the run began, times workers
  std::uint64_t gvt_ns = 0;     // of that, in GVT and exchange between ranks: all workers wait
};

struct PartitionFigures {
  std::uint64_t processed_events = 0;
  std::uint64_t rolled_back_events = 0;
  std::uint64_t pending_events = 0;  // at this moment
  std::uint64_t history_events = 0;  // records held at this moment
  std::uint64_t event_bytes = 0;     // at this moment
  std::uint64_t log_bytes = 0;       // at this moment
  std::uint64_t process_ns = 0;      // as in Statistics
  std::uint64_t exchange_ns = 0;
  std::uint64_t collect_ns = 0;

  void add(const PartitionFigures& other);
};

struct TimeSeries {
  std::uint32_t ranks = 0;  // 0: nothing was sampled, or this is not rank 0
  std::uint32_t partitions_per_rank = 0;
  std::vector<Moment> moments;
  std::vector<RankFigures> rank_figures;            // by moment, then rank
  std::vector<PartitionFigures> partition_figures;  // by moment, rank, partition

  [[nodiscard]] const RankFigures& of_rank(std::size_t moment, std::uint32_t rank) const {
    return rank_figures[moment * ranks + rank];
  }
  // One for each partition of the rank.
  [[nodiscard]] std::span<const PartitionFigures> of_partitions(std::size_t moment,
                                                                std::uint32_t rank) const {
    const std::size_t first = (moment * ranks + rank) * partitions_per_rank;
    return {partition_figures.data() + first, partitions_per_rank};
  }
};

struct SamplerSetup {
  std::uint64_t interval_ns = 0;  // at least so much host time between two moments
  std::uint32_t partitions_per_rank = 1;
  std::size_t moments_max = 2;    // the same on every rank, >= 2
};

// Moments so that a series of all ranks stays below about 20 MB.
std::size_t moments_max_for(std::uint32_t partitions_of_all_ranks);

// Collects this rank's share of a series. Owner: the rank's main thread.
class Sampler {
 public:
  explicit Sampler(const SamplerSetup& setup);

  // Whether it is time for the next moment. Only rank 0's answer counts.
  [[nodiscard]] bool is_due(std::uint64_t host_ns) const { return host_ns >= next_ns_; }
  // Requires one entry of `partitions` for each partition of the rank.
  void add(const Moment& moment, const RankFigures& rank,
           std::span<const PartitionFigures> partitions);
  [[nodiscard]] std::uint64_t interval_ns() const { return setup_.interval_ns; }
  // The GVT of the newest moment; 0 before the first.
  [[nodiscard]] core::Time newest_gvt() const;

  // The series of all ranks on rank 0, an empty one elsewhere. Collective.
  [[nodiscard]] TimeSeries gathered(Transport& transport) const;

 private:
  void drop_every_other();

  SamplerSetup setup_;
  std::uint64_t next_ns_ = 0;
  TimeSeries mine_;  // a series of one rank
};

}  // namespace exawarp::pdes
