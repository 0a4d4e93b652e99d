// The worker loop of every mode:
//
//   until GVT reaches the end:
//     run each partition to GVT + window            (executor; after taking messages in and
//                                                    committing up to GVT)
//     exchange messages between ranks, compute GVT  (synchronise)
//     take a cut, where one is due                  (cut_if_due)
//     adapt the window
//
// Modes differ in two settings. Sequential: one partition, no history, endless window.
// Conservative: no history, window = lookahead. Optimistic: history of what lies beyond the
// lookahead, adaptive window.
//
// GVT: messages lie in mailboxes, or are on their way between ranks, and their senders' votes
// report the least time of those. So the least vote bounds every event that is unprocessed
// anywhere. No rank continues before it has all that was sent to it.
#include "pdes/engine.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <iterator>

#include "core/check.h"
#include "core/error.h"
#include "core/machine.h"
#include "pdes/directory.h"
#include "pdes/executor.h"
#include "pdes/mailbox.h"
#include "pdes/partition.h"
#include "pdes/rehearsal.h"
#include "pdes/transport.h"
#include "pdes/window.h"

namespace exawarp::pdes {
namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t ns_since(Clock::time_point start) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

core::Placement placement_for(Sync sync, const core::Placement& asked) {
  if (sync != Sync::sequential) return asked;
  core::Placement one = asked;
  one.partitions_per_rank = 1;
  std::fill(one.partition_of_atom.begin(), one.partition_of_atom.end(), std::uint16_t{0});
  return one;
}

EngineOptions up_to_the_end(EngineOptions options) {
  options.end = std::min(options.end, core::kEndOfTime);
  return options;
}

// Uncommitted events one partition may hold: its share of the budget. On the cluster model an
// event takes 64 bytes, its key 24, its record 32, its send 8 and some four undo entries 64;
// logs and lists grow by doubling, so twice the sum. At most 2^25, so that no log comes near
// the 2^32 entries that a record can tell apart.
std::uint64_t history_limit(const EngineOptions& options, std::uint32_t machine_ranks,
                            std::uint32_t partitions) {
  constexpr std::uint64_t kBytesPerEvent = 384;
  constexpr std::uint64_t kLeast = 64;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 25;
  std::uint64_t budget = options.memory_budget_bytes;
  if (budget == 0) budget = core::discover_machine().memory_available_bytes / 2 / machine_ranks;
  return std::clamp(budget / partitions / kBytesPerEvent, kLeast, kMost);
}

}  // namespace

struct Engine::Parts {
  Parts(const Model& the_model, const core::Placement& asked, const EngineOptions& the_options,
        Transport& the_transport, EmissionSink* sink)
      : model(the_model),
        options(up_to_the_end(the_options)),
        ends_with_time(the_options.end > core::kEndOfTime),
        transport(the_transport),
        placement(placement_for(the_options.sync, asked)),
        directory(the_model, placement, the_transport.rank()),
        mailboxes(placement.partitions_per_rank, placement.ranks),
        executor(make_executor(
            {.threads = std::min(the_options.threads, placement.partitions_per_rank),
             .partitions = placement.partitions_per_rank,
             .first_core = the_transport.machine_rank() * the_options.threads})),
        window(window_setup(the_model.lookahead())),
        outgoing(placement.ranks) {
    EXAWARP_CHECK(placement.ranks == transport.ranks(), placement.ranks, transport.ranks());
    EXAWARP_CHECK(model.lookahead() >= Time{1}, model.lookahead().ps);
    const std::uint32_t locals = placement.partitions_per_rank;
    const bool optimistic = options.sync == Sync::optimistic;
    PartitionSetup setup{.id = {},
                         .first_local = transport.rank().value * locals,
                         .locals = locals,
                         .seed = options.seed,
                         .records_history = optimistic,
                         .lookahead = model.lookahead(),
                         .audit_probability = options.audit_probability,
                         .rebuild_events = options.rebuild_events,
                         .history_limit = 0,
                         .rehearsed_locals = 0};
    if (rehearsed_ranks() != 0) setup.rehearsed_locals = locals / rehearsed_ranks();
    if (optimistic) setup.history_limit = history_limit(options, transport.machine_ranks(), locals);
    for (std::uint32_t i = 0; i < locals; ++i) {
      setup.id = {setup.first_local + i};
      partitions.push_back(
          std::make_unique<Partition>(setup, model, directory, mailboxes, sink));
    }
    if (options.sample_interval_s > 0)
      sampler = std::make_unique<Sampler>(SamplerSetup{
          .interval_ns = static_cast<std::uint64_t>(options.sample_interval_s * 1e9),
          .partitions_per_rank = locals,
          .moments_max = moments_max_for(placement.partitions())});
    if (options.rehearsal != nullptr) {
      EXAWARP_CHECK(placement.ranks == 1, placement.ranks);
      meter.emplace(*options.rehearsal, locals);
    }
  }

