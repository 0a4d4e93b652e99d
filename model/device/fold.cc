// Example: tensor 4, pipeline 2, data 3 on nodes of four, so that replica r has nodes 2 r and
// 2 r + 1. All ranks of a stage start as one class, and where all nodes are below one leaf switch
// nothing splits them: two devices stand for 24. With three nodes below a leaf, the messages of the
// second replica go further than those of the others, so its stages are classes of their own. Then
// the groups along data hold two classes, but all of a stage hold the same two: four devices.
#include "model/device/fold.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "model/device/fold_messages.h"

namespace exawarp::model {
namespace {

using core::DeviceId;

// The other end of sends and receives: an offset in ranks, or a rank.
struct Peer {
  bool absolute;
  std::int32_t offset;
  friend constexpr auto operator<=>(const Peer&, const Peer&) = default;

  [[nodiscard]] std::uint32_t of(std::uint32_t rank) const {
    const auto by = static_cast<std::uint32_t>(offset);  // modulo 2^32, as ids are
    return absolute ? by : rank + by;
  }
};

// Whom devices of a program exchange messages with.
struct Peers {
  std::set<Peer> all;
  std::set<std::set<Peer>> of_one_tag;  // that messages from, or to, several of them carry
};

Peers peers_of(const ProgramTable& table) {
  Peers peers;
  std::map<std::pair<TaskKind, std::uint32_t>, std::set<Peer>> by_tag;
  for (const Task& task : table.tasks) {
    if (task.kind != TaskKind::send && task.kind != TaskKind::receive) continue;
    const Peer peer{task.peer_is_absolute, task.peer};
    peers.all.insert(peer);
    by_tag[{task.kind, task.tag}].insert(peer);
  }
  for (auto& [tag, some] : by_tag) {
    if (some.size() > 1) peers.of_one_tag.insert(std::move(some));
  }
  return peers;
}

// The communicators of one kind, each once.
struct Family {
  std::vector<std::vector<std::uint32_t>> members;  // by communicator: ranks
  std::vector<std::uint32_t> of;                    // by rank: its communicator, or kNone
  std::vector<std::uint32_t> held;                  // by communicator: number of its set of classes
  static constexpr std::uint32_t kNone = 0xffffffff;
};

Family family_of(const Among& among, const WorkloadGraph& graph) {
  Family family;
  family.of.assign(graph.device_count(), Family::kNone);
  for (std::uint32_t r = 0; r < graph.device_count(); ++r) {
    const Membership in = among.membership(graph, {r});
    if (in.size < 2 || in.position != 0) continue;
    const auto number = static_cast<std::uint32_t>(family.members.size());
    std::vector<std::uint32_t>& members = family.members.emplace_back();
    members.reserve(in.size);
    for (const DeviceId member : among.members(graph, {r})) {
      members.push_back(member.value);
      family.of[member.value] = number;
    }
  }
  family.held.resize(family.members.size());
  return family;
}

// What all collectives of a channel take in one group, as a number: equal where they take as long,
// and as much of the interfaces, where these are shared.
class TimeNumbers {
 public:
  explicit TimeNumbers(const ProgramTable& table)
      : table_(table), first_(table.channels.size()), known_(table.channels.size()) {
    for (const SteppedTask& stepped : table.stepped) {
      first_[stepped.channel].push_back(stepped.first_time);
    }
  }

  // Of the group whose member at position 0 is rank `first`.
  [[nodiscard]] std::uint32_t of(std::size_t channel, DeviceId first) {
    const std::uint32_t k = table_.channels[channel].groups->class_of(first);
    if (known_[channel].size() <= k) known_[channel].resize(k + 1);
    std::optional<std::uint32_t>& known = known_[channel][k];
    if (!known) {
      std::vector<std::int64_t> taken;
      for (const std::uint32_t t : first_[channel]) {
        taken.push_back(table_.times[t + k].ps);
        if (table_.uses.empty()) continue;
        for (const std::uint32_t ppm : table_.uses[t + k].ppm) taken.push_back(ppm);
      }
      known = numbers_.try_emplace(std::move(taken), static_cast<std::uint32_t>(numbers_.size()))
                  .first->second;
    }
    return *known;
  }

 private:
  const ProgramTable& table_;
  std::vector<std::vector<std::uint32_t>> first_;  // by channel: into times, of each collective
  std::vector<std::vector<std::optional<std::uint32_t>>> known_;  // by channel and class
  std::map<std::vector<std::int64_t>, std::uint32_t> numbers_;
};

class Refinement {
 public:
  // `messages`: null at analytical fidelity.
  Refinement(const PlacedJob& job, const std::vector<ProgramTable>& tables, const Network& network,
             const CollectiveMessages* messages)
      : job_(job), graph_(*job.graph), tables_(tables), network_(network), messages_(messages) {
    for (const ProgramTable& table : tables) {
      peers_.push_back(peers_of(table));
      for (const Channel& channel : table.channels) {
        if (!families_.contains(channel.among)) {
          families_.emplace(channel.among, family_of(channel.among, graph_));
        }
      }
    }
    for (const ProgramTable& table : tables) {
      std::vector<const Family*>& of_channels = families_of_.emplace_back();
      for (const Channel& channel : table.channels) {
        of_channels.push_back(&families_.at(channel.among));
      }
    }
    by_device_.resize(graph_.device_count());
    for (std::uint32_t r = 0; r < graph_.device_count(); ++r) {
      program_of_.push_back(graph_.program_of({r}));
      by_device_[job_.device_of({r}).value] = r;
    }
  }

