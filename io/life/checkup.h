// What facts about a machine mean for a run, and what to do: `exawarp doctor`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/names.h"
#include "io/life/host_facts.h"

namespace exawarp::io {

enum class Verdict { fine, warning, stops };

inline constexpr core::Named<Verdict> kVerdictNames[] = {
    {"fine", Verdict::fine}, {"warning", Verdict::warning}, {"stops", Verdict::stops}};
constexpr std::span<const core::Named<Verdict>> names_of(Verdict) { return kVerdictNames; }
static_assert(core::names_each(kVerdictNames));

struct Finding {
  std::string subject;  // "open files"
  Verdict verdict = Verdict::fine;
  std::string found;   // what is so, as a value
  std::string advice;  // what to do; empty where it is fine
  bool operator==(const Finding&) const = default;
};

// One of each subject at least, in an order of their own; where something is wrong in several ways,
// the worst.
std::vector<Finding> check_up(const HostFacts& facts);

// Of all of them.
Verdict worst_of(std::span<const Finding> findings);

}  // namespace exawarp::io
