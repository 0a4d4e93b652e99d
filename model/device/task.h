// What a device's streams run, one after the other: a node of a program as handlers read it, in 48
// bytes, with its duration or transfer time computed.
#pragma once

#include <array>
#include <cstdint>

#include "core/ids.h"
#include "core/time.h"
#include "model/device/time_class.h"
#include "model/network/message/network.h"

namespace exawarp::model {

constexpr std::uint8_t kNoChannel = 0xff;
constexpr std::uint32_t kStepsVary = 0xffffffff;

// collective: a plain ring; stepped: any other, by its description (collective/collective.h). mark:
// an instant, at which another pass begins.
enum class TaskKind : std::uint8_t { instant, compute, collective, stepped, send, receive, mark };

struct Task {
  // compute: [0] is the duration. collective, send: a chunk's or the message's time on each
  // interface, or its bytes where that one sends packet by packet; a collective whose `steps` is
  // kStepsVary: [0] is its bytes.
  std::array<core::Time, kInterfaceCount> wire;
  std::uint32_t node = 0;              // index in the program
  std::uint32_t first_dependency = 0;  // into ProgramTable::dependencies
  std::int32_t peer = 0;               // send, receive: offset in device ids, or the device id
  std::uint32_t tag = 0;               // stepped: index into ProgramTable::stepped; mark: the pass
  // collective: of its ring, kStepsVary: depends on the device; keys of some layers: their tokens
  std::uint32_t steps = 0;
  std::uint16_t dependency_count = 0;
  TaskKind kind = TaskKind::instant;
  TimeClass time_class = TimeClass::other;  // while it runs; receive: of its message's transfer
  std::uint8_t channel = kNoChannel;        // collective: index into ProgramTable::channels
  std::uint8_t collective = 0;              // schema::CollectiveType
  bool peer_is_absolute = false;
  bool rendezvous = false;  // send: asks the receiver first

  // compute: of the host that launches the device's work. The device itself waits meanwhile, as it
  // does in no other task.
  [[nodiscard]] bool is_of_host() const { return time_class == TimeClass::waiting; }
  // send, receive: the rank at the other end of what `rank` runs.
  [[nodiscard]] core::DeviceId peer_rank(core::DeviceId rank) const {
    const auto offset = static_cast<std::uint32_t>(peer);  // modulo 2^32, as ids are
    return {peer_is_absolute ? offset : rank.value + offset};
  }
};

// The task at `position` of another stream has to be over.
struct Dependency {
  std::uint32_t stream;
  std::uint32_t position;
};

}  // namespace exawarp::model