  void initialise();
  void go_on();
  Time synchronise();
  void cut_if_due(Time gvt);
  void take_cut(Time at, Time gvt);
  void receive(std::span<const Event> events);
  [[nodiscard]] GvtVote vote() const;
  void run_epoch(Time gvt);
  void account_lost_time(Clock::time_point epoch_started);
  void sample(Time gvt, std::uint64_t host_ns);
  void sample_if_asked(Time gvt);
  void complete_series(Time gvt, RunResult& result);
  [[nodiscard]] std::uint32_t first_local() const {
    return transport.rank().value * placement.partitions_per_rank;
  }
  [[nodiscard]] std::uint32_t workers() const {
    return std::min(options.threads, placement.partitions_per_rank);
  }
  [[nodiscard]] std::uint32_t rehearsed_ranks() const {
    return options.rehearsal == nullptr ? 0 : options.rehearsal->ranks();
  }
  [[nodiscard]] WindowSetup window_setup(Time lookahead) const;
  void finish(Partition& partition) const;
  [[nodiscard]] std::optional<Event> first_late();
  [[nodiscard]] bool is_stopped() const { return latest.request == Request::stop; }
  [[nodiscard]] RunResult collect_results(double run_s);
  [[nodiscard]] CutTotals totals_of_rank() const;
  [[nodiscard]] CutTotals totals_at(Time at);
  [[nodiscard]] Progress progress_at(Time gvt) const;

  const Model& model;
  EngineOptions options;
  bool ends_with_time;  // what lies at options.end was meant to be executed
  Transport& transport;
  core::Placement placement;
  Directory directory;
  Mailboxes mailboxes;
  std::unique_ptr<Executor> executor;
  std::vector<std::unique_ptr<Partition>> partitions;
  Window window;
  std::unique_ptr<Sampler> sampler;  // null: no time series
  std::optional<EpochMeter> meter;   // of a rehearsal
  CutPlan cuts;
  Time next_cut = Time::max();       // in simulated time
  Time last_cut{-1};                 // where the last one was
  double next_cut_s = 0;             // in host time of the run phase
  std::uint32_t cuts_taken = 0;
  double cut_s = 0;
  std::optional<CutTotals> before;   // what this run goes on from
  std::uint64_t restored_lps = 0;
  std::uint64_t epochs = 0;
  std::vector<std::span<const Event>> outgoing;  // by rank, during an exchange
  std::uint64_t gvt_rounds = 0;
  std::uint64_t gvt_ns = 0;
  std::uint64_t lost_ns = 0;         // workers' time outside partitions: barriers, GVT
  std::uint64_t busy_before_ns = 0;  // of all partitions, up to the epoch before
  GvtVote latest;
  Clock::time_point constructed = Clock::now();
  Clock::time_point run_started;
};

Engine::Engine(const Model& model, const core::Placement& placement, const EngineOptions& options,
               Transport& transport, EmissionSink* sink) {
  if (options.sync == Sync::sequential && transport.ranks() != 1)
    throw core::InputError("--sync sequential runs on one rank; started on " +
                           std::to_string(transport.ranks()));
  parts_ = std::make_unique<Parts>(model, placement, options, transport, sink);
}
Engine::~Engine() = default;

// A rehearsal's is that of the run that it rehearses.
WindowSetup Engine::Parts::window_setup(Time lookahead) const {
  const bool rehearses = options.rehearsal != nullptr;
  const std::uint32_t ranks = rehearses ? options.rehearsal->ranks() : placement.ranks;
  const std::uint32_t threads = rehearses ? options.rehearsal->threads() : options.threads;
  return {.lookahead = lookahead,
          .fixed = options.window,
          .conservative = options.sync != Sync::optimistic,
          .partitions = placement.partitions(),
          .workers = ranks * std::min(threads, placement.partitions() / ranks),
          .among_ranks = ranks > 1};
}

