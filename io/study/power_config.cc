#include "io/study/power_config.h"

#include <fmt/format.h>

#include <bit>

#include "model/workload/validate.h"

namespace exawarp::io {

const Keys<model::PowerTraceOptions>& power_trace_keys() {
  using S = model::PowerTraceOptions;
  using K = Keys<S>;
  constexpr IntegerRange kNumber{0, model::kDevicesMax - 1};
  static const K keys(
      "power", "Power over time: docs/reference/energy.md.",
      {K::quantity("bin", &S::bin, {core::Dimension::time, 1'000}, "width at first"),
       K::then([](const YamlSection& section, S& out) {
         constexpr core::Time kBinMax{86'400 * core::kPicosecondsPerSecond};
         if (out.bin > kBinMax) section.fail("bin", "is longer than a day");
       }),
       K::integer("bins", &S::bins_max, {16, 1 << 16}, "at most; a power of two"),
       K::then([](const YamlSection& section, S& out) {
         if (std::has_single_bit(out.bins_max)) return;
         section.fail("bins", fmt::format("{} is no power of two; expected e.g. {}", out.bins_max,
                                          std::bit_ceil(out.bins_max)));
       }),
       K::integers("racks", &S::racks, kNumber, "by number")
           .otherwise(fmt::format("all, where they are {} or fewer", model::kPowerGroupsAll)),
       K::integers("nodes", &S::nodes, kNumber, "by number")
           .otherwise(fmt::format("all, where they are {} or fewer", model::kPowerGroupsAll)),
       K::integers("devices", &S::devices, kNumber, "by number").otherwise("none")});
  return keys;
}

}  // namespace exawarp::io
