#include "model/sample/fidelity.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/random.h"
#include "model/sample/dag.h"

namespace exawarp::model {
namespace {

using schema::NodeKind;

constexpr std::array<MeasureFacts, kMeasureCount> kFacts{{
    {.name = "nodes", .meaning = "nodes of a program", .logarithmic = true},
    {.name = "depth", .meaning = "levels of a program", .logarithmic = true},
    {.name = "width", .meaning = "nodes of a level"},
    {.name = "in_degree", .meaning = "nodes that a node comes after"},
    {.name = "out_degree", .meaning = "nodes that come after a node"},
    {.name = "kinds", .meaning = "nodes by kind and operation", .shares = true},
    {.name = "flops", .meaning = "FLOPs of a computation", .logarithmic = true},
    {.name = "memory_bytes", .meaning = "bytes that a node reads and writes", .logarithmic = true},
    {.name = "recorded_time", .meaning = "recorded durations", .logarithmic = true},
    {.name = "message_bytes", .meaning = "bytes of a message", .logarithmic = true},
    {.name = "collective_bytes", .meaning = "bytes of a collective", .logarithmic = true},
    {.name = "group_size", .meaning = "members of a collective's group", .logarithmic = true},
    {.name = "path_share", .meaning = "critical path over the sum of all nodes' times"},
    {.name = "path_kinds", .meaning = "the critical path's time, by kind and operation",
     .shares = true},
    {.name = "parallelism", .meaning = "sum of all nodes' times over the critical path"},
}};

// Messages of both ways are one kind: a sample mirrors them.
double kind_of(const schema::Node::Reader& node) {
  NodeKind kind = node.getKind();
  if (kind == NodeKind::RECEIVE) kind = NodeKind::SEND;
  std::uint32_t detail = 0;
  if (kind == NodeKind::COMPUTE) detail = static_cast<std::uint32_t>(node.getOperation());
  if (kind == NodeKind::COLLECTIVE) detail = static_cast<std::uint32_t>(node.getCollective());
  return static_cast<double>(static_cast<std::uint32_t>(kind) * 64 + detail);
}

class GraphMeasuring {
 public:
  explicit GraphMeasuring(const WorkloadGraph& graph) : graph_(graph) {}

  GraphMeasures run() {
    std::map<std::uint32_t, DeviceId> devices;  // the first of each program
    for (std::uint32_t d = 0; d < graph_.device_count(); ++d) {
      devices.try_emplace(graph_.program_of({d}), DeviceId{d});
    }
    for (const auto& [program, device] : devices) {
      if (graph_.program(program).node_count() == 0) continue;
      measures_ = {};
      measure_program(graph_.program(program), device);
      for (std::size_t m = 0; m < kMeasureCount; ++m) add_all(measures_[m], sum_[m]);
    }
    GraphMeasures out;
    for (std::size_t m = 0; m < kMeasureCount; ++m) add_all(sum_[m], out[m]);
    return out;
  }

 private:
  // As a whole of weight 1.
  static void add_all(const Histogram& from, Histogram& to) {
    for (const auto& [value, weight] : from.weight) to.add(value, weight / from.total);
  }
  void add(Measure measure, double value, double weight = 1) {
    measures_[static_cast<std::size_t>(measure)].add(value, weight);
  }

  void measure_program(const Program& program, DeviceId device) {
    const ProgramDag dag = program_dag(program);
    add(Measure::nodes, program.node_count());
    add(Measure::depth, dag.depth);
    std::vector<std::uint32_t> width(dag.depth), out_degree(program.node_count());
    for (std::uint32_t i = 0; i < program.node_count(); ++i) {
      ++width[dag.level[i] - 1];
      add(Measure::in_degree, static_cast<double>(dag.before[i].size()));
      for (const std::uint32_t on : dag.before[i]) ++out_degree[on];
      add(Measure::kinds, kind_of(program.node(i)));
      measure_costs(program.node(i), device);
    }
    for (const std::uint32_t nodes : width) add(Measure::width, nodes);
    for (const std::uint32_t nodes : out_degree) add(Measure::out_degree, nodes);
    measure_path(program, dag);
  }

