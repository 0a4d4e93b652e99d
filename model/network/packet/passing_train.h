// Packets that are to pass a port of a switch: the rest of a train that has begun to arrive.
#pragma once

#include <cstdint>

#include "core/time.h"

namespace exawarp::model {

// One cache line.
struct PassingTrain {
  core::Time next{};       // arrival of the next packet
  core::Time spacing{};    // of arrivals
  core::Time lag{};        // from arrival until it may start
  core::Time told{};       // arrival, at the next vertex, of the latest promise's first packet
  std::uint32_t from = 0;  // LP that sends it: of simultaneous arrivals the least comes first
  std::uint32_t source = 0, destination = 0, message = 0;  // as in Packet
  std::uint32_t number = 0;                                // of the next packet
  std::uint32_t left = 0;                                  // packets
  std::uint32_t promised = 0;  // of these, that the next vertex has been told of
  std::uint8_t channel = 0;    // of the link that it leaves by
  std::uint8_t bits = 0;
  std::uint16_t unused = 0;

  [[nodiscard]] core::Time ready() const { return next + lag; }
};
static_assert(sizeof(PassingTrain) == 64);

// By the arrival of the next packet.
inline bool is_before(const PassingTrain& a, const PassingTrain& b) {
  return a.next != b.next ? a.next < b.next : a.from < b.from;
}

}  // namespace exawarp::model
