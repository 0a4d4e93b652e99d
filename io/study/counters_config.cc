#include "io/study/counters_config.h"

#include <fmt/format.h>

#include <bit>

namespace exawarp::io {

model::PortCountersOptions read_port_counters(const YamlSection& section) {
  model::PortCountersOptions out;
  out.bucket = core::Time{section.quantity("bucket", core::Dimension::time, 1'000, out.bucket.ps)};
  constexpr core::Time kBucketMax{86'400 * core::kPicosecondsPerSecond};
  if (out.bucket > kBucketMax) section.fail("bucket", "is longer than a day");
  constexpr std::int64_t kBucketsMax = 1 << 16;
  const std::int64_t buckets = section.integer("buckets", {2, kBucketsMax}, out.buckets_max);
  out.buckets_max = static_cast<std::uint32_t>(buckets);
  if (!std::has_single_bit(out.buckets_max)) {
    section.fail("buckets", fmt::format("{} is no power of two; expected e.g. {}", buckets,
                                        std::bit_ceil(out.buckets_max)));
  }
  return out;
}

}  // namespace exawarp::io
