// Background traffic: messages that belong to no job and take their share of the devices'
// interfaces. A generator is a pure function: which devices send, when their k-th message sets
// out, to whom and how large it is. So it has no state but a count of messages, and those who run
// devices can run it, whatever the fidelity:
//
//   if (g.sends(device)) wait until g.from() + g.gap(device, 0), then for k = 0, 1, ...
//     send g.message(device, k), wait for g.gap(device, k + 1)     until g.until()
//
// Messages come at random times (gaps are exponential, a Poisson stream) or evenly, whatever
// became of the ones before: an open loop, as of many users who do not know of each other.
// Memory: O(devices named in the study). Thread safety: const methods from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/names.h"
#include "core/permutation.h"
#include "core/time.h"
#include "model/job/intervals.h"
#include "model/network/message_sizes.h"

namespace exawarp::model {

enum class BackgroundPattern : std::uint8_t {
  uniform,      // each message to another of the generator's devices, at random
  permutation,  // each device to one other, each from one other, at random
  incast,       // every device that is no target to one of the targets, at random
  hotspot,      // as uniform, but a share of the messages goes to a target
};

inline constexpr core::Named<BackgroundPattern> kBackgroundPatternNames[] = {
    {"uniform", BackgroundPattern::uniform},
    {"permutation", BackgroundPattern::permutation},
    {"incast", BackgroundPattern::incast},
    {"hotspot", BackgroundPattern::hotspot}};
constexpr std::span<const core::Named<BackgroundPattern>> names_of(BackgroundPattern) {
  return kBackgroundPatternNames;
}
static_assert(core::names_each(kBackgroundPatternNames));

constexpr std::size_t kBackgroundsMax = 8;  // generators of a study

struct BackgroundSpec {
  std::string place = {};  // what an error starts with
  BackgroundPattern pattern = BackgroundPattern::uniform;
  MessageSizes sizes = {};
  std::vector<std::uint32_t> devices = {};  // ascending; empty: `share_ppm` of all, at random
  std::int64_t share_ppm = 1'000'000;
  std::vector<std::uint32_t> targets = {};  // incast, hotspot
  std::int64_t hot_ppm = 500'000;           // hotspot: of messages that go to a target
  std::int64_t load_ppm = 0;                // of a sender's scale-out link; or, where 0,
  std::int64_t bytes_per_s = 0;             // that a sender sends
  bool even = false;                        // gaps are all the same
  core::Time from{0}, until = core::Time::max();
  std::uint64_t seed = 1;
};

// Some of a cluster's devices, in an order of their own.
class DeviceSet {
 public:
  // Those of `ids`, ascending, without repetition; or, where that is empty, `count` at random.
  DeviceSet(const std::vector<std::uint32_t>& ids, std::uint32_t count, std::uint32_t devices,
            std::uint64_t seed);

  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] std::uint32_t at(std::uint32_t i) const;
  [[nodiscard]] bool has(std::uint32_t device) const { return index_of(device) < size_; }
  // size() or more where the device is none of them.
  [[nodiscard]] std::uint32_t index_of(std::uint32_t device) const;

 private:
  Intervals listed_;
  core::Permutation order_;  // where none are listed
  std::uint32_t size_;
};

class Background {
 public:
  struct Message {
    core::DeviceId to;
    std::int64_t bytes;
  };

  // `link_bytes_per_s`: of a device's interface out of its node. Throws core::InputError where the
  // specification makes no sense for so many devices.
  Background(const BackgroundSpec& spec, std::uint32_t devices, std::int64_t link_bytes_per_s);

  [[nodiscard]] bool sends(core::DeviceId device) const;
  // Both require sends(device).
  [[nodiscard]] Message message(core::DeviceId device, std::uint64_t k) const;
  [[nodiscard]] core::Time gap(core::DeviceId device, std::uint64_t k) const;
  [[nodiscard]] core::Time from() const { return spec_.from; }
  [[nodiscard]] core::Time until() const { return spec_.until; }

 private:
  [[nodiscard]] core::DeviceId other(core::DeviceId device, std::uint32_t bits) const;

  BackgroundSpec spec_;
  DeviceSet devices_;
  DeviceSet targets_;
  core::Permutation cycle_;  // pattern permutation: one cycle through all in this order
  core::Time mean_gap_;
};

}  // namespace exawarp::model
