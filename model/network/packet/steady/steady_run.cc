#include "model/network/packet/steady/steady_run.h"

#include <algorithm>

namespace exawarp::model {

using core::Time;

static_assert(std::has_unique_object_representations_v<SteadyRun>);

bool SteadyRun::agrees(Time took, std::uint32_t packets, std::uint32_t error_per_million) const {
  __extension__ using Wide = __int128;
  const Wide run = (window_began - run_began).ps;
  const Wide apart = Wide{took.ps} * run_packets - run * packets;
  return (apart < 0 ? -apart : apart) * 1'000'000 <= run * packets * error_per_million;
}

std::int32_t SteadyRun::drift_per_million(bool is_notified) const {
  __extension__ using Wide = __int128;
  const Wide early = (early_ended - run_began).ps, late = (window_began - early_ended).ps;
  const std::uint32_t late_packets = run_packets - early_packets;
  if (early_packets == 0 || late <= 0 || early <= 0) return kUnknownDrift;
  if (run_packets < kWindowsLeast * window_packets) return kUnknownDrift;
  if (is_notified && notified < kNotifiedLeast) return kUnknownDrift;
  const Wide ratio = Wide{late_packets} * early * 1'000'000 / (late * early_packets) - 1'000'000;
  return static_cast<std::int32_t>(std::clamp<Wide>(ratio, -kUnknownDrift, kUnknownDrift));
}

SteadyRun SteadyRun::postponed(Time by) const {
  SteadyRun later = *this;
  for (Time* t : {&later.window_began, &later.run_began, &later.early_ended, &later.next_ended}) {
    *t = core::sum_to_end(*t, by);
  }
  later.skipped = core::sum_to_end(skipped, by);
  return later;
}

bool SteadyRun::take(std::uint32_t number, Time at, std::uint32_t error_per_million) {
  if (window_began.ps < 0) {
    window_began = run_began = at;
    window_first = number;
    return false;
  }
  const std::uint32_t packets = number - window_first;
  if (packets < window_packets) return false;
  const bool goes_on = run_packets != 0 && agrees(at - window_began, packets, error_per_million);
  if (goes_on) {
    run_packets += packets;
  } else {
    // The end of a long run is a change; of short ones, a swing that windows are too short for.
    if (run_packets >= kWindowsLeast * window_packets) {
      window_packets = std::max(window_packets / 4, kWindowLeast);
      misses = 0;
    } else if (++misses > kMissesMax) {
      window_packets = std::min(2 * window_packets, kWindowMost);
      misses = 0;
    }
    run_began = window_began;
    run_packets = packets;
    early_packets = next_packets = packets;
    early_ended = next_ended = at;
    notified = 0;
  }
  if (run_packets >= 2 * next_packets && goes_on) {
    early_packets = next_packets;
    early_ended = next_ended;
    next_packets = run_packets;
    next_ended = at;
  }
  window_began = at;
  window_first = number;
  return goes_on;
}

void describe(pdes::StateArchive& archive, SteadyRuns& runs) {
  runs.of.describe(archive, [&](SteadyRun& run) { archive.bytes(&run); });
}

}  // namespace exawarp::model