void Engine::Parts::initialise() {
  executor->for_each([this](std::uint32_t i) { partitions[i]->initialise(model); });
}

void Engine::Parts::go_on() {
  for (const auto& partition : partitions) partition->go_on();
}

void Engine::Parts::receive(std::span<const Event> events) {
  const std::uint32_t first = first_local();
  for (const Event& event : events) {
    const std::uint32_t owner = directory.partition_of(event.destination);
    EXAWARP_CHECK(owner - first < placement.partitions_per_rank, owner, event.destination.value);
    mailboxes.receive(owner - first, event);
  }
}

GvtVote Engine::Parts::vote() const {
  GvtVote vote{.least = Time::max()};
  for (const auto& partition : partitions) {
    vote.least = std::min(vote.least, partition->least());
    vote.processed += partition->statistics().processed_events;
    vote.rolled_back += partition->statistics().rolled_back_events;
  }
  vote.busy_ns = busy_before_ns;
  vote.lost_ns = lost_ns;
  const double limit = options.time_limit_s;
  const bool first_rank = transport.rank().value == 0;
  if ((limit > 0 && seconds_since(constructed) > limit) ||
      (options.stop_asked != nullptr && options.stop_asked()) ||
      (options.rehearsal != nullptr && options.rehearsal->is_over()))
    vote.request = Request::stop;
  else if (first_rank && cuts.every_s > 0 && seconds_since(run_started) > next_cut_s)
    vote.request = Request::cut;
  else if (sampler && first_rank && sampler->is_due(ns_since(run_started)))
    vote.request = Request::sample;
  return vote;
}

Time Engine::Parts::synchronise() {
  const auto start = Clock::now();
  for (std::uint32_t r = 0; r < placement.ranks; ++r)
    if (r != transport.rank().value) outgoing[r] = mailboxes.outgoing(r);
  latest = transport.exchange(outgoing, vote(), [this](std::span<const Event> e) { receive(e); });
  mailboxes.clear_outgoing();
  ++gvt_rounds;
  gvt_ns += ns_since(start);
  return latest.least;
}

void Engine::Parts::account_lost_time(Clock::time_point epoch_started) {
  std::uint64_t busy_ns = 0;
  for (const auto& partition : partitions) {
    const Statistics& s = partition->statistics();
    busy_ns += s.process_ns + s.exchange_ns + s.collect_ns;
  }
  const std::uint64_t epoch_ns = ns_since(epoch_started);
  const std::uint64_t workers_ns = epoch_ns * workers();
  lost_ns += meter ? meter->lost_ns(partitions, epoch_ns)
                   : workers_ns - std::min(workers_ns, busy_ns - busy_before_ns);
  busy_before_ns = busy_ns;
}

void Engine::Parts::run_epoch(Time gvt) {
  ++epochs;
  mailboxes.next_epoch();
  // Audited runs look at every event alike.
  const Time safe =
      options.audit_probability > 0 ? gvt : saturating_add(gvt, model.lookahead());
  const EpochOrder order{.gvt = gvt,
                         .safe = safe,
                         .horizon = std::min({saturating_add(gvt, window.span()), options.end,
                                              next_cut}),
                         .event_limit = window.event_limit()};
  const auto run = [&](std::uint32_t i) { partitions[i]->run_epoch(order); };
  if (meter) return meter->for_each(*executor, run);
  executor->for_each(run);
}

void Engine::Parts::sample(Time gvt, std::uint64_t host_ns) {
  std::vector<PartitionFigures> figures;
  figures.reserve(partitions.size());
  for (const auto& partition : partitions) {
    const Statistics& s = partition->statistics();
    figures.push_back({.processed_events = s.processed_events,
                       .rolled_back_events = s.rolled_back_events,
                       .pending_events = partition->pending_events(),
                       .history_events = partition->history_events(),
                       .event_bytes = s.event_bytes,
                       .log_bytes = s.log_bytes,
                       .process_ns = s.process_ns,
                       .exchange_ns = s.exchange_ns,
                       .collect_ns = s.collect_ns});
  }
  sampler->add({.host_ns = host_ns, .epoch = epochs, .gvt = gvt, .window = window.span()},
               {.worker_ns = host_ns * workers(), .gvt_ns = gvt_ns * workers()}, figures);
}

