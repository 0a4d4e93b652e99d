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
using Payload = std::array<std::byte, kPayloadBytes>;

struct alignas(64) Event {
  Time receive_time;
  LpId source;
  std::uint32_t sequence = 0;  // counts the source's sends; rolled back with it
  LpId destination;
  EventKind kind = 0;
  std::uint16_t flags = 0;  // the engine's, see EventFlag
  Payload payload{};
  std::uint32_t incarnation = 0;  // the engine's: rollbacks of the source before this send
  std::uint32_t foreseen = 0;     // what LpType::foresee said of it; 0: nothing

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
// Four products that do not wait for each other, as wyhash pairs its input; a chain over the
// seven words took twice the time, an eighth of a cluster run.
inline std::uint64_t digest_of(const Event& e) {
  // One at a time from the event: an array of them takes the way over the stack.
  const auto word = [&e](std::size_t i) {
    std::uint64_t bits;
    std::memcpy(&bits, e.payload.data() + 8 * i, sizeof bits);
    return bits;
  };
  const auto time = static_cast<std::uint64_t>(e.receive_time.ps);
  const std::uint64_t origin = (std::uint64_t{e.source.value} << 32) | e.sequence;
  const std::uint64_t target = (std::uint64_t{e.destination.value} << 32) | e.kind;
  return core::mix64(core::fold(time ^ 0xa0761d6478bd642full, origin ^ 0xe7037ed1a0b428dbull) +
                     core::fold(target ^ 0x8ebc6af09c88c6e3ull, word(0) ^ 0x589965cc75374cc3ull) +
                     core::fold(word(1) ^ 0x1d8e4e27c47d124full, word(2) ^ 0xeb44accab455d165ull) +
                     core::fold(word(3) ^ 0x9c6e6877736c46e3ull, time ^ 0x8bb84b93962eacc9ull));
}

}  // namespace exawarp::pdes
