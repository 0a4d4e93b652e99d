// What a partition remembers of the events it executed and may have to undo.
//
// Three logs: records (one for each executed event), undo entries, and sends.
// An LP holds the index of its newest record, and each record that of the LP's previous one, so a
// rollback walks one LP's chain and fossil collection moves the tail. An index below the tail
// means "nothing to undo", so collection touches no LP; a record carries its receive time, so
// it touches no event.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pdes/event.h"
#include "pdes/log.h"
#include "pdes/undo.h"

namespace exawarp::pdes {

// Half a cache line: indices of the other logs are kept as their low halves, and completed from
// the log's tail, as a log never holds 2^32 entries (history_limit() of the engine sees to it).
struct Record {
  Time time;
  Event* event;  // null: undone
  std::uint32_t previous_distance;  // back to the LP's record before this one; saturated
  std::uint32_t undo_begin;
  std::uint32_t sent_begin;
  std::uint32_t remote_begin;
};
static_assert(sizeof(Record) == 32);

// A send of an executed event: a pointer inside the partition, an index of the remote log
// (odd) for other partitions.
class SentRef {
 public:
  static SentRef local(Event* event) { return SentRef{reinterpret_cast<std::uintptr_t>(event)}; }
  static SentRef remote(std::uint64_t index) { return SentRef{(index << 1) | 1}; }
  SentRef() = default;

  [[nodiscard]] bool is_remote() const { return (bits_ & 1) != 0; }
  [[nodiscard]] Event* event() const { return reinterpret_cast<Event*>(bits_); }
  [[nodiscard]] std::uint64_t index() const { return bits_ >> 1; }

 private:
  explicit SentRef(std::uint64_t bits) : bits_(bits) {}
  std::uint64_t bits_;
};

// Enough of a remote send to make its anti-message.
struct RemoteSend {
  Time time;
  LpId source;
  std::uint32_t sequence;
  LpId destination;
  std::uint32_t incarnation;
};

struct History {
  Log<Record> records{256};
  UndoLog undo;
  Log<SentRef> sent{256};
  Log<RemoteSend> remote{64};

  // Appends the record of an event that is about to be executed, by an LP whose newest record so
  // far is `previous`. Returns its index.
  std::uint64_t push_record(Event* event, std::uint64_t previous) {
    constexpr std::uint64_t kFar = 0xffffffff;
    const std::uint64_t index = records.head();
    records.push({event->receive_time, event,
                  static_cast<std::uint32_t>(std::min(index - previous, kFar)),
                  static_cast<std::uint32_t>(undo.head()), static_cast<std::uint32_t>(sent.head()),
                  static_cast<std::uint32_t>(remote.head())});
    return index;
  }
  // The LP's record before `index`; below the tail: none that can be undone.
  [[nodiscard]] std::uint64_t previous(std::uint64_t index) {
    return index - records[index].previous_distance;
  }

  // Where a record's entries in the other logs begin and end. `index` may be the records' head.
  [[nodiscard]] std::uint64_t undo_begin(std::uint64_t index) {
    return index == records.head() ? undo.head() : complete(records[index].undo_begin, undo);
  }
  [[nodiscard]] std::uint64_t sent_begin(std::uint64_t index) {
    return index == records.head() ? sent.head() : complete(records[index].sent_begin, sent);
  }
  [[nodiscard]] std::uint64_t remote_begin(std::uint64_t index) {
    return index == records.head() ? remote.head() : complete(records[index].remote_begin, remote);
  }
  [[nodiscard]] std::uint64_t undo_end(std::uint64_t index) { return undo_begin(index + 1); }
  [[nodiscard]] std::uint64_t sent_end(std::uint64_t index) { return sent_begin(index + 1); }

  // Forgets the records below `index`, and what belongs to them.
  void drop_before(std::uint64_t index) {
    undo.drop_before(undo_begin(index));
    sent.drop_before(sent_begin(index));
    remote.drop_before(remote_begin(index));
    records.drop_before(index);
  }
  void drop_newest() {
    const std::uint64_t index = records.head() - 1;
    undo.drop_from(undo_begin(index));
    sent.drop_from(sent_begin(index));
    remote.drop_from(remote_begin(index));
    records.drop_from(index);
  }
  [[nodiscard]] bool holds(std::uint64_t index) const { return index >= records.tail(); }
  [[nodiscard]] std::uint64_t bytes() const {
    return records.capacity_bytes() + undo.capacity_bytes() + sent.capacity_bytes() +
           remote.capacity_bytes();
  }

 private:
  template <class L>  // a Log or the UndoLog
  [[nodiscard]] static std::uint64_t complete(std::uint32_t low, const L& log) {
    return log.tail() + (low - static_cast<std::uint32_t>(log.tail()));
  }
};

}  // namespace exawarp::pdes
