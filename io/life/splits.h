// How a number of devices can be split between replicas that compute prompts and replicas that
// decode.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace exawarp::io {

// Of a pool: as `4x2`, or with the blocks that such a replica has room for, `4x2:30000`.
struct SplitLayout {
  std::uint32_t tensor = 1, pipeline = 1;
  std::uint32_t blocks = 0;  // 0: as the study says

  [[nodiscard]] std::uint64_t devices() const { return std::uint64_t{tensor} * pipeline; }
  friend bool operator==(const SplitLayout&, const SplitLayout&) = default;
};

struct SplitPool {
  SplitLayout layout;
  std::uint32_t replicas = 1;

  [[nodiscard]] std::uint64_t devices() const { return layout.devices() * replicas; }
};

struct Split {
  SplitPool prompts, decodes;

  [[nodiscard]] std::uint64_t devices() const { return prompts.devices() + decodes.devices(); }
  // "3 x 4x2 + 2 x 8x1": prompts, then decodes.
  [[nodiscard]] std::string name() const;
  // What makes it of the `job`-th job of a study, path.to.key=value.
  [[nodiscard]] std::vector<std::string> overrides(std::size_t job) const;
};

constexpr std::size_t kSplitsMax = 512;

// Of LAYOUT,LAYOUT,...; throws core::InputError, which `option` begins.
std::vector<SplitLayout> parse_layouts(const std::string& option, const std::string& text);

// All of at least one replica each that leave no room for another of either, by the layout of
// prompts, of decodes, and replicas of the first. Throws core::InputError where there are none, or
// more than kSplitsMax.
std::vector<Split> splits_of(std::uint32_t devices, const std::vector<SplitLayout>& prompts,
                             const std::vector<SplitLayout>& decodes);

}  // namespace exawarp::io
