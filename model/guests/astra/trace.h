// What ASTRA-sim's analytical simulator sees of one rank's execution trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace exawarp::model::astra {

// Values as in the Chakra schema.
enum class NodeKind : std::uint8_t {
  invalid,
  metadata,
  memory_load,
  memory_store,
  compute,
  send,
  receive,
  collective,
};
enum class CollectiveKind : std::uint8_t {
  all_reduce = 0,
  all_gather = 2,
  broadcast = 5,
  all_to_all = 6,
  reduce_scatter = 7,
  none = 0xff,  // not given
};
constexpr std::uint32_t kAllRanks = 0;       // group of a collective without one
constexpr std::uint32_t kAllDimensions = ~0u;
constexpr std::uint32_t kNoRank = ~0u;

struct TraceNode {
  std::uint64_t id = 0;
  std::uint64_t duration_us = 0;
  std::uint64_t num_ops = 0;       // compute: FLOPs of the roofline
  std::uint64_t tensor_bytes = 0;  // compute, memory
  std::uint64_t comm_bytes = 0;
  std::uint64_t tag = 0;           // send, receive
  std::uint32_t peer = kNoRank;    // send, receive; kNoRank: not given
  std::uint32_t owner = kNoRank;   // send, receive: the other end, where the file gives it
  std::uint32_t group = kAllRanks;
  std::uint32_t involved = kAllDimensions;  // bit d: dimension d takes part
  std::uint32_t priority = 0;
  std::uint32_t first_child = 0, child_count = 0;  // into Trace::children
  std::uint32_t dependency_count = 0;
  NodeKind kind = NodeKind::invalid;
  CollectiveKind collective = CollectiveKind::none;
  bool host = false;
  // What is not given counts as 0, and is refused where it is needed.
  bool has_ops = false, has_tensor = false, has_bytes = false, has_tag = false;
};

// Nodes in ascending order of id; ranks with equal files share one.
struct Trace {
  std::string place;  // the file, for messages
  std::vector<TraceNode> nodes;
  std::vector<std::uint32_t> children;  // node indices
};

}  // namespace exawarp::model::astra
