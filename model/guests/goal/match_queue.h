// Receives that wait for a message, or messages that wait for a receive, of one host: first in,
// first out, matched by (source, tag), with wildcards on either side.
//
// A doubly linked list in an undoable vector, with a list of free slots: a removal from anywhere
// changes a few links, where a plain vector would record the shift of all that follows. A search
// is linear in what does not match, as LogGOPSim's is.
#pragma once

#include <cstdint>

#include "model/guests/goal/schedule.h"
#include "pdes/undo_vector.h"

namespace exawarp::model::goal {

struct QueueEntry {
  std::int64_t done = 0;     // a message: when the CPU has taken it in, in units
  std::uint32_t source = 0;  // a receive's may be kAny
  std::uint32_t tag = 0;     // either's may be kAny
  std::uint32_t op = 0;      // a receive of this host, or a send of `source`
};

class MatchQueue {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  void reserve(pdes::Context& ctx, std::uint32_t entries) { slots_.reserve(ctx, entries); }

  void push_back(pdes::Context& ctx, const QueueEntry& entry) {
    const Slot slot{entry, kNone, last_};
    std::uint32_t at = free_;
    if (at == kNone) {
      at = slots_.size();
      slots_.extend(ctx, slot);
    } else {
      ctx.set(free_, slots_[at].next);
      slots_.assign(ctx, at, slot);
    }
    link(ctx, last_, at);
    ctx.set(last_, at);
  }

  // The oldest entry for (source, tag), or kNone.
  [[nodiscard]] std::uint32_t find(std::uint32_t source, std::uint32_t tag) const {
    std::uint32_t at = first_;
    for (std::uint32_t seen = 0; at != kNone && seen < slots_.size(); ++seen) {
      const QueueEntry& entry = slots_[at];
      const bool of_source = source == kAny || entry.source == kAny || entry.source == source;
      if (of_source && (tag == kAny || entry.tag == kAny || entry.tag == tag)) return at;
      at = slots_[at].next;
    }
    return kNone;
  }

  // Requires a result of find() that is not kNone.
  QueueEntry take(pdes::Context& ctx, std::uint32_t at) {
    const Slot slot = slots_[at];
    link(ctx, slot.previous, slot.next);
    ctx.set(slot.next == kNone ? last_ : slots_.at(slot.next).previous, slot.previous);
    ctx.set(slots_.at(at).next, free_);
    ctx.set(free_, at);
    return slot;
  }

  // Calls visit(entry) for each, oldest first.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (std::uint32_t at = first_; at != kNone; at = slots_[at].next) visit(slots_[at]);
  }

  // The slots with their links; the digest takes the entries alone, oldest first.
  void describe(pdes::StateArchive& archive) {
    slots_.describe(archive, [&](Slot& slot) {
      archive.kept(slot.done);
      for (std::uint32_t* field : {&slot.source, &slot.tag, &slot.op, &slot.next, &slot.previous})
        archive.kept(*field);
    });
    for (std::uint32_t* end : {&first_, &last_, &free_}) archive.kept(*end);
    if (!archive.is_digest()) return;
    for_each([&](const QueueEntry& entry) {
      archive.digest_word((std::uint64_t{entry.source} << 32) | entry.tag);
      archive.digest_word(entry.op);
      archive.digest_word(static_cast<std::uint64_t>(entry.done));
    });
    archive.digest_word(0);
  }

 private:
  struct Slot : QueueEntry {
    std::uint32_t next = kNone;  // or of the free slots
    std::uint32_t previous = kNone;
  };

  // What follows `at`, or the head, is `next`.
  void link(pdes::Context& ctx, std::uint32_t at, std::uint32_t next) {
    ctx.set(at == kNone ? first_ : slots_.at(at).next, next);
  }

  pdes::UndoVector<Slot> slots_;
  std::uint32_t first_ = kNone;
  std::uint32_t last_ = kNone;
  std::uint32_t free_ = kNone;
};

}  // namespace exawarp::model::goal
