#include "io/life/idle_share.h"

#include <array>
#include <bit>
#include <cmath>
#include <memory>

#include "io/life/agreement.h"
#include "io/life/time_limit.h"

namespace exawarp::io {
namespace {

// A slowdown is found when another simulation would change it by less. One moves the next by about
// a tenth of how far it is from what is sought, so three are enough most often.
constexpr double kSlowdownError = 1e-3;
constexpr int kSimulationsMax = 6;

// What has the same idle time, or nearly, and takes least.
Study to_look_at(const Study& study) {
  Study out = study;
  out.finds_idle_share = false;
  if (out.network_fidelity != NetworkFidelity::analytical) {
    out.network_fidelity = NetworkFidelity::analytical;
    out.shares_interfaces = true;
  }
  out.folding = model::Folding::automatic;
  out.repeating = Repeating::automatic;
  out.backgrounds.clear();
  out.link_faults.clear();
  out.latency_jitter = {};
  out.changes.clear();
  out.trace_power = out.trace_messages = out.traces_all = false;
  out.timeline_devices.reset();
  return out;
}

double found_idle_share(const Study& study, const RunOptions& options) {
  Study look = to_look_at(study);
  model::Accelerator& accelerator = look.system.accelerator;
  if (!accelerator.slows_by_idle_share()) return accelerator.idle_share;
  const TimeLimit limit(options.time_limit_s.value_or(study.engine.time_limit_s), options.started);
  for (int i = 0; i < kSimulationsMax; ++i) {
    const auto alone = pdes::make_single_transport();
    const RunReport report = simulate(look,
                                      {.sync = pdes::Sync::sequential,
                                       .threads = 1,
                                       .seed = options.seed,
                                       .time_limit_s = options.time_limit_s,
                                       .started = options.started},
                                      *alone);
    limit.check(study.file, "when it was being found how long devices are idle");
    if (report.status != RunStatus::finished) break;
    const double before = accelerator.sustained_slowdown();
    accelerator.idle_share = report.outcome->idle_share();
    if (std::abs(accelerator.sustained_slowdown() - before) < kSlowdownError) break;
  }
  return accelerator.idle_share;
}

void set(Study& study, double idle_share) {
  study.finds_idle_share = false;
  study.system.accelerator.idle_share = idle_share;
  study.system.accelerator.idle_share_known = true;
}

}  // namespace

Study with_idle_share_found(const Study& study, const RunOptions& options,
                            pdes::Transport& transport) {
  Study out = study;
  // A share from 0 to 1: the larger of two has the larger bits.
  std::array<std::uint64_t, 1> bits{0};
  agree(transport, [&] {
    if (transport.rank().value != 0) return;
    bits[0] = std::bit_cast<std::uint64_t>(found_idle_share(study, options));
  });
  transport.all_reduce_max(bits);
  set(out, std::bit_cast<double>(bits[0]));
  for (StudyChange& change : out.changes) {
    auto later = std::make_shared<Study>(*change.study);
    set(*later, out.system.accelerator.idle_share);
    change.study = std::move(later);
  }
  return out;
}

}  // namespace exawarp::io
