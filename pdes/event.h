// The event: one cache line, trivially copyable, and the total order all modes execute in.
//
// Order: (receive time, source LP, source sequence). It does not depend on the partitioning, and
// the sequence number is rolled back with its LP, so every mode and every placement executes
// the same events in the same order at each LP: this is what makes results bit-identical.
// At equal times a lower source id goes first; a model that is sensitive to the order of
// simultaneous events says so in its own documentation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/digest.h"
#include "core/ids.h"
#include "core/time.h"

namespace exawarp::pdes {

using core::LpId;
using core::Time;

using EventKind = std::uint16_t;  // meaning belongs to the model
constexpr std::size_t kPayloadBytes = 32;

struct alignas(64) Event {
  Time receive_time;
  LpId source;
  std::uint32_t sequence = 0;  // counts the source's sends; rolled back with it
  LpId destination;
  EventKind kind = 0;
  std::uint16_t flags = 0;  // the engine's, see EventFlag
  std::array<std::byte, kPayloadBytes> payload{};
  std::uint32_t incarnation = 0;  // the engine's: rollbacks of the source before this send
  std::uint32_t reserved = 0;

  // Requires that the sender stored a P.
  template <class P>
  [[nodiscard]] P as() const {
    static_assert(std::is_trivially_copyable_v<P> && sizeof(P) <= kPayloadBytes);
    P value;
    std::memcpy(&value, payload.data(), sizeof(P));
    return value;
  }
};
static_assert(sizeof(Event) == 64);
static_assert(std::is_trivially_copyable_v<Event>);

enum EventFlag : std::uint16_t {
  kProcessed = 1,  // in the history of its destination
  kCancelled = 2,  // pending, but to be dropped when reached
  kAnti = 4,       // an anti-message: annihilates the event of equal key and incarnation
};

// What orders events; `origin` is the source above the sequence.
struct EventKey {
  Time time;
  std::uint64_t origin = 0;
  friend constexpr auto operator<=>(const EventKey&, const EventKey&) = default;
};

inline EventKey key_of(const Event& e) {
  return {e.receive_time, (std::uint64_t{e.source.value} << 32) | e.sequence};
}

// What an executed event adds to the digest: everything that the model can see of it.
inline std::uint64_t digest_of(const Event& e) {
  core::Hasher hash;
  hash.word(static_cast<std::uint64_t>(e.receive_time.ps));
  hash.word((std::uint64_t{e.source.value} << 32) | e.sequence);
  hash.word((std::uint64_t{e.destination.value} << 32) | e.kind);
  std::array<std::uint64_t, kPayloadBytes / 8> words;
  std::memcpy(words.data(), e.payload.data(), kPayloadBytes);
  for (const std::uint64_t w : words) hash.word(w);
  return hash.value();
}

}  // namespace exawarp::pdes
