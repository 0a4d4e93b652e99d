// Takes the cheapest way that is right for the group at hand: the formula of equal links, the walk
// of a ring of one lane, carrying the messages out, and estimates for what is too large for that.
#include "model/device/group_time.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "model/collective/algorithm.h"
#include "model/collective/cost.h"
#include "model/device/group_run.h"
#include "model/device/large_trees.h"
#include "model/device/ring_run.h"

namespace exawarp::model {
namespace {

using core::Time;
using schema::CollectiveType;

// As on equal links, all of which are as long as `tier`.
Time time_on(const GroupTask& use, Tier tier) {
  StepCost cost = use.group.network().cost_of(tier);
  const auto interface = static_cast<std::size_t>(interface_of(tier));
  cost.latency += use.choice.step[interface];
  __extension__ using Wide = __int128;
  cost.bandwidth_bytes_per_s = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(static_cast<Wide>(cost.bandwidth_bytes_per_s) *
                                   use.choice.payload_ppm[interface] / kPayloadWhole));
  return collective_time(use.c, cost);
}

// ---- rings

// In 128 bits: what is summed here may pass the end of time, and walks are differences of sums.
using core::WidePs;

struct Edge {
  WidePs cost, wire;  // of one chunk; `wire`: how long it keeps the next one from leaving
};

// The longest walk that waits for `wait` at each of `steps` steps where it does not go on, over at
// least one edge that takes so long. Walks are stretches of the ring, gone round up to twice: the
// greatest difference of sums of (cost - wait) at most `steps` apart with such an edge between.
WidePs longest_walk(const std::vector<Edge>& edges, std::int64_t steps, WidePs wait) {
  struct Start {
    std::int64_t at;
    WidePs sum;
  };
  const auto n = static_cast<std::int64_t>(edges.size());
  std::deque<Start> starts;  // ascending places and sums: the first is the least in reach
  std::vector<WidePs> sums{0};
  std::optional<WidePs> most;
  std::int64_t next = 0;
  for (std::int64_t end = 1; end <= n + steps; ++end) {
    const Edge& edge = edges[static_cast<std::size_t>((end - 1) % n)];
    sums.push_back(sums.back() + (edge.cost - wait));
    for (; edge.wire >= wait && next < end; ++next) {
      const WidePs sum = sums[static_cast<std::size_t>(next)];
      while (!starts.empty() && starts.back().sum >= sum) starts.pop_back();
      starts.push_back({next, sum});
    }
    while (!starts.empty() && starts.front().at < end - steps) starts.pop_front();
    if (starts.empty()) continue;
    const WidePs walk = sums.back() - starts.front().sum;
    if (!most || *most < walk) most = walk;
  }
  return most ? *most + steps * wait : 0;
}

// A ring whose chunks follow each other at least an edge's `wire` apart.
WidePs walk_time(const std::vector<Edge>& edges, std::int64_t steps) {
  std::vector<WidePs> waits;
  for (const Edge& edge : edges) waits.push_back(edge.wire);
  std::ranges::sort(waits);
  waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
  WidePs most = 0;
  for (const WidePs wait : waits) most = std::max(most, longest_walk(edges, steps, wait));
  return most;
}

// The steps of a ring or chain from each member to the next. Lanes that leave a member by one
// interface follow each other; those of a ring through whole nodes leave a node by its members in
// turn.
struct RoundEdges {
  std::vector<Edge> edges;  // by position
  WidePs last = 0;          // what the last lane comes after the first
};
RoundEdges round_edges(const GroupTask& use, std::int64_t bytes) {
  const Collective& c = use.c;
  const std::int64_t lanes = c.lanes, leave = (lanes + c.node_members - 1) / c.node_members;
  RoundEdges out;
  for (std::uint32_t p = 0; p < c.members; ++p) {
    const Tier tier = use.group.tier(p, next_in_ring(p, c.members));
    const Interface side = interface_of(tier);
    const Time wire = use.wire(bytes, side);
    const std::int64_t together = c.node_members == 1       ? lanes
                                  : side == Interface::node ? lanes - lanes / c.node_members
                                                            : leave;
    const WidePs wire_ps = wire.ps;
    out.edges.push_back({wire_ps + use.travel(tier, wire).ps, together * wire_ps});
    out.last = std::max(out.last, (together - 1) * wire_ps);
  }
  return out;
}

Time ring_time(const GroupTask& use) {
  const Collective& c = use.c;
  const std::int64_t rounds =
      (c.type == CollectiveType::ALL_REDUCE || c.type == CollectiveType::BARRIER ? 2 : 1) *
      std::int64_t{c.members - 1};
  const RoundEdges round = round_edges(use, bytes_of(c, {.first = 0, .count = 1}));
  return core::time_to_end(walk_time(round.edges, rounds) + round.last);
}

// From the root on, or back to it, once round: every step but the one into the root.
Time chain_time(const GroupTask& use) {
  const RoundEdges round = round_edges(use, lane_bytes(use.c));
  WidePs way = 0;
  for (std::uint32_t p = 0; p < use.c.members; ++p) {
    if (next_in_ring(p, use.c.members) != use.c.root) way += round.edges[p].cost;
  }
  return core::time_to_end(way + round.last);
}

// ---- what is too large to be carried out

std::vector<std::uint32_t> some_members(std::uint32_t members) {
  constexpr std::uint32_t kMost = 16;
  constexpr std::uint32_t kQueries = 1u << 22;
  const std::uint32_t count = std::clamp(kQueries / members, 1u, std::min(kMost, members));
  std::vector<std::uint32_t> some;
  for (std::uint32_t i = 0; i < count; ++i) {  // at different places of their nodes
    some.push_back(static_cast<std::uint32_t>((std::uint64_t{members} * i / count + i) % members));
  }
  return some;
}

// What a member's phase takes where nothing waits for other members: its sends leave each interface
// one after the other.
Time phase_time(const GroupTask& use, std::uint32_t position, std::uint32_t phase) {
  const Network& network = use.group.network();
  std::vector<Time> sent(kInterfaceCount + network.further_interfaces());
  Time end;
  const Phase here = phase_of(use.c, position, 0, phase);
  for (std::uint32_t i = 0; i < here.sends; ++i) {
    const Transfer t = transfer_of(use.c, position, 0, phase, i);
    const Tier tier = use.group.tier(position, t.peer);
    const Interface side = interface_of(tier);
    const Interface out =
        network.ends_of(side, use.group.device(position), use.group.device(t.peer), use.connection)
            .out;
    const Time wire = use.wire(t.bytes, side);
    Time& left = sent[static_cast<std::size_t>(out)];
    left = core::sum_to_end(left, wire);
    end = std::max(end, core::sum_to_end(left, use.travel(tier, wire)));
  }
  return end;
}

Time exchange_time(const GroupTask& use) {
  const std::vector<std::uint32_t> some = some_members(use.c.members);
  const std::uint32_t phases = phase_count(use.c, 0, 0);
  Time total;
  for (std::uint32_t phase = 0; phase < phases; ++phase) {
    Time longest;
    for (const std::uint32_t p : some) longest = std::max(longest, phase_time(use, p, phase));
    total = core::sum_to_end(total, longest);
  }
  return total;
}

// Whether members do the same, each from its own position on.
bool turns(const Collective& c) {
  const bool by_pairs = c.sizes.size() > c.members;
  if (runs_on_tree(c) || is_rooted(c.type) || by_pairs) return false;
  return description_of(c.algorithm).turns;
}

}  // namespace

Time group_time(const Collective& c, const Choice& choice, std::uint32_t connection,
                const GroupNetwork& group, std::uint64_t messages_max) {
  const GroupTask use{c, choice, connection, group};
  const AlgorithmDescription& algorithm = description_of(c.algorithm);
  const bool by_nodes = algorithm.by_nodes && c.node_members > 1;
  if (group.uniform() && !by_nodes) return time_on(use, *group.uniform());
  if (algorithm.lanes_in_pairs) return large_tree_time(use, messages_max);
  if (runs_round(c) && c.lanes == 1) return ring_time(use);
  const std::uint64_t messages = collective_messages(c);
  const bool is_large = messages > kGroupMessagesWhole;
  const std::uint32_t period = is_large && turns(c) ? group.period(c.node_members) : c.members;
  if (messages / c.members * period <= messages_max) {
    return runs_round(c) ? RingRun(use, period).last_end() : GroupRun(use, period).last_end();
  }
  if (runs_on_chain(c)) return chain_time(use);
  if (runs_on_tree(c)) return time_on(use, group.span());
  return runs_round(c) ? ring_time(use) : exchange_time(use);
}

}  // namespace exawarp::model
