// Two binary trees, each with half of the bytes, pipelined (Sanders, Speck, Traeff, Parallel
// Computing 2009, in the form of NCCL's trees.cc). Its time is found by carrying out its messages
// once for a group: first the steps, then that run, then the description.
#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "core/check.h"
#include "model/collective/double_tree_time.h"
#include "model/collective/exchange.h"
#include "model/network/message/line.h"

namespace exawarp::model {
namespace {

using core::Time;
using T = schema::CollectiveType;

constexpr std::uint32_t kTypes = set_of(T::ALL_REDUCE, T::BROADCAST, T::REDUCE);

TreeKind tree_of(std::uint32_t lane) {
  return {.shape = lane % 2 == 0 ? TreeShape::binary : TreeShape::mirrored, .two_trees = true};
}

Time time(const Collective& c, const StepCost& cost) {
  return double_tree_time(c, wire_time(lane_bytes(c), cost), cost.latency);
}

std::uint64_t messages(const Collective& c) {
  return c.lanes * (gives_to_all(c.type) ? 2u : 1u) * std::uint64_t{c.members - 1};
}

constexpr std::uint32_t kPhasesMax = 3;
constexpr std::uint32_t kSendsMax = 3;  // to the parent and two children

// One member's part in one of the two trees: the sends of all its phases, one after the other.
struct Part {
  std::array<std::uint32_t, kSendsMax> peer{};
  std::array<std::uint8_t, kSendsMax> peer_phase{}, queue{};
  std::array<std::uint8_t, kPhasesMax> receives{};
  std::array<std::uint8_t, kPhasesMax> first_send{};
  std::uint8_t sends = 0;
  std::uint8_t phases = 0;
};

Part part_of(const Collective& c, std::uint32_t position, std::uint32_t lane) {
  Part part;
  const std::uint32_t phases = phase_count(c, position, lane);
  EXAWARP_CHECK(phases <= kPhasesMax, position, lane);
  part.phases = static_cast<std::uint8_t>(phases);
  for (std::uint32_t p = 0; p < part.phases; ++p) {
    const Phase phase = phase_of(c, position, lane, p);
    part.receives[p] = static_cast<std::uint8_t>(phase.receives);
    part.first_send[p] = part.sends;
    EXAWARP_CHECK(part.sends + phase.sends <= kSendsMax, position, p);
    for (std::uint32_t i = 0; i < phase.sends; ++i) {
      const Transfer t = transfer_of(c, position, lane, p, i);
      part.peer[part.sends] = t.peer;
      part.queue[part.sends] = t.queue;
      part.peer_phase[part.sends++] = static_cast<std::uint8_t>(t.peer_phase);
    }
  }
  return part;
}

// Receiving takes place in the order of arrival and nothing else is sent meanwhile, so that all
// that follows from an arrival is known when it is taken.
class Run {
 public:
  Run(const Collective& c, Time wire, Time latency)
      : lanes_(c.lanes),
        wire_(wire),
        latency_(latency),
        interfaces_(c.members),
        progress_(std::size_t{c.members} * c.lanes) {
    parts_.reserve(std::size_t{2} * c.members);
    for (std::uint32_t p = 0; p < c.members; ++p) {
      for (const std::uint32_t tree : {0u, 1u}) parts_.push_back(part_of(c, p, tree));
    }
  }

  Time last_end() {
    const auto members = static_cast<std::uint32_t>(interfaces_.size());
    for (std::uint32_t p = 0; p < members; ++p) {
      for (std::uint32_t lane = 0; lane < lanes_; ++lane) enter(p, lane, Time{0});
    }
    for (; !arrivals_.empty(); arrivals_.pop()) take(arrivals_.top());
    return std::ranges::max(interfaces_, {}, &Interface::received).received;
  }

 private:
  struct Interface {
    SendLineAlone sends;
    Time received;  // until when that side is busy
  };
  struct Progress {
    std::array<std::uint8_t, kPhasesMax> arrived{};
    std::uint8_t phase = 0;
  };
  struct Arrival {
    Time time;
    std::uint32_t from, to;
    std::uint16_t lane;
    std::uint8_t phase;
    friend bool operator>(const Arrival& a, const Arrival& b) {
      return std::tie(a.time, a.from) > std::tie(b.time, b.from);
    }
  };

