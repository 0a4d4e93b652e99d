// Which algorithm a collective runs by, and with what overheads: a list of rules, the first that
// fits decides. Without one, the default: rings for what rings can do, the simplest algorithm that
// moves no more than it must for the rest.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/time.h"
#include "model/collective/collective.h"

namespace exawarp::model {

constexpr std::uint32_t kPayloadWhole = 1'000'000;
constexpr std::uint32_t kChannelsOfGroup = 0;

struct Choice {
  Algorithm algorithm = Algorithm::ring;
  // Lanes at least; double_tree: an even number. kChannelsOfGroup: see group_channels().
  std::uint32_t channels = kChannelsOfGroup;
  std::int64_t chunk_bytes = 0;    // largest message wanted, by more lanes; 0: any
  bool both_ways = false;          // ring: every second lane backwards
  bool hierarchical = false;       // dimension by dimension (device/collective_stages.h)
  Algorithm across = Algorithm::ring;  // hierarchical: along the last dimension
  core::Time start = {};           // before a member's first message
  std::array<core::Time, 2> step = {};  // added to the latency of each message: in the node, beyond
  // Millionths of an interface's bytes that are data: in the node, beyond.
  std::array<std::uint32_t, 2> payload_ppm = {kPayloadWhole, kPayloadWhole};

  // Nothing but a ring: what devices have a fast path for.
  [[nodiscard]] bool is_plain_ring() const;
  friend bool operator==(const Choice&, const Choice&) = default;
};

struct CollectiveRule {
  std::optional<schema::CollectiveType> type = {};  // none: every type that the algorithm can run
  std::int64_t min_bytes = 0;                  // of Program::node's commBytes, both inclusive
  std::int64_t max_bytes = std::numeric_limits<std::int64_t>::max();
  std::uint32_t min_group = 1;
  std::uint32_t max_group = std::numeric_limits<std::uint32_t>::max();
  std::optional<bool> across_nodes = {};  // only groups with members in several nodes, or in one
  Choice choice = {};
};
using CollectiveRules = std::vector<CollectiveRule>;

// What is being chosen for. By sizes: an all-to-all whose members' messages differ.
struct CollectiveUse {
  schema::CollectiveType type = schema::CollectiveType::ALL_REDUCE;
  std::int64_t bytes = 0;
  std::uint32_t members = 1;
  bool by_sizes = false;
  bool across_nodes = false;  // members are in several nodes
};

// The most that a rule adds to a message's latency.
core::Time longest_step(const CollectiveRules& rules);

// Whether `type` can run dimension by dimension, by the algorithms of `choice`.
bool can_be_hierarchical(schema::CollectiveType type, const Choice& choice);

// The first rule that fits, or nothing. A rule fits no use that its algorithm cannot run.
std::optional<Choice> choose(const CollectiveRules& rules, const CollectiveUse& use);
Choice default_choice(schema::CollectiveType type);

// Lanes where the choice leaves them to the group. A ring or chain through `node_members`
// consecutive members of each of several nodes has as many, so that it leaves a node by all their
// interfaces, as NCCL's do; fewer where a message would be under kLaneBytesMin. Trees over nodes
// have as many, too: each member is a leader. All else has one.
constexpr std::int64_t kLaneBytesMin = 4096;  // 0.1 us at 50 GB/s, where steps take microseconds
std::uint32_t group_channels(Algorithm algorithm, const CollectiveUse& use,
                             std::uint32_t node_members);

// What an interface carries for `bytes` of data, where `payload_ppm` of its bytes are that.
std::int64_t carried_bytes(std::uint32_t payload_ppm, std::int64_t bytes);

// Lanes of `choice` for `use`: its channels, and a multiple of them where messages would be larger
// than its chunk; at most kLanesMax.
std::uint32_t lanes_of(const Choice& choice, const CollectiveUse& use);

}  // namespace exawarp::model