// All ranks come to the same, from the same votes and the same GVT.
void Engine::Parts::cut_if_due(Time gvt) {
  if (!cuts.take || gvt >= options.end) return;
  Time at = gvt;
  if (gvt >= next_cut) {
    // Nothing was executed at or beyond it, and there is nothing to execute before GVT.
    at = Time{gvt.ps - gvt.ps % cuts.every.ps};
    next_cut = saturating_add(at, cuts.every);
  } else if (latest.request < Request::cut || (latest.request == Request::cut && gvt == last_cut)) {
    // Without progress since the last one it would hold the same, and undo what leads to progress.
    return;
  }
  last_cut = gvt;
  const auto start = Clock::now();
  take_cut(at, gvt);
  cut_s += seconds_since(start);
  next_cut_s = seconds_since(run_started) + cuts.every_s;
}

// Anti-messages of what is undone are all that is under way between the two steps.
void Engine::Parts::take_cut(Time at, Time gvt) {
  mailboxes.next_epoch();
  executor->for_each([&](std::uint32_t i) { partitions[i]->settle_at(gvt); });
  for (std::uint32_t r = 0; r < placement.ranks; ++r)
    if (r != transport.rank().value) outgoing[r] = mailboxes.outgoing(r);
  transport.exchange(outgoing, {.least = Time::max()},
                     [this](std::span<const Event> e) { receive(e); });
  mailboxes.clear_outgoing();
  mailboxes.next_epoch();
  std::vector<std::vector<CutChunk>> chunks(partitions.size());
  executor->for_each([&](std::uint32_t i) { chunks[i] = partitions[i]->cut(); });
  RankCut cut;
  for (auto& of_partition : chunks)
    std::ranges::move(of_partition, std::back_inserter(cut.chunks));
  cut.totals = totals_at(at);
  ++cuts_taken;
  cuts.take(std::move(cut));
}

RunResult Engine::run(const ProgressListener& progress, const CutPlan& cuts) {
  Parts& p = *parts_;
  p.cuts = cuts;
  if (p.before)
    p.go_on();
  else
    p.initialise();
  if (cuts.take && cuts.every > Time{0}) {
    const Time start = p.before ? p.before->at : Time{0};
    p.next_cut = saturating_add(Time{start.ps - start.ps % cuts.every.ps}, cuts.every);
  }
  p.next_cut_s = cuts.every_s;
  RunResult timing;
  timing.setup_s = seconds_since(p.constructed);
  p.run_started = Clock::now();
  Time gvt = p.synchronise();
  p.sample_if_asked(gvt);
  if (p.is_stopped()) p.cut_if_due(gvt);
  while (gvt < p.options.end && !p.is_stopped()) {
    const auto epoch_started = Clock::now();
    p.run_epoch(gvt);
    const Time next = p.synchronise();
    p.account_lost_time(epoch_started);
    EXAWARP_CHECK(next >= gvt, next.ps, gvt.ps, p.transport.rank().value, p.options.seed);
    gvt = next;
    p.sample_if_asked(gvt);
    p.cut_if_due(gvt);
    p.window.update({.processed = p.latest.processed,
                     .rolled_back = p.latest.rolled_back,
                     .busy_ns = p.latest.busy_ns,
                     .lost_ns = p.latest.lost_ns});
    if (progress)
      progress(p.progress_at(gvt));
  }
  RunResult result = p.collect_results(seconds_since(p.run_started));
  if (p.ends_with_time && !p.is_stopped() && gvt >= p.options.end && gvt < Time::max())
    result.late = p.first_late();
  result.setup_s = timing.setup_s;
  p.complete_series(gvt, result);
  return result;
}

