// Collectives as descriptions of steps, independent of the network below: pure functions of what a
// collective is and of a member's place in it, O(log n) time and O(1) memory a query.
//
// A collective runs on one or more lanes, which do not know of each other: channels of a ring,
// chunks of a pipeline, the two trees of a double tree. On a lane a member goes through phases,
// one after the other. At a phase's start its sends leave, in order; it is over when its receives
// have arrived; the next one starts then. A lane is over when its last phase is, a collective when
// all its lanes are and its own sends have left. A message says to which phase of the receiver it
// belongs; it may come before the receiver is there. Members are numbered by position, 0 to n - 1.
//
//   ring, n = 3, all-gather      phase 0: p sends its block to p+1, receives that of p-1
//                                phase 1: p sends what it received in phase 0, receives one more
//
// Blocks are what data is counted in, n of them, block b belonging to member b:
//   all-reduce, reduce-scatter   ceil(buffer / n) bytes each; every member starts with all n
//   all-gather, gather           the member's own input;  scatter: what the member is to get
//   all-to-all                   ceil(input / n) bytes, or as `sizes` says
//   broadcast, reduce            the buffer is one piece: a message carries all of it
//   barrier                      no bytes; a member may leave when it has heard of all others
//   permute                      one message from each position to the one `shift` further
//
// The algorithms, their sources and their costs: cost.h and docs/reference/collectives.md.
#pragma once

#include <cstdint>
#include <span>
#include <tuple>

#include "model/collective/algorithm_names.h"
#include "model/workload/workload.capnp.h"

namespace exawarp::model {

constexpr std::uint32_t kLanesMax = 1024;
constexpr std::uint32_t kNoMember = 0xffffffff;
constexpr std::uint32_t kNetworkFanOut = 16;  // of the in-network aggregation's tree

struct Collective {
  schema::CollectiveType type = schema::CollectiveType::ALL_REDUCE;
  Algorithm algorithm = Algorithm::ring;
  std::int64_t bytes = 0;         // as Program::node's commBytes
  std::uint32_t members = 1;
  std::uint32_t root = 0;         // broadcast, reduce, gather, scatter: its position
  std::uint32_t shift = 0;        // permute, below `members`
  std::uint32_t lanes = 1;        // ring, double_tree (even); else 1
  bool both_ways = false;         // ring: odd lanes run backwards
  // Ring: this many positions in sequence share a node. Lane c starts each node's stretch of the
  // ring with its (c modulo this)-th member, so that lanes leave the node by different members.
  // Divides `members`; 1: all lanes in the order of positions. nvls_tree: lane c has that member
  // of each node as its leader. direct, pairwise: partners are met node by node.
  std::uint32_t node_members = 1;
  // All-to-all: bytes from each member to the one d positions further (n of them), or from member
  // s to member t at s * n + t (n * n). Empty: equal shares.
  std::span<const std::uint64_t> sizes = {};
};

// Equal for two that do the same in the same place, which their sizes' tables are known by.
using CollectiveIdentity =
    std::tuple<schema::CollectiveType, Algorithm, std::int64_t, std::uint32_t, std::uint32_t,
               std::uint32_t, std::uint32_t, bool, std::uint32_t, const std::uint64_t*>;
inline CollectiveIdentity identity_of(const Collective& c) {
  return {c.type,  c.algorithm, c.bytes,        c.members,      c.root,
          c.shift, c.lanes,     c.both_ways,    c.node_members, c.sizes.data()};
}

// Whether `algorithm` can run `type`.
bool can_run(schema::CollectiveType type, Algorithm algorithm);
// Whether `algorithm` can use more than one lane.
bool can_use_lanes(Algorithm algorithm);

// Data that a message carries: the blocks first, first + stride, ... (modulo n). All-to-all: data
// whose receiver is that many positions after its sender; with `by_bit`, where bit `first` of that
// number is set. All-reduce and barrier, `without_own`: what the sender received of them, without
// what it brought itself.
struct Blocks {
  std::uint32_t first = 0, count = 0;
  bool by_bit = false;
  bool without_own = false;
  std::uint32_t stride = 1;
};

// At message fidelity what a member hands over to one of its queues follows each other; its queues
// share an interface in equal parts. Those of two trees have one for each neighbour in either, as
// NCCL has connections. Packets and flows have a connection to each receiver, but for messages that
// leave `one_by_one`: of these the next one leaves when the one before it has left.
constexpr std::uint8_t kQueuesMax = 8;

struct Transfer {
  std::uint32_t peer = kNoMember;    // kNoMember: into the network, which combines it
  std::uint32_t peer_phase = 0;
  std::int64_t bytes = 0;            // that the sender's interface carries
  std::int64_t bytes_received = 0;   // that the receiver's interface carries
  Blocks blocks;
  std::uint8_t queue = 0;  // below kQueuesMax: see there
  bool one_by_one = false;
  // A switch sends it, at once: neither time nor a turn on the sender's interface; `bytes` is 0.
  bool by_switch = false;
};

struct Phase {
  std::uint32_t sends = 0;
  std::uint32_t receives = 0;
};

// All require can_run(type, algorithm), position < members, lane < lanes.
std::uint32_t phase_count(const Collective& c, std::uint32_t position, std::uint32_t lane);
// Requires phase < phase_count().
Phase phase_of(const Collective& c, std::uint32_t position, std::uint32_t lane,
               std::uint32_t phase);
// Requires index < phase_of().sends.
Transfer transfer_of(const Collective& c, std::uint32_t position, std::uint32_t lane,
                     std::uint32_t phase, std::uint32_t index);

// Bytes of one lane, and of `blocks` (not all-to-all by sizes) in one of its messages.
std::int64_t lane_bytes(const Collective& c);
std::int64_t bytes_of(const Collective& c, const Blocks& blocks);

constexpr bool is_rooted(schema::CollectiveType type) {
  using Type = schema::CollectiveType;
  return type == Type::BROADCAST || type == Type::REDUCE || type == Type::GATHER ||
         type == Type::SCATTER;
}

}  // namespace exawarp::model
