// Topology-aware placement by recursive bisection.
//
// The question. Cut a graph into ranks x partitions_per_rank parts of about equal weight so that
// little traffic crosses a border, and least of all a border between ranks. The best cut is
// NP-hard to find; a good one is not, because clusters are regular.
//
// The idea. Split the parts in two halves, on a border between ranks while there is more than one
// rank, divide the atoms between the halves, and continue inside each half. So the widest borders
// are drawn first, with the whole graph in view, and the partitions of one rank are neighbours. A
// division in two is made in three steps:
//
//   1. Grow. Start from an atom at the rim (the last one that a breadth-first search reaches) and
//      keep adding the atom whose arrival adds least to the cut: least (traffic with the atoms
//      outside) - (traffic with those inside). Stop at the half's share of the weight.
//   2. Begin again with the plain order of ids, which suits a cluster numbered along its traffic.
//   3. Refine both as Fiduccia and Mattheyses do: move the atom whose move lowers the cut most,
//      even where that is by a negative amount, lock it, and so on; then go back to the best
//      state seen. Climbing out of a dip is what plain greed cannot do. Keep the better of both.
//
// A small example: two pipeline stages of four nodes, whose rings (=) carry 9 and whose links
// between stages (|) carry 1, numbered down the columns:
//
//      0 = 2 = 4 = 6        blocks cut it in the middle {0 1 2 3 | 4 5 6 7}: two rings, each
//      |   |   |   |        cut in two places, 36; growing from 5 takes 3, 1 and 7 before
//      1 = 3 = 5 = 7        any of the upper row, and cuts the four links: 4.
//   (0 = 6 and 1 = 7 close the rings)
//
// Why the result depends only on the input: weights are integers, equal candidates are
// taken by lowest id, and no order comes from an address, a hash or a thread.
//
// Balance. Let S be the average weight of a part and h the heaviest atom. A division may miss
// its share by at most d = max(S / 200, h / 2), for refinement needs some room. A miss of d spreads
// over the parts of that half, and halves shrink: 1 + 1/2 + 1/3 + 1/5 + 1/9 + ... < 2.3 for the
// partitions of a rank, and as much again, over partitions_per_rank, for the ranks: below
// 3.5 d altogether, plus the rounding of the shares.
//
// Cost. One level of the recursion is O(E log V) for V atoms and E edges, and there are
// log2(parts) levels. 16,384 atoms with 31,744 edges in 64 parts take 12 ms (dev preset, one EPYC
// core).
//
// C. M. Fiduccia, R. M. Mattheyses: "A linear-time heuristic for improving network partitions",
// DAC 1982. G. Karypis, V. Kumar: "A fast and high quality multilevel scheme for partitioning
// irregular graphs", SIAM J. Sci. Comput. 20 (1998), whose growing (GGGP) this is.
#include "partition/topology_aware.h"

#include <algorithm>
#include <queue>
#include <span>
#include <vector>

#include "core/check.h"
#include "partition/idle_atoms.h"
#include "partition/quality.h"

namespace exawarp::partition {
namespace {

constexpr int kPassesMax = 8;  // refinement settles after two to four

// A pass gives up after this many moves without a better state, or a quarter of the atoms.
constexpr std::size_t kStalledMovesMin = 64;

struct Candidate {
  std::int64_t gain = 0;
  std::uint32_t vertex = 0;
  // The queue's top is the greatest: higher gain, then lower id.
  friend bool operator<(const Candidate& x, const Candidate& y) {
    return x.gain != y.gain ? x.gain < y.gain : x.vertex > y.vertex;
  }
};
using CandidateQueue = std::priority_queue<Candidate>;

// What a division is judged by; less is better, the cut first.
struct Score {
  std::int64_t cut = 0;
  std::int64_t imbalance = 0;
  friend auto operator<=>(const Score&, const Score&) = default;
};

// weight * numerator / denominator, without the overflow of the plain product.
std::int64_t share_of(std::int64_t weight, std::uint32_t numerator, std::uint32_t denominator) {
  const std::int64_t quotient = weight / denominator;
  return quotient * numerator + (weight % denominator) * numerator / denominator;
}

// Divides one set of atoms in two. Scratch memory is shared by all divisions.
// Owner: one call of place_by_topology.
class Bisector {
 public:
  Bisector(const WeightedGraph& graph, std::int64_t part_share)
      : graph_(graph),
        miss_max_(std::max(part_share / 200, graph.heaviest_vertex() / 2)),
        group_(graph.vertices()),
        inside_(graph.vertices()),
        locked_(graph.vertices()),
        gain_(graph.vertices()) {}