  void measure_costs(const schema::Node::Reader& node, DeviceId device) {
    const NodeKind kind = node.getKind();
    const double moved =
        static_cast<double>(node.getBytesRead()) + static_cast<double>(node.getBytesWritten());
    if (kind == NodeKind::COMPUTE) add(Measure::flops, static_cast<double>(node.getFlops()));
    if (kind == NodeKind::COMPUTE || kind == NodeKind::MEMORY) add(Measure::memory_bytes, moved);
    if (node.getDurationPs() != schema::NO_DURATION) {
      add(Measure::recorded_time, static_cast<double>(node.getDurationPs()));
    }
    if (kind == NodeKind::SEND || kind == NodeKind::RECEIVE) {
      add(Measure::message_bytes, static_cast<double>(node.getCommBytes()));
    }
    if (kind != NodeKind::COLLECTIVE) return;
    add(Measure::collective_bytes, static_cast<double>(handed_bytes(graph_, node)));
    add(Measure::group_size, graph_.membership(node.getGroup(), device).size);
  }

  void measure_path(const Program& program, const ProgramDag& dag) {
    constexpr std::uint32_t kNobody = 0xffffffff;
    std::vector<double> end(program.node_count());
    std::vector<std::uint32_t> from(program.node_count(), kNobody);
    double sum = 0;
    std::uint32_t last = dag.order.front();
    for (const std::uint32_t i : dag.order) {
      double start = 0;
      for (const std::uint32_t on : dag.before[i]) {
        if (from[i] == kNobody || end[on] > start) start = end[on], from[i] = on;
      }
      const double takes = nominal_ps(program.node(i), handed_bytes(graph_, program.node(i)));
      end[i] = start + takes;
      sum += takes;
      if (end[i] > end[last]) last = i;
    }
    if (sum <= 0) return;  // nothing takes time: there is no critical path
    add(Measure::path_share, end[last] / sum);
    add(Measure::parallelism, sum / end[last]);
    for (std::uint32_t i = last; i != kNobody; i = from[i]) {
      const double takes = end[i] - (from[i] == kNobody ? 0 : end[from[i]]);
      if (takes > 0) add(Measure::path_kinds, kind_of(program.node(i)), takes);
    }
  }

