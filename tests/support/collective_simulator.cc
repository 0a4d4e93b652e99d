// A queue of messages by time. A member enters a phase, sends what the description says, and goes
// on when the counted messages are there; blocks carry counts of each member's contribution.
#include "tests/support/collective_simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "model/collective/cost.h"
#include "model/network/message/line.h"

namespace exawarp::tests {
namespace {

using core::Time;
using model::Algorithm;
using model::Blocks;
using model::Collective;
using model::Transfer;
using schema = model::schema::CollectiveType;

constexpr std::size_t kMembersMax = 128;
using Members = std::bitset<kMembersMax>;

using Pairs = std::set<std::pair<std::uint32_t, std::uint32_t>>;

// What a member has. All-to-all: (sender, receiver) pairs. Else: contributions to each block.
struct Data {
  std::vector<Members> blocks;
  Pairs pairs;
};

// What a message carries of it: the blocks that it moves, not all there are.
struct Cargo {
  std::vector<std::pair<std::uint32_t, Members>> blocks;  // (block, contributions)
  Pairs pairs;
};

struct Message {
  Time time;
  std::uint32_t from;    // at equal times the lowest sender first, as in the engine
  std::uint64_t number;  // then in order of sending
  std::uint32_t to, lane, phase;
  Time wire;
  bool received = false;
  Cargo cargo;
  friend bool operator>(const Message& a, const Message& b) {
    return std::tie(a.time, a.from, a.number) > std::tie(b.time, b.from, b.number);
  }
};

struct LaneState {
  std::uint32_t phase = 0;
  std::uint32_t arrived = 0;
  std::map<std::uint32_t, std::vector<Cargo>> early = {};
  Data data;
};

class Simulation {
 public:
  Simulation(const Collective& c, const model::StepCost& cost)
      : c_(c), cost_(cost), n_(c.members), sends_(n_), tx_(n_), rx_(n_), lanes_(n_) {
    for (std::uint32_t p = 0; p < n_; ++p) {
      for (std::uint32_t l = 0; l < c_.lanes; ++l) lanes_[p].push_back({.data = start(p)});
      expected_.push_back(expected(p));
    }
  }

  CollectiveRun run() {
    for (std::uint32_t p = 0; p < n_; ++p) {
      for (std::uint32_t l = 0; l < c_.lanes; ++l) enter(p, l);
    }
    while (!queue_.empty()) {
      std::ranges::pop_heap(queue_, std::greater<>());
      Message m = std::move(queue_.back());
      queue_.pop_back();
      now_ = m.time;
      arrive(std::move(m));
    }
    for (std::uint32_t p = 0; p < n_; ++p) check_end(p);
    for (const Time t : tx_) result_.time = std::max(result_.time, t);
    return result_;
  }

 private:
  [[nodiscard]] bool exchanges() const { return c_.type == schema::ALL_TO_ALL; }
  [[nodiscard]] bool reduces() const {
    return c_.type == schema::ALL_REDUCE || c_.type == schema::REDUCE_SCATTER ||
           c_.type == schema::REDUCE || c_.type == schema::BARRIER;
  }

  Data start(std::uint32_t p) const {
    Data d{std::vector<Members>(n_), {}};
    for (std::uint32_t q = 0; exchanges() && q < n_; ++q) d.pairs.insert({p, q});
    for (std::uint32_t b = 0; b < n_; ++b) {
      const bool from_root = c_.type == schema::BROADCAST || c_.type == schema::SCATTER;
      if (reduces() || (from_root ? p == c_.root : b == p)) d.blocks[b].set(from_root ? b : p);
    }
    return d;
  }

  void enter(std::uint32_t p, std::uint32_t lane) {
    LaneState& state = lanes_[p][lane];
    while (state.phase < model::phase_count(c_, p, lane)) {
      const model::Phase phase = model::phase_of(c_, p, lane, state.phase);
      if (state.arrived == 0) {
        for (std::uint32_t i = 0; i < phase.sends; ++i) send(p, lane, state.phase, i);
        for (const Cargo& early : state.early[state.phase]) take(p, lane, early);
      }
      if (state.arrived < phase.receives) return;
      if (state.arrived > phase.receives) complain(p, "received more than it expects");
      ++state.phase;
      state.arrived = 0;
    }
    result_.time = std::max(result_.time, now_);
  }

  void send(std::uint32_t p, std::uint32_t lane, std::uint32_t phase, std::uint32_t i) {
    const Transfer t = model::transfer_of(c_, p, lane, phase, i);
    const bool free = c_.algorithm == Algorithm::in_network && t.bytes == 0;
    Time left = t.by_switch ? now_ : std::max(now_, tx_[p]);
    if (!t.by_switch && !free) {
      left = sends_[p].leaves(model::LineSender::channel(0, t.queue),
                              model::wire_time(t.bytes, cost_), now_);
      tx_[p] = std::max(tx_[p], left);
    }
    if (t.peer == model::kNoMember) return;
    if (t.peer == p || t.peer >= n_) return complain(p, "sends to itself or to nobody");
    ++result_.messages;
    const bool notice = c_.algorithm == Algorithm::in_network && t.bytes_received == 0;
    put({left + cost_.latency, p, number_++, t.peer, lane, t.peer_phase,
         notice ? Time{0} : model::wire_time(t.bytes_received, cost_), notice, cut(p, lane, t)});
  }

