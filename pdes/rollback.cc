// Undoing: stragglers, cancellation, and what keeps a partition within its memory.
//
// Rolling an LP back walks its own chain of records, newest first: old bytes are stored back, the
// sends are cancelled, the event becomes pending again. A cancelled send that was executed in this
// partition rolls its LP back in turn; these wait on a list rather than on the call stack, so a
// long cascade costs memory for pointers only. A send to another partition is cancelled by an
// anti-message that carries its key and incarnation; it finds the executed event in the chain
// of its LP, or meets the pending one as its neighbour in the pending set.
// Incarnations: an LP that was rolled back sends with the same sequence numbers again. The count
// of its rollbacks, carried by the event, tells the new send from the cancelled one.
#include <algorithm>

#include "core/check.h"
#include "pdes/partition.h"

namespace exawarp::pdes {
namespace {

bool same_send(const Event& a, const Event& b) {
  return key_of(a) == key_of(b) && a.incarnation == b.incarnation;
}

// The order of execution, with incarnations last.
bool comes_before(const Event& a, const Event& b) {
  const EventKey ka = key_of(a);
  const EventKey kb = key_of(b);
  return ka != kb ? ka < kb : a.incarnation < b.incarnation;
}

}  // namespace

void Partition::roll_back_if_straggler(const Event& event) {
  if (!setup_.records_history) {
    EXAWARP_CHECK(event.receive_time >= furthest_, event.receive_time.ps, furthest_.ps);
    return;
  }
  const LpSlot slot = directory_.find(event.destination);
  const std::uint64_t newest = slot.header->newest;
  if (!history_.holds(newest) || !comes_before(event, *history_.records[newest].event)) return;
  ++statistics_.primary_rollbacks;
  roll_back(slot, event, nullptr);
}

void Partition::take_in_anti(const Event& event) {
  const LpSlot slot = directory_.find(event.destination);
  for (std::uint64_t i = slot.header->newest;
       history_.holds(i) && history_.records[i].time >= event.receive_time;
       i = history_.previous(i)) {
    Event* executed = history_.records[i].event;
    if (!same_send(*executed, event)) continue;
    cancellations_.push_back(executed);
    work_off_cancellations();
    return;
  }
  Event* anti = events_.allocate();
  *anti = event;
  pending_.push(anti);
  ++antis_pending_;
}

void Partition::roll_back(LpSlot slot, const Event& bound, const Event* victim) {
  LpHeader& header = *slot.header;
  std::uint64_t undone = 0;
  while (history_.holds(header.newest)) {
    const std::uint64_t index = header.newest;
    Event* event = history_.records[index].event;
    if (comes_before(*event, bound)) break;
    undo_record(index, header);
    ++undone;
    if (event == victim)
      events_.release(event);
    else
      pending_.push(event);
  }
  ++header.incarnation;
  statistics_.rolled_back_events += undone;
  statistics_.longest_rollback = std::max(statistics_.longest_rollback, undone);
  trim_dead_head();
}

void Partition::undo_record(std::uint64_t index, LpHeader& header) {
  Record& record = history_.records[index];
  history_.undo.restore(history_.undo_begin(index), history_.undo_end(index));
  const std::uint64_t sent_begin = history_.sent_begin(index);
  const std::uint64_t sent_end = history_.sent_end(index);
  for (std::uint64_t i = sent_end; i-- != sent_begin;) cancel(history_.sent[i]);
  header.sequence -= static_cast<std::uint32_t>(sent_end - sent_begin);
  header.newest = history_.previous(index);
  digest_.subtract(digest_of(*record.event));
  record.event->flags = 0;
  record.event = nullptr;
  if (!extras_.empty() && extras_.back().record >= index) undo_extras(index);
}

void Partition::undo_extras(std::uint64_t index) {
  const auto [first, last] = std::equal_range(
      extras_.begin(), extras_.end(), Extra{index, {}, 0, nullptr, {}},
      [](const Extra& a, const Extra& b) { return a.record < b.record; });
  for (auto extra = first; extra != last; ++extra) {
    if (extra->kind == Extra::Kind::allocated) blocks_.release(extra->block, extra->size_class);
    extra->kind = Extra::Kind::settled;
  }
}

// Most rollbacks undo the newest records; their room is reusable at once.
void Partition::trim_dead_head() {
  Log<Record>& records = history_.records;
  while (records.size() != 0 && records[records.head() - 1].event == nullptr) {
    history_.drop_newest();
    while (!extras_.empty() && extras_.back().record >= records.head()) extras_.pop_back();
  }
}

void Partition::cancel(SentRef sent) {
  if (!sent.is_remote()) {
    ++statistics_.cancelled_events;
    Event* event = sent.event();
    if ((event->flags & kProcessed) != 0)
      cancellations_.push_back(event);
    else
      event->flags |= kCancelled;
    return;
  }
  const RemoteSend& remote = history_.remote[sent.index()];
  Event& anti = departure_to(directory_.partition_of(remote.destination));
  anti.receive_time = remote.time;
  anti.source = remote.source;
  anti.sequence = remote.sequence;
  anti.destination = remote.destination;
  anti.incarnation = remote.incarnation;
  anti.flags = kAnti;
  ++statistics_.anti_messages;
  least_sent_ = std::min(least_sent_, anti.receive_time);
}

void Partition::work_off_cancellations() {
  while (!cancellations_.empty()) {
    Event* event = cancellations_.back();
    cancellations_.pop_back();
    // Another rollback of its LP may have made it pending meanwhile.
    if ((event->flags & kProcessed) == 0) {
      event->flags |= kCancelled;
      continue;
    }
    ++statistics_.secondary_rollbacks;
    roll_back(directory_.find(event->destination), *event, event);
  }
}

// Out of room for history with the next event at GVT: gives up the speculation, so that this
// event, which is certain to commit, can run. A run slows down but never dies of optimism.
void Partition::make_room(Time gvt) {
  if (history_.records.size() < setup_.history_limit || pending_.least() > gvt) return;
  ++statistics_.forced_rollbacks;
  give_up_beyond(gvt);
}

// Records not later than `gvt` stay, wherever they lie in the log: they are committed in all but
// name, and what they sent may be committed already elsewhere.
void Partition::give_up_beyond(Time gvt) {
  gvt = std::max(gvt, frontier_);
  for (std::uint64_t i = history_.records.head(); i-- != history_.records.tail();) {
    if (i >= history_.records.head()) continue;  // trimmed by a rollback below
    Event* event = history_.records[i].event;
    if (event == nullptr || event->receive_time <= gvt) continue;
    roll_back(directory_.find(event->destination), *event, nullptr);
    work_off_cancellations();
  }
  collect(gvt);
}

}  // namespace exawarp::pdes
