#include "pdes/statistics.h"

#include <algorithm>

namespace exawarp::pdes {

void Statistics::merge(const Statistics& other) {
  processed_events += other.processed_events;
  rolled_back_events += other.rolled_back_events;
  primary_rollbacks += other.primary_rollbacks;
  secondary_rollbacks += other.secondary_rollbacks;
  longest_rollback = std::max(longest_rollback, other.longest_rollback);
  cancelled_events += other.cancelled_events;
  anti_messages += other.anti_messages;
  remote_events += other.remote_events;
  rank_events += other.rank_events;
  forced_rollbacks += other.forced_rollbacks;
  audited_events += other.audited_events;
  epochs += other.epochs;
  gvt_rounds = std::max(gvt_rounds, other.gvt_rounds);
  pending_peak = std::max(pending_peak, other.pending_peak);
  history_peak = std::max(history_peak, other.history_peak);
  log_bytes += other.log_bytes;
  event_bytes += other.event_bytes;
  process_ns += other.process_ns;
  exchange_ns += other.exchange_ns;
  collect_ns += other.collect_ns;
  gvt_ns += other.gvt_ns;
}

}  // namespace exawarp::pdes