  // All but run() require that it is over.
  // By rank, numbered in the order of their first devices.
  [[nodiscard]] const std::vector<std::uint32_t>& classes() const { return class_of_; }
  // By device.
  [[nodiscard]] const std::vector<std::uint32_t>& ranks() const { return by_device_; }
  [[nodiscard]] std::uint32_t program_of(std::uint32_t rank) const { return program_of_[rank]; }
  [[nodiscard]] const Peers& peers(std::uint32_t rank) const { return peers_[program_of_[rank]]; }
  [[nodiscard]] Tier tier(std::uint32_t a, std::uint32_t b) const {
    return network_.tier_between(job_.device_of({a}), job_.device_of({b}));
  }
  // The classes in a rank's communicator, ascending; nothing where it is alone in it.
  [[nodiscard]] std::vector<std::uint32_t> classes_in(const Among& among,
                                                      std::uint32_t rank) const {
    const Family& family = families_.at(among);
    const std::uint32_t number = family.of[rank];
    return number == Family::kNone ? std::vector<std::uint32_t>{}
                                   : classes_of(family.members[number]);
  }

  void run() {
    begin();
    for (std::size_t before = 0; before != count_;) {
      before = count_;
      split();
    }
    number_by_device();
  }

  // Whether the ends of messages can tell all apart, which know them by the other end and a tag.
  [[nodiscard]] std::string why_not() const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> others;  // class, rank
    for (std::uint32_t r = 0; r < class_of_.size(); ++r) {
      for (const std::set<Peer>& peers : peers_[program_of_[r]].of_one_tag) {
        others.clear();
        for (const Peer& peer : peers) others.emplace_back(class_of_[peer.of(r)], peer.of(r));
        std::ranges::sort(others);
        const auto two = std::ranges::adjacent_find(others, [](const auto& a, const auto& b) {
          return a.first == b.first && a.second != b.second;
        });
        if (two == others.end()) continue;
        const auto device = [&](std::uint32_t rank) { return job_.device_of({rank}).value; };
        return fmt::format(
            "devices {} and {} do the same, and messages of both to or from device {} carry one "
            "tag",
            device(two->second), device(std::next(two)->second), device(r));
      }
    }
    return "";
  }

 private:
  using Signature = std::vector<std::uint32_t>;

  template <class SignatureOf>
  void classify(const SignatureOf& signature_of) {
    std::map<Signature, std::uint32_t> numbers;
    std::vector<std::uint32_t> next(graph_.device_count());
    Signature signature, before;
    for (std::uint32_t r = 0; r < next.size(); ++r) {
      signature.clear();
      signature_of(r, signature);
      if (r > 0 && signature == before) {  // as along tensor-parallel ranks
        next[r] = next[r - 1];
        continue;
      }
      next[r] =
          numbers.try_emplace(signature, static_cast<std::uint32_t>(numbers.size())).first->second;
      std::swap(signature, before);
    }
    class_of_ = std::move(next);
    count_ = numbers.size();
  }

  // By program, by how far peers are, and by what collectives take or among how many they are.
  void begin() {
    std::vector<TimeNumbers> times;  // by program
    for (const ProgramTable& table : tables_) {
      if (messages_ == nullptr) times.emplace_back(table);
    }
    classify([&](std::uint32_t r, Signature& signature) {
      const std::uint32_t p = program_of_[r];
      signature.push_back(p);
      for (const Peer& peer : peers_[p].all) {
        signature.push_back(static_cast<std::uint32_t>(tier(r, peer.of(r))));
      }
      for (std::size_t c = 0; c < tables_[p].channels.size(); ++c) {
        const Family& family = *families_of_[p][c];
        if (family.of[r] == Family::kNone) {
          signature.push_back(Family::kNone);
          continue;
        }
        const std::vector<std::uint32_t>& members = family.members[family.of[r]];
        signature.push_back(messages_ == nullptr ? times[p].of(c, {members.front()})
                                                 : static_cast<std::uint32_t>(members.size()));
      }
    });
  }

