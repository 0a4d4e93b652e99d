// The two sides of an interface's line, and how messages share them.
//
// What one sender hands over follows each other; senders of one device (its collectives, and the
// streams with messages to other devices) share the line in equal parts, as queue pairs of an
// adapter do, bit by bit. When a message is handed over, the time at which it will have left is
// said at once, so that it needs no event but its arrival (docs/decisions/0041). It counts with all
// that has been handed over before; a message of another sender that comes later slows the line for
// what its own sender hands over next, and never for what has been promised.
//
// At the receiver the last byte is all that is known of a message, and when its bytes came if
// nothing slowed them. What else came meanwhile puts its end off by as long as that took; how much
// that was follows from how long the line was idle.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/time.h"
#include "pdes/context.h"
#include "pdes/undo_vector.h"

namespace exawarp::model {

// Who hands messages over to a line: a queue of a collective's channel, by the channel's number, a
// stream, or background.
struct LineSender {
  std::uint32_t value;

  static constexpr LineSender channel(std::uint16_t number, std::uint8_t queue = 0) {
    return {number + queue * 0x4'0000u};
  }
  static constexpr LineSender stream(std::uint32_t stream) { return {0x1'0000 + stream}; }
  static constexpr LineSender background() { return {0x2'0000}; }
  friend constexpr bool operator==(LineSender, LineSender) = default;
};

// A sender's part of a line that several share.
struct LineShare {
  LineSender sender{};
  std::uint32_t unused = 0;
  core::Time until;  // what each sender will have had of the line when this one's last byte leaves
};

// The sending side, beside the time at which all that was handed over will have left. `sender` is
// the last that found the line free; `shares` is empty as long as no other has come since.
template <class Shares>
struct SendLineOf {
  core::Time at;      // `served` is of that time
  core::Time served;  // what each sender has had since the line was shared, if it has any left
  LineSender sender{};
  std::uint32_t unused = 0;
  Shares shares;
};
using SendLine = SendLineOf<pdes::UndoVector<LineShare>>;

// What an engine's context and a vector in its state are, where nothing is ever rolled back.
struct NoUndo {
  core::Time time;

  [[nodiscard]] core::Time now() const { return time; }
  template <class T>
  static void set(T& at, const T& value) {
    at = value;
  }
};
class SharesAlone {
 public:
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(shares_.size()); }
  [[nodiscard]] bool empty() const { return shares_.empty(); }
  [[nodiscard]] LineShare& at(std::uint32_t i) { return shares_[i]; }
  [[nodiscard]] auto begin() const { return shares_.begin(); }
  [[nodiscard]] auto end() const { return shares_.end(); }
  void push_back(const NoUndo&, const LineShare& share) { shares_.push_back(share); }
  void clear(const NoUndo&) { shares_.clear(); }

 private:
  std::vector<LineShare> shares_;
};

// The sending side of a line during one event; `clock`: when all will have left.
template <class Context, class Shares>
class LineSharing {
 public:
  LineSharing(Context& ctx, core::Time& clock, SendLineOf<Shares>& line)
      : ctx_(ctx), clock_(clock), line_(line) {}

  // When what `sender` hands over now will have left, if it keeps the line for `wire`.
  [[gnu::always_inline]] core::Time leaves_at(LineSender sender, core::Time wire) {
    return finds_others(sender) ? leaves_beside_others(sender, wire) : after_all(wire);
  }

  // Keeps the line for `wire`. Requires that leaves_at() was called in this event.
  [[gnu::always_inline]] void take(LineSender sender, core::Time wire) {
    if (finds_others(sender)) {
      add(sender, wire);
    } else {
      if (line_.sender != sender) ctx_.set(line_.sender, sender);
      line_.shares.clear(ctx_);
    }
    ctx_.set(clock_, after_all(wire));
  }

 private:
  [[nodiscard]] bool finds_others(LineSender sender) const {
    return clock_ > ctx_.now() && (!line_.shares.empty() || line_.sender != sender);
  }
  [[nodiscard]] core::Time after_all(core::Time wire) const {
    return core::sum_to_end(std::max(clock_, ctx_.now()), wire);
  }
  core::Time leaves_beside_others(LineSender sender, core::Time wire);
  void add(LineSender sender, core::Time wire);
  void serve();
  [[nodiscard]] core::Time left_of(const LineShare& share) const {
    return std::max(core::Time{0}, share.until - line_.served);
  }

  Context& ctx_;
  core::Time& clock_;
  SendLineOf<Shares>& line_;
};
extern template class LineSharing<pdes::Context, pdes::UndoVector<LineShare>>;
extern template class LineSharing<NoUndo, SharesAlone>;
using SendSharing = LineSharing<pdes::Context, pdes::UndoVector<LineShare>>;

// A line's sending side by itself.
class SendLineAlone {
 public:
  // Takes what keeps the line for `wire`; returns when it will have left. `now` never falls.
  core::Time leaves(LineSender sender, core::Time wire, core::Time now) {
    NoUndo ctx{now};
    LineSharing<NoUndo, SharesAlone> sharing(ctx, clock_, line_);
    const core::Time left = sharing.leaves_at(sender, wire);
    sharing.take(sender, wire);
    return left;
  }

 private:
  core::Time clock_;
  SendLineOf<SharesAlone> line_;
};

// The receiving side, beside the time at which all that has come will have been received: it has
// not been idle for `busy` before that, and of the time from `from` to then it was busy for
// `worked`. Messages of one length that come one by one change `worked` alone.
struct ReceiveLine {
  core::Time busy;
  core::Time from;
  core::Time worked;

  friend constexpr bool operator==(const ReceiveLine&, const ReceiveLine&) = default;
};

struct Reception {
  core::Time end;  // when the message is received; the new clock
  ReceiveLine line;
};

// A message whose last byte comes at `now`, and which keeps the line for `wire`. What was before a
// pause that is longer than all that is known is forgotten, and what is known for over `memory`.
constexpr Reception received_at(core::Time now, core::Time clock, core::Time wire, ReceiveLine line,
                                core::Time memory) {
  const core::Time begun = now - wire, busy_since = clock - line.busy;
  const core::Time known = busy_since - line.from;
  if (begun >= clock) {
    const core::Time gap = begun - clock;
    if (gap.ps == 0) return {now, {line.busy + wire, line.from, line.worked}};
    if (gap > known || known > memory) return {now, {wire, clock, {}}};
    return {now, {wire, line.from, line.worked + line.busy}};
  }
  core::Time left = std::min(wire, clock - begun);
  if (begun < busy_since && known.ps > 0) {
    const core::WidePs idle = (known - line.worked).ps, span = (busy_since - begun).ps;
    const core::Time came = std::min(left, core::time_to_end(idle * span / known.ps));
    left = left - came;
    line.worked = std::min(known, line.worked + came);
  }
  const core::Time end = core::sum_to_end(std::max(now, clock), left);
  return {end, {end - busy_since, line.from, line.worked}};
}

}  // namespace exawarp::model
