// One loop over iterations. Requests that decode advance together, one token an iteration that has
// decodes, so that each is known by the count of such iterations at which it ends: an iteration
// costs the same however many decode. One that gives up leaves its end behind, which is passed
// over.
#include "model/serving/closed_loop.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <utility>
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
    for (receive(); !prompts_.empty() || !decoding_.empty(); receive()) iterate();
    return book_.outcome(now_ps_, iterations_);
  }

 private:
  void ask() {
    if (const auto request = book_.ask(now_ps_)) come_.push_back(*request);
  }
  void receive() {
    const bool idle = prompts_.empty() && decoding_.empty();
    if (!idle && iterations_ % loop_.looks_every != 0) return;
    if (prompts_.empty()) waits_since_ = iterations_;
    prompts_.insert(prompts_.end(), come_.begin(), come_.end());
    come_.clear();
  }
  [[nodiscard]] bool are_gathered() const {
    return decoding_.empty() || book_[prompts_.front()].done > 0 ||
           prompts_.size() >= loop_.gathers || iterations_ - waits_since_ >= loop_.gathers_for;
  }

  void iterate() {
    make_room();
    IterationWork work;
    const bool has_prompts = !prompts_.empty() && are_gathered() && fits(book_[prompts_.front()]);
    const bool decodes = !decoding_.empty() && (loop_.mixes || !has_prompts);
    if (decodes) {
      work.decodes = work.outputs = work.tokens = decoding_.size();
      work.decode_context = context_;
    }
    const std::size_t through = has_prompts ? take_prompts(work) : 0;
    now_ps_ += time_.of(work).ps;
    ++iterations_;
    if (decodes) end_decodes();
    for (std::size_t i = 0; i < through; ++i) end_prompt();
  }

  // ---- the pool

  [[nodiscard]] bool is_alone(const LoopRequest& r) const {
    return decoding_.empty() && entering_ == r.done;
  }
  [[nodiscard]] bool fits(const LoopRequest& r) const {
    const std::uint64_t pool = loop_.pool_tokens;
    if (pool == 0 || r.done > 0 || is_alone(r)) return true;
    if (loop_.reserves_answers) return reserved_ + r.all() <= pool;
    return held() + decoding_.size() + r.entering() + pool / 100 <= pool;
  }
  [[nodiscard]] std::uint64_t held() const { return context_ + entering_; }

  // Of what decodes append next, in a pool that ends.
  void make_room() {
    if (loop_.pool_tokens == 0 || loop_.reserves_answers) return;
    while (decoding_.size() > 1 && held() + decoding_.size() > loop_.pool_tokens) give_up_last();
  }
  void give_up_last() {
    if (!prompts_.empty() && book_[prompts_.front()].done > 0) {
      LoopRequest& r = book_[prompts_.front()];
      entering_ -= std::exchange(r.done, 0);
      reserved_ -= r.all();
      return;
    }
    const std::uint32_t request = decoding_.back();
    decoding_.pop_back();
    LoopRequest& r = book_[request];
    r.generated = r.outputs - (r.ends_at - decode_iterations_);
    r.ends_at = 0;
    context_ -= r.entering();
    reserved_ -= r.all();
    prompts_.push_front(request);
  }

  // ---- prompts, and what is computed anew

  // How many of the first are through with this iteration.
  std::size_t take_prompts(IterationWork& work) {
    // One token at least, so that nothing waits for ever behind decodes.
    std::uint64_t left = loop_.batch_tokens_max > work.tokens ? loop_.batch_tokens_max - work.tokens
                                                              : 1;
    std::size_t through = 0;
    while (through < prompts_.size() && left > 0) {
      LoopRequest& r = book_[prompts_[through]];
      if (!fits(r)) break;
      if (r.done == 0) reserved_ += r.all();
      const std::uint64_t chunk = std::min(left, r.entering() - r.done);
      work.prompt_core_ps += time_.prompt_core_ps(chunk, r.done);
      work.tokens += chunk;
      ++work.prompts;
      work.prompt_tokens += chunk;
      left -= chunk;
      r.done += chunk;
      entering_ += chunk;
      if (r.done < r.entering()) break;
      ++work.outputs;
      ++through;
    }
    return through;
  }

  void end_prompt() {
    const std::uint32_t request = prompts_.front();
    prompts_.pop_front();
    LoopRequest& r = book_[request];
    entering_ -= std::exchange(r.done, 0);
    context_ += r.entering() + 1;
    if (++r.generated == 1) r.first_token_ps = now_ps_;
    if (r.generated == r.outputs) return finish(request);
    r.ends_at = decode_iterations_ + r.outputs - r.generated;
    decoding_.push_back(request);
    decodes_.push({r.ends_at, request});
  }

  // ---- decodes

  void end_decodes() {
    ++decode_iterations_;
    context_ += decoding_.size();
    while (!decodes_.empty() && decodes_.top().ends_at <= decode_iterations_) {
      const LoopDecode ended = decodes_.top();
      decodes_.pop();
      if (book_[ended.request].ends_at != ended.ends_at) continue;  // it had given up
      decoding_.erase(std::find(decoding_.begin(), decoding_.end(), ended.request));
      finish(ended.request);
    }
  }

  void finish(std::uint32_t request) {
    LoopRequest& r = book_[request];
    r.ends_at = 0;
    context_ -= r.all();
    reserved_ -= r.all();
    book_.finish(request, now_ps_);
    ask();
  }

  const ClosedLoop& loop_;
  const IterationTime& time_;
  LoopBook book_;
  std::vector<std::uint32_t> come_;       // not yet looked for
  std::deque<std::uint32_t> prompts_;     // those that have begun first
  std::vector<std::uint32_t> decoding_;   // in the order in which they began
  std::priority_queue<LoopDecode, std::vector<LoopDecode>, std::greater<>> decodes_;
  std::uint64_t context_ = 0;   // tokens of all that decode
  std::uint64_t entering_ = 0;  // tokens done of those in prompts_
  std::uint64_t reserved_ = 0;  // tokens that all that have begun will have
  std::uint64_t decode_iterations_ = 0, iterations_ = 0;
  std::uint64_t waits_since_ = 0;  // iterations_ when the first of prompts_ came, or one before it
  std::int64_t now_ps_ = 0;
};

}  // namespace

ClosedLoopOutcome run_closed_loop(const ClosedLoop& loop, const IterationTime& time) {
  EXAWARP_CHECK(loop.clients >= 1 && loop.requests >= 1, loop.clients, loop.requests);
  EXAWARP_CHECK(loop.prompt_most >= 1 && loop.output_most >= 1, loop.prompt_most);
  EXAWARP_CHECK(loop.batch_tokens_max >= 1 && loop.looks_every >= 1, loop.batch_tokens_max);
  return Loop(loop, time).run();
}

}  // namespace exawarp::model::serving
