// What a GOAL run says: when each rank finished, and what never met its counterpart.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/ids.h"
#include "model/guests/goal/host.h"

namespace exawarp::pdes {
class Transport;
}

namespace exawarp::io {

class GoalOutcome {
 public:
  static constexpr std::size_t kFindingsMax = 20;

  explicit GoalOutcome(const model::goal::LogGops& model);

  // Adds the final state of `lp`.
  void add(core::LpId lp, const model::goal::Host::State& state);
  // Adds up over all ranks; collective. Afterwards complete on rank 0; numbers on every rank.
  void combine(pdes::Transport& transport);

  // Of each rank of the schedule, in units (model::goal::Parameters).
  [[nodiscard]] std::span<const std::uint64_t> finish() const { return finish_; }
  [[nodiscard]] std::uint64_t messages() const { return totals_[0]; }
  [[nodiscard]] std::uint64_t unfinished() const { return totals_[1]; }  // operations
  [[nodiscard]] std::uint64_t unmatched() const { return totals_[2]; }
  // E.g. "rank 3: operation 17 (receive 8 bytes from rank 2, tag 4) was never met by a message";
  // of the lowest ranks, at most kFindingsMax.
  [[nodiscard]] const std::vector<std::string>& findings() const { return findings_; }
  [[nodiscard]] bool is_complete() const { return unfinished() == 0 && unmatched() == 0; }

 private:
  void note(std::uint32_t rank, const model::goal::QueueEntry& entry, bool message);

  const model::goal::LogGops* model_;
  std::vector<std::uint64_t> finish_;
  std::vector<std::uint64_t> totals_;  // messages, unfinished, unmatched
  std::vector<std::string> findings_;
};

}  // namespace exawarp::io
