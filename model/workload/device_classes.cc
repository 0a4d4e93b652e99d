// By refinement, as states of an automaton are separated (Hopcroft's problem, Moore's way): start
// with the programs; split classes whose devices have partners of different classes; until nothing
// splits. With p pipeline stages that share a program it takes about p rounds.
#include "model/workload/device_classes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/check.h"

namespace exawarp::model {
namespace {

// What devices of a program communicate with.
struct Partners {
  std::vector<std::pair<std::uint8_t, std::int32_t>> peers;  // (axis, offset), each once
  std::vector<std::uint32_t> groups;                         // each once
};

Partners partners_of(const Program& program) {
  std::set<std::pair<std::uint8_t, std::int32_t>> peers;
  std::set<std::uint32_t> groups;
  for (std::uint32_t i = 0; i < program.node_count(); ++i) {
    const schema::Node::Reader node = program.node(i);
    switch (node.getKind()) {
      case schema::NodeKind::SEND:
      case schema::NodeKind::RECEIVE:
        peers.insert({node.getPeerAxis(), node.getPeer()});
        break;
      case schema::NodeKind::COLLECTIVE:
        groups.insert(node.getGroup());
        break;
      default:
        break;
    }
  }
  return {{peers.begin(), peers.end()}, {groups.begin(), groups.end()}};
}

class Refinement {
 public:
  explicit Refinement(const WorkloadGraph& graph)
      : graph_(graph), class_of_(graph.device_count()), held_(graph.group_count()) {
    for (std::uint32_t p = 0; p < graph.program_count(); ++p) {
      partners_.push_back(partners_of(graph.program(p)));
    }
    std::map<std::uint32_t, std::uint32_t> numbers;
    for (std::uint32_t d = 0; d < graph.device_count(); ++d) {
      const std::uint32_t program = graph.program_of(DeviceId{d});
      program_of_.push_back(program);
      class_of_[d] =
          numbers.try_emplace(program, static_cast<std::uint32_t>(numbers.size())).first->second;
    }
    classes_ = numbers.size();
  }

  DeviceClasses run() {
    for (std::size_t before = 0; before != classes_;) {
      before = classes_;
      split();
    }
    DeviceClasses result{std::move(class_of_), {}};
    for (std::uint32_t d = 0; d < result.class_of.size(); ++d) {
      if (result.class_of[d] == result.representative.size()) result.representative.push_back(d);
    }
    EXAWARP_CHECK(result.representative.size() == classes_, result.representative.size());
    return result;
  }

 private:
  void split() {
    for (auto& held : held_) held.clear();
    sets_.clear();
    std::map<std::vector<std::uint32_t>, std::uint32_t> numbers;
    std::vector<std::uint32_t> next(class_of_.size()), signature;
    for (std::uint32_t d = 0; d < class_of_.size(); ++d) {
      const Partners& partners = partners_[program_of_[d]];
      signature.assign(1, class_of_[d]);
      for (const auto& [axis, offset] : partners.peers) {
        signature.push_back(class_of_[graph_.shifted(DeviceId{d}, axis, offset).value]);
      }
      for (const std::uint32_t group : partners.groups) {
        signature.push_back(communicator_set(group, DeviceId{d}));
      }
      next[d] =
          numbers.try_emplace(signature, static_cast<std::uint32_t>(numbers.size())).first->second;
    }
    class_of_ = std::move(next);
    classes_ = numbers.size();
  }

  // The classes that a communicator holds, as a number: equal for equal sets.
  std::uint32_t communicator_set(std::uint32_t group, DeviceId device) {
    const std::uint32_t first = graph_.member(group, device, 0).value;
    const auto [at, is_new] = held_[group].try_emplace(first, 0);
    if (!is_new) return at->second;
    std::set<std::uint32_t> classes;
    const std::uint32_t size = graph_.membership(group, device).size;
    for (std::uint32_t i = 0; i < size; ++i) {
      classes.insert(class_of_[graph_.member(group, device, i).value]);
    }
    at->second =
        sets_
            .try_emplace({classes.begin(), classes.end()}, static_cast<std::uint32_t>(sets_.size()))
            .first->second;
    return at->second;
  }

  const WorkloadGraph& graph_;
  std::vector<Partners> partners_;                    // by program
  std::vector<std::uint32_t> program_of_, class_of_;  // by device
  std::size_t classes_ = 0;
  std::vector<std::map<std::uint32_t, std::uint32_t>> held_;  // by group: first member to set
  std::map<std::vector<std::uint32_t>, std::uint32_t> sets_;
};

}  // namespace

DeviceClasses device_classes(const WorkloadGraph& graph) { return Refinement(graph).run(); }

}  // namespace exawarp::model
