// Background traffic on devices, beside whatever else they do, at message and packet fidelity.
//
// Owner:  the device's LP; a block of its own at the end of the device's, which devices of a study
//         without background do not have.
// Why beside: the handlers of device.cc know nothing of it. What wraps them looks at a job's
// message
//         before they do and puts off the receive side's clock by what the background takes.
#pragma once

#include <cstdint>

#include "model/device/beside_state.h"
#include "model/device/device.h"
#include "model/network/background.h"

namespace exawarp::model {

// Requires that the device's slots have one.
[[nodiscard]] const BesideState& beside(const DeviceState& state);

// The type of all devices of a study with background. Its handler calls device_type()'s.
pdes::LpType beside_type(DeviceSlots slots);

// At packet fidelity: a background message has come; a job's has.
void count_background(DeviceState& state, std::uint64_t bytes, pdes::Context& ctx);
void note_activity(DeviceState& state, pdes::Context& ctx);
// Hands one to the endpoint.
void send_background_on_packets(const DeviceModel& model, DeviceState& state, pdes::Context& ctx,
                                const Background::Message& message);

// Sets the start state and the first messages. To be called last at a device's start.
void start_beside(const DeviceModel& model, DeviceState& state, pdes::Context& ctx);

}  // namespace exawarp::model