namespace {

Statistics over_all_ranks(const Statistics& mine, Transport& transport) {
  StatisticsWords sums = words_of(mine);
  StatisticsWords maxima = sums;
  transport.all_reduce_sum(sums);
  transport.all_reduce_max(maxima);
  return combined(sums, maxima);
}

std::uint64_t sum_over_ranks(std::uint64_t mine, Transport& transport) {
  std::array<std::uint64_t, 1> sum{mine};
  transport.all_reduce_sum(sum);
  return sum[0];
}

Time latest_of_ranks(Time mine, Transport& transport) {
  std::array<std::uint64_t, 1> latest_ps{static_cast<std::uint64_t>(mine.ps)};
  transport.all_reduce_max(latest_ps);
  return Time{static_cast<std::int64_t>(latest_ps[0])};
}

// Field by field; the least of x is the complement of the most of ~x.
std::array<RankMemory, 2> extremes_over_ranks(const RankMemory& mine, Transport& transport) {
  constexpr std::size_t kWords = sizeof(RankMemory) / sizeof(std::uint64_t);
  std::array<std::uint64_t, 2 * kWords> words{};
  std::memcpy(words.data(), &mine, sizeof mine);
  for (std::size_t i = 0; i < kWords; ++i) words[kWords + i] = ~words[i];
  transport.all_reduce_max(words);
  for (std::size_t i = 0; i < kWords; ++i) words[kWords + i] = ~words[kWords + i];
  std::array<RankMemory, 2> most_then_least;
  std::memcpy(static_cast<void*>(most_then_least.data()), words.data(), sizeof words);
  return most_then_least;
}

}  // namespace

void Engine::Parts::sample_if_asked(Time gvt) {
  const bool at_the_end = gvt >= options.end;  // complete_series() comes next
  if (latest.request == Request::sample && !at_the_end) sample(gvt, ns_since(run_started));
}

// The last moment of the series has what collect_results() committed, at the end of the run phase.
void Engine::Parts::complete_series(Time gvt, RunResult& result) {
  if (!sampler) return;
  const Time reached = gvt < options.end ? gvt : result.last_event;
  sample(std::max(reached, sampler->newest_gvt()),
         static_cast<std::uint64_t>(result.run_s * 1e9));
  result.series = sampler->gathered(transport);
}

// What was executed is committed, unless the run was stopped: then mailboxes may hold messages for
// GVT itself, so what lies before it counts, and nothing else does.
void Engine::Parts::finish(Partition& partition) const {
  if (!is_stopped()) return partition.collect(Time::max());
  partition.give_up_beyond(latest.least - Time{1});
}

// Of this rank; the first one's include those of the cut that the run goes on from.
CutTotals Engine::Parts::totals_of_rank() const {
  CutTotals mine;
  if (before && transport.rank().value == 0) mine = *before;
  for (const auto& partition : partitions) {
    mine.statistics.merge(partition->statistics());
    mine.digest.add(partition->digest().value);
    mine.last_event = std::max(mine.last_event, partition->last_committed());
  }
  mine.statistics.gvt_rounds += gvt_rounds;
  mine.statistics.gvt_ns += gvt_ns;
  return mine;
}

CutTotals Engine::Parts::totals_at(Time at) {
  CutTotals all = totals_of_rank();
  all.at = at;
  all.statistics = over_all_ranks(all.statistics, transport);
  all.digest.value = sum_over_ranks(all.digest.value, transport);
  all.last_event = latest_of_ranks(all.last_event, transport);
  all.run_s = seconds_since(run_started) + (before ? before->run_s : 0);
  return all;
}

Progress Engine::Parts::progress_at(Time gvt) const {
  Progress now{.gvt = gvt,
               .committed_events = latest.processed - latest.rolled_back,
               .processed_events = latest.processed,
               .run_s = seconds_since(run_started)};
  if (before) {
    now.committed_events += before->statistics.committed_events();
    now.processed_events += before->statistics.processed_events;
    now.run_s += before->run_s;
  }
  return now;
}

