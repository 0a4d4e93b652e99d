#include "io/report/engine_statistics.h"

#include <nlohmann/json.hpp>

namespace exawarp::io {
namespace {

using Json = nlohmann::ordered_json;

Json load_of(const pdes::PartitionLoad& load, const pdes::HostTime& t) {
  const double busy_s = static_cast<double>(load.busy_ns) * 1e-9;
  return {{"partition", load.partition},
          {"busy_s", busy_s},
          {"times_mean", t.mean_busy_s > 0 ? busy_s / t.mean_busy_s : 1.0},
          {"committed_events", load.committed_events}};
}

// Shares of the workers' time that add up to 1, and the extremes among the partitions.
Json host_time(const pdes::HostTime& t) {
  return {{"worker_s", t.worker_s},
          {"executing", t.executing},
          {"mailboxes", t.mailboxes},
          {"fossil_collection", t.collecting},
          {"gvt_and_exchange", t.synchronising},
          {"waiting", t.waiting},
          {"heaviest_partition", load_of(t.heaviest, t)},
          {"lightest_partition", load_of(t.lightest, t)}};
}

// Of one rank: the least and the most over ranks.
Json rank_memory(const pdes::RunResult& result) {
  const auto range = [&](std::uint64_t pdes::RankMemory::*field) {
    return Json{{"minimum", result.least_memory.*field}, {"maximum", result.most_memory.*field}};
  };
  return {{"lp_bytes", range(&pdes::RankMemory::lp_bytes)},
          {"history_bytes", range(&pdes::RankMemory::history_bytes)},
          {"event_bytes", range(&pdes::RankMemory::event_bytes)},
          {"directory_bytes", range(&pdes::RankMemory::directory_bytes)}};
}

}  // namespace

nlohmann::ordered_json engine_statistics(const pdes::RunResult& result) {
  const pdes::Statistics& s = result.total;
  constexpr double kNanosecond = 1e-9;
  const auto seconds = [](std::uint64_t ns) { return static_cast<double>(ns) * kNanosecond; };
  return {{"efficiency", s.efficiency()},
          {"primary_rollbacks", s.primary_rollbacks},
          {"secondary_rollbacks", s.secondary_rollbacks},
          {"longest_rollback_events", s.longest_rollback},
          {"cancelled_events", s.cancelled_events},
          {"anti_messages", s.anti_messages},
          {"partition_crossing_events", s.remote_events},
          {"rank_crossing_events", s.rank_events},
          {"forced_rollbacks", s.forced_rollbacks},
          {"audited_events", s.audited_events},
          {"epochs", s.epochs},
          {"pending_events_peak", s.pending_peak},
          {"uncommitted_events_peak", s.history_peak},
          {"history_bytes", s.log_bytes},
          {"event_bytes", s.event_bytes},
          {"memory_of_a_rank", rank_memory(result)},
          {"process_s", seconds(s.process_ns)},
          {"exchange_s", seconds(s.exchange_ns)},
          {"collect_s", seconds(s.collect_ns)},
          {"gvt_s", seconds(s.gvt_ns)},
          {"last_event_ps", result.last_event.ps},
          {"host_time", host_time(result.host_time)}};
}

}  // namespace exawarp::io
