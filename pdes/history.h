// What a partition remembers of the events it executed and may have to undo.
//
// One circular log with three lanes: records (one an executed event), undo entries, and sends.
// An LP holds the index of its newest record, and each record that of the LP's previous one, so a
// rollback walks one LP's chain and fossil collection moves the tail. An index below the tail
// means "nothing to undo", so collection touches no LP; a record carries its receive time, so
// it touches no event.
#pragma once

#include <cstdint>

#include "pdes/event.h"
#include "pdes/ring_lane.h"
#include "pdes/undo.h"

namespace exawarp::pdes {

struct Record {
  Time time;
  Event* event;            // null: undone
  std::uint64_t previous;  // the LP's record before this one
  std::uint64_t undo_begin;
  std::uint64_t sent_begin;
  std::uint64_t remote_begin;
};

// A send of an executed event: a pointer inside the partition, an index of the remote lane
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
  RingLane<Record> records{8};
  UndoLog undo;
  RingLane<SentRef> sent{8};
  RingLane<RemoteSend> remote{6};

  // Bounds of a record's entries in the other lanes.
  [[nodiscard]] std::uint64_t undo_end(std::uint64_t index) {
    return index + 1 == records.head() ? undo.head() : records[index + 1].undo_begin;
  }
  [[nodiscard]] std::uint64_t sent_end(std::uint64_t index) {
    return index + 1 == records.head() ? sent.head() : records[index + 1].sent_begin;
  }
  [[nodiscard]] bool holds(std::uint64_t index) const { return index >= records.tail(); }
  [[nodiscard]] std::uint64_t bytes() const {
    return records.capacity_bytes() + undo.capacity_bytes() + sent.capacity_bytes() +
           remote.capacity_bytes();
  }
};

}  // namespace exawarp::pdes
