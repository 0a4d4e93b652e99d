// Congestion control of one message at its sender. An algorithm is one file in congestion/, which
// CMake finds there: it defines a function of the file's name that returns a CongestionAlgorithm
// (docs/guide/writing_a_congestion_control.md).
//
// What the endpoint asks and tells an algorithm is CongestionControl. There is one object of it for
// a whole network, made when the network is; it holds the parameters and never changes. All that
// changes belongs to a message and lies in CongestionState, beside the rest of what the endpoint
// keeps of the message, so it rolls back with it. An algorithm answers with the time at which the
// next packet may start (a rate) and with how many packets may be under way (a window). It has no
// events of its own: what a timer would have done is caught up with when the answer is needed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/time.h"
#include "model/network/packet/parameters.h"

namespace exawarp::model {

// What an algorithm remembers of a message: words, zero where it uses none. A type of an
// algorithm's own is kept in them; it has no padding, so equal states have equal words.
struct CongestionState {
  std::array<std::uint64_t, 9> words{};

  template <class Own>
  static constexpr bool kFits =
      std::is_trivially_copyable_v<Own>&& std::has_unique_object_representations_v<Own> &&
      sizeof(Own) <= sizeof(words);

  template <class Own>
  [[nodiscard]] Own as() const {
    static_assert(kFits<Own>);
    Own own;
    std::memcpy(static_cast<void*>(&own), words.data(), sizeof own);
    return own;
  }
  template <class Own>
  void hold(const Own& own) {
    static_assert(kFits<Own>);
    std::memcpy(words.data(), &own, sizeof own);
  }
};
static_assert(sizeof(CongestionState) == 72);

// The sender's line.
struct CongestionLine {
  std::int64_t bytes_per_s = 0;
  std::int64_t packet_bytes = 0;  // of a full packet, with its header
};

// A packet that left during [start, end).
struct SentPacket {
  core::Time start, end;
  std::int64_t bytes = 0;
};

// An answer to a packet that was sent `round_trip` ago, a multiple of 1,024 ps.
struct Acknowledgement {
  core::Time now;
  std::uint32_t packets = 0;  // acknowledged by it for the first time
  core::Time round_trip;
};

// What the network does for an algorithm, all of it known before time zero.
struct CongestionTraits {
  bool has_state = false;  // start(), packet_sent() and timed_out() are called
  // Packets are, whether or not losses are repaired; acknowledged() and packets_max() are called.
  bool acknowledged = false;
  // For how long a rate may stay as it is though it has not settled: the longest of its timers.
  core::Time period{0};
  // Receivers answer a marked packet with a notification, at most one in this time for each
  // message; negative: never. Needs marks (`ecn`).
  core::Time notify_every{-1};
};

// Thread safety: read-only. Each function gives the same answer to the same arguments.
class CongestionControl {
 public:
  explicit CongestionControl(const CongestionTraits& traits) : traits_(traits) {}
  CongestionControl(const CongestionControl&) = delete;
  CongestionControl& operator=(const CongestionControl&) = delete;
  virtual ~CongestionControl() = default;

  [[nodiscard]] const CongestionTraits& traits() const { return traits_; }

  // Of a message that starts, whose unloaded round trip is `round_trip`.
  [[nodiscard]] virtual CongestionState start(const CongestionLine&,
                                              core::Time /*round_trip*/) const {
    return {};
  }
  // Returns when the next packet may start, not before `sent.end`.
  virtual core::Time packet_sent(CongestionState&, const CongestionLine&,
                                 const SentPacket& sent) const {
    return sent.end;
  }
  virtual void acknowledged(CongestionState&, const CongestionLine&, const Acknowledgement&) const {
  }
  // A notification of a marked packet came.
  virtual void notified(CongestionState&, const CongestionLine&, core::Time /*now*/) const {}
  // Nothing came back for a whole timeout: a loss.
  virtual void timed_out(CongestionState&, const CongestionLine&) const {}
  // A stretch of so much time was skipped (packet.fast_forward): whatever times `state` holds are
  // so much later.
  virtual void postponed(CongestionState&, core::Time /*by*/) const {}
  // How many packets may be under way, at least 1.
  [[nodiscard]] virtual std::uint32_t packets_max(const CongestionState&) const {
    return std::numeric_limits<std::uint32_t>::max();
  }

 private:
  CongestionTraits traits_;
};

// A field of the type that an algorithm keeps in its CongestionState.
struct StateField {
  std::string_view name;
  std::size_t offset = 0, bytes = 0;
};
template <class Own, class Value>
StateField state_field(std::string_view name, Value Own::*field) {
  const Own own{};
  const auto* const at = reinterpret_cast<const std::byte*>(&(own.*field));
  return {name, static_cast<std::size_t>(at - reinterpret_cast<const std::byte*>(&own)),
          sizeof(Value)};
}

struct CongestionAlgorithm {
  std::string_view name;     // as studies write it (packet.transport), and their section of it
  std::string_view meaning;  // one sentence
  int place = 100;           // in lists: by this, then by name
  std::span<const Parameter> parameters{};
  std::vector<StateField> state{};  // all of it, in order
  // Throws core::InputError where values contradict each other.
  std::unique_ptr<const CongestionControl> (*make)(const ParameterValues&) = nullptr;
};

// All that congestion/ has, in the order of lists.
std::span<const CongestionAlgorithm> congestion_algorithms();
// Throws core::InputError where there is none of that name.
const CongestionAlgorithm& congestion_algorithm(std::string_view name);

// The value of a field that `algorithm` keeps in `state`, sign extended. Requires such a field.
std::int64_t field_of(const CongestionAlgorithm& algorithm, const CongestionState& state,
                      std::string_view name);

// The one of that name. Looks at the values given for others, too, and throws core::InputError
// where they make no sense.
std::shared_ptr<const CongestionControl> make_congestion_control(std::string_view name,
                                                                 const GivenParameters& given);

}  // namespace exawarp::model
