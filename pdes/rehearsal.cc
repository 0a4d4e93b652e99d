#include "pdes/rehearsal.h"

#include <algorithm>

#include "core/check.h"
#include "pdes/partition.h"

namespace exawarp::pdes {

EpochMeter::EpochMeter(Rehearsal& rehearsal, std::uint32_t partitions)
    : rehearsal_(rehearsal),
      busy_before_ns_(partitions),
      busy_ns_(partitions),
      sent_before_(partitions),
      sent_(partitions) {
  EXAWARP_CHECK(partitions % rehearsal.ranks() == 0, partitions, rehearsal.ranks());
}

std::uint64_t EpochMeter::lost_ns(std::span<const std::unique_ptr<Partition>> partitions,
                                  std::uint64_t epoch_ns) {
  RehearsedEpoch epoch{.busy_ns = busy_ns_, .departures = sent_};
  std::uint64_t busy_ns = 0;
  for (std::size_t i = 0; i < partitions.size(); ++i) {
    const Statistics& s = partitions[i]->statistics();
    const std::uint64_t ever_ns = s.process_ns + s.exchange_ns + s.collect_ns;
    busy_ns_[i] = ever_ns - busy_before_ns_[i];
    busy_before_ns_[i] = ever_ns;
    sent_[i] = s.rank_events - sent_before_[i];
    sent_before_[i] = s.rank_events;
    busy_ns += busy_ns_[i];
    epoch.committed_events += s.committed_events();
  }
  epoch.serial_ns = epoch_ns - std::min(epoch_ns, busy_ns);
  return rehearsal_.lost_ns(epoch);
}

}  // namespace exawarp::pdes
