// Background traffic on devices, beside whatever else they do, at message and packet fidelity.
//
// Owner:  the device's LP; a block of its own at the end of the device's, which devices of a study
//         without background do not have.
// Why beside: the handlers of device.cc know nothing of it. What wraps them looks at a job's
// message
//         before they do and puts off the receive side's clock by what the background takes.
#pragma once

#include <array>
#include <cstdint>

#include "model/device/device.h"
#include "model/network/background.h"

namespace exawarp::model {

// How much of a receive side's time goes to background, over the last one to two kPeriods.
struct ReceiveShare {
  core::Time came;                // time that background messages have taken in all
  core::Time older_at, newer_at;  // when a period began
  core::Time older, newer;        // `came` then

  static constexpr core::Time kPeriod{4'000'000'000};  // 4 ms
};

struct BesideState {
  std::array<ReceiveShare, kInterfaceCount> receive;
  core::Time job_sends_until;  // the send clocks as the job's own messages have left them
  std::uint64_t sent_messages = 0, sent_bytes = 0;
  std::uint64_t received_messages = 0, received_bytes = 0;
  std::array<std::uint32_t, kBackgroundsMax> posted{};  // by generator
  std::uint32_t children_done = 0;  // devices below in the tree that have told of their end
  std::uint32_t answers_due = 0;    // of a question, from devices below
  std::uint8_t told = 0;            // this device and all below are done
  std::uint8_t stopped = 0;         // it sends no more
  std::uint8_t active = 0;          // something of a job happened here since the last question
  std::uint8_t any_active = 0;      // here or below, of those that have answered
  std::uint8_t questions = 0;       // the root's
  std::uint8_t quiet = 0;           // the root's: questions in a row that found nothing going on
  std::array<std::uint8_t, 2> unused{};
};
static_assert(std::has_unique_object_representations_v<BesideState>);
static_assert(sizeof(BesideState) == kBesideBytes);

// Those of further interfaces out of the node lie behind a BesideState; used at message fidelity
// alone.
static_assert(sizeof(ReceiveShare) == kShareBytes);

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
