// The streams of a device: each runs its tasks in order, one at a time.
//
// So "task d is over" is "the cursor of its stream is past it": a few words a stream, whatever the
// length of the program. A stream whose head depends on another stream leaves its bit in that
// stream's waiters and the position it waits for; when that cursor passes the position, the head
// is tried again.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "model/device/device_frame.h"
#include "model/device/task_source.h"

namespace exawarp::model {

// During one event. What changes is written down by settle().
template <TaskSource Source>
class Streams {
 public:
  Streams(DeviceFrame& frame, Source source)
      : source_(source),
        ctx_(frame.ctx),
        state_(frame.state),
        streams_(frame.parts.streams),
        busy_(frame.state.busy) {}

  [[nodiscard]] const Source& source() const { return source_; }
  [[nodiscard]] std::uint32_t cursor(std::uint32_t stream) const { return at(stream).cursor; }
  // The task at the cursor. Requires that there is one.
  [[nodiscard]] const Task& head(std::uint32_t stream) const {
    return source_.task(stream, cursor(stream));
  }
  [[nodiscard]] bool is_running(std::uint32_t stream) const {
    return stream < source_.streams() && (busy_ & bit(stream)) != 0;
  }
  [[nodiscard]] bool is_running(std::uint32_t stream, std::uint32_t position) const {
    return is_running(stream) && position == cursor(stream);
  }

  // All that have tasks are to be tried.
  void begin() {
    for (std::uint32_t s = 0; s < source_.streams(); ++s) {
      if (source_.length(s) != 0) ready_ |= bit(s);
    }
  }

  // Whether all that the source has is over. Of a source that may come to have more:
  [[nodiscard]] bool is_at_end(std::uint32_t stream) const {
    return cursor(stream) == source_.length(stream);
  }
  // It has, in a stream that was at its end.
  void extend(std::uint32_t stream) {
    ready_ |= bit(stream);
    ctx_.set(state_.unfinished, static_cast<std::uint8_t>(state_.unfinished + 1));
  }

  // The task at the cursor is over.
  void complete(std::uint32_t stream) {
    busy_ &= ~bit(stream);
    ready_ |= bit(stream);
    move_to(stream, cursor(stream) + 1);
  }
  // It will be, in `delay`.
  void complete_in(core::Time delay, std::uint32_t stream) {
    ctx_.send(ctx_.self(), delay, kind_of(DeviceEvent::node_done),
              NodeDone{stream, cursor(stream)});
  }

  // Starts all that can start: start(stream, task) says whether the task is over at once. Inlined,
  // as what it needs of the device lies in registers then.
  template <class Start>
  [[gnu::always_inline]] void settle(const Start& start) {
    while (ready_ != 0) {
      const auto stream = static_cast<std::uint32_t>(std::countr_zero(ready_));
      ready_ &= ready_ - 1;
      run(stream, start);
    }
    if (busy_ != state_.busy) ctx_.set(state_.busy, busy_);
  }

  // What the device's time goes to, with all that is in progress.
  [[nodiscard]] TimeClass doing() const {
    TimeClass first = state_.unfinished == 0 ? TimeClass::idle : TimeClass::waiting;
    for (std::uint32_t left = busy_; left != 0; left &= left - 1) {
      first = std::min(first, at(static_cast<std::uint32_t>(std::countr_zero(left))).time_class);
    }
    return first;
  }

  // Whether a collective is in progress, or starts at this instant.
  [[nodiscard]] bool communicates() const {
    for (std::uint32_t left = busy_ | ready_; left != 0; left &= left - 1) {
      const auto stream = static_cast<std::uint32_t>(std::countr_zero(left));
      if (cursor(stream) == source_.length(stream)) continue;
      const Task& task = head(stream);
      if (task.kind != TaskKind::collective && task.kind != TaskKind::stepped) continue;
      if ((busy_ & bit(stream)) != 0 || !depends_on_others(task)) return true;
    }
    return false;
  }

  // The first stream, in order, that is at a receive for which is_it(task) holds; kNone: there is
  // none.
  static constexpr std::uint32_t kNone = 0xffffffff;
  template <class IsIt>
  [[nodiscard]] std::uint32_t receiving(const IsIt& is_it) const {
    for (std::uint32_t left = busy_; left != 0; left &= left - 1) {
      const auto stream = static_cast<std::uint32_t>(std::countr_zero(left));
      if (at(stream).time_class == TimeClass::waiting && is_it(head(stream))) return stream;
    }
    return kNone;
  }

 private:
  static constexpr std::uint32_t bit(std::uint32_t stream) { return 1u << stream; }
  [[nodiscard]] StreamState& at(std::uint32_t stream) const { return streams_[stream]; }

  // Issues tasks of an idle stream until one takes time or has to wait.
  template <class Start>
  void run(std::uint32_t stream, const Start& start) {
    const std::uint32_t length = source_.length(stream);
    std::uint32_t position = cursor(stream);
    for (; position < length; ++position) {
      const Task& task = source_.task(stream, position);
      if (position != cursor(stream)) move_to(stream, position);
      if (is_blocked(stream, task)) return;
      if (!start(stream, task)) return set_running(stream, task);
    }
    if (position != cursor(stream)) move_to(stream, position);
    ctx_.set(state_.unfinished, static_cast<std::uint8_t>(state_.unfinished - 1));
  }

  void set_running(std::uint32_t stream, const Task& task) {
    busy_ |= bit(stream);
    const TimeClass during = task.kind == TaskKind::receive ? TimeClass::waiting : task.time_class;
    TimeClass& written = at(stream).time_class;
    if (written != during) ctx_.set(written, during);
  }

  // Whether `task`, the head of `stream`, has to wait for another stream; if so, it is noted there.
  bool is_blocked(std::uint32_t stream, const Task& task) {
    for (const Dependency& on : source_.dependencies(task)) {
      if (cursor(on.stream) > on.position) continue;
      std::uint32_t& waiters = at(on.stream).waiters;
      ctx_.set(waiters, waiters | bit(stream));
      ctx_.set(at(stream).awaited, on.position);
      return true;
    }
    return false;
  }
  [[nodiscard]] bool depends_on_others(const Task& task) const {
    for (const Dependency& on : source_.dependencies(task)) {
      if (cursor(on.stream) <= on.position) return true;
    }
    return false;
  }

  // Wakes the streams that waited for `stream` to pass their position.
  void move_to(std::uint32_t stream, std::uint32_t cursor) {
    ctx_.set(at(stream).cursor, cursor);
    const std::uint32_t waiters = at(stream).waiters;
    std::uint32_t woken = 0;
    for (std::uint32_t left = waiters; left != 0; left &= left - 1) {
      const auto t = static_cast<std::uint32_t>(std::countr_zero(left));
      if (at(t).awaited < cursor) woken |= bit(t);
    }
    if (woken == 0) return;
    ctx_.set(at(stream).waiters, waiters & ~woken);
    ready_ |= woken;
  }

  Source source_;  // a few words
  pdes::Context& ctx_;
  DeviceState& state_;
  StreamState* streams_;
  std::uint32_t busy_;       // bit s: the task at stream s's cursor is in progress
  std::uint32_t ready_ = 0;  // streams whose head is to be tried
};

}  // namespace exawarp::model
