// The findings of `exawarp doctor`, of every rank, for people and programs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/life/checkup.h"

namespace exawarp::io {

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
