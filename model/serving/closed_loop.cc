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
#include "model/serving/loop_book.h"

namespace exawarp::model::serving {
namespace {

struct LoopDecode {
  std::uint64_t ends_at = 0;  // count of iterations with decodes
  std::uint32_t request = 0;
  friend auto operator<=>(const LoopDecode&, const LoopDecode&) = default;
};

class Loop {
 public:
  Loop(const ClosedLoop& loop, const IterationTime& time) : loop_(loop), time_(time), book_(loop) {
    for (std::uint32_t c = 0; c < loop.clients; ++c) ask();
  }

  ClosedLoopOutcome run() {
    while (!prompts_.empty() || !decodes_.empty()) iterate();
    return book_.outcome(now_ps_, iterations_);
  }

 private:
  void ask() {
    if (const auto request = book_.ask(now_ps_)) prompts_.push_back(*request);
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
      LoopRequest& r = book_[prompts_[through]];
      const std::uint64_t chunk = std::min(left, r.prompt - r.done);
      work.prompt_core_ps += time_.prompt_core_ps(chunk, r.done);
      work.tokens += chunk;
      ++work.prompts;
      work.prompt_tokens += chunk;
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
      context_ -= book_[request].prompt + book_[request].outputs;
      finish(request);
    }
  }

  void end_prompt() {
    const std::uint32_t request = prompts_.front();
    prompts_.pop_front();
    LoopRequest& r = book_[request];
    r.first_token_ps = now_ps_;
    if (r.outputs == 1) return finish(request);
    context_ += r.prompt + 1;
    decodes_.push({decode_iterations_ + r.outputs - 1, request});
  }

  void finish(std::uint32_t request) {
    book_.finish(request, now_ps_);
    ask();
  }

  const ClosedLoop& loop_;
  const IterationTime& time_;
  LoopBook book_;
  std::deque<std::uint32_t> prompts_;
  std::priority_queue<LoopDecode, std::vector<LoopDecode>, std::greater<>> decodes_;
  std::uint64_t context_ = 0;  // tokens of all that decode
  std::uint64_t decode_iterations_ = 0, iterations_ = 0;
  std::int64_t now_ps_ = 0;
};

}  // namespace

ClosedLoopOutcome run_closed_loop(const ClosedLoop& loop, const IterationTime& time) {
  EXAWARP_CHECK(loop.clients >= 1 && loop.requests >= 1, loop.clients, loop.requests);
  EXAWARP_CHECK(loop.prompt_most >= 1 && loop.output_most >= 1, loop.prompt_most);
  EXAWARP_CHECK(loop.batch_tokens_max >= 1, loop.batch_tokens_max);
  return Loop(loop, time).run();
}

}  // namespace exawarp::model::serving