  // By the classes of peers, those that each group holds, and those that messages go to.
  void split() {
    std::vector<CollectiveMessages::Sides> sides;
    if (messages_ != nullptr) sides = messages_->sides(class_of_);
    std::map<std::vector<std::uint32_t>, std::uint32_t> sets;
    for (auto& [among, family] : families_) {
      for (std::size_t i = 0; i < family.members.size(); ++i) {
        family.held[i] =
            sets.try_emplace(classes_of(family.members[i]), static_cast<std::uint32_t>(sets.size()))
                .first->second;
      }
    }
    const std::vector<std::uint32_t> now = class_of_;
    classify([&](std::uint32_t r, Signature& signature) {
      const std::uint32_t p = program_of_[r];
      signature.push_back(now[r]);
      for (const Peer& peer : peers_[p].all) signature.push_back(now[peer.of(r)]);
      for (const Family* family : families_of_[p]) {
        const std::uint32_t number = family->of[r];
        if (number != Family::kNone) signature.push_back(family->held[number]);
      }
      if (sides.empty()) return;
      for (const std::uint64_t side : {sides[r].sent, sides[r].received}) {
        signature.push_back(static_cast<std::uint32_t>(side));
        signature.push_back(static_cast<std::uint32_t>(side >> 32));
      }
    });
  }

  // What happens in one picosecond is ordered by LPs' numbers: as by devices', as far as it can be.
  void number_by_device() {
    constexpr std::uint32_t kNone = 0xffffffff;
    std::vector<std::uint32_t> numbers(count_, kNone);
    std::uint32_t next = 0;
    for (const std::uint32_t r : by_device_) {
      if (numbers[class_of_[r]] == kNone) numbers[class_of_[r]] = next++;
    }
    for (std::uint32_t& c : class_of_) c = numbers[c];
  }

  [[nodiscard]] std::vector<std::uint32_t> classes_of(
      const std::vector<std::uint32_t>& ranks) const {
    std::vector<std::uint32_t> classes;
    for (const std::uint32_t r : ranks) {
      if (classes.empty() || classes.back() != class_of_[r]) classes.push_back(class_of_[r]);
    }
    std::ranges::sort(classes);
    classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
    return classes;
  }

  const PlacedJob& job_;
  const WorkloadGraph& graph_;
  const std::vector<ProgramTable>& tables_;
  const Network& network_;
  const CollectiveMessages* messages_;
  std::vector<Peers> peers_;  // by program
  std::map<Among, Family> families_;
  std::vector<std::vector<const Family*>> families_of_;  // by program and channel
  std::vector<std::uint32_t> program_of_, class_of_;  // by rank
  std::vector<std::uint32_t> by_device_;              // ranks
  std::size_t count_ = 0;
};

}  // namespace

Fold::Fold(const PlacedJob& job, const std::vector<ProgramTable>& tables, const Network& network,
           Fidelity fidelity) {
  std::optional<CollectiveMessages> messages;
  if (fidelity == Fidelity::message) {
    messages.emplace(job, tables, network);
    why_not_ = messages->why_not();
    if (!why_not_.empty()) return;
  }
  Refinement refinement(job, tables, network, messages ? &*messages : nullptr);
  refinement.run();
  why_not_ = refinement.why_not();
  std::vector<Way> ways;
  const std::vector<std::uint32_t>& class_of = refinement.classes();
  for (const std::uint32_t r : refinement.ranks()) {
    if (class_of[r] == stand_ins_.size()) {
      stand_ins_.push_back({.rank = {r}, .program = refinement.program_of(r)});
    }
    ++stand_ins_[class_of[r]].count;
  }
  for (std::uint32_t k = 0; k < stand_ins_.size(); ++k) {
    const std::uint32_t r = stand_ins_[k].rank.value;
    std::vector<Group>& groups = groups_.emplace_back();
    for (const Channel& channel : tables[stand_ins_[k].program].channels) {
      Group& group = groups.emplace_back(Group{refinement.classes_in(channel.among, r)});
      group.position =
          static_cast<std::uint32_t>(std::ranges::find(group.members, k) - group.members.begin());
    }
    for (const Peer& peer : refinement.peers(r).all) {
      const std::uint32_t other = peer.of(r);
      ways.push_back({k, class_of[other], refinement.tier(r, other)});
      ways.push_back({class_of[other], k, refinement.tier(other, r)});
    }
  }
  set_ways(std::move(ways));
  ranks_ = RankMap(class_of);
  if (!messages) return;
  std::vector<DeviceId> ranks;
  for (const StandIn& stand_in : stand_ins_) ranks.push_back(stand_in.rank);
  if (why_not_.empty() && !messages->are_complete(class_of, ranks)) {
    why_not_ = "a member of a collective exchanges one message with several that do the same";
  }
  for (const std::uint32_t r : refinement.ranks()) by_device_.push_back(class_of[r]);
}

void Fold::set_ways(std::vector<Way> ways) {
  std::ranges::sort(ways);
  ways.erase(std::unique(ways.begin(), ways.end()), ways.end());
  const auto two = std::ranges::adjacent_find(
      ways, [](const Way& a, const Way& b) { return a.from == b.from && a.to == b.to; });
  if (two != ways.end() && why_not_.empty()) {
    why_not_ = fmt::format("device {} sends messages to near and to far devices that do the same",
                           stand_ins_[two->from].rank.value);
  }
  ways_ = std::move(ways);
}

Tier Fold::tier(std::uint32_t from, std::uint32_t to) const {
  const auto at = std::ranges::lower_bound(ways_, Way{from, to, Tier{}});
  return at != ways_.end() && at->from == from && at->to == to ? at->tier : Tier::node;
}

}  // namespace exawarp::model