  [[nodiscard]] const Part& part(std::uint32_t position, std::uint32_t lane) const {
    return parts_[std::size_t{2} * position + lane % 2];
  }
  [[nodiscard]] Progress& progress(std::uint32_t position, std::uint32_t lane) {
    return progress_[std::size_t{position} * lanes_ + lane];
  }

  void enter(std::uint32_t position, std::uint32_t lane, Time now) {
    const Part& mine = part(position, lane);
    const Progress& at = progress(position, lane);
    const std::uint32_t end =
        at.phase + 1u < mine.phases ? mine.first_send[at.phase + 1u] : mine.sends;
    for (std::uint32_t i = mine.first_send[at.phase]; i < end; ++i) {
      const Time sent =
          interfaces_[position].sends.leaves(LineSender::channel(0, mine.queue[i]), wire_, now);
      arrivals_.push({core::sum_to_end(sent, latency_), position, mine.peer[i],
                      static_cast<std::uint16_t>(lane), mine.peer_phase[i]});
    }
    go_on(position, lane, now);
  }

  // Into the next phase, where all that the present one waits for is here.
  void go_on(std::uint32_t position, std::uint32_t lane, Time now) {
    const Part& mine = part(position, lane);
    Progress& at = progress(position, lane);
    if (at.arrived[at.phase] < mine.receives[at.phase] || at.phase + 1u >= mine.phases) return;
    ++at.phase;
    enter(position, lane, now);
  }

  void take(const Arrival& arrival) {
    Time& received = interfaces_[arrival.to].received;
    received = std::max(arrival.time, core::sum_to_end(received, wire_));
    Progress& at = progress(arrival.to, arrival.lane);
    ++at.arrived[arrival.phase];
    if (arrival.phase == at.phase) go_on(arrival.to, arrival.lane, received);
  }

  std::uint32_t lanes_;
  Time wire_, latency_;
  std::vector<Part> parts_;  // by member and tree
  std::vector<Interface> interfaces_;
  std::vector<Progress> progress_;  // by member and lane
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals_;
};

struct Key {
  schema::CollectiveType type = schema::CollectiveType::ALL_REDUCE;
  std::uint32_t members = 0, root = 0, lanes = 0;
  Time wire, latency;
  friend bool operator==(const Key&, const Key&) = default;
};

// All members of a group ask for the same time, and a step's groups come again.
Time remembered_end(const Collective& c, Time wire, Time latency) {
  struct Known {
    Key key;
    Time end;
  };
  constexpr std::size_t kKnown = 64;
  thread_local std::array<Known, kKnown> known{};
  thread_local std::size_t next = 0;
  const Key key{c.type, c.members, c.root, c.lanes, wire, latency};
  const auto found = std::ranges::find(known, key, &Known::key);
  if (found != known.end()) return found->end;
  const Time end = Run(c, wire, latency).last_end();
  known[next] = {key, end};
  next = (next + 1) % kKnown;
  return end;
}

}  // namespace

Time double_tree_time(const Collective& c, Time wire, Time latency, std::uint64_t messages_max) {
  if (messages(c) <= messages_max) return remembered_end(c, wire, latency);
  Collective known = c;
  known.root = 0;
  std::uint32_t levels = 0;
  for (; messages(known) > messages_max && known.members > 64; ++levels) {
    known.members = without_a_level(c.type, known.members);
  }
  Collective below = known;
  for (std::uint32_t i = 0; i < kTreeLevelsBetween; ++i) {
    below.members = without_a_level(c.type, below.members);
  }
  const Time end = remembered_end(known, wire, latency);
  const Time between = end - remembered_end(below, wire, latency);
  return core::sum_to_end(
      end, core::time_to_end(static_cast<core::WidePs>(between.ps) * levels / kTreeLevelsBetween));
}

namespace algorithms {
extern const AlgorithmDescription double_tree;
const AlgorithmDescription double_tree{
    .types = kTypes,
    .place = 5,
    .uses_lanes = true,
    .lanes_in_pairs = true,
    .tree_types = kTypes,
    .tree_of = tree_of,
    .time = time,
    .messages = messages,
};
}  // namespace algorithms

}  // namespace exawarp::model
