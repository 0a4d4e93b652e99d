// Makes a GOAL schedule, operation by operation, in the binary form of schedule.h: the bytes that
// LogGOPSim's txt2bin writes for the same text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/guests/goal/schedule.h"

namespace exawarp::model::goal {

class ScheduleWriter {
 public:
  // Requires 1 <= ranks <= kRanksMax.
  explicit ScheduleWriter(std::uint32_t ranks) : ranks_(ranks) {}

  // Appends an operation to `rank` and returns its index there. `op.dependences` is counted by
  // the writer.
  std::uint32_t add(std::uint32_t rank, const Op& op);
  // `op` starts after `before` has ended, or has started. Both are operations of `rank`.
  void requires_end(std::uint32_t rank, std::uint32_t op, std::uint32_t before);
  void requires_start(std::uint32_t rank, std::uint32_t op, std::uint32_t before);

  [[nodiscard]] std::vector<std::byte> bytes() const;

 private:
  [[nodiscard]] std::size_t size_bytes() const;
  struct Edge {
    std::uint32_t before, op;
  };
  struct RankOps {
    std::vector<Op> ops;
    std::vector<Edge> ends, starts;
  };
  std::vector<RankOps> ranks_;
};

}  // namespace exawarp::model::goal