  void put(Message&& m) {
    queue_.push_back(std::move(m));
    std::ranges::push_heap(queue_, std::greater<>());
  }

  // What the message carries; all-to-all: it leaves the sender.
  Cargo cut(std::uint32_t p, std::uint32_t lane, const Transfer& t) {
    Data& mine = lanes_[p][lane].data;
    Cargo out;
    for (std::uint32_t i = 0; !exchanges() && i < t.blocks.count; ++i) {
      const std::uint32_t b = (t.blocks.first + i * t.blocks.stride) % n_;
      out.blocks.emplace_back(b, mine.blocks[b]);
      if (t.blocks.without_own) out.blocks.back().second.reset(p);
    }
    for (auto it = mine.pairs.begin(); it != mine.pairs.end();) {
      const std::uint32_t distance = (it->second + n_ - it->first) % n_;
      const bool goes = t.blocks.by_bit
                            ? (distance >> t.blocks.first & 1u) != 0
                            : it->first == p && distance >= t.blocks.first &&
                                  distance < t.blocks.first + t.blocks.count;
      if (goes) out.pairs.insert(*it);
      it = goes ? mine.pairs.erase(it) : std::next(it);
    }
    return out;
  }

  void arrive(Message&& m) {
    if (!m.received) {
      Time& clock = rx_[m.to];
      clock = std::max(now_, clock + m.wire);
      if (clock > now_) {
        m.time = clock;
        m.from = m.to;
        m.received = true;
        return put(std::move(m));
      }
    }
    LaneState& state = lanes_[m.to][m.lane];
    if (m.phase < state.phase || m.phase >= model::phase_count(c_, m.to, m.lane)) {
      return complain(m.to, "received a message of a phase that is over, or that it has not");
    }
    if (m.phase > state.phase) {
      state.early[m.phase].push_back(std::move(m.cargo));
      return;
    }
    take(m.to, m.lane, m.cargo);
    enter(m.to, m.lane);
  }

  // A part of a reduction adds what is not there yet; anything else is the finished block.
  void take(std::uint32_t p, std::uint32_t lane, const Cargo& cargo) {
    LaneState& state = lanes_[p][lane];
    ++state.arrived;
    for (const auto& pair : cargo.pairs) {
      if (!state.data.pairs.insert(pair).second) complain(p, "received data twice");
    }
    for (const auto& [b, contributions] : cargo.blocks) {
      Members& mine = state.data.blocks[b];
      const bool apart = (mine & contributions).none();
      const bool all = (mine & ~contributions).none();
      if (!apart && !all && c_.type != schema::BARRIER) complain(p, "counts a contribution twice");
      mine |= contributions;
    }
  }

  void check_end(std::uint32_t p) {
    for (std::uint32_t l = 0; l < c_.lanes; ++l) {
      const LaneState& state = lanes_[p][l];
      if (state.phase != model::phase_count(c_, p, l)) return complain(p, "is not done");
      for (std::uint32_t q = 0; exchanges() && q < n_; ++q) {
        if (state.data.pairs.size() != n_ || !state.data.pairs.contains({q, p})) {
          return complain(p, "has not what others sent it");
        }
      }
      for (std::uint32_t b = 0; !exchanges() && b < n_; ++b) {
        if (wants(p, b) && state.data.blocks[b] != expected_[b]) {
          return complain(p, fmt::format("lacks something of block {}", b).c_str());
        }
      }
    }
  }

  [[nodiscard]] bool wants(std::uint32_t p, std::uint32_t b) const {
    const bool at_root = c_.type == schema::REDUCE || c_.type == schema::GATHER;
    if (at_root) return p == c_.root;
    if (c_.type == schema::PERMUTE) return b == (p + n_ - c_.shift) % n_;
    return b == p || (c_.type != schema::REDUCE_SCATTER && c_.type != schema::SCATTER);
  }
  [[nodiscard]] Members expected(std::uint32_t b) const {
    Members m;
    for (std::uint32_t q = 0; q < n_; ++q) m[q] = reduces() || q == b;
    return m;
  }

  void complain(std::uint32_t p, const char* what) {
    if (result_.problem.empty()) result_.problem = fmt::format("member {} {}", p, what);
  }

  const Collective& c_;
  model::StepCost cost_;
  std::uint32_t n_;
  std::vector<model::SendLineAlone> sends_;
  std::vector<Time> tx_, rx_;  // until when either side is busy
  std::vector<std::vector<LaneState>> lanes_;
  std::vector<Members> expected_;  // contributions to each block, in the end
  std::vector<Message> queue_;     // a heap, the next one in front
  Time now_;
  std::uint64_t number_ = 0;
  CollectiveRun result_;
};

}  // namespace

CollectiveRun run_collective(const Collective& c, const model::StepCost& cost) {
  return Simulation(c, cost).run();
}

}  // namespace exawarp::tests
