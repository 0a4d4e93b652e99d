// What changes while a study is simulated: `changes` of a study (docs/guide/faults.md), which is
// also what a fork adds to the study of its checkpoint.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"
#include "io/study/keys.h"
#include "io/study/settings.h"

namespace exawarp::io {

struct Study;

struct StudyChange {
  core::Time at;                 // of the first events that see it
  std::vector<std::string> set;  // path.to.key=value, as after --set
  // The whole study as it is from then on, what changed before included.
  std::shared_ptr<const Study> study = {};
};

const Keys<StudyChange>& change_keys();

// Of a study's root; without their studies. Throws core::InputError where they are not ascending.
std::vector<StudyChange> read_changes(const YamlSection& root, const KeySchema& key);

// As the value of a study's key `changes`.
std::string yaml_of(std::span<const StudyChange> changes);

// Whether what devices, links and packets hold means the same whatever this key of a study says, so
// that it may change: faults, jitter, routing, marks, numbers of the congestion control.
bool may_change(std::string_view key);
// For a message: what may.
inline constexpr const char* kWhatMayChange =
    "faults, jitter, packet.routing, packet.ecn or numbers of the congestion control";

// The first key that one of them has and the other has not, or has otherwise.
std::optional<std::string> first_difference(const Settings& a, const Settings& b,
                                            bool (*ignored)(std::string_view key));

}  // namespace exawarp::io
