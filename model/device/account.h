// The account of a device's time: at every instant it is in one class (time_class.h), and what it
// has spent in each adds up to its time.
#pragma once

#include <algorithm>

#include "model/device/device_frame.h"
#include "model/energy/power_emission.h"
#include "model/timeline/timeline_emission.h"

namespace exawarp::model {

class TimeAccount {
 public:
  explicit TimeAccount(DeviceFrame& frame) : frame_(frame) {}

  // The device is in `now_in` from now on: adds the time since the last change to the class that it
  // was spent in, if that is another. Idle ends the account.
  [[gnu::always_inline]] void close(TimeClass now_in) {
    if (now_in != frame_.state.time_class) change_to(now_in);
  }

  // A receive or collective that the device waits for ends: until `from`, when the message set out
  // or the last member came, the wait was for others; from then on it was communication, which
  // counts as `after`. `counted_as` is the class that it has had while it lasted, unless something
  // else ran.
  void split_wait(core::Time from, TimeClass counted_as, TimeClass after) {
    if (frame_.state.time_class != counted_as) return;
    pdes::Context& ctx = frame_.ctx;
    DeviceAccount& account = *frame_.parts.account;
    const core::Time middle = std::clamp(from, account.since, ctx.now());
    core::Time& waited = account.spent[index_of(TimeClass::waiting)];
    core::Time& communicated = account.spent[index_of(after)];
    if (middle != account.since) ctx.set(waited, waited + (middle - account.since));
    if (middle != ctx.now()) ctx.set(communicated, communicated + (ctx.now() - middle));
    if (frame_.model.traces) [[unlikely]] {
      trace(TimeClass::waiting, account.since, middle);
      trace(after, middle, ctx.now());
    }
    ctx.set(account.since, ctx.now());
  }

  // The device is in pass `pass` from now on. Requires a PassAccount.
  void begin_pass(std::uint32_t pass) {
    pdes::Context& ctx = frame_.ctx;
    PassAccount& passes = *frame_.parts.passes;
    const core::Time worked = worked_until_now();
    if (worked != passes.begun) {
      core::Time& spent = passes.spent[passes.pass];
      ctx.set(spent, spent + (worked - passes.begun));
      ctx.set(passes.begun, worked);
    }
    if (passes.pass != pass) ctx.set(passes.pass, std::uint64_t{pass});
  }

 private:
  static bool is_work(TimeClass c) {
    return c != TimeClass::waiting && c != TimeClass::pipeline && c != TimeClass::idle;
  }
  [[nodiscard]] core::Time worked_until_now() const {
    const DeviceAccount& account = *frame_.parts.account;
    core::Time sum;
    for (std::size_t c = 0; c < account.spent.size(); ++c) {
      if (is_work(static_cast<TimeClass>(c))) sum = sum + account.spent[c];
    }
    if (is_work(frame_.state.time_class)) sum = sum + (frame_.ctx.now() - account.since);
    return sum;
  }

  void change_to(TimeClass now_in) {
    const TimeClass before = frame_.state.time_class;
    pdes::Context& ctx = frame_.ctx;
    DeviceAccount& account = *frame_.parts.account;
    const bool has_passed = account.since != ctx.now();
    if (before != TimeClass::idle && has_passed) {
      core::Time& spent = account.spent[index_of(before)];
      ctx.set(spent, spent + (ctx.now() - account.since));
      if (frame_.model.traces) [[unlikely]]
        trace(before, account.since, ctx.now());
    }
    if (has_passed) ctx.set(account.since, ctx.now());
    ctx.set(frame_.state.time_class, now_in);
    if (now_in == TimeClass::idle) ctx.set(account.finish, ctx.now());
  }

  // What the device spent its time on, for its timeline, and what it drew meanwhile: waiting is
  // idle power, and computing is traced by itself.
  [[gnu::cold]] void trace(TimeClass spent_in, core::Time from, core::Time until) {
    if (from == until) return;
    const DeviceModel& model = frame_.model;
    const bool communicates = spent_in >= TimeClass::tensor && spent_in <= TimeClass::other;
    if (model.traces_power && communicates && model.communicating_mw != 0) {
      emit_power(frame_.ctx, {.above_idle_mw = model.communicating_mw,
                              .program = frame_.state.program,
                              .from = from,
                              .until = until});
    }
    if (!frame_.is_on_timeline()) return;
    emit_timeline(frame_.ctx, {.spent_in = spent_in, .from = from, .until = until});
  }

  DeviceFrame& frame_;
};

}  // namespace exawarp::model