  // Reorders `vertices` (ascending) so that the first `returned` of them make the first half,
  // whose weight is close to `target`; both halves ascending.
  std::size_t divide(std::span<std::uint32_t> vertices, std::int64_t target);

 private:
  void start_group(std::span<const std::uint32_t> vertices);
  void start_from_ids(std::span<const std::uint32_t> vertices);
  void start_by_growing(std::span<const std::uint32_t> vertices);
  [[nodiscard]] std::uint32_t rim_vertex(std::uint32_t from);
  [[nodiscard]] bool take(std::uint32_t vertex);

  void compute_gains(std::span<const std::uint32_t> vertices);
  void refine(std::span<const std::uint32_t> vertices);
  [[nodiscard]] bool improve_once(std::span<const std::uint32_t> vertices);
  [[nodiscard]] bool pick(CandidateQueue (&queues)[2], Candidate& best);
  [[nodiscard]] std::int64_t miss_after(std::uint32_t vertex) const;
  void move(std::uint32_t vertex, CandidateQueue* queues);

  [[nodiscard]] bool mine(std::uint32_t vertex) const { return group_[vertex] == current_group_; }
  [[nodiscard]] std::int64_t miss() const { return std::abs(inside_weight_ - target_); }
  [[nodiscard]] Score score() const { return {cut_, miss()}; }

