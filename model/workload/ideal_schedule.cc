// One list scheduling over the nodes of one device of each class (device_classes.h): nodes in
// order of readiness, each with the latest of what it waits for. Collectives meet in a join for
// each set of classes, group and number; a class that is in a communicator many times comes to it
// once, since its devices come together.
#include "model/workload/ideal_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/check.h"
#include "model/workload/device_classes.h"

namespace exawarp::model {
namespace {

constexpr std::uint32_t kNone = 0xffffffff;

class Scheduler {
 public:
  Scheduler(const WorkloadGraph& graph, DeviceClasses classes, const NodeCost& cost)
      : graph_(graph), classes_(std::move(classes)) {
    for (const std::uint32_t device : classes_.representative) {
      first_.push_back(size_);
      program_.push_back(graph.program_of(DeviceId{device}));
      size_ += graph.program(program_.back()).node_count();
    }
    costs_.resize(graph.program_count());
    for (const std::uint32_t p : program_) {
      if (costs_[p].empty()) costs_[p] = costs_of(graph.program(p), cost);
    }
  }

  IdealSchedule run() {
    waits_.assign(size_, 0);
    end_.assign(size_, 0);
    start_.assign(size_, 0);
    before_.assign(size_, kNone);
    next_.resize(size_);
    join_of_.assign(size_, kNone);
    for (std::uint32_t c = 0; c < program_.size(); ++c) {
      link_program(c);
      link_messages(c);
      link_collectives(c);
    }
    count_joins();
    for (std::uint32_t v = 0; v < size_; ++v) {
      if (waits_[v] == 0) ready_.push_back(v);
    }
    while (!ready_.empty()) {
      const std::uint32_t v = ready_.back();
      ready_.pop_back();
      if (join_of_[v] == kNone) {
        finish(v, std::min(start_[v] + std::min(cost_of(v), kLengthMax), kLengthMax));
      } else {
        come(v);
      }
    }
    return result();
  }

 private:
  struct Join {
    std::uint32_t missing = 0;
    std::uint64_t time = 0;
    std::uint32_t last = kNone;  // the member that came last
    std::vector<std::uint32_t> members;
  };
  using JoinKey = std::tuple<std::uint32_t, std::vector<std::uint32_t>, std::uint32_t>;

  static std::vector<std::uint64_t> costs_of(const Program& program, const NodeCost& cost) {
    std::vector<std::uint64_t> costs(program.node_count());
    for (std::uint32_t i = 0; i < program.node_count(); ++i) {
      const schema::NodeKind kind = program.node(i).getKind();
      const bool works = kind == schema::NodeKind::COMPUTE || kind == schema::NodeKind::MEMORY;
      if (works) costs[i] = cost(program, i);
    }
    return costs;
  }

  [[nodiscard]] std::uint32_t class_at(std::uint32_t v) const {
    return static_cast<std::uint32_t>(std::ranges::upper_bound(first_, v) - first_.begin()) - 1;
  }
  [[nodiscard]] std::uint64_t cost_of(std::uint32_t v) const {
    const std::uint32_t c = class_at(v);
    return costs_[program_[c]][v - first_[c]];
  }

  void link(std::uint32_t from, std::uint32_t to) {
    next_[from].push_back(to);
    ++waits_[to];
  }

  void link_program(std::uint32_t c) {
    const Program& program = graph_.program(program_[c]);
    for (std::uint32_t i = 0; i < program.node_count(); ++i) {
      const schema::Node::Reader node = program.node(i);
      if (node.getPosition() > 0) {
        link(first_[c] + program.node_at(node.getStream(), node.getPosition() - 1), first_[c] + i);
      }
      for (std::uint32_t d = 0; d < node.getDependencyCount(); ++d) {
        link(first_[c] + program.dependency(node, d), first_[c] + i);
      }
    }
  }

  // Sends of `sender` to `receiver`, in order, by tag.
  using Sends = std::map<std::uint32_t, std::vector<std::uint32_t>>;
  [[nodiscard]] Sends sends_between(DeviceId sender, DeviceId receiver) const {
    Sends sends;
    const Program& program = graph_.program(graph_.program_of(sender));
    for (std::uint32_t i = 0; i < program.node_count(); ++i) {
      const schema::Node::Reader node = program.node(i);
      if (node.getKind() == schema::NodeKind::SEND && graph_.peer(node, sender) == receiver) {
        sends[node.getTag()].push_back(i);
      }
    }
    return sends;
  }

  void link_messages(std::uint32_t c) {
    const DeviceId self{classes_.representative[c]};
    const Program& program = graph_.program(program_[c]);
    std::map<std::uint32_t, Sends> sends;                                     // by peer
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> received;  // (peer, tag)
    for (std::uint32_t i = 0; i < program.node_count(); ++i) {
      const schema::Node::Reader node = program.node(i);
      if (node.getKind() != schema::NodeKind::RECEIVE) continue;
      const DeviceId peer = graph_.peer(node, self);
      auto at = sends.find(peer.value);
      if (at == sends.end()) at = sends.emplace(peer.value, sends_between(peer, self)).first;
      const std::vector<std::uint32_t>& list = at->second[node.getTag()];
      const std::size_t k = received[{peer.value, node.getTag()}]++;
      if (k < list.size()) {
        link(first_[classes_.class_of[peer.value]] + list[k], first_[c] + i);
      } else {
        ++waits_[first_[c] + i];  // nobody sends it
      }
    }
  }

