// What the parts of one device share during one event.
#pragma once

#include <cstdint>

#include "model/device/device_model.h"
#include "model/device/device_state.h"
#include "model/network/message/message.h"
#include "pdes/context.h"

namespace exawarp::model {

constexpr pdes::EventKind kind_of(DeviceEvent e) { return static_cast<pdes::EventKind>(e); }

struct DeviceFrame {
  DeviceFrame(const DeviceModel& m, DeviceState& s, pdes::Context& c)
      : model(m), state(s), ctx(c), parts(s) {}

  [[nodiscard]] core::Time now() const { return ctx.now(); }
  [[nodiscard]] core::DeviceId self() const { return {ctx.self().value}; }
  // As the graph of the job that `program` is of numbers this device.
  [[nodiscard]] core::DeviceId rank_in(const ProgramTable& program) const {
    return program.ranks == nullptr ? self() : state.get_rank();
  }

  [[nodiscard]] bool is_on_timeline() const {
    return model.traces_timeline && model.timeline[ctx.self().value] != 0;
  }

  const DeviceModel& model;
  DeviceState& state;
  pdes::Context& ctx;
  DeviceParts<DeviceState> parts;
};

}  // namespace exawarp::model
