// What the clients of a closed loop ask, and what became of it. Implementation of closed_loop.h and
// pooled_loop.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/serving/closed_loop.h"

namespace exawarp::model::serving {

struct LoopRequest {
  std::uint64_t prompt = 1, outputs = 1;   // tokens
  std::uint64_t done = 0, generated = 0;   // of what it begins with; of its answer
  std::uint64_t ends_at = 0;               // count of iterations with decodes, while it decodes
  std::int64_t asked_ps = 0, first_token_ps = 0;
  // What it begins with: its prompt, and of its answer what it has to compute anew.
  [[nodiscard]] std::uint64_t entering() const { return prompt + generated; }
  [[nodiscard]] std::uint64_t all() const { return prompt + outputs; }
};

class LoopBook {
 public:
  explicit LoopBook(const ClosedLoop& loop) : loop_(loop) {}

  // A client asks: which request; none if all have been asked.
  std::optional<std::uint32_t> ask(std::int64_t now_ps);
  [[nodiscard]] LoopRequest& operator[](std::uint32_t request) { return requests_[request]; }
  [[nodiscard]] const LoopRequest& operator[](std::uint32_t request) const {
    return requests_[request];
  }
  // Its last token is there.
  void finish(std::uint32_t request, std::int64_t now_ps);
  // Requires that a request has finished.
  [[nodiscard]] ClosedLoopOutcome outcome(std::int64_t now_ps, std::uint64_t iterations) const;

 private:
  [[nodiscard]] std::uint64_t length(std::uint32_t most, std::uint64_t draw) const;

  ClosedLoop loop_;
  std::vector<LoopRequest> requests_;                        // those asked so far
  core::WidePs first_token_sum_ps_ = 0, per_token_sum_ps_ = 0;  // of those that are done
  std::int64_t finished_ = 0;
};

}  // namespace exawarp::model::serving
