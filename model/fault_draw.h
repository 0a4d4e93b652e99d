// A share of some devices, links or switches, drawn by a seed: of n, the round(share * n) whose
// hashes are least. So a greater share has all that a lesser one has.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"

namespace exawarp::model {

struct FaultDraw {
  double share = 0;    // 0 to 1
  std::string kind{};  // of links, as `topology show` lists them; empty: any
  std::uint64_t seed = 1;
};

// The least of what is offered, by (hash, key), in the order of keys. Memory: O(share * n).
class DrawnKeys {
 public:
  DrawnKeys(const FaultDraw& draw, std::uint64_t n)
      : stream_(core::stream_of(draw.seed, kStream)),
        count_(static_cast<std::uint64_t>(std::llround(draw.share * static_cast<double>(n)))) {}

  void offer(std::uint64_t key) {
    if (count_ == 0) return;
    kept_.emplace(core::random_bits(stream_, key), key);
    if (kept_.size() > count_) kept_.pop();
  }
  [[nodiscard]] std::vector<std::uint64_t> keys() {
    std::vector<std::uint64_t> out;
    for (; !kept_.empty(); kept_.pop()) out.push_back(kept_.top().second);
    std::ranges::sort(out);
    return out;
  }

 private:
  static constexpr std::uint64_t kStream = 0xfa17;
  std::uint64_t stream_, count_;
  std::priority_queue<std::pair<std::uint64_t, std::uint64_t>> kept_;  // greatest on top
};

}  // namespace exawarp::model
