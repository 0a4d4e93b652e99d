// What a sampler keeps of given workload graphs. No name, no identifier and no cost of a source is
// in it: costs are slices of distributions, rounded (Costs). docs/guide/sampling.md says what is.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "model/workload/graph.h"

namespace exawarp::model {

// Nodes that are drawn alike.
struct NodeSort {
  schema::NodeKind kind = schema::NodeKind::COMPUTE;
  std::uint8_t stream = 0;
  schema::Operation operation = schema::Operation::OTHER;
  schema::CollectiveType collective = schema::CollectiveType::ALL_REDUCE;
  schema::Phase phase = schema::Phase::NONE;
  schema::DataType data_type = schema::DataType::NONE;
  schema::MemoryPlace place = schema::MemoryPlace::DEVICE;
  std::uint32_t members = 0;  // collective: of its group
  bool spread = false;        // collective: members have other devices between them
  bool timed = false;         // with a recorded duration
  friend auto operator<=>(const NodeSort&, const NodeSort&) = default;
};

// A distribution of whole numbers, smoothed: 16 slices of equal weight, each a mean and half a
// width of log2(1 + value). Means are rounded to a sixteenth of an octave and no width is less
// than that, so that a slice of one value keeps it to within 5 %.
class Costs {
 public:
  Costs() = default;
  explicit Costs(std::vector<std::uint64_t> values);  // at least one
  // `rank` says which slice, `place` where in it; both in [0, 1).
  [[nodiscard]] std::uint64_t draw(double rank, double place) const;

 private:
  static constexpr std::size_t kSlices = 16;
  std::array<float, kSlices> mean_{}, half_width_{};
};

struct SortCosts {
  Costs flops, bytes_read, bytes_written, comm_bytes, duration_ps;
};

// The `back`-th last node of a stream (0: the last) of those that come before.
struct Lag {
  std::uint8_t stream = 0;
  std::uint32_t back = 0;
  friend auto operator<=>(const Lag&, const Lag&) = default;
};
using Lags = std::vector<Lag>;

// What follows what: a node's sort, and what it waits for besides its stream.
struct Step {
  std::uint32_t sort = 0, lags = 0;  // into ProgramModel
  friend auto operator<=>(const Step&, const Step&) = default;
};

constexpr std::uint32_t kSegments = 16;         // a program is divided into, by progress
constexpr std::uint32_t kNoSort = 0xffffffff;   // before the first node; any
struct StepContext {
  std::uint32_t segment = kSegments;  // kSegments: any
  std::uint32_t last = kNoSort, before_last = kNoSort;
  bool both = false;  // false: before_last is any
  friend auto operator<=>(const StepContext&, const StepContext&) = default;
};

struct ProgramModel {
  double weight = 0;  // of all programs: 1
  std::uint32_t devices = 0;  // of its workload
  std::uint32_t nodes = 0;
  std::vector<schema::StreamKind> streams;
  std::vector<NodeSort> sorts;
  std::vector<SortCosts> costs;  // by sort
  std::vector<Lags> lags;
  std::vector<Step> steps;
  std::map<StepContext, std::vector<std::uint32_t>> next;  // steps, as often as they occur

  // What may follow, by the closest context that occurs.
  [[nodiscard]] const std::vector<std::uint32_t>& steps_after(std::uint32_t segment,
                                                              std::uint32_t last,
                                                              std::uint32_t before_last) const;
};

struct SampleModel {
  std::vector<ProgramModel> programs;  // by graph, then program
};

// Requires validated graphs. Each graph weighs the same, and so do the programs of one; those
// without nodes are left out. Throws core::InputError at the place of a graph that has no node.
// O(nodes * log nodes).
SampleModel fit_sample(std::span<const WorkloadGraph> graphs);

}  // namespace exawarp::model
