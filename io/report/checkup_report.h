// The findings of `exawarp doctor`, of every rank, for people and programs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/names.h"

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

// Of all of them.
Verdict worst_of(std::span<const Finding> findings);

// Of one rank.
struct RankCheckup {
  std::uint32_t rank = 0;
  std::string host;
  std::vector<Finding> findings;
};

// As one line of JSON with its end, to be sent to another rank, and back.
std::string line_of(const RankCheckup& checkup);
RankCheckup checkup_of(std::string_view line);

// All findings of the first rank; of the others, those that differ. `ranks` has one at least.
std::string checkup_text(std::span<const RankCheckup> ranks);
std::string checkup_json(std::span<const RankCheckup> ranks);

}  // namespace exawarp::io
