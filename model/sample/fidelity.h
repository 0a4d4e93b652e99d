// How far two sets of workload graphs are apart, distribution by distribution.
//
// Each graph weighs the same, so do the programs of one, and the nodes or levels of a program. A
// number's two distances:
//   KS  Kolmogorov-Smirnov: the largest difference of the two cumulative distributions, 0 to 1.
//       Costs are compared by quarters of an octave, which are coarser than what Costs smooths.
//   W1  Wasserstein-1: how far the one has to be moved, on average, to become the other, divided
//       by the range of both together, which counts as 1 (an octave of what is compared by
//       logarithms) at least: 0 to 1.
// What has no order (kinds) has the total variation instead: half the sum of the differences of
// shares, 0 to 1.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/workload/graph.h"

namespace exawarp::model {

enum class Measure : std::uint8_t {
  nodes, depth, width, in_degree, out_degree, kinds, flops, memory_bytes, recorded_time,
  message_bytes, collective_bytes, group_size, path_share, path_kinds, parallelism
};
constexpr std::size_t kMeasureCount = 15;

struct MeasureFacts {
  const char* name;
  const char* meaning;
  bool logarithmic = false;  // compared as log2(1 + value)
  bool shares = false;       // no order
};
const MeasureFacts& facts_of(Measure measure);

// Weighted values. Those of measures without order number what they are.
struct Histogram {
  std::map<double, double> weight;  // by value
  double total = 0;
  void add(double value, double its_weight);
};
using GraphMeasures = std::array<Histogram, kMeasureCount>;  // of one graph; each of weight 1

// Requires a validated graph with a node. O(nodes * log nodes).
GraphMeasures measure_graph(const WorkloadGraph& graph);

struct Distances {
  double ks = 0;            // or total variation
  std::optional<double> w1;  // not of what has no order
};
// nullopt: neither set has such values; both are 1 where one has none.
std::optional<Distances> distances(Measure measure, std::span<const GraphMeasures> given,
                                   std::span<const GraphMeasures> other);

struct FidelityRow {
  Measure measure = Measure::nodes;
  std::optional<Distances> sampled;  // sampled set to given set
  std::optional<Distances> halves;   // mean of random halves of the given set; none of one graph
};
constexpr std::uint32_t kHalvings = 32;

// Rows of what occurs, in the order of Measure.
std::vector<FidelityRow> fidelity(std::span<const GraphMeasures> given,
                                  std::span<const GraphMeasures> sampled, std::uint64_t seed);

}  // namespace exawarp::model