  const WorkloadGraph& graph_;
  GraphMeasures measures_;  // of one program
  GraphMeasures sum_;
};

Histogram pooled(Measure measure, std::span<const GraphMeasures> set) {
  Histogram sum;
  for (const GraphMeasures& graph : set) {
    for (const auto& [value, weight] : graph[static_cast<std::size_t>(measure)].weight) {
      sum.add(value, weight);
    }
  }
  return sum;
}

// As distances count: by logarithms where the measure says so; `steps` an octave, 0: exact.
Histogram on_scale(const Histogram& from, bool logarithmic, double steps) {
  if (!logarithmic) return from;
  Histogram to;
  for (const auto& [value, weight] : from.weight) {
    const double log2 = std::log2(1 + value);
    to.add(steps > 0 ? std::floor(log2 * steps + 0.5) / steps : log2, weight);
  }
  return to;
}

// Calls visit(difference of the cumulative distributions, length of the way to the next value).
template <class Visit>
void sweep_both(const Histogram& a, const Histogram& b, const Visit& visit) {
  std::map<double, double> steps;
  for (const auto& [value, weight] : a.weight) steps[value] += weight / a.total;
  for (const auto& [value, weight] : b.weight) steps[value] -= weight / b.total;
  double difference = 0;
  for (auto at = steps.begin(); at != steps.end(); ++at) {
    difference += at->second;
    const auto next = std::next(at);
    visit(std::abs(difference), next == steps.end() ? 0 : next->first - at->first);
  }
}

double total_variation(const Histogram& a, const Histogram& b) {
  std::map<double, double> difference;
  for (const auto& [value, weight] : a.weight) difference[value] += weight / a.total;
  for (const auto& [value, weight] : b.weight) difference[value] -= weight / b.total;
  double sum = 0;
  for (const auto& [value, d] : difference) sum += std::abs(d);
  return sum / 2;
}

// Which graphs of `count` are the first half, by one permutation.
std::vector<std::uint32_t> shuffled(std::uint32_t count, std::uint64_t stream) {
  std::vector<std::uint32_t> order(count);
  for (std::uint32_t i = 0; i < count; ++i) order[i] = i;
  for (std::uint32_t i = count; i > 1; --i) {
    std::swap(order[i - 1], order[core::random_bits(stream, i) % i]);
  }
  return order;
}

std::optional<Distances> between_halves(Measure measure, std::span<const GraphMeasures> given,
                                        std::uint64_t seed) {
  if (given.size() < 2) return std::nullopt;
  Distances sum{.ks = 0, .w1 = std::nullopt};
  std::uint32_t counted = 0;
  for (std::uint32_t h = 0; h < kHalvings; ++h) {
    const std::vector<std::uint32_t> order =
        shuffled(static_cast<std::uint32_t>(given.size()), core::stream_of(seed, h, 1));
    std::vector<GraphMeasures> halves[2];
    for (std::size_t i = 0; i < order.size(); ++i) {
      halves[i < order.size() / 2 ? 0 : 1].push_back(given[order[i]]);
    }
    const std::optional<Distances> d = distances(measure, halves[0], halves[1]);
    if (!d) continue;
    ++counted;
    sum.ks += d->ks;
    if (d->w1) sum.w1 = sum.w1.value_or(0) + *d->w1;
  }
  if (counted == 0) return std::nullopt;
  sum.ks /= counted;
  if (sum.w1) *sum.w1 /= counted;
  return sum;
}

}  // namespace

const MeasureFacts& facts_of(Measure measure) {
  return kFacts.at(static_cast<std::size_t>(measure));
}

void Histogram::add(double value, double its_weight) {
  weight[value] += its_weight;
  total += its_weight;
}

GraphMeasures measure_graph(const WorkloadGraph& graph) { return GraphMeasuring(graph).run(); }

std::optional<Distances> distances(Measure measure, std::span<const GraphMeasures> given,
                                   std::span<const GraphMeasures> other) {
  const MeasureFacts& facts = facts_of(measure);
  const Histogram a = pooled(measure, given), b = pooled(measure, other);
  if (a.total <= 0 && b.total <= 0) return std::nullopt;
  if (a.total <= 0 || b.total <= 0) {
    return Distances{.ks = 1, .w1 = facts.shares ? std::nullopt : std::optional(1.0)};
  }
  if (facts.shares) return Distances{.ks = total_variation(a, b), .w1 = std::nullopt};
  Distances out{.ks = 0, .w1 = 0};
  constexpr double kStepsAnOctave = 4;
  sweep_both(on_scale(a, facts.logarithmic, kStepsAnOctave),
             on_scale(b, facts.logarithmic, kStepsAnOctave),
             [&](double difference, double) { out.ks = std::max(out.ks, difference); });
  const Histogram fine_a = on_scale(a, facts.logarithmic, 0);
  const Histogram fine_b = on_scale(b, facts.logarithmic, 0);
  sweep_both(fine_a, fine_b,
             [&](double difference, double length) { *out.w1 += difference * length; });
  const double least = std::min(fine_a.weight.begin()->first, fine_b.weight.begin()->first);
  const double most = std::max(fine_a.weight.rbegin()->first, fine_b.weight.rbegin()->first);
  *out.w1 /= std::max(1.0, most - least);
  return out;
}

std::vector<FidelityRow> fidelity(std::span<const GraphMeasures> given,
                                  std::span<const GraphMeasures> sampled, std::uint64_t seed) {
  EXAWARP_CHECK(!given.empty() && !sampled.empty());
  std::vector<FidelityRow> rows;
  for (std::size_t m = 0; m < kMeasureCount; ++m) {
    const auto measure = static_cast<Measure>(m);
    FidelityRow row{.measure = measure, .sampled = distances(measure, given, sampled),
                    .halves = between_halves(measure, given, seed)};
    if (row.sampled) rows.push_back(row);
  }
  return rows;
}

}  // namespace exawarp::model
