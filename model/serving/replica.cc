// What a replica does on each of its events; replica.h.
#include "model/serving/replica.h"

#include <algorithm>

#include "model/serving/batch_former.h"
#include "model/serving/handover.h"
#include "model/serving/iteration_time.h"
#include "model/serving/on_devices.h"
#include "model/serving/profile_time.h"
#include "model/serving/token_gaps.h"
#include "pdes/context.h"

namespace exawarp::model::serving {
namespace {

using pdes::Context;

// Of the batch formed last; without attention cores where no kernels were measured.
IterationWork work_of(const Replica::State& s, const Spec& spec) {
  IterationWork work;
  for (const Live& r : s.flight) {
    if (r.batch != s.batches) continue;
    work.tokens += r.tokens;
    if (r.prompt_done()) {
      ++work.decodes;
      work.outputs += r.tokens;
      work.decode_context += r.processed;
    } else {
      if (spec.iteration)
        work.prompt_core_ps += spec.iteration->prompt_core_ps(r.tokens, r.processed);
      ++work.prompts;
      work.prompt_tokens += r.tokens;
      work.prompt_squares += std::uint64_t{r.tokens} * r.tokens;
      work.prompt_past += context_up(r.processed);
      if (r.processed + r.tokens == r.prefill) ++work.outputs;
    }
  }
  return work;
}

// In each stage of the pipeline.
std::int64_t batch_ps(const Replica::State& s, const IterationWork& work, const Spec& spec) {
  const core::WidePs extra_ps = ps_beside_model(s, spec);
  if (spec.iteration) {
    const core::WidePs ps = spec.iteration->of(work).ps + extra_ps;
    return std::max(core::time_to_end(ps / spec.stages), kBatchTimeMin).ps;
  }
  if (spec.profile) {
    const core::WidePs ps = spec.profile->of(work).ps + extra_ps;
    return std::max(core::time_to_end(ps / spec.stages), kBatchTimeMin).ps;
  }
  const BatchTime& time = spec.time;
  core::WidePs ps = time.base.ps + extra_ps;
  for (const Live& r : s.flight) {
    if (r.batch != s.batches) continue;
    ps += core::WidePs{time.per_token.ps} * r.tokens;
    if (r.prompt_done())
      ps += core::WidePs{time.per_context.ps} * r.processed;
    else
      ps += core::WidePs{time.per_pair_half.ps} * r.tokens *
            (r.tokens + 2 * std::uint64_t{r.processed});
  }
  return std::max(core::time_to_end(ps / spec.stages), kBatchTimeMin).ps;
}

const Spec& spec_here(Context& ctx) {
  const auto& serving = ctx.model<Serving>();
  return serving.spec_of(serving.index_of(ctx.self()));
}

// The batch formed last goes to the devices, which say when it is over.
void start_on_devices(Replica::State& s, const Spec& spec, Context& ctx) {
  const IterationWork work = work_of(s, spec);
  IterationBegins begins;
  begins.compute_ps = batch_ps(s, work, spec);
  begins.batch = s.batches;
  ctx.add(s.busy_ps, static_cast<std::uint64_t>(begins.compute_ps));
  ctx.add(s.tokens, work.tokens);
  begin_on_devices(spec, work, begins, ctx);
  if (spec.hands_over && spec.keys_by_layer) send_keys_of_batch(s, spec, ctx);
}

// The batch formed last goes through the stages, each of which has one batch at a time.
void start_here(Replica::State& s, const Spec& spec, Context& ctx) {
  const IterationWork work = work_of(s, spec);
  const std::int64_t stage_ps = batch_ps(s, work, spec);
  // A stage is busy until what it computed is sent on.
  const std::int64_t send_ps = spec.profile ? spec.profile->send(work).ps : 0;
  std::int64_t at_ps = ctx.now().ps - 1;  // the instant that this one belongs to
  for (std::uint32_t stage = 0; stage < s.stage_free_ps.size(); ++stage) {
    const bool last = stage + 1 == s.stage_free_ps.size();
    const core::Time begin{std::max(at_ps, s.stage_free_ps[stage])};
    at_ps = core::sum_to_end(begin, core::Time{stage_ps + (last ? 0 : send_ps)}).ps;
    s.stage_free_ps.assign(ctx, stage, at_ps);
  }
  if (spec.profile && !spec.profile->covers(work)) ctx.add(s.beyond_profile, 1);
  ctx.add(s.busy_ps, static_cast<std::uint64_t>(stage_ps));
  ctx.add(s.tokens, work.tokens);
  ctx.send(ctx.self(), core::Time{at_ps} - ctx.now(), kBatchEnd, BatchEndEvent{s.batches});
}

void start_batch(Replica::State& s, const Spec& spec, Context& ctx) {
  if (spec.devices)
    start_on_devices(s, spec, ctx);
  else
    start_here(s, spec, ctx);
  ctx.set(s.swapped_blocks, 0);
  ctx.add(s.batches, 1);
  ctx.add(s.batches_under_way, 1);
}

void say_left(const Spec& spec, std::int32_t requests, Context& ctx) {
  if (!hears_of_queues(spec.router) || requests == 0) return;
  const auto& serving = ctx.model<Serving>();
  ctx.send(serving.router(), spec.latency, kLeft,
           LeftEvent{.replica = serving.index_of(ctx.self()), .requests = requests});
}

void schedule(Replica::State& s, Context& ctx) {
  const auto& serving = ctx.model<Serving>();
  const Spec& spec = spec_here(ctx);
  ctx.set(s.schedule_sent, 0);
  BatchFormer former(s, spec, ctx);
  while (s.batches_under_way < spec.stages && former.form() != 0) start_batch(s, spec, ctx);
  // Of a pool that takes over, the router counts what is not answered (end_batch()).
  if (&spec != serving.decoding()) say_left(spec, former.left(), ctx);
}

// In a closed loop the user reads the answer, and asks again.
void ask_again(const Live& r, Context& ctx) {
  const auto& serving = ctx.model<Serving>();
  const Spec& spec = serving.spec();
  if (spec.turns.empty() || spec.turns[r.request].next == 0) return;
  const Turn& turn = spec.turns[r.request];
  ctx.send(serving.router(), core::sum_to_end(spec.latency, turn.think), kFollow,
           NextEvent{turn.next - 1});
}

void finish(Replica::State& s, Live& r, BatchFormer& former, Context& ctx) {
  former.release(r);
  account_present(s, ctx);
  ctx.add(s.finished, 1);
  ctx.emit(kDoneChannel, std::uint64_t{r.restarts} << 32 | r.request,
           static_cast<std::uint64_t>(r.first_token_ps), static_cast<std::uint64_t>(ctx.now().ps));
  ask_again(r, ctx);
}

// The gaps that end with a batch. Most requests of a batch were in the one before it and waited
// equally long, so equal ones in a row are counted at once.
class BatchGaps {
 public:
  BatchGaps(Replica::State& s, Context& ctx) : s_(s), ctx_(ctx) {}

