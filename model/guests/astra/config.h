// The inputs of a run with ASTRA-sim's analytical semantics (docs/guide/astra.md), as data.
// Units are ASTRA-sim's: one cycle is one nanosecond; bandwidths as its files give them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/guests/astra/trace.h"

namespace exawarp::model::astra {

using Ns = std::uint64_t;
using Rank = std::uint32_t;

// No event takes place at this time, 146 years, or later. What is given (sizes, rates, durations)
// can ask for more, so times stop there, and the sum of a time and a delay stays within 64 bits.
constexpr Ns kEndNs = Ns{1} << 62;
// A time computed in floating point, its fraction cut off; kEndNs where it is later or no number.
constexpr Ns whole_ns(double ns) {
  if (!(ns < static_cast<double>(kEndNs))) return kEndNs;
  return ns > 0 ? static_cast<Ns>(ns) : 0;
}
// Requires a, b <= kEndNs.
constexpr Ns sum_to_end(Ns a, Ns b) { return std::min(a + b, kEndNs); }
constexpr Ns product_to_end(std::uint64_t n, Ns a) {
  return a != 0 && n > kEndNs / a ? kEndNs : n * a;
}

constexpr std::size_t kDimensionsMax = 16;

enum class Topology : std::uint8_t { ring, fully_connected, switched };

// Link bandwidth is in units of 2^30 B/s, as ASTRA-sim computes it, though its files say GB/s.
struct Dimension {
  Topology topology = Topology::ring;
  std::uint32_t npus = 2;
  double bandwidth = 0;
  double latency_ns = 0;
};

struct NetworkConfig {
  bool congestion_aware = false;
  std::vector<Dimension> dimensions;
  [[nodiscard]] std::uint32_t npus() const {
    std::uint32_t product = 1;
    for (const Dimension& dimension : dimensions) product *= dimension.npus;
    return product;
  }
};

enum class Algorithm : std::uint8_t { ring, direct, halving_doubling, double_binary_tree, custom };

struct Implementation {
  Algorithm algorithm = Algorithm::ring;
  bool over_all_ranks = false;    // the one-variants: one logical ring over every dimension
  std::uint32_t window = 0;       // direct: packets in flight; 0: all
};

// A collective given as a graph: the trace of each position in the communicator.
struct CustomCollective {
  std::vector<std::shared_ptr<const Trace>> positions;
};

// The four collectives that have implementations, as indices.
enum class Simulated : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all };
constexpr std::size_t kSimulatedCount = 4;
[[nodiscard]] std::optional<Simulated> simulated(CollectiveKind kind);
[[nodiscard]] const char* collective_name(CollectiveKind kind);

enum class Policy : std::uint8_t { lifo, fifo, explicit_priority };

// How an all-reduce goes through several dimensions: as one all-reduce after the other, or as
// reduce-scatters up, one all-reduce in the last, and all-gathers down again. ASTRA-sim reads an
// uninitialised value where neither is given.
enum class Optimization : std::uint8_t { none, baseline, local_bandwidth_aware };

// The LogGP parameters of a rank's memory bus (memory_bus.h).
struct BusConfig {
  Ns latency_ns = 0, overhead_ns = 0, gap_ns = 0;  // L, o, g
  double gap_per_byte_ns = 0;                      // G
  Ns reduction_delay_ns = 1;                       // for each 100 B
};

struct SystemConfig {
  std::string place = "system configuration";  // what errors say of it
  Policy policy = Policy::lifo;
  std::uint64_t splits = 0;         // chunks of a collective; 0: not given
  std::uint32_t active_chunks = 1;  // running at once in a dimension
  Ns endpoint_delay_ns = 10;
  double local_memory_gb_per_s = 0;  // decimal; 0: not given
  Optimization optimization = Optimization::none;
  std::optional<BusConfig> shared_bus;  // instead of endpoint_delay_ns
  bool roofline = false;
  double peak_tflops = 0;
  bool replay_only = false;
  bool rendezvous = false;
  std::uint32_t queues_per_dimension = 1;
  std::array<std::vector<Implementation>, kSimulatedCount> implementations;  // by dimension
  std::array<std::shared_ptr<const CustomCollective>, kSimulatedCount> custom;
  std::map<std::uint64_t, std::shared_ptr<const CustomCollective>> custom_of_node;  // by node id
  [[nodiscard]] const std::vector<Implementation>& implementations_of(Simulated family) const {
    return implementations[static_cast<std::size_t>(family)];
  }
  // Those of the implementations that run: a one-variant, over every dimension, is the last.
  [[nodiscard]] std::uint32_t phases_of(Simulated family) const;
  // The graph to run instead of an implementation, or nullptr.
  [[nodiscard]] std::shared_ptr<const CustomCollective> custom_for(const TraceNode& node) const;
};

enum class MemoryKind : std::uint8_t { none, per_npu, per_node, pool };

struct MemoryConfig {
  MemoryKind kind = MemoryKind::none;
  Ns latency_ns = 0;
  double bandwidth_gb_per_s = 0;  // decimal; 0: not given
  std::uint32_t nodes = 0, npus_per_node = 0;  // per_node
};

// A communicator; a member's position is its place in the list.
struct CommGroup {
  std::uint32_t id = 0;
  std::vector<Rank> members;
  std::vector<std::pair<Rank, std::uint32_t>> positions;  // (rank, position), sorted
  // The position of `rank`; members.size() where it is no member. O(log members).
  [[nodiscard]] std::uint32_t position(Rank rank) const;
  void index();  // derives positions
};

struct Job {
  NetworkConfig network;
  SystemConfig system;
  MemoryConfig memory;
  std::map<std::uint32_t, CommGroup> groups;
  std::string groups_place = "communicator groups";
  std::vector<std::shared_ptr<const Trace>> traces;  // by rank
};

// Refuses what ASTRA-sim would crash on, hang on or run wrongly. Throws core::InputError.
void check(const Job& job);
// What ASTRA-sim does without a word and a user may not expect, a line each. Requires check(job).
[[nodiscard]] std::vector<std::string> warnings(const Job& job);

}  // namespace exawarp::model::astra
