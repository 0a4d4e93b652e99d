// Events are ends of iterations, in the order of their times, then of their beginnings.
#include "model/serving/pooled_loop.h"

#include <deque>
#include <functional>
#include <queue>
#include <vector>

#include "core/check.h"
#include "model/serving/loop_book.h"

namespace exawarp::model::serving {
namespace {

struct PromptWorker {
  std::vector<std::uint32_t> batch;  // empty: it is free
};

struct PooledDecode {
  std::uint64_t ends_at = 0;  // count of its worker's iterations
  std::uint32_t request = 0;
  friend auto operator<=>(const PooledDecode&, const PooledDecode&) = default;
};

struct DecodeWorker {
  std::priority_queue<PooledDecode, std::vector<PooledDecode>, std::greater<>> decodes;
  std::vector<std::uint32_t> joining;  // with the next iteration
  std::uint64_t context = 0;           // tokens of those in `decodes`
  std::uint64_t iterations = 0;
  bool busy = false;

  [[nodiscard]] std::size_t requests() const { return decodes.size() + joining.size(); }
};

// An iteration's end.
struct PooledEvent {
  std::int64_t at_ps = 0;
  std::uint64_t iteration = 0;
  bool of_prompts = false;
  std::uint32_t worker = 0;
  friend auto operator<=>(const PooledEvent&, const PooledEvent&) = default;
};

class PooledRun {
 public:
  explicit PooledRun(const PooledLoop& loop)
      : loop_(loop),
        book_(loop.clients),
        prompt_workers_(loop.prompts.workers),
        decode_workers_(loop.decodes.workers) {
    for (std::uint32_t c = 0; c < loop.clients.clients; ++c) ask();
  }

  ClosedLoopOutcome run() {
    start();
    while (!events_.empty()) {
      const PooledEvent event = events_.top();
      events_.pop();
      now_ps_ = event.at_ps;
      if (event.of_prompts) {
        end(prompt_workers_[event.worker]);
      } else {
        end(decode_workers_[event.worker]);
      }
      start();
    }
    return book_.outcome(now_ps_, iterations_);
  }

 private:
  void start() {
    hand_over();
    for (std::uint32_t w = 0; w < prompt_workers_.size(); ++w) start_prompts(w);
    for (std::uint32_t w = 0; w < decode_workers_.size(); ++w) start_decodes(w);
  }
  void end_after(core::Time duration, bool of_prompts, std::uint32_t worker) {
    ++iterations_;
    events_.push({now_ps_ + duration.ps, iterations_, of_prompts, worker});
  }
  void ask() {
    if (const auto request = book_.ask(now_ps_)) waiting_.push_back(*request);
  }
  void finish(std::uint32_t request) {
    book_.finish(request, now_ps_);
    ask();
  }

  void start_prompts(std::uint32_t w) {
    PromptWorker& worker = prompt_workers_[w];
    if (!worker.batch.empty() || waiting_.empty()) return;
    IterationWork work;
    while (!waiting_.empty() && worker.batch.size() < loop_.prompts.requests) {
      const std::uint32_t request = waiting_.front();
      waiting_.pop_front();
      worker.batch.push_back(request);
      work.tokens += book_[request].prompt;
      work.prompt_core_ps += loop_.prompts.time->prompt_core_ps(book_[request].prompt, 0);
    }
    work.prompts = work.outputs = worker.batch.size();
    work.prompt_tokens = work.tokens;
    end_after(loop_.prompts.time->of(work), true, w);
  }

  void end(PromptWorker& worker) {
    for (const std::uint32_t request : worker.batch) {
      book_[request].first_token_ps = now_ps_;
      if (book_[request].outputs == 1) {
        finish(request);
      } else {
        handed_over_.push_back(request);
      }
    }
    worker.batch.clear();
  }

  void hand_over() {
    while (!handed_over_.empty()) {
      DecodeWorker* least = nullptr;
      for (DecodeWorker& worker : decode_workers_) {
        if (worker.requests() >= loop_.decodes.requests) continue;
        if (least == nullptr || worker.requests() < least->requests()) least = &worker;
      }
      if (least == nullptr) return;
      least->joining.push_back(handed_over_.front());
      handed_over_.pop_front();
    }
  }

  void start_decodes(std::uint32_t w) {
    DecodeWorker& worker = decode_workers_[w];
    if (worker.busy || worker.requests() == 0) return;
    for (const std::uint32_t request : worker.joining) {
      worker.decodes.push({worker.iterations + book_[request].outputs - 1, request});
      worker.context += book_[request].prompt + 1;
    }
    worker.joining.clear();
    IterationWork work;
    work.decodes = work.outputs = work.tokens = worker.decodes.size();
    work.decode_context = worker.context;
    worker.busy = true;
    end_after(loop_.decodes.time->of(work), false, w);
  }

  void end(DecodeWorker& worker) {
    worker.busy = false;
    ++worker.iterations;
    worker.context += worker.decodes.size();
    while (!worker.decodes.empty() && worker.decodes.top().ends_at == worker.iterations) {
      const std::uint32_t request = worker.decodes.top().request;
      worker.decodes.pop();
      worker.context -= book_[request].prompt + book_[request].outputs;
      finish(request);
    }
  }

  const PooledLoop& loop_;
  LoopBook book_;
  std::vector<PromptWorker> prompt_workers_;
  std::vector<DecodeWorker> decode_workers_;
  std::deque<std::uint32_t> waiting_, handed_over_;  // for a worker of prompts, of decodes
  std::priority_queue<PooledEvent, std::vector<PooledEvent>, std::greater<>> events_;
  std::uint64_t iterations_ = 0;
  std::int64_t now_ps_ = 0;
};

}  // namespace

ClosedLoopOutcome run_pooled_loop(const PooledLoop& loop) {
  EXAWARP_CHECK(loop.clients.clients >= 1 && loop.clients.requests >= 1, loop.clients.requests);
  for (const LoopPool& pool : {loop.prompts, loop.decodes}) {
    EXAWARP_CHECK(pool.time != nullptr && pool.workers >= 1 && pool.requests >= 1, pool.workers);
  }
  return PooledRun(loop).run();
}

}  // namespace exawarp::model::serving