  const WeightedGraph& graph_;
  const std::int64_t miss_max_;
  std::vector<std::uint32_t> group_;  // which division a vertex is in; others are ignored
  std::vector<std::uint8_t> inside_;  // 1: in the first half
  std::vector<std::uint8_t> locked_;
  std::vector<std::int64_t> gain_;  // how much a move to the other half lowers the cut
  std::uint32_t current_group_ = 0;
  std::int64_t target_ = 0;
  std::int64_t inside_weight_ = 0;
  std::int64_t cut_ = 0;
};

void Bisector::start_group(std::span<const std::uint32_t> vertices) {
  for (const std::uint32_t v : vertices) inside_[v] = 0;
  inside_weight_ = 0;
}

// Adds `vertex` to the first half unless that would miss the target by more than stopping here.
bool Bisector::take(std::uint32_t vertex) {
  const std::int64_t weight = graph_.weight(vertex);
  if (inside_weight_ + weight - target_ > target_ - inside_weight_) return false;
  inside_weight_ += weight;
  inside_[vertex] = 1;
  return true;
}

void Bisector::start_from_ids(std::span<const std::uint32_t> vertices) {
  start_group(vertices);
  for (const std::uint32_t v : vertices)
    if (!take(v)) return;
}

// The last vertex that a breadth-first search from `from` reaches, marked by locked_.
std::uint32_t Bisector::rim_vertex(std::uint32_t from) {
  std::vector<std::uint32_t> order{from};
  locked_[from] = 1;
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const Neighbour& n : graph_.neighbours(order[i]))
      if (mine(n.vertex) && locked_[n.vertex] == 0) {
        locked_[n.vertex] = 1;
        order.push_back(n.vertex);
      }
  for (const std::uint32_t v : order) locked_[v] = 0;
  return order.back();
}

void Bisector::start_by_growing(std::span<const std::uint32_t> vertices) {
  start_group(vertices);
  compute_gains(vertices);  // all outside: a gain is minus all of the vertex's traffic
  CandidateQueue rim;
  const std::uint32_t first = rim_vertex(vertices.front());
  rim.push({gain_[first], first});
  std::size_t next_id = 0;
  for (;;) {
    std::uint32_t vertex = 0;
    if (!rim.empty()) {
      const Candidate top = rim.top();
      rim.pop();
      if (inside_[top.vertex] != 0 || top.gain != gain_[top.vertex]) continue;  // out of date
      vertex = top.vertex;
    } else {  // a component is complete: continue with the lowest id outside
      while (next_id < vertices.size() && inside_[vertices[next_id]] != 0) ++next_id;
      if (next_id == vertices.size()) return;
      vertex = vertices[next_id];
    }
    if (!take(vertex)) return;
    for (const Neighbour& n : graph_.neighbours(vertex)) {
      if (!mine(n.vertex) || inside_[n.vertex] != 0) continue;
      gain_[n.vertex] += 2 * n.weight;
      rim.push({gain_[n.vertex], n.vertex});
    }
  }
}

void Bisector::compute_gains(std::span<const std::uint32_t> vertices) {
  std::int64_t cut_twice = 0;
  for (const std::uint32_t v : vertices) {
    std::int64_t gain = 0;
    for (const Neighbour& n : graph_.neighbours(v)) {
      if (!mine(n.vertex)) continue;
      const bool crosses = inside_[n.vertex] != inside_[v];
      gain += crosses ? n.weight : -n.weight;
      if (crosses) cut_twice += n.weight;
    }
    gain_[v] = gain;
  }
  cut_ = cut_twice / 2;
}

std::int64_t Bisector::miss_after(std::uint32_t vertex) const {
  const std::int64_t weight = graph_.weight(vertex);
  return std::abs(inside_weight_ + (inside_[vertex] != 0 ? -weight : weight) - target_);
}

void Bisector::move(std::uint32_t vertex, CandidateQueue* queues) {
  const std::int64_t weight = graph_.weight(vertex);
  inside_weight_ += inside_[vertex] != 0 ? -weight : weight;
  inside_[vertex] ^= 1;
  cut_ -= gain_[vertex];
  gain_[vertex] = -gain_[vertex];
  for (const Neighbour& n : graph_.neighbours(vertex)) {
    if (!mine(n.vertex)) continue;
    gain_[n.vertex] += inside_[n.vertex] == inside_[vertex] ? -2 * n.weight : 2 * n.weight;
    if (queues != nullptr && locked_[n.vertex] == 0)
      queues[inside_[n.vertex]].push({gain_[n.vertex], n.vertex});
  }
}

// The best move that keeps the balance within reach: one heaviest atom beyond what a result may
// miss, so that two atoms can change places. An atom that does not fit is passed over.
bool Bisector::pick(CandidateQueue (&queues)[2], Candidate& best) {
  bool found = false;
  for (CandidateQueue& queue : queues) {
    while (!queue.empty()) {
      const Candidate top = queue.top();
      const bool current = locked_[top.vertex] == 0 && top.gain == gain_[top.vertex];
      const std::int64_t after = miss_after(top.vertex);
      if (current && (after <= miss_max_ + graph_.heaviest_vertex() || after < miss())) break;
      queue.pop();
    }
    if (queue.empty()) continue;
    const Candidate top = queue.top();
    const bool better = !found || top.gain > best.gain ||
                        (top.gain == best.gain && miss_after(top.vertex) < miss_after(best.vertex));
    if (better) best = top;
    found = true;
  }
  return found;
}

// One pass: every vertex moves at most once; ends in the best state seen.
bool Bisector::improve_once(std::span<const std::uint32_t> vertices) {
  CandidateQueue queues[2];  // by the half that the vertex is in
  for (const std::uint32_t v : vertices) queues[inside_[v]].push({gain_[v], v});
  const Score before = score();
  Score best = before;
  std::vector<std::uint32_t> moved;
  std::size_t moves_kept = 0;
  const std::size_t stalled_max = std::max(kStalledMovesMin, vertices.size() / 4);
  Candidate next;
  while (moved.size() < moves_kept + stalled_max && pick(queues, next)) {
    locked_[next.vertex] = 1;
    move(next.vertex, queues);
    moved.push_back(next.vertex);
    if (score() < best && (miss() <= miss_max_ || miss() <= before.imbalance)) {
      best = score();
      moves_kept = moved.size();
    }
  }
  for (std::size_t i = moved.size(); i-- > moves_kept;) move(moved[i], nullptr);
  for (const std::uint32_t v : moved) locked_[v] = 0;
  return best < before;
}

void Bisector::refine(std::span<const std::uint32_t> vertices) {
  compute_gains(vertices);
  for (int pass = 0; pass < kPassesMax && improve_once(vertices); ++pass) {
  }
}

std::size_t Bisector::divide(std::span<std::uint32_t> vertices, std::int64_t target) {
  if (vertices.empty()) return 0;
  ++current_group_;
  for (const std::uint32_t v : vertices) group_[v] = current_group_;
  target_ = target;

  start_from_ids(vertices);
  refine(vertices);
  const Score from_ids = score();
  std::vector<std::uint8_t> by_ids;
  by_ids.reserve(vertices.size());
  for (const std::uint32_t v : vertices) by_ids.push_back(inside_[v]);

  start_by_growing(vertices);
  refine(vertices);
  if (from_ids <= score())
    for (std::size_t i = 0; i < vertices.size(); ++i) inside_[vertices[i]] = by_ids[i];

  const auto middle = std::stable_partition(vertices.begin(), vertices.end(),
                                            [&](std::uint32_t v) { return inside_[v] != 0; });
  return static_cast<std::size_t>(middle - vertices.begin());
}

// Gives `vertices` to the parts [first, first + parts).
void assign(Bisector& bisector, const WeightedGraph& graph, std::span<std::uint32_t> vertices,
            std::uint32_t first, std::uint32_t parts, core::Placement& placement) {
  if (parts == 1) {
    for (const std::uint32_t v : vertices)
      placement.partition_of_atom[v] = static_cast<std::uint16_t>(first);
    return;
  }
  const std::uint32_t per_rank = placement.partitions_per_rank;
  const std::uint32_t lower =
      parts > per_rank ? parts / per_rank / 2 * per_rank : parts / 2;  // whole ranks first
  std::int64_t weight = 0;
  for (const std::uint32_t v : vertices) weight += graph.weight(v);
  const std::size_t middle = bisector.divide(vertices, share_of(weight, lower, parts));
  assign(bisector, graph, vertices.first(middle), first, lower, placement);
  assign(bisector, graph, vertices.subspan(middle), first + lower, parts - lower, placement);
}

// Rank borders first: they cost a network's latency, others a cache's.
bool cuts_less(const Quality& x, const Quality& y) {
  return x.rank_cut != y.rank_cut ? x.rank_cut < y.rank_cut : x.cut < y.cut;
}

}  // namespace

core::Placement place_by_topology(const WeightedGraph& graph, const PlacementRequest& request) {
  EXAWARP_CHECK(request.atoms == graph.vertices(), request.atoms, graph.vertices());
  core::Placement blocks = place_in_blocks(request);
  const std::uint32_t parts = blocks.partitions();
  EXAWARP_CHECK(parts >= 1 && parts <= 65536, parts);

  core::Placement placement = blocks;
  std::vector<std::uint32_t> connected = deal_out_idle_atoms(graph, placement);
  Bisector bisector(graph, graph.total_weight() / parts);
  assign(bisector, graph, connected, 0, parts, placement);

  const Quality ours = measure(graph, placement);
  const Quality plain = measure(graph, blocks);
  const bool blocks_win = plain.heaviest_part <= ours.heaviest_part && cuts_less(plain, ours);
  return blocks_win ? blocks : placement;
}

}  // namespace exawarp::partition