RunResult Engine::Parts::collect_results(double run_s) {
  RunResult result;
  for (const auto& partition : partitions) {
    if (options.sync == Sync::optimistic) finish(*partition);
    result.partitions.push_back(partition->statistics());
  }
  CutTotals mine = totals_of_rank();
  directory.visit_all([&](LpId lp, LpSlot slot) {
    core::Hasher hash;
    hash.word(lp.value);
    hash.word(directory.types()[slot.type].digest(state_of(slot.header)));
    mine.digest.add(hash.value());
  });
  result.digest.value = sum_over_ranks(mine.digest.value, transport);
  result.last_event = latest_of_ranks(mine.last_event, transport);
  const RankMemory memory{.lp_bytes = directory.lp_bytes(),
                          .history_bytes = mine.statistics.log_bytes,
                          .event_bytes = mine.statistics.event_bytes,
                          .directory_bytes = directory.table_bytes()};
  const auto [most, least] = extremes_over_ranks(memory, transport);
  result.most_memory = most;
  result.least_memory = least;
  result.total = over_all_ranks(mine.statistics, transport);
  result.threads = workers();
  result.partition_count = placement.partitions();
  result.stopped = is_stopped() && latest.least < options.end;
  result.run_s = run_s + (before ? before->run_s : 0);
  result.cuts = cuts_taken;
  result.cut_s = cut_s;
  result.host_time = account_host_time(
      {.run_s = run_s,
       .workers = workers(),
       .first_partition = transport.rank().value * placement.partitions_per_rank,
       .partitions = result.partitions,
       .gvt_ns = gvt_ns},
      transport);
  return result;
}

bool Engine::wants(const CutChunk& chunk) const {
  const Directory& directory = parts_->directory;
  const std::uint32_t first = parts_->first_local();
  for (std::uint32_t lp = chunk.first.value; lp <= chunk.last.value; ++lp)
    if (directory.partition_of({lp}) - first < parts_->placement.partitions_per_rank) return true;
  return false;
}

void Engine::restore(std::span<const std::byte> chunk) {
  Parts& p = *parts_;
  p.restored_lps += restore_chunk(chunk, p.directory, [&p](LpId lp) -> Partition* {
    const std::uint32_t owner = p.directory.partition_of(lp) - p.first_local();
    return owner < p.placement.partitions_per_rank ? p.partitions[owner].get() : nullptr;
  });
}

void Engine::go_on_from(const CutTotals& totals) {
  std::uint64_t lps = 0;
  parts_->directory.visit_all([&](LpId, LpSlot) { ++lps; });
  if (parts_->restored_lps != lps) throw core::InputError("lacks logical processes");
  parts_->before = totals;
  parts_->before->statistics.log_bytes = 0;  // memory is this run's
  parts_->before->statistics.event_bytes = 0;
}

namespace {

// The first event of all ranks; `mine` may be null. Word by word the least over the ranks that had
// the least in all words before; the least of x is the complement of the most of ~x.
std::optional<Event> first_of_all(const Event* mine, Transport& transport) {
  std::array<std::uint64_t, 3 + kPayloadBytes / 8> words{};
  if (mine != nullptr) {
    words[0] = static_cast<std::uint64_t>(mine->receive_time.ps);
    words[1] = key_of(*mine).origin;
    words[2] = std::uint64_t{mine->destination.value} << 16 | mine->kind;
    std::memcpy(&words[3], mine->payload.data(), kPayloadBytes);
  }
  bool leads = mine != nullptr;
  std::array<std::uint64_t, 1> ranks{leads ? 1u : 0u};
  transport.all_reduce_sum(ranks);
  if (ranks[0] == 0) return std::nullopt;
  for (std::uint64_t& word : words) {
    std::array<std::uint64_t, 1> most{leads ? ~word : 0};
    transport.all_reduce_max(most);
    leads = leads && ~word == most[0];
    word = ~most[0];
  }
  Event first;
  first.receive_time = Time{static_cast<std::int64_t>(words[0])};
  first.source = {static_cast<std::uint32_t>(words[1] >> 32)};
  first.sequence = static_cast<std::uint32_t>(words[1]);
  first.destination = {static_cast<std::uint32_t>(words[2] >> 16)};
  first.kind = static_cast<EventKind>(words[2]);
  std::memcpy(first.payload.data(), &words[3], kPayloadBytes);
  return first;
}

}  // namespace

// GVT has passed the end, so messages and what is pending are all that there is; an optimistic run
// has events among them that were cancelled.
std::optional<Event> Engine::Parts::first_late() {
  mailboxes.next_epoch();
  const Event* first = nullptr;
  for (const auto& partition : partitions) {
    const Event* event = partition->first_left();
    if (event != nullptr && (first == nullptr || key_of(*event) < key_of(*first))) first = event;
  }
  return first_of_all(first, transport);
}

void Engine::visit(const std::function<void(LpId, const void* state)>& visitor) const {
  parts_->directory.visit_all(
      [&](LpId lp, LpSlot slot) { visitor(lp, state_of(slot.header)); });
}

}  // namespace exawarp::pdes
