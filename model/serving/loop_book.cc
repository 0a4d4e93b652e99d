#include "model/serving/loop_book.h"

#include <algorithm>

#include "core/random.h"

namespace exawarp::model::serving {
namespace {

core::Time median(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return {*middle};
}

core::Time mean(const std::vector<std::int64_t>& values) {
  core::WidePs sum = 0;
  for (const std::int64_t v : values) sum += v;
  return {static_cast<std::int64_t>(sum / static_cast<std::int64_t>(values.size()))};
}

}  // namespace

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
  first_token_ps_.push_back(r.first_token_ps - r.asked_ps);
  const auto steps = static_cast<std::int64_t>(r.outputs) - 1;
  per_token_ps_.push_back(steps == 0 ? 0 : (now_ps - r.first_token_ps) / steps);
}

ClosedLoopOutcome LoopBook::outcome(std::int64_t now_ps, std::uint64_t iterations) const {
  return {.first_token_median = median(first_token_ps_),
          .first_token_mean = mean(first_token_ps_),
          .per_token_median = median(per_token_ps_),
          .per_token_mean = mean(per_token_ps_),
          .makespan = core::Time{now_ps},
          .iterations = iterations};
}

}  // namespace exawarp::model::serving
