// Executing: the loop that every mode spends its time in.
//
//   pop the first pending event before the horizon
//   append a record to the history, unless it can't be undone any more
//   call the handler; its sends go to the pending set, or to a mailbox
//   add the event to the digest
//
// An epoch of an optimistic run has two parts. What comes before GVT plus lookahead is certain:
// messages that are still to come arrive later, and within the partition events execute in order.
// So it needs no record, as in a conservative run, and where a lookahead has many events an
// optimistic run is one. All that lies before the latest such event, the frontier, is certain as
// well. What comes after it is speculation, and has records.
//
// A send inside the partition is in order by construction, unless it is earlier than the furthest
// event executed here: only then can it be a straggler, and only then is its LP looked at.
#include "pdes/partition.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "core/check.h"
#include "pdes/whereabouts.h"

namespace exawarp::pdes {
namespace {

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

}  // namespace

Partition::Partition(const PartitionSetup& setup, const Model& model, const Directory& directory,
                     Mailboxes& mailboxes, EmissionSink* sink)
    : setup_(setup),
      directory_(directory),
      mailboxes_(mailboxes),
      sink_(sink),
      context_(*this, model, setup.seed),
      types_foresee_(std::ranges::any_of(
          directory.types(), [](const LpType& type) { return type.foresee != nullptr; })),
      types_foresee_more_(std::ranges::any_of(
          directory.types(), [](const LpType& type) { return type.foresee_more != nullptr; })) {}

void Partition::initialise(const Model& model) {
  const AtWork at_work(*this);
  directory_.visit_partition(setup_.id.value, [&](LpId lp, LpSlot slot) {
    context_.now_ = Time{0};
    context_.self_ = lp;
    context_.header_ = slot.header;
    context_.event_origin_ = std::uint64_t{lp.value} << 32;
    context_.emissions_ = 0;
    model.initialise(lp, state_of(slot.header), context_);
  });
  least_ = std::min(pending_.least(), least_sent_);
}

void Partition::run_epoch(const EpochOrder& order) {
  const AtWork at_work(*this);
  gvt_ = order.gvt;
  context_.header_ = nullptr;  // no event yet
  const std::uint64_t start_ns = now_ns();
  least_sent_ = Time::max();
  mailboxes_.drain(setup_.id.value - setup_.first_local,
                   [this](const Event& event) { take_in(event); });
  const std::uint64_t drained_ns = now_ns();
  if (setup_.records_history) {
    collect(order.gvt);
    make_room(order.gvt);
  }
  const std::uint64_t collected_ns = now_ns();
  EpochOrder limited = order;
  if (setup_.rebuild_events != 0) [[unlikely]] {
    limited.event_limit = std::min(limited.event_limit, rebuild_if_due(order.gvt));
    limited.safe = std::min(limited.safe, order.gvt);
  }
  if (!setup_.records_history) {
    run_until(limited.horizon, limited.event_limit);
  } else {
    run_safely(limited);
    run_ahead(limited);
  }
  least_ = std::min(pending_.least(), least_sent_);

  statistics_.exchange_ns += drained_ns - start_ns;
  statistics_.collect_ns += collected_ns - drained_ns;
  statistics_.process_ns += now_ns() - collected_ns;
  ++statistics_.epochs;
  statistics_.pending_peak = std::max<std::uint64_t>(statistics_.pending_peak, pending_.size());
  statistics_.history_peak =
      std::max<std::uint64_t>(statistics_.history_peak, history_.records.size());
  statistics_.event_bytes = events_.bytes() + pending_.bytes();
  statistics_.log_bytes = setup_.records_history ? history_.bytes() : 0;
}

void Partition::take_in(const Event& event) {
  if ((event.flags & kAnti) != 0) return take_in_anti(event);
  Event* mine = events_.allocate();
  *mine = event;
  if (mine->receive_time <= furthest_) {
    roll_back_if_straggler(*mine);
    work_off_cancellations();
  }
  push(mine);
}

void Partition::run_safely(const EpochOrder& order) {
  records_ = false;
  context_.undo_ = nullptr;
  run_until(std::min(order.safe, order.horizon), std::numeric_limits<std::uint64_t>::max());
  if (!certain_.empty()) deliver_emissions(frontier_);
}

void Partition::run_ahead(const EpochOrder& order) {
  records_ = true;
  context_.undo_ = &history_.undo;
  const std::uint64_t held = std::min(history_.records.size(), setup_.history_limit);
  run_until(order.horizon, std::min(order.event_limit, setup_.history_limit - held));
}

void Partition::run_until(Time horizon, std::uint64_t event_limit) {
  while (event_limit != 0) {
    Event* event = pending_.pop_before(horizon);
    if (event == nullptr) break;
    prefetch_ahead();
    if ((event->flags & kCancelled) != 0) {
      events_.release(event);
      continue;
    }
    if (antis_pending_ != 0 && annihilates(event)) continue;
    execute(event);
    --event_limit;
  }
}

const Event* Partition::first_left() {
  mailboxes_.drain(setup_.id.value - setup_.first_local,
                   [this](const Event& event) { take_in(event); });
  return next_left();
}

// Removes the first event that is not cancelled, and the cancelled ones before it.
Event* Partition::next_left() {
  while (Event* event = pending_.pop_before(Time::max())) {
    const bool cancelled = (event->flags & kCancelled) != 0;
    if (cancelled)
      events_.release(event);
    else if (antis_pending_ == 0 || !annihilates(event))
      return event;
  }
  return nullptr;
}

void Partition::push(Event* event) {
  if (pending_.push(event)) prefetch_state(*event);
}

void Partition::prefetch_ahead() {
  if (const Event* event = pending_.ahead(16)) __builtin_prefetch(event);
  constexpr std::size_t kStatesAhead = 6;
  for (std::size_t n = pending_.front_is_fresh() ? 0 : kStatesAhead; n <= kStatesAhead; ++n) {
    const Event* event = pending_.ahead(n);
    if (event == nullptr) break;
    prefetch_state(*event);
  }
  // Nearer than states are asked for, whose first lines these read.
  if (types_foresee_) foresee(pending_.ahead(3));
  if (!types_foresee_more_) return;
  foresee_more(pending_.ahead(1));
  if (!pending_.late().empty()) foresee_late();
}

// Of those that nobody saw coming; their states were asked for when they were sent.
void Partition::foresee_late() {
  const std::span<const PendingKey> late = pending_.late();
  for (std::size_t n = 0; n < std::min<std::size_t>(3, late.size()); ++n) {
    if (late[n].event->foreseen == 0) foresee(late[n].event);
  }
  foresee_more(late[0].event);
}

void Partition::prefetch_state(const Event& event) const {
  const LpHeader* const header = directory_.find(event.destination).header;
  __builtin_prefetch(header, 1);
  __builtin_prefetch(reinterpret_cast<const std::byte*>(header) + 64, 1);
}

void Partition::foresee(Event* event) {
  if (event == nullptr) return;
  const LpSlot slot = directory_.find(event->destination);
  const auto foresee = directory_.types()[slot.type].foresee;
  if (foresee != nullptr) event->foreseen = foresee(state_of(slot.header), *event, context_);
}

// What foresee() asked for when the event was further off has come by now.
void Partition::foresee_more(const Event* event) {
  if (event == nullptr) return;
  const LpSlot slot = directory_.find(event->destination);
  const auto foresee_more = directory_.types()[slot.type].foresee_more;
  if (foresee_more != nullptr) foresee_more(state_of(slot.header), *event, context_);
}

// An event and its anti-message are neighbours in the pending set: equal key, equal incarnation.
bool Partition::annihilates(Event* event) {
  EXAWARP_CHECK((event->flags & kAnti) == 0, event->receive_time.ps, event->destination.value);
  Event* next = pending_.peek();
  if (next == nullptr || (next->flags & kAnti) == 0 || key_of(*next) != key_of(*event) ||
      next->incarnation != event->incarnation)
    return false;
  Event* anti = pending_.pop_before(Time::max());
  events_.release(anti);
  events_.release(event);
  --antis_pending_;
  return true;
}

void Partition::execute_recorded(Event* event, LpSlot slot) {
  LpHeader& header = *slot.header;
  EXAWARP_DCHECK(!history_.holds(header.newest) ||
                     key_of(*history_.records[header.newest].event) <= key_of(*event),
                 event->receive_time.ps, event->destination.value);
  header.newest = history_.push_record(event, header.newest);
  event->flags = kProcessed;
  furthest_ = std::max(furthest_, event->receive_time);
  call_handler(*event, slot);
  digest_.add(digest_of(*event));
}

void Partition::execute(Event* event) {
  const LpSlot slot = directory_.find(event->destination);
  ++statistics_.processed_events;
  if (!records_) {
    EXAWARP_DCHECK(event->receive_time >= frontier_, event->receive_time.ps, frontier_.ps);
    frontier_ = event->receive_time;
    furthest_ = std::max(furthest_, frontier_);
    last_committed_ = std::max(last_committed_, frontier_);
    call_handler(*event, slot);
    digest_.add(digest_of(*event));
    events_.release(event);
    if (!suspects_.empty()) [[unlikely]] settle_suspects();
    return;
  }
  if (setup_.audit_probability > 0 && is_audited(*event))
    audit(event, slot);
  else
    execute_recorded(event, slot);
  if (!suspects_.empty()) settle_suspects();
}

void Partition::call_handler(const Event& event, LpSlot slot) {
  context_.now_ = event.receive_time;
  context_.self_ = event.destination;
  context_.header_ = slot.header;
  context_.event_origin_ = key_of(event).origin;
  context_.emissions_ = 0;
  directory_.types()[slot.type].handle(state_of(slot.header), event, context_);
}

void Partition::execute_audited(Event* event, LpSlot slot) { execute_recorded(event, slot); }

void Partition::schedule_here(Event& event) {
  if (records_) history_.sent.push(SentRef::local(&event));
  if (event.receive_time <= furthest_) [[unlikely]]
    suspects_.push_back(&event);
  else
    push(&event);
}

Event& Partition::departure_to(std::uint32_t owner) {
  const std::uint32_t here = setup_.id.value - setup_.first_local;
  const std::uint32_t local = owner - setup_.first_local;
  if (local < setup_.locals) {
    const std::uint32_t of_rank = setup_.rehearsed_locals;
    if (of_rank != 0 && here / of_rank != local / of_rank) ++statistics_.rank_events;
    return mailboxes_.new_local(here, local);
  }
  ++statistics_.rank_events;
  return mailboxes_.new_for_rank(here, owner / setup_.locals);
}

void Partition::send_away(const Event& event) {
  ++statistics_.remote_events;
  least_sent_ = std::min(least_sent_, event.receive_time);
  if (records_) {
    history_.sent.push(SentRef::remote(history_.remote.head()));
    history_.remote.push({event.receive_time, event.source, event.sequence, event.destination,
                          event.incarnation});
  } else {
    EXAWARP_CHECK(event.receive_time - context_.now_ >= setup_.lookahead ||
                      event.receive_time >= core::kEndOfTime,
                  event.source.value,
                  event.destination.value, event.receive_time.ps, context_.now_.ps);
  }
}

// Sends of the handler that just ran into times this partition has passed. Undoing their
// destinations cannot reach the handler's own event, which lies before all of them.
void Partition::settle_suspects() {
  while (!suspects_.empty()) {
    Event* event = suspects_.back();
    suspects_.pop_back();
    roll_back_if_straggler(*event);
    work_off_cancellations();
    push(event);
  }
}

void Partition::emit(const Emission& emission) {
  if (!setup_.records_history) return deliver(emission);
  if (!records_) return certain_.push_back(emission);
  extras_.push_back({history_.records.head() - 1, Extra::Kind::emission, 0, nullptr, emission});
}

void* Partition::allocate_block(std::uint32_t size_class) {
  void* block = blocks_.allocate(size_class);
  if (context_.undo_ != nullptr)
    extras_.push_back(
        {history_.records.head() - 1, Extra::Kind::allocated, size_class, block, {}});
  return block;
}

void Partition::release_block(void* block, std::uint32_t size_class) {
  if (context_.undo_ == nullptr) return blocks_.release(block, size_class);
  extras_.push_back({history_.records.head() - 1, Extra::Kind::released, size_class, block, {}});
}

}  // namespace exawarp::pdes
