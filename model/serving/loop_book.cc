#include "model/serving/loop_book.h"

#include <algorithm>

#include "core/random.h"

namespace exawarp::model::serving {

std::optional<std::uint32_t> LoopBook::ask(std::int64_t now_ps) {
  if (requests_.size() == loop_.requests) return std::nullopt;
  const std::uint64_t n = requests_.size();
  requests_.push_back({.prompt = length(loop_.prompt_most, 2 * n),
                       .outputs = length(loop_.output_most, 2 * n + 1),
                       .asked_ps = now_ps});
  return static_cast<std::uint32_t>(n);
}

std::uint64_t LoopBook::length(std::uint32_t most, std::uint64_t draw) const {
  const auto least = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(loop_.least_share * static_cast<double>(most)));
  const std::uint64_t bits = core::random_bits(core::stream_of(loop_.seed, 0), draw);
  return least + bits % (most - least + 1);
}

void LoopBook::finish(std::uint32_t request, std::int64_t now_ps) {
  const LoopRequest& r = requests_[request];
  const auto steps = static_cast<std::int64_t>(r.outputs) - 1;
  first_token_sum_ps_ += r.first_token_ps - r.asked_ps;
  per_token_sum_ps_ += steps == 0 ? 0 : (now_ps - r.first_token_ps) / steps;
  ++finished_;
}

ClosedLoopOutcome LoopBook::outcome(std::int64_t now_ps, std::uint64_t iterations) const {
  const auto mean = [&](core::WidePs sum) {
    return core::Time{static_cast<std::int64_t>(sum / finished_)};
  };
  return {.first_token_mean = mean(first_token_sum_ps_),
          .per_token_mean = mean(per_token_sum_ps_),
          .makespan = core::Time{now_ps},
          .iterations = iterations};
}

}  // namespace exawarp::model::serving
