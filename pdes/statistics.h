// What a run did, per partition and in total. Plain sums, so that ranks add them up.
#pragma once

#include <array>
#include <cstdint>

namespace exawarp::pdes {

struct Statistics {
  std::uint64_t processed_events = 0;    // executions, those undone later included
  std::uint64_t rolled_back_events = 0;  // executions undone
  std::uint64_t primary_rollbacks = 0;   // caused by a straggler
  std::uint64_t secondary_rollbacks = 0; // caused by a cancellation
  std::uint64_t longest_rollback = 0;    // events undone at once (a maximum)
  std::uint64_t cancelled_events = 0;    // local events cancelled by pointer
  std::uint64_t anti_messages = 0;       // sent to other partitions, cancelled by identifier
  std::uint64_t remote_events = 0;       // sent to other partitions, on any rank
  std::uint64_t rank_events = 0;         // of those, to other ranks
  std::uint64_t forced_rollbacks = 0;    // whole-partition rollbacks for want of memory
  std::uint64_t audited_events = 0;
  std::uint64_t epochs = 0;              // partition epochs
  std::uint64_t gvt_rounds = 0;          // (a maximum: all take part in each)
  std::uint64_t pending_peak = 0;        // events (a maximum over partitions)
  std::uint64_t history_peak = 0;        // uncommitted events (a maximum over partitions)
  std::uint64_t log_bytes = 0;           // memory of the history logs
  std::uint64_t event_bytes = 0;         // memory of the event pools
  std::uint64_t process_ns = 0;          // host time: executing events and rolling back
  std::uint64_t exchange_ns = 0;         // host time: reading mailboxes
  std::uint64_t collect_ns = 0;          // host time: fossil collection
  std::uint64_t gvt_ns = 0;              // host time: exchange between ranks and GVT

  [[nodiscard]] std::uint64_t committed_events() const {
    return processed_events - rolled_back_events;
  }
  [[nodiscard]] std::uint64_t rollbacks() const {
    return primary_rollbacks + secondary_rollbacks;
  }
  // Committed over processed; 1 where nothing ran.
  [[nodiscard]] double efficiency() const {
    return processed_events == 0 ? 1.0
                                 : static_cast<double>(committed_events()) /
                                       static_cast<double>(processed_events);
  }

  // Sums, and maxima where a field says so.
  void merge(const Statistics& other);
};

// The same in words, for a caller that combines the words of several ranks: once added up and once
// by their maxima.
using StatisticsWords = std::array<std::uint64_t, sizeof(Statistics) / sizeof(std::uint64_t)>;
[[nodiscard]] StatisticsWords words_of(const Statistics& statistics);
[[nodiscard]] Statistics combined(const StatisticsWords& sums, const StatisticsWords& maxima);

}  // namespace exawarp::pdes