  // A token of `r`, its first one or another.
  void token(Live& r) {
    const std::int64_t last_ps = std::exchange(r.token_ps, ctx_.now().ps);
    if (last_ps == 0) return;
    const std::int64_t gap_ps = ctx_.now().ps - last_ps;
    if (gap_ps != gap_ps_) count();
    gap_ps_ = gap_ps;
    ++alike_;
  }
  void count() {
    if (alike_ == 0) return;
    const std::uint32_t bin = gap_bin_of(gap_ps_);
    if (bin != s_.gap_bin) {
      s_.gaps.assign(ctx_, s_.gap_bin, s_.gaps[s_.gap_bin] + s_.gaps_of_bin);
      ctx_.set(s_.gap_bin, bin);
      ctx_.set(s_.gaps_of_bin, 0u);
    }
    ctx_.add(s_.gaps_of_bin, alike_);
    const auto gap = static_cast<std::uint64_t>(gap_ps_);
    s_.gap_sum.add(core::WidePs{gap_ps_} * alike_, ctx_);
    if (gap > s_.gap_most_ps) ctx_.set(s_.gap_most_ps, gap);
    alike_ = 0;
  }

 private:
  Replica::State& s_;
  Context& ctx_;
  std::int64_t gap_ps_ = 0;
  std::uint32_t alike_ = 0;
};

void end_batch(Replica::State& s, std::uint64_t batch, Context& ctx) {
  const Spec& spec = spec_here(ctx);
  BatchFormer former(s, spec, ctx);
  BatchGaps gaps(s, ctx);
  const std::uint32_t finished_before = s.finished;
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < s.flight.size(); ++i) {
    Live r = s.flight[i];
    if (r.batch != batch) {
      if (kept != i) s.flight.assign(ctx, kept, r);
      ++kept;
      continue;
    }
    r.processed += former.computed(r);
    if (r.processed == r.prefill) {
      ++r.processed;  // the end of the prompt is the first token
      if (r.first_token_ps == 0) r.first_token_ps = ctx.now().ps;
    }
    if (r.prompt_done()) gaps.token(r);
    if (r.processed >= r.total())
      finish(s, r, former, ctx);
    else if (spec.hands_over && r.prompt_done())
      hand_over(s, r, spec, ctx);
    else
      s.running.push_back(ctx, r);
  }
  gaps.count();
  while (s.flight.size() > kept) s.flight.erase(ctx, s.flight.size() - 1);
  ctx.check(s.batches_under_way > 0, "serving: a batch ended twice");
  ctx.set(s.batches_under_way, s.batches_under_way - 1);
  take_offers(s, spec, ctx);
  if (&spec == ctx.model<Serving>().decoding())
    say_left(spec, static_cast<std::int32_t>(s.finished - finished_before), ctx);
  ask_for_schedule(s, ctx);
}

void describe_live(pdes::StateArchive& archive, Live& r) { archive.bytes(&r); }

}  // namespace

