#include "io/life/fork.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/error.h"
#include "core/units.h"
#include "io/study/in_file.h"
#include "io/study/yaml_tree.h"

namespace exawarp::io {
namespace {

bool is_how_it_runs(std::string_view key) {
  return key.starts_with("engine.") || key.starts_with("placement.");
}
bool is_no_past(std::string_view key) { return is_how_it_runs(key) || key.starts_with("changes"); }

[[noreturn]] void refuse(const std::string& key) {
  throw core::InputError(
      "--set " + key,
      fmt::format("changes what is simulated, of which the checkpoint holds the past; expected a "
                  "key of \"engine\" or \"placement\", or, for what is behind it, {}",
                  kWhatMayChange));
}

// Whether the changes of `past` come first in `now`, and the others not before `at`.
void check_changes(const Study& past, const Study& now, core::Time at) {
  const auto same = [](const StudyChange& a, const StudyChange& b) {
    return a.at == b.at && a.set == b.set;
  };
  const auto [old, added] = std::ranges::mismatch(past.changes, now.changes, same);
  if (old != past.changes.end()) {
    throw core::InputError("--set changes",
                           "lacks one that the checkpoint has seen; expected "
                           "those of its study, and further ones");
  }
  if (added == now.changes.end() || added->at >= at) return;
  throw core::InputError("--set changes",
                         fmt::format("at {} ps is in the past of the checkpoint; expected {} ps "
                                     "or later",
                                     added->at.ps, at.ps));
}

// Where packets travel as trains, what is under way are promises, which a change would break. The
// network knows whether they do; this is what a study tells of it.
void check_trains(const Study& past) {
  const model::PacketOptions& packets = past.packets;
  const bool may_have = past.network_fidelity == NetworkFidelity::packet && packets.trains &&
                        packets.queues_without_answer() && packets.transport == "plain" &&
                        past.changes.empty() && past.link_faults.empty();
  if (!may_have) return;
  throw core::InputError("--set",
                         "changes a network whose packets travel as trains; expected a checkpoint "
                         "of a run with network.packet.trains=false");
}

}  // namespace

core::Time fork_time(const Checkpoint& from) {
  return std::max(from.totals().at, from.totals().last_event + core::Time{1});
}

Future future_of(const Checkpoint& from, const std::vector<std::string>& overrides, core::Time at) {
  const std::string file = from.study_file();
  const Study past = in_file(file, [&] { return read_study(file, {}); });
  const core::Time first = fork_time(from);
  StudyChange change{.at = at == core::Time{0} ? first : at, .set = {}};
  std::vector<std::string> all;
  for (const std::string& text : overrides) {
    const std::string key = Override::parse(text).path;
    if (!is_no_past(key) && !may_change(key)) refuse(key);
    (is_no_past(key) ? all : change.set).push_back(text);
  }
  if (!change.set.empty()) {
    std::vector<StudyChange> changes = past.changes;
    changes.push_back(std::move(change));
    all.push_back("changes=" + yaml_of(changes));
  }
  Future out{.study = in_file(file, [&] { return read_study(file, all); })};
  check_changes(past, out.study, first);
  if (const auto key = first_difference(past.settings, out.study.settings, is_no_past)) {
    refuse(*key);
  }
  out.forks = out.study.changes.size() > past.changes.size();
  if (out.forks) check_trains(past);
  return out;
}

}  // namespace exawarp::io
