// The worker loop of every mode:
//
//   until GVT reaches the end:
//     run each partition to GVT + window            (executor; after taking messages in and
//                                                    committing up to GVT)
//     exchange messages between ranks, compute GVT  (synchronise)
//     adapt the window
//
// Modes differ in two settings. Sequential: one partition, no history, endless window.
// Conservative: no history, window = lookahead. Optimistic: history, adaptive window.
//
// GVT: messages lie in mailboxes, or are on their way between ranks, and their senders' votes
// report the least time of those. So the least vote bounds every event that is unprocessed
// anywhere. No rank continues before it has all that was sent to it.
#include "pdes/engine.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include "core/check.h"
#include "core/error.h"
#include "core/machine.h"
#include "pdes/directory.h"
#include "pdes/executor.h"
#include "pdes/mailbox.h"
#include "pdes/partition.h"
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
        window({.lookahead = the_model.lookahead(),
                .fixed = the_options.window,
                .conservative = the_options.sync != Sync::optimistic,
                .partitions = placement.partitions()}),
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
                         .history_limit = 0};
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
  }

  void initialise();
  Time synchronise();
  void receive(std::span<const Event> events);
  [[nodiscard]] GvtVote vote() const;
  void run_epoch(Time gvt);
  void account_lost_time(Clock::time_point epoch_started);
  void sample(Time gvt, std::uint64_t host_ns);
  void sample_if_asked(Time gvt);
  void complete_series(Time gvt, RunResult& result);
  [[nodiscard]] std::uint32_t workers() const {
    return std::min(options.threads, placement.partitions_per_rank);
  }
  void finish(Partition& partition) const;
  [[nodiscard]] std::optional<Event> first_late();
  [[nodiscard]] bool is_stopped() const { return latest.request == Request::stop; }
  [[nodiscard]] RunResult collect_results(double run_s);

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

void Engine::Parts::initialise() {
  executor->for_each([this](std::uint32_t i) { partitions[i]->initialise(model); });
}

void Engine::Parts::receive(std::span<const Event> events) {
  const std::uint32_t first = transport.rank().value * placement.partitions_per_rank;
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
  if (limit > 0 && seconds_since(constructed) > limit)
    vote.request = Request::stop;
  else if (sampler && transport.rank().value == 0 && sampler->is_due(ns_since(run_started)))
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
  const std::uint64_t epoch_ns = ns_since(epoch_started) * workers();
  lost_ns += epoch_ns - std::min(epoch_ns, busy_ns - busy_before_ns);
  busy_before_ns = busy_ns;
}

void Engine::Parts::run_epoch(Time gvt) {
  ++epochs;
  mailboxes.next_epoch();
  const EpochOrder order{.gvt = gvt,
                         .horizon = std::min(saturating_add(gvt, window.span()), options.end),
                         .event_limit = window.event_limit()};
  executor->for_each([&](std::uint32_t i) { partitions[i]->run_epoch(order); });
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

RunResult Engine::run(const ProgressListener& progress) {
  Parts& p = *parts_;
  p.initialise();
  RunResult timing;
  timing.setup_s = seconds_since(p.constructed);
  p.run_started = Clock::now();
  Time gvt = p.synchronise();
  p.sample_if_asked(gvt);
  while (gvt < p.options.end && !p.is_stopped()) {
    const auto epoch_started = Clock::now();
    p.run_epoch(gvt);
    const Time next = p.synchronise();
    p.account_lost_time(epoch_started);
    EXAWARP_CHECK(next >= gvt, next.ps, gvt.ps, p.transport.rank().value, p.options.seed);
    gvt = next;
    p.sample_if_asked(gvt);
    p.window.update({.processed = p.latest.processed,
                     .rolled_back = p.latest.rolled_back,
                     .busy_ns = p.latest.busy_ns,
                     .lost_ns = p.latest.lost_ns});
    if (progress)
      progress({gvt, p.latest.processed - p.latest.rolled_back, p.latest.processed,
                seconds_since(p.run_started)});
  }
  const double run_s = seconds_since(p.run_started);
  RunResult result = p.collect_results(run_s);
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

RunResult Engine::Parts::collect_results(double run_s) {
  RunResult result;
  result.run_s = run_s;
  Statistics mine;
  core::Digest digest;
  Time last{0};
  for (const auto& partition : partitions) {
    if (options.sync == Sync::optimistic) finish(*partition);
    result.partitions.push_back(partition->statistics());
    mine.merge(partition->statistics());
    digest.add(partition->digest().value);
    last = std::max(last, partition->last_committed());
  }
  mine.gvt_rounds = gvt_rounds;
  mine.gvt_ns = gvt_ns;
  directory.visit_all([&](LpId lp, LpSlot slot) {
    core::Hasher hash;
    hash.word(lp.value);
    hash.word(directory.types()[slot.type].digest(state_of(slot.header)));
    digest.add(hash.value());
  });
  std::array<std::uint64_t, 1> sum{digest.value};
  transport.all_reduce_sum(sum);
  std::array<std::uint64_t, 1> latest_ps{static_cast<std::uint64_t>(last.ps)};
  transport.all_reduce_max(latest_ps);
  result.digest.value = sum[0];
  const RankMemory memory{.lp_bytes = directory.lp_bytes(),
                          .history_bytes = mine.log_bytes,
                          .event_bytes = mine.event_bytes,
                          .directory_bytes = directory.table_bytes()};
  const auto [most, least] = extremes_over_ranks(memory, transport);
  result.most_memory = most;
  result.least_memory = least;
  result.last_event = Time{static_cast<std::int64_t>(latest_ps[0])};
  result.total = over_all_ranks(mine, transport);
  result.threads = workers();
  result.partition_count = placement.partitions();
  result.stopped_at_limit = is_stopped() && latest.least < options.end;
  result.host_time = account_host_time(
      {.run_s = run_s,
       .workers = workers(),
       .first_partition = transport.rank().value * placement.partitions_per_rank,
       .partitions = result.partitions,
       .gvt_ns = gvt_ns},
      transport);
  return result;
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
