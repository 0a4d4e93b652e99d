#include "model/collective/cost.h"

#include <algorithm>
#include <bit>

#include "model/collective/double_tree_time.h"
#include "model/collective/tree.h"
#include "model/collective/tree_steps.h"

namespace exawarp::model {
namespace {

using core::product_to_end;
using core::sum_to_end;
using core::Time;
using schema::CollectiveType;

bool gives_to_all(CollectiveType type) {
  return type == CollectiveType::ALL_REDUCE || type == CollectiveType::BARRIER;
}

bool is_rooted_or_spread(CollectiveType type) {
  return type == CollectiveType::BROADCAST || type == CollectiveType::REDUCE;
}

std::uint32_t log2_ceil(std::uint32_t n) {
  return static_cast<std::uint32_t>(std::bit_width(n - 1));
}

// Sums of messages in sequence on the network of one collective.
class Sequence {
 public:
  Sequence(const Collective& c, const StepCost& cost) : c_(c), cost_(cost) {}

  [[nodiscard]] Time wire(std::int64_t bytes) const { return wire_time(bytes, cost_); }
  [[nodiscard]] Time message(std::int64_t bytes) const {
    return sum_to_end(cost_.latency, wire(bytes));
  }
  [[nodiscard]] Time blocks(std::uint32_t count) const {
    return message(bytes_of(c_, {.first = 0, .count = count}));
  }
  [[nodiscard]] Time everything() const { return blocks(c_.members); }
  [[nodiscard]] Time latency() const { return cost_.latency; }

 private:
  const Collective& c_;
  const StepCost& cost_;
};

Time ring_time(const Collective& c, const Sequence& s) {
  const Time wire = s.wire(bytes_of(c, {.first = 0, .count = 1}));
  if (is_rooted_or_spread(c.type)) {
    return sum_to_end(product_to_end(c.members - 1, sum_to_end(s.latency(), wire)),
                      product_to_end(c.lanes - 1, wire));
  }
  const std::int64_t rounds = (gives_to_all(c.type) ? 2 : 1) * std::int64_t{c.members - 1};
  const Time busy = product_to_end(c.lanes, wire);
  const Time round = std::max(busy, sum_to_end(s.latency(), wire));
  return sum_to_end(product_to_end(rounds - 1, round), sum_to_end(busy, s.latency()));
}

Time halving_time(const Collective& c, const Sequence& s) {
  Time total;
  for (std::uint32_t distance = 1; distance < c.members; distance *= 2) {
    total = sum_to_end(total, s.blocks(std::min(distance, c.members - distance)));
  }
  return product_to_end(gives_to_all(c.type) ? 2 : 1, total);
}

Time tree_time(const Collective& c, const Sequence& s) {
  if (c.type != CollectiveType::GATHER && c.type != CollectiveType::SCATTER) {
    return product_to_end((gives_to_all(c.type) ? 2 : 1) * log2_ceil(c.members), s.everything());
  }
  Time total;
  for (std::uint32_t m = c.members; m > 1;) {
    m -= m / 2;
    total = sum_to_end(total, s.blocks(m));
  }
  return total;
}

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

// n - 1 messages from each member to each other, each with `each` before it.
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

Time direct_time(const Collective& c, const Sequence& s) {
  if (c.type == CollectiveType::PERMUTE) return c.shift == 0 ? Time{0} : s.everything();
  return product_to_end(gives_to_all(c.type) ? 2 : 1,
                        sum_to_end(s.latency(), all_pairs_time(c, s, Time{0})));
}

Time bruck_time(const Collective& c, const Sequence& s) {
  Time total;
  for (std::uint32_t i = 0; i < log2_ceil(c.members); ++i) {
    const std::uint32_t distance = 1u << i;
    const Time step = c.type == CollectiveType::ALL_TO_ALL
                          ? s.message(bytes_of(c, {.first = i, .count = 0, .by_bit = true}))
                          : s.blocks(std::min(distance, c.members - distance));
    total = sum_to_end(total, step);
  }
  return total;
}

}  // namespace

Time wire_time(std::int64_t bytes, const StepCost& cost) {
  return std::max(Time{1}, core::transfer_time(bytes, cost.bandwidth_bytes_per_s));
}

Time collective_time(const Collective& c, const StepCost& cost) {
  if (c.members == 1) return {};
  const Sequence s(c, cost);
  switch (c.algorithm) {
    case Algorithm::ring: return ring_time(c, s);
    case Algorithm::halving: return halving_time(c, s);
    case Algorithm::doubling: return product_to_end(log2_ceil(c.members), s.everything());
    case Algorithm::tree: return tree_time(c, s);
    case Algorithm::double_tree: return double_tree_time(c, s.wire(lane_bytes(c)), cost.latency);
    case Algorithm::direct: return direct_time(c, s);
    case Algorithm::bruck: return bruck_time(c, s);
    case Algorithm::pairwise: return all_pairs_time(c, s, s.latency());
    case Algorithm::in_network: {
      const std::int64_t bytes = network_bytes(c);
      return sum_to_end(bytes == 0 ? Time{0} : s.wire(bytes),
                        2 * tree_depth(TreeShape::wide, c.members) * s.latency());
    }
  }
  return {};
}

std::uint64_t collective_messages(const Collective& c) {
  const std::uint64_t n = c.members, others = n - 1;
  if (n == 1) return 0;
  const std::uint64_t twice = gives_to_all(c.type) ? 2 : 1;
  switch (c.algorithm) {
    case Algorithm::ring:
      return c.lanes * others * (is_rooted_or_spread(c.type) ? 1 : twice * n);
    case Algorithm::halving: return twice * n * log2_ceil(c.members);
    case Algorithm::doubling:
    case Algorithm::bruck: return n * log2_ceil(c.members);
    case Algorithm::tree:
    case Algorithm::double_tree: return c.lanes * twice * others;
    case Algorithm::direct:
      if (c.type == CollectiveType::PERMUTE) return c.shift == 0 ? 0 : n;
      return is_rooted(c.type) ? others : twice * n * others;
    case Algorithm::pairwise: return n * others;
    case Algorithm::in_network: return 2 * others;
  }
  return 0;
}

}  // namespace exawarp::model
