// What each port of a packet network does over time: the engine's sink for the records that ports
// emit where PacketOptions::count_ports is set. Records count when their event commits, so rollback
// leaves no trace; they are no part of any state, so digests do not change.
//
//   PortCounters counters(partitions, options, &next);       // the engine's sink
//   counters.combine(transport);                             // after the run; collective
//   for (const PortCounters::Row& row : counters.rows()) ...
//
// Memory: 40 bytes for each port that was used and each of at most `buckets_max` buckets. Where a
// run gets longer than that, buckets double and pairs of them become one; so their width depends on
// the last record alone, not on modes, ranks or partitions.
//
// Thread safety: deliver() as EmissionSink says; everything else after the run.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/ids.h"
#include "core/time.h"
#include "pdes/emission.h"

namespace exawarp::pdes {
class Transport;
class Context;
}  // namespace exawarp::pdes

namespace exawarp::model {

constexpr std::uint32_t kPortChannel = 2;  // of emissions

enum class PortRecord : std::uint8_t {
  sent,    // bytes, given to the line: start, end
  queued,  // a packet met a queue of this depth: depth, and when, if not now
  marked,
  dropped,
  paused,  // the other end asked to stop
};

struct PortCountersOptions {
  core::Time bucket{1'000'000};     // width at first
  std::uint32_t buckets_max = 256;  // a power of two
};

class PortCounters final : public pdes::EmissionSink {
 public:
  struct Bucket {
    std::uint64_t bytes = 0;
    std::int64_t busy_ps = 0;        // of the line
    std::int64_t queue_peak_ps = 0;  // the longest wait for the line that a packet met
    std::uint32_t packets = 0, marks = 0, drops = 0, pauses = 0;
  };
  struct Row {
    core::LpId lp;
    std::uint32_t port = 0;
    std::uint32_t index = 0;  // of the bucket: from index * width() on
    Bucket bucket;
  };

  // What is no port's record goes to `next`, if there is one.
  PortCounters(std::uint32_t partitions, const PortCountersOptions& options,
               pdes::EmissionSink* next);

  // Emits a record; for handlers. Times only where the record has them.
  static void emit(pdes::Context& ctx, PortRecord record, std::uint32_t port,
                   std::uint64_t bytes = 0, core::Time from = {}, core::Time until = {});

  void deliver(core::PartitionId partition, const pdes::Emission& emission) override;
  // Without what `next` has.
  [[nodiscard]] std::vector<std::byte> saved() const override;
  void restore(std::span<const std::byte> saved) override;

  // Gathers what all ranks have on rank 0; collective.
  void combine(pdes::Transport& transport);
  // On rank 0, after combine(): by LP, port and time; buckets in which nothing happened are left
  // out.
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] core::Time width() const { return core::Time{width_ps_}; }

 private:
  using Series = std::vector<Bucket>;
  struct Saved {  // a bucket of a port
    std::int64_t width_ps;
    std::uint64_t port, index;
    Bucket bucket;
  };
  struct alignas(64) Part {  // of a partition
    std::int64_t width_ps = 0;
    std::map<std::uint64_t, Series> ports;  // by LP and port
  };
  void fit(Part& part, std::int64_t last_ps) const;
  static void coarsen(Series& series);
  Bucket& at(Part& part, std::uint64_t port, std::int64_t time_ps) const;
  void add_sent(Part& part, std::uint64_t port, std::uint64_t bytes, std::int64_t from,
                std::int64_t until) const;

  std::int64_t width_ps_;
  std::uint32_t buckets_max_;
  pdes::EmissionSink* next_;
  std::vector<Part> parts_;
  std::vector<Row> rows_;
};

}  // namespace exawarp::model
