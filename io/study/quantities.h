// Quantities that several kinds of configurations have.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/time.h"
#include "io/study/yaml.h"

namespace exawarp::io {

inline constexpr std::int64_t kDevicesMax = 1 << 24;  // of workloads (model/workload/validate.h)
inline constexpr std::int64_t kWidthMax = 1 << 16;    // of a part of a network
inline constexpr IntegerRange kPositive{.min = 1};

// Up to a minute: what is longer is a mistake, and sums stay far from 2^63.
core::Time read_latency(const YamlSection& section, std::string_view key, std::int64_t min_ps,
                        std::optional<std::int64_t> fallback_ps = {});

std::uint32_t read_count(const YamlSection& section, std::string_view key, std::int64_t min,
                         std::int64_t max, std::optional<std::int64_t> fallback = {});

// "7" or "8-15", both ends included; with `prefix` 's' also "s7" and "s8-15".
struct IdRange {
  std::string_view text;
  char prefix = '\0';
  std::uint32_t ids_max = 0;  // ids are less
};
void add_ids(const YamlSection& section, std::string_view key, const IdRange& range,
             std::vector<std::uint32_t>& ids);

// A list of devices, or of ranges with both ends included: [7, 16-23]. In the order given.
std::vector<std::uint32_t> read_devices(const YamlSection& section, std::string_view key);

}  // namespace exawarp::io
