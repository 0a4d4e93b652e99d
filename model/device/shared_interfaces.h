// A device's interfaces at analytical fidelity, where what it sends at one time shares them.
//
// A collective that has the interfaces to itself ends by its closed form, and uses a part of each
// of them meanwhile: what the device sends there over what the interface carries in that time
// (ProgramTable::uses). A message uses the whole of one. Where the parts of all that is being sent
// add up to U > 1 on an interface, all that use it take U times as long: a fluid in which each has
// its fair part. Each device slows what it sends itself; it hears nothing of how others do, nor
// does what it receives share anything.
//
// A flow's end is foretold, and foretold anew when another flow begins or ends; what was foretold
// before comes nevertheless and is told by what is left of the flow, or by its stream being past
// it. A collective's flow begins when all of its members are sure to have heard that the last of
// them has come, so that none begins it earlier because notices reach it sooner.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "model/device/device_frame.h"
#include "model/workload/validate.h"

namespace exawarp::model {

constexpr std::int64_t kWholeUse = 1'000'000;  // InterfaceUse::ppm

// Those of one device during one event. Requires a SharingState.
class SharedInterfaces {
 public:
  explicit SharedInterfaces(DeviceFrame& frame)
      : frame_(frame), sharing_(*frame.parts.sharing), flows_(frame.parts.flows) {}

  // The task at the cursor of `stream` sends from now on, for `left` if nothing else does.
  void begin(std::uint32_t stream, core::Time left, InterfaceUse use) {
    change([&] {
      frame_.ctx.set(flows_[stream], SharedFlow{left, use});
      frame_.ctx.set(sharing_.flows, sharing_.flows | bit(stream));
    });
  }

  [[nodiscard]] bool has(std::uint32_t stream) const {
    return (sharing_.flows & bit(stream)) != 0;
  }
  // Whether the stream is past the task, which has ended earlier than was foretold.
  [[nodiscard]] bool is_past(const NodeDone& foretold) const {
    return foretold.position != frame_.parts.streams[foretold.stream].cursor;
  }
  // Whether the flow ends, as was foretold: it does not where others have begun since.
  [[nodiscard]] bool ends(const NodeDone& foretold) {
    if (left_now(flows_[foretold.stream], used()).ps > 0) return false;
    change([&] { frame_.ctx.set(sharing_.flows, sharing_.flows & ~bit(foretold.stream)); });
    return true;
  }

  // How long what takes `alone` by itself would take beside what is being sent now.
  [[nodiscard]] core::Time beside_others(core::Time alone, InterfaceUse use) const {
    Used all = used();
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += use.ppm[i];
    return slowed(alone, pace(use, all));
  }

 private:
  using Used = std::array<std::int64_t, kInterfaceCount>;

  static constexpr std::uint32_t bit(std::uint32_t stream) { return 1u << stream; }
  template <class Visit>
  void each(const Visit& visit) const {
    for (std::uint32_t left = sharing_.flows; left != 0; left &= left - 1) {
      visit(static_cast<std::uint32_t>(std::countr_zero(left)));
    }
  }

  [[nodiscard]] Used used() const {
    Used all{};
    each([&](std::uint32_t stream) {
      for (std::size_t i = 0; i < all.size(); ++i) all[i] += flows_[stream].use.ppm[i];
    });
    return all;
  }
  // How many times as long it takes, in millionths.
  static std::int64_t pace(InterfaceUse use, const Used& all) {
    std::int64_t most = kWholeUse;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (use.ppm[i] != 0) most = std::max(most, all[i]);
    }
    return most;
  }
  static core::Time slowed(core::Time alone, std::int64_t pace) {
    if (pace == kWholeUse) return alone;
    return core::time_to_end((core::WidePs{alone.ps} * pace + kWholeUse - 1) / kWholeUse);
  }
  [[nodiscard]] core::Time left_now(const SharedFlow& flow, const Used& all) const {
    const core::WidePs passed{(frame_.now() - sharing_.until).ps};
    const core::WidePs done = passed * kWholeUse / pace(flow.use, all);
    return core::Time{static_cast<std::int64_t>(core::WidePs{flow.left.ps} - done)};
  }

  // All flows are brought up to now, and their ends foretold anew where they are slowed. Those with
  // nothing left end at this instant, and that has been said.
  template <class Change>
  void change(const Change& make) {
    const Used before = used();
    std::array<bool, kStreamsMax> was_slow{};
    each([&](std::uint32_t stream) {
      SharedFlow& flow = flows_[stream];
      was_slow[stream] = pace(flow.use, before) != kWholeUse;
      const core::Time left = left_now(flow, before);
      if (left != flow.left) frame_.ctx.set(flow, SharedFlow{left, flow.use});
    });
    const std::uint32_t known = sharing_.flows;
    frame_.ctx.set(sharing_.until, frame_.now());
    make();
    const Used after = used();
    each([&](std::uint32_t stream) {
      const SharedFlow& flow = flows_[stream];
      const std::int64_t now = pace(flow.use, after);
      const bool is_known = (known & bit(stream)) != 0;
      if (flow.left.ps <= 0 || (is_known && !was_slow[stream] && now == kWholeUse)) return;
      frame_.ctx.send(frame_.ctx.self(), slowed(flow.left, now), kind_of(DeviceEvent::node_done),
                      NodeDone{stream, frame_.parts.streams[stream].cursor});
    });
  }

  DeviceFrame& frame_;
  SharingState& sharing_;
  SharedFlow* flows_;
};

}  // namespace exawarp::model
