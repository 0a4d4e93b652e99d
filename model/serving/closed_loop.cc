// One loop over iterations. Requests that decode advance together, one token an iteration that has
// decodes, so that each is known by the count of such iterations at which it ends: an iteration
// costs the same however many decode.
#include "model/serving/closed_loop.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <vector>

#include "core/check.h"
#include "core/random.h"

namespace exawarp::model::serving {
namespace {

struct LoopRequest {
  std::uint64_t prompt = 1, outputs = 1, done = 0;  // tokens
  std::int64_t arrival_ps = 0, first_token_ps = 0;
};

struct LoopDecode {
  std::uint64_t ends_at = 0;  // count of iterations with decodes
  std::uint32_t request = 0;
  friend auto operator<=>(const LoopDecode&, const LoopDecode&) = default;
};

std::uint64_t length(const ClosedLoop& loop, std::uint32_t most, std::uint64_t draw) {
  const auto least = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(loop.least_share * static_cast<double>(most)));
  const std::uint64_t bits = core::random_bits(core::stream_of(loop.seed, 0), draw);
  return least + bits % (most - least + 1);
}

core::Time median(std::vector<std::int64_t>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return {*middle};
}

core::Time mean(const std::vector<std::int64_t>& values) {
  core::WidePs sum = 0;
  for (const std::int64_t v : values) sum += v;
  return {static_cast<std::int64_t>(sum / static_cast<std::int64_t>(values.size()))};
}

class Loop {
 public:
  Loop(const ClosedLoop& loop, const IterationTime& time) : loop_(loop), time_(time) {
    for (std::uint32_t c = 0; c < loop.clients; ++c) ask();
  }

  ClosedLoopOutcome run() {
    while (!prompts_.empty() || !decodes_.empty()) iterate();
    return {.first_token_median = median(first_token_ps_),
            .first_token_mean = mean(first_token_ps_),
            .per_token_median = median(per_token_ps_),
            .per_token_mean = mean(per_token_ps_),
            .makespan = core::Time{now_ps_},
            .iterations = iterations_};
  }

 private:
  void ask() {
    if (requests_.size() == loop_.requests) return;
    const std::uint64_t n = requests_.size();
    prompts_.push_back(static_cast<std::uint32_t>(n));
    requests_.push_back({.prompt = length(loop_, loop_.prompt_most, 2 * n),
                         .outputs = length(loop_, loop_.output_most, 2 * n + 1),
                         .arrival_ps = now_ps_});
  }

  void iterate() {
    IterationWork work;
    const bool decodes = !decodes_.empty() && (loop_.mixes || prompts_.empty());
    if (decodes) {
      work.decodes = work.outputs = work.tokens = decodes_.size();
      work.decode_context = context_;
    }
    const std::size_t through = take_prompts(work);
    now_ps_ += time_.of(work).ps;
    ++iterations_;
    if (decodes) end_decodes();
    for (std::size_t i = 0; i < through; ++i) end_prompt();
  }

  // How many of the first prompts are through with this iteration.
  std::size_t take_prompts(IterationWork& work) {
    // One token at least, so that nothing waits for ever behind decodes.
    std::uint64_t left = loop_.batch_tokens_max > work.tokens ? loop_.batch_tokens_max - work.tokens
                                                              : 1;
    std::size_t through = 0;
    while (through < prompts_.size() && left > 0) {
      LoopRequest& r = requests_[prompts_[through]];
      const std::uint64_t chunk = std::min(left, r.prompt - r.done);
      work.prompt_core_ps += time_.prompt_core_ps(chunk, r.done);
      work.tokens += chunk;
      left -= chunk;
      r.done += chunk;
      if (r.done < r.prompt) break;
      ++work.outputs;
      ++through;
    }
    return through;
  }

  void end_decodes() {
    ++decode_iterations_;
    context_ += decodes_.size();
    while (!decodes_.empty() && decodes_.top().ends_at == decode_iterations_) {
      const std::uint32_t request = decodes_.top().request;
      decodes_.pop();
      context_ -= requests_[request].prompt + requests_[request].outputs;
      finish(request);
    }
  }

  void end_prompt() {
    const std::uint32_t request = prompts_.front();
    prompts_.pop_front();
    LoopRequest& r = requests_[request];
    r.first_token_ps = now_ps_;
    if (r.outputs == 1) return finish(request);
    context_ += r.prompt + 1;
    decodes_.push({decode_iterations_ + r.outputs - 1, request});
  }

  void finish(std::uint32_t request) {
    const LoopRequest& r = requests_[request];
    first_token_ps_.push_back(r.first_token_ps - r.arrival_ps);
    const auto steps = static_cast<std::int64_t>(r.outputs) - 1;
    per_token_ps_.push_back(steps == 0 ? 0 : (now_ps_ - r.first_token_ps) / steps);
    ask();
  }

  const ClosedLoop& loop_;
  const IterationTime& time_;
  std::vector<LoopRequest> requests_;  // those asked so far
  std::deque<std::uint32_t> prompts_;
  std::priority_queue<LoopDecode, std::vector<LoopDecode>, std::greater<>> decodes_;
  std::uint64_t context_ = 0;  // tokens of all that decode
  std::uint64_t decode_iterations_ = 0, iterations_ = 0;
  std::int64_t now_ps_ = 0;
  std::vector<std::int64_t> first_token_ps_, per_token_ps_;  // of those that are done
};

}  // namespace

ClosedLoopOutcome run_closed_loop(const ClosedLoop& loop, const IterationTime& time) {
  EXAWARP_CHECK(loop.clients >= 1 && loop.requests >= 1, loop.clients, loop.requests);
  EXAWARP_CHECK(loop.prompt_most >= 1 && loop.output_most >= 1, loop.prompt_most);
  EXAWARP_CHECK(loop.batch_tokens_max >= 1, loop.batch_tokens_max);
  return Loop(loop, time).run();
}

}  // namespace exawarp::model::serving