  void link_collectives(std::uint32_t c) {
    const DeviceId self{classes_.representative[c]};
    const Program& program = graph_.program(program_[c]);
    std::map<std::uint32_t, std::vector<std::uint32_t>> members;  // classes, by group
    std::map<std::uint32_t, std::uint32_t> number;                // by group
    for (std::uint32_t s = 0; s < program.stream_count(); ++s) {
      for (std::uint32_t k = 0; k < program.stream_length(s); ++k) {
        const std::uint32_t i = program.node_at(s, k);
        const schema::Node::Reader node = program.node(i);
        if (node.getKind() != schema::NodeKind::COLLECTIVE) continue;
        const std::uint32_t group = node.getGroup();
        const auto [at, is_new] = members.try_emplace(group);
        if (is_new) at->second = classes_in(group, self);
        const auto join = joins_by_key_.try_emplace({group, at->second, number[group]++},
                                                    static_cast<std::uint32_t>(joins_.size()));
        if (join.second) {
          joins_.emplace_back().missing = static_cast<std::uint32_t>(at->second.size());
        }
        join_of_[first_[c] + i] = join.first->second;
      }
    }
  }

  [[nodiscard]] std::vector<std::uint32_t> classes_in(std::uint32_t group, DeviceId device) const {
    std::set<std::uint32_t> classes;
    const std::uint32_t size = graph_.membership(group, device).size;
    for (std::uint32_t m = 0; m < size; ++m) {
      classes.insert(classes_.class_of[graph_.member(group, device, m).value]);
    }
    return {classes.begin(), classes.end()};
  }

  void count_joins() {
    for (std::uint32_t v = 0; v < size_; ++v) {
      if (join_of_[v] != kNone) joins_[join_of_[v]].members.push_back(v);
    }
  }

  void come(std::uint32_t v) {
    Join& join = joins_[join_of_[v]];
    if (join.last == kNone || start_[v] > join.time) {
      join.time = start_[v];
      join.last = v;
    }
    if (--join.missing > 0) return;
    for (const std::uint32_t member : join.members) {
      if (member != join.last) before_[member] = join.last;
      finish(member, join.time);
    }
  }

  void finish(std::uint32_t v, std::uint64_t end) {
    ++finished_;
    end_[v] = end;
    for (const std::uint32_t to : next_[v]) {
      if (before_[to] == kNone || end > start_[to]) {
        start_[to] = end;
        before_[to] = v;
      }
      EXAWARP_CHECK(waits_[to] != 0, to, v);
      if (--waits_[to] == 0) ready_.push_back(to);
    }
  }

  IdealSchedule result() {
    EXAWARP_CHECK(finished_ <= size_, finished_, size_);
    IdealSchedule out;
    out.finishes = finished_ == size_;
    std::uint32_t last = kNone;
    for (std::uint32_t v = 0; v < size_; ++v) {
      if (last == kNone || end_[v] > end_[last]) last = v;
    }
    if (!out.finishes) out.waiting = first_waiting();
    if (last != kNone) out.length = end_[last];
    for (std::uint32_t v = last; v != kNone && out.finishes; v = before_[v]) {
      const std::uint32_t c = class_at(v);
      out.path.push_back({classes_.representative[c], v - first_[c], {start_[v], end_[v]}});
    }
    std::ranges::reverse(out.path);
    for (std::uint32_t c = 0; c < program_.size(); ++c) {
      std::vector<NodeTimes>& times = out.times.emplace_back();
      for (std::uint32_t i = 0; i < graph_.program(program_[c]).node_count(); ++i) {
        times.push_back({start_[first_[c] + i], end_[first_[c] + i]});
      }
    }
    out.class_of = std::move(classes_.class_of);
    return out;
  }

  // A node that waits only for a partner: its name says more than one that waits for it.
  [[nodiscard]] std::string first_waiting() const {
    for (std::uint32_t v = 0; v < size_; ++v) {
      const std::uint32_t c = class_at(v);
      const schema::Node::Reader node = graph_.program(program_[c]).node(v - first_[c]);
      const bool incomplete = join_of_[v] != kNone && waits_[v] == 0 && joins_[join_of_[v]].missing;
      const bool unsent = node.getKind() == schema::NodeKind::RECEIVE && waits_[v] == 1;
      if (!incomplete && !unsent) continue;
      return fmt::format("device {}: node {} \"{}\" waits for {}", classes_.representative[c],
                         v - first_[c], printable(graph_.node_name(node)),
                         incomplete ? "the other members of its group" : "its message");
    }
    return "nodes wait for each other in a circle";
  }

  const WorkloadGraph& graph_;
  DeviceClasses classes_;
  std::vector<std::uint32_t> first_, program_;           // by class: its first vertex, its program
  std::uint32_t size_ = 0, finished_ = 0;                // vertices: nodes of all classes
  std::vector<std::vector<std::uint64_t>> costs_;        // by program, by node
  std::vector<std::uint32_t> waits_, before_, join_of_;  // by vertex
  std::vector<std::uint64_t> start_, end_;
  std::vector<std::vector<std::uint32_t>> next_;
  std::vector<std::uint32_t> ready_;
  std::vector<Join> joins_;
  std::map<JoinKey, std::uint32_t> joins_by_key_;
};

}  // namespace

std::optional<IdealSchedule> ideal_schedule(const WorkloadGraph& graph, const NodeCost& cost) {
  DeviceClasses classes = device_classes(graph);
  std::uint64_t nodes = 0;
  for (const std::uint32_t device : classes.representative) {
    nodes += graph.program(graph.program_of(DeviceId{device})).node_count();
  }
  if (nodes > kScheduleNodesMax) return std::nullopt;
  return Scheduler(graph, std::move(classes), cost).run();
}

}  // namespace exawarp::model
