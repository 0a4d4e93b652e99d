// Output of a handler, held back until its event commits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pdes/event.h"

namespace exawarp::pdes {

struct Emission {
  EventKey key;           // of the event whose handler emitted it
  std::uint32_t ordinal;  // among the emissions of that event; (key, ordinal) is a total order
  LpId lp;
  std::uint32_t channel;  // the model's; kFailureChannel is the engine's
  std::uint64_t a = 0, b = 0, c = 0;
};

constexpr std::uint32_t kFailureChannel = 0xffffffffu;

// Where committed emissions go. Within a partition they arrive in order of time, and those of one
// LP in event order; emissions of two LPs at one instant come in any order, so a sink that cares
// sorts by (key, ordinal).
// Thread safety: called by several workers at once, each with its own `partition`.
class EmissionSink {
 public:
  EmissionSink() = default;
  EmissionSink(const EmissionSink&) = delete;
  EmissionSink& operator=(const EmissionSink&) = delete;
  virtual ~EmissionSink() = default;
  virtual void deliver(core::PartitionId partition, const Emission& emission) = 0;

  // All that it was handed so far, for another to go on with; nobody delivers meanwhile.
  [[nodiscard]] virtual std::vector<std::byte> saved() const { return {}; }
  // Adds what another one saved, of any rank. Throws core::InputError, without a place, where that
  // cannot be.
  virtual void restore(std::span<const std::byte> /*saved*/) {}
};

}  // namespace exawarp::pdes
