#include "model/collective/exchange.h"

#include "core/check.h"

namespace exawarp::model {
namespace {

using core::product_to_end;
using core::sum_to_end;
using core::Time;

// The largest sum of what a member sends or receives, message by message. Requires n * n sizes.
Time largest_sum(const Collective& c, const Sequence& s, Time each) {
  const std::size_t n = c.members;
  const auto with = [&](Time sum, std::uint64_t bytes) {
    return sum_to_end(sum, sum_to_end(each, s.wire(static_cast<std::int64_t>(bytes))));
  };
  Time most;
  for (std::size_t a = 0; a < n; ++a) {
    Time sent, received;
    for (std::size_t b = 0; b < n; ++b) {
      if (a == b) continue;
      sent = with(sent, c.sizes[a * n + b]);
      received = with(received, c.sizes[b * n + a]);
    }
    most = std::max({most, sent, received});
  }
  return most;
}

}  // namespace

Transfer exchanged(const Collective& c, std::uint32_t position, std::uint32_t peer,
                   std::uint32_t peer_phase, const Blocks& blocks) {
  EXAWARP_DCHECK(peer < c.members, peer, c.members);
  Transfer t{.peer = peer, .peer_phase = peer_phase, .blocks = blocks};
  if (c.sizes.empty()) {
    t.bytes = bytes_of(c, blocks);
  } else {
    const std::size_t n = c.members;
    const std::size_t at = c.sizes.size() == n ? blocks.first : std::size_t{position} * n + peer;
    EXAWARP_DCHECK(at < c.sizes.size(), at, c.sizes.size());
    t.bytes = static_cast<std::int64_t>(c.sizes[at]);
  }
  t.bytes_received = t.bytes;
  return t;
}

Transfer in_round(const Collective& c, std::uint32_t position, std::uint32_t peer,
                  std::uint32_t round, const Blocks& blocks) {
  Transfer t = exchanged(c, position, peer, round, blocks);
  t.one_by_one = true;
  return t;
}

Time all_pairs_time(const Collective& c, const Sequence& s, Time each) {
  const std::size_t others = c.members - 1;
  if (c.sizes.empty()) {
    return product_to_end(static_cast<std::int64_t>(others),
                          sum_to_end(each, s.wire(bytes_of(c, {.first = 0, .count = 1}))));
  }
  if (c.sizes.size() != c.members) return largest_sum(c, s, each);
  Time total;
  for (std::size_t d = 1; d <= others; ++d) {
    total = sum_to_end(total, sum_to_end(each, s.wire(static_cast<std::int64_t>(c.sizes[d]))));
  }
  return total;
}

}  // namespace exawarp::model
