// Message k of a device is a function of seed, device and k alone: a random number each for the gap
// before it, its size and its destination. So nothing of a generator has to be rolled back.
#include "model/network/background.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "core/check.h"
#include "core/error.h"
#include "core/exponential.h"
#include "core/random.h"

namespace exawarp::model {
namespace {

using core::DeviceId;
using core::Time;
__extension__ typedef unsigned __int128 Wide;

// Streams of random numbers, one for each question.
constexpr std::uint64_t kChosen = 0xc0;
constexpr std::uint64_t kCycle = 0xc1;
constexpr std::uint64_t kGaps = 0xc2;
constexpr std::uint64_t kSizes = 0xc3;
constexpr std::uint64_t kDestinations = 0xc4;
constexpr std::int64_t kMillion = 1'000'000;

std::uint32_t share_of(std::int64_t ppm, std::uint32_t devices) {
  EXAWARP_CHECK(ppm >= 0 && ppm <= kMillion, ppm);
  return static_cast<std::uint32_t>((std::int64_t{devices} * ppm + kMillion - 1) / kMillion);
}

std::uint32_t scaled(std::uint32_t bits, std::uint32_t size) {
  return static_cast<std::uint32_t>((std::uint64_t{bits} * size) >> 32);
}

[[noreturn]] void refuse(const BackgroundSpec& spec, const std::string& what) {
  if (spec.place.empty()) throw core::InputError("background: " + what);
  throw core::InputError(spec.place, what);
}

void check(const BackgroundSpec& spec, std::uint32_t devices, const DeviceSet& senders) {
  for (const auto* list : {&spec.devices, &spec.targets}) {
    if (list->empty() || list->back() < devices) continue;
    refuse(spec, fmt::format("no such device: {}; expected 0 to {}", list->back(), devices - 1));
  }
  const bool aimed =
      spec.pattern == BackgroundPattern::incast || spec.pattern == BackgroundPattern::hotspot;
  if (aimed && spec.targets.empty()) refuse(spec, "has no targets; expected e.g. targets: [0-3]");
  if (!aimed && !spec.targets.empty()) {
    refuse(spec, "targets are for the patterns incast and hotspot");
  }
  if (spec.pattern == BackgroundPattern::incast) {
    const bool only_targets = senders.size() <= spec.targets.size() &&
                              std::ranges::all_of(spec.devices, [&](std::uint32_t d) {
                                return std::ranges::binary_search(spec.targets, d);
                              });
    if (only_targets && (!spec.devices.empty() || spec.targets.size() >= devices)) {
      refuse(spec, "every device is a target; expected others that send");
    }
  } else if (senders.size() < 2) {
    refuse(spec, "fewer than 2 devices; expected some that send to each other");
  }
}

// A gap is 45 times its mean at most (core/exponential.h), so a generator whose mean is below a day
// has messages within simulated time.
void check_gap(const BackgroundSpec& spec, std::int64_t bytes_per_s) {
  constexpr std::int64_t kSecondsMax = 86'400;
  if (spec.sizes.mean_bytes() / bytes_per_s < kSecondsMax) return;
  refuse(spec, "sends less than a message a device and day; expected a greater load or rate");
}

}  // namespace

DeviceSet::DeviceSet(const std::vector<std::uint32_t>& ids, std::uint32_t count,
                     std::uint32_t devices, std::uint64_t seed)
    : order_(std::max(1u, devices), core::stream_of(seed, kChosen)),
      size_(ids.empty() ? count : static_cast<std::uint32_t>(ids.size())) {
  EXAWARP_CHECK(std::ranges::adjacent_find(ids, std::greater_equal{}) == ids.end(), ids.size());
  for (std::size_t i = 0; i < ids.size();) {
    std::size_t j = i + 1;
    while (j < ids.size() && ids[j] == ids[j - 1] + 1) ++j;
    listed_.add(ids[i], static_cast<std::uint32_t>(j - i));
    i = j;
  }
}

std::uint32_t DeviceSet::at(std::uint32_t i) const {
  return listed_.size() != 0 ? listed_.at(i) : order_.forward(i);
}

std::uint32_t DeviceSet::index_of(std::uint32_t device) const {
  return listed_.size() != 0 ? listed_.index_of(device).value_or(size_) : order_.inverse(device);
}

Background::Background(const BackgroundSpec& spec, std::uint32_t devices,
                       std::int64_t link_bytes_per_s)
    : spec_(spec),
      devices_(spec.devices, share_of(spec.share_ppm, devices), devices, spec.seed),
      targets_(spec.targets, 0, devices, spec.seed),
      cycle_(std::max(1u, devices_.size()), core::stream_of(spec.seed, kCycle)) {
  check(spec, devices, devices_);
  const std::int64_t offered =
      spec.load_ppm == 0
          ? spec.bytes_per_s
          : static_cast<std::int64_t>(Wide{static_cast<std::uint64_t>(link_bytes_per_s)} *
                                      static_cast<std::uint64_t>(spec.load_ppm) / kMillion);
  check_gap(spec, std::max<std::int64_t>(1, offered));
  mean_gap_ = core::transfer_time(spec.sizes.mean_bytes(), std::max<std::int64_t>(1, offered));
  mean_gap_ = std::max(mean_gap_, Time{1});
}

bool Background::sends(DeviceId device) const {
  if (!devices_.has(device.value)) return false;
  return spec_.pattern != BackgroundPattern::incast || !targets_.has(device.value);
}

// Another of the generator's devices, all equally likely.
DeviceId Background::other(DeviceId device, std::uint32_t bits) const {
  const std::uint32_t n = devices_.size();
  EXAWARP_DCHECK(n >= 2 && devices_.has(device.value), device.value, n);
  const std::uint64_t index =
      std::uint64_t{devices_.index_of(device.value)} + 1 + scaled(bits, n - 1);
  return {devices_.at(static_cast<std::uint32_t>(index % n))};
}

Background::Message Background::message(DeviceId device, std::uint64_t k) const {
  const std::int64_t bytes =
      spec_.sizes.quantile(core::random_bits(core::stream_of(spec_.seed, device.value, kSizes), k));
  const std::uint64_t bits =
      core::random_bits(core::stream_of(spec_.seed, device.value, kDestinations), k);
  const auto low = static_cast<std::uint32_t>(bits), high = static_cast<std::uint32_t>(bits >> 32);
  switch (spec_.pattern) {
    case BackgroundPattern::uniform:
      return {other(device, high), bytes};
    case BackgroundPattern::permutation: {
      const std::uint32_t place = cycle_.inverse(devices_.index_of(device.value));
      return {{devices_.at(cycle_.forward((place + 1) % cycle_.size()))}, bytes};
    }
    case BackgroundPattern::incast:
      return {{targets_.at(scaled(high, targets_.size()))}, bytes};
    case BackgroundPattern::hotspot:
      break;
  }
  const bool hot =
      std::int64_t{scaled(low, kMillion)} < spec_.hot_ppm && !targets_.has(device.value);
  return {hot ? DeviceId{targets_.at(scaled(high, targets_.size()))} : other(device, high), bytes};
}

Time Background::gap(DeviceId device, std::uint64_t k) const {
  const std::uint64_t bits = core::random_bits(core::stream_of(spec_.seed, device.value, kGaps), k);
  if (!spec_.even) return core::exponential(mean_gap_, bits);
  if (k != 0) return mean_gap_;
  // Devices do not march in step: the first message is at a random place in a gap.
  return Time{
      1 + static_cast<std::int64_t>((Wide{bits} * static_cast<std::uint64_t>(mean_gap_.ps)) >> 64)};
}

}  // namespace exawarp::model
