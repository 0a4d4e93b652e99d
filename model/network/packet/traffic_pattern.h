// Synthetic traffic: who sends to whom, as pure functions of ids, in O(1) memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/ids.h"
#include "core/names.h"
#include "core/permutation.h"
#include "core/time.h"
#include "model/network/packet/flow_list.h"

namespace exawarp::model {

enum class TrafficPattern : std::uint8_t {
  permutation,  // each to one other, each from one other, at random
  incast,       // devices 1 to `senders` to device 0
  outcast,      // device 0 to devices 1 to `senders`, in turn
  all_to_all,   // each to all others, in turn, starting with the next
  uniform,      // each to random others, at random times, at a load
  hotspot,      // the same, but a share of all messages goes to device 0
  shift,        // device d to d + shift
  pairs,        // device d < senders to device d + devices - senders
  flows,        // as somebody listed
};

inline constexpr core::Named<TrafficPattern> kTrafficPatternNames[] = {
    {"permutation", TrafficPattern::permutation}, {"incast", TrafficPattern::incast},
    {"outcast", TrafficPattern::outcast}, {"all_to_all", TrafficPattern::all_to_all},
    {"uniform", TrafficPattern::uniform}, {"hotspot", TrafficPattern::hotspot},
    {"shift", TrafficPattern::shift}, {"pairs", TrafficPattern::pairs},
    {"flows", TrafficPattern::flows}};
constexpr std::span<const core::Named<TrafficPattern>> names_of(TrafficPattern) {
  return kTrafficPatternNames;
}
static_assert(core::names_each(kTrafficPatternNames));

struct TrafficOptions {
  TrafficPattern pattern = TrafficPattern::permutation;
  std::int64_t message_bytes = 512 << 10;
  std::uint32_t messages = 1;     // of a sender to each of its destinations
  std::uint32_t senders = 0;      // incast, outcast, pairs; 0: as many as there can be
  std::uint32_t shift = 1;
  std::uint32_t concurrent = 1;   // messages that a device has on its line at once
  bool one_by_one = false;        // a message leaves when the device's last one has
  double load = 0.5;              // uniform, hotspot: of the device's first line
  double hot_share = 0.1;         // hotspot
  core::Time start_spread{0};     // devices start at random within this
  std::uint64_t seed = 1;
  std::string flows_file = {};            // flows
  std::shared_ptr<const FlowList> flows = {};  // what is in that file
};

class TrafficPlan {
 public:
  // Throws core::InputError where the options make no sense for so many devices.
  TrafficPlan(const TrafficOptions& options, std::uint32_t devices);

  // Messages that device d sends; the k-th one's destination. Requires k < messages_of(d).
  [[nodiscard]] std::uint32_t messages_of(core::DeviceId d) const;
  [[nodiscard]] core::DeviceId destination(core::DeviceId d, std::uint32_t k) const;
  [[nodiscard]] std::int64_t bytes(core::DeviceId d, std::uint32_t k) const;
  // When it is sent. Requires pattern `flows`.
  [[nodiscard]] core::Time start(core::DeviceId d, std::uint32_t k) const {
    return options_.flows->of(d)[k].start;
  }
  [[nodiscard]] core::WidePs bytes_of(core::DeviceId d) const;  // of all that device d sends
  [[nodiscard]] std::int64_t longest() const;                   // bytes of a message
  [[nodiscard]] bool is_listed() const { return options_.pattern == TrafficPattern::flows; }
  // Sends at random times of its own, whatever became of the messages before.
  [[nodiscard]] bool is_open() const {
    return options_.pattern == TrafficPattern::uniform ||
           options_.pattern == TrafficPattern::hotspot;
  }
  [[nodiscard]] const TrafficOptions& options() const { return options_; }

 private:
  TrafficOptions options_;
  std::uint32_t devices_;
  core::Permutation order_;
  std::uint32_t hot_;        // hot_share times 2^32
};

}  // namespace exawarp::model
