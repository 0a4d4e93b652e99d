#include "io/study/counters_config.h"

#include <fmt/format.h>

#include <bit>

namespace exawarp::io {

const Keys<model::PortCountersOptions>& counters_keys() {
  using S = model::PortCountersOptions;
  using K = Keys<S>;
  static const K keys(
      "counters", "Counters of ports over time: docs/guide/faults.md.",
      {K::quantity("bucket", &S::bucket, {core::Dimension::time, 1'000}, "width at first"),
       K::then([](const YamlSection& section, S& out) {
         constexpr core::Time kBucketMax{86'400 * core::kPicosecondsPerSecond};
         if (out.bucket > kBucketMax) section.fail("bucket", "is longer than a day");
       }),
       K::integer("buckets", &S::buckets_max, {2, 1 << 16}, "at most; a power of two"),
       K::then([](const YamlSection& section, S& out) {
         if (std::has_single_bit(out.buckets_max)) return;
         section.fail("buckets", fmt::format("{} is no power of two; expected e.g. {}",
                                             out.buckets_max, std::bit_ceil(out.buckets_max)));
       })});
  return keys;
}

}  // namespace exawarp::io