void PsSum::add(core::WidePs ps, Context& ctx) {
  const core::WidePs sum = this->ps() + ps;
  const auto more = static_cast<std::uint64_t>(sum >> 64);
  ctx.set(low, static_cast<std::uint64_t>(sum));
  if (more != high) ctx.set(high, more);
}

void count_gaps(const Replica::State& s, TokenGaps& gaps) {
  for (std::uint32_t bin = 0; bin < s.gaps.size(); ++bin) gaps.counts[bin] += s.gaps[bin];
  gaps.counts[s.gap_bin] += s.gaps_of_bin;
  gaps.sum_us += static_cast<std::uint64_t>(s.gap_sum.ps() / 1'000'000);
  gaps.most_ps = std::max(gaps.most_ps, s.gap_most_ps);
}

void account_present(Replica::State& s, Context& ctx) {
  const std::uint32_t present = s.arrived - s.finished;
  s.present.add(core::WidePs{ctx.now().ps - s.changed_ps} * present, ctx);
  ctx.set(s.changed_ps, ctx.now().ps);
}

void ask_for_schedule(Replica::State& s, Context& ctx) {
  if (s.schedule_sent != 0) return;
  ctx.set(s.schedule_sent, 1);
  ctx.send(ctx.self(), core::Time{1}, kSchedule);
}

void Replica::handle(State& s, const pdes::Event& event, Context& ctx) {
  switch (event.kind) {
    case kArrive:
      account_present(s, ctx);
      ctx.add(s.arrived, 1);
      BatchFormer(s, spec_here(ctx), ctx)
          .enqueue(static_cast<std::uint32_t>(event.as<ArriveEvent>().request));
      return ask_for_schedule(s, ctx);
    case kSchedule:
      return schedule(s, ctx);
    case kBatchEnd:
      return end_batch(s, event.as<BatchEndEvent>().batch, ctx);
    case kOffer:
      return take_offer(s, event.as<Offer>(), spec_here(ctx), ctx);
    case kPull:
      return take_pull(s, event.as<PullEvent>(), spec_here(ctx), ctx);
    case kKeysCame:
      return count_keys(s, event.as<KeysCameEvent>(), spec_here(ctx), ctx);
    case kTaken:
      return let_go(s, event.as<TakenEvent>(), spec_here(ctx), ctx);
    case kPrompted:
      return note_prompt(s, event.as<PromptedEvent>(), spec_here(ctx), ctx);
    default:
      return ctx.check(false, "a replica received an event of no known kind");
  }
}

void Replica::describe(State& s, pdes::StateArchive& archive) {
  s.waiting.describe(archive, [&](std::uint32_t& request) { archive.word(request); });
  s.ranked.describe(archive, [&](std::uint32_t& request) { archive.word(request); });
  for (auto* lives : {&s.restarted, &s.running, &s.flight})
    lives->describe(archive, [&](Live& r) { describe_live(archive, r); });
  s.stage_free_ps.describe(archive, [&](std::int64_t& time) { archive.word(time); });
  s.cached.describe(archive, [&](CachedBlock& block) { archive.bytes(&block); });
  archive.word(s.idle_first);
  archive.word(s.idle_last);
  for (std::uint32_t* word :
       {&s.idle, &s.admissions, &s.host_blocks, &s.swapped_blocks, &s.held, &s.holders,
        &s.batches_under_way, &s.schedule_sent, &s.decodes_since_prefill, &s.batches, &s.restarts,
        &s.held_most, &s.arrived, &s.finished})
    archive.word(*word);
  for (std::uint64_t* word :
       {&s.tokens, &s.prompt_tokens, &s.found_tokens, &s.forgotten, &s.swaps, &s.drafted,
        &s.accepted, &s.busy_ps, &s.present.low, &s.present.high})
    archive.word(*word);
  archive.word(s.changed_ps);
  for (std::uint64_t* word : {&s.gap_sum.low, &s.gap_sum.high, &s.gap_most_ps})
    archive.word(*word);
  for (std::uint32_t* word : {&s.gap_bin, &s.gaps_of_bin, &s.beyond_profile}) archive.word(*word);
  s.gaps.describe(archive, [&](std::uint64_t& count) { archive.word(count); });
  for (auto* lives : {&s.leaving, &s.arriving})
    lives->describe(archive, [&](Live& r) { describe_live(archive, r); });
  s.asked_ps.describe(archive, [&](std::int64_t& time) { archive.word(time); });
  s.offers.describe(archive, [&](Offer& offer) { archive.bytes(&offer); });
  s.ahead.describe(archive, [&](KeysAhead& ahead) { archive.bytes(&ahead); });
}

}  // namespace exawarp::model::serving
