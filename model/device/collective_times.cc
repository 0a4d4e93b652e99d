// Goes through the stepped tasks of all programs and finds the time of each for each class of
// groups that some device of the program is in. Equal tasks on equal groups are computed once.
#include "model/device/collective_times.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "model/collective/algorithm.h"
#include "model/device/group_time.h"
#include "model/device/shared_interfaces.h"

namespace exawarp::model {
namespace {

using core::DeviceId;
using core::Time;

// Bytes, in the mean over members. What goes into the network and comes back combined goes once.
double sent_by_member(const Collective& c, double members) {
  const auto bytes = static_cast<double>(c.bytes);
  const bool combined = runs_in_network(c);
  switch (c.type) {
    case schema::CollectiveType::ALL_REDUCE:
      return combined ? bytes : 2 * bytes * (members - 1) / members;
    case schema::CollectiveType::ALL_GATHER: return combined ? bytes : bytes * (members - 1);
    case schema::CollectiveType::REDUCE_SCATTER:
    case schema::CollectiveType::ALL_TO_ALL: return bytes * (members - 1) / members;
    default: return bytes;
  }
}

class TimeFinder {
 public:
  TimeFinder(const ProgramTableInputs& inputs, std::vector<ProgramTable>& tables)
      : in_(inputs), tables_(tables) {}

  void run() {
    for (ProgramTable& table : tables_) {
      for (Channel& channel : table.channels) channel.groups = family_of(channel).classes;
    }
    mark_used();
    for (std::size_t t = 0; t < tables_.size(); ++t) add_times(t);
  }

 private:
  struct Family {
    std::shared_ptr<const GroupClasses> classes;
    std::vector<GroupNetwork> networks;
  };

  Family& family_of(const Channel& channel) {
    const auto [it, fresh] = families_.try_emplace(channel.among);
    if (fresh) {
      GroupFamily family = group_family(channel.among, in_.job, in_.network);
      it->second = {std::make_shared<const GroupClasses>(std::move(family.classes)),
                    std::move(family.networks)};
    }
    return it->second;
  }

  // Groups of other programs may have other sizes, which a collective's root need not fit.
  void mark_used() {
    used_.resize(tables_.size());
    bool differ = false;
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      for (const Channel& channel : tables_[t].channels) {
        const std::size_t classes = family_of(channel).networks.size();
        used_[t].emplace_back(classes, classes == 1);
        differ |= classes > 1;
      }
    }
    if (!differ) return;
    for (std::uint32_t r = 0; r < in_.graph.device_count(); ++r) {
      const std::uint32_t t = in_.graph.program_of({r});
      const std::vector<Channel>& channels = tables_[t].channels;
      for (std::size_t c = 0; c < channels.size(); ++c) {
        const Among& among = channels[c].among;
        if (used_[t][c].size() < 2) continue;
        if (among.membership(in_.graph, {r}).size < 2) continue;
        used_[t][c][channels[c].groups->class_of(among.member(in_.graph, {r}, 0))] = true;
      }
    }
  }

  void add_times(std::size_t t) {
    ProgramTable& table = tables_[t];
    for (SteppedTask& stepped : table.stepped) {
      const Channel& channel = table.channels[stepped.channel];
      stepped.first_time = static_cast<std::uint32_t>(table.times.size());
      const std::vector<GroupNetwork>& networks = family_of(channel).networks;
      for (std::uint32_t k = 0; k < networks.size(); ++k) {
        const bool is_used = used_[t][stepped.channel][k];
        table.times.push_back(is_used ? time_of(stepped, channel, networks[k]) : Time{0});
        if (!in_.shares_interfaces) continue;
        table.uses.push_back(is_used ? use_of(stepped, networks[k], table.times.back())
                                     : InterfaceUse{});
      }
    }
  }

  Time time_of(const SteppedTask& stepped, const Channel& channel, const GroupNetwork& group) {
    Collective c = stepped.collective;
    c.members = group.members();
    const Choice& choice = stepped.choice;
    const Key key{&group, channel.number, identity_of(c), choice.step, choice.payload_ppm};
    const auto [it, fresh] = known_.try_emplace(key);
    if (fresh) it->second = group_time(c, choice, channel.number, group);
    return it->second;
  }

  // What a member sends by each interface, in the mean over members, over what the interface
  // carries in `alone`. Exchanges send as much to each other member; rings and trees enter a node
  // and leave it once a lane, and lanes by different members.
  InterfaceUse use_of(const SteppedTask& stepped, const GroupNetwork& group, Time alone) {
    const Collective& c = stepped.collective;
    const double members = group.members();
    const double inside = in_node_of(group);
    const bool exchanges = c.type == schema::CollectiveType::ALL_TO_ALL ||
                           c.type == schema::CollectiveType::PERMUTE;
    const double across = inside == members ? 0
                          : exchanges       ? (members - inside) / (members - 1)
                                            : 1 / std::min(inside, static_cast<double>(c.lanes));
    const double sent = sent_by_member(c, members);
    InterfaceUse use;
    for (const Interface interface : {Interface::node, Interface::scale_out}) {
      const auto i = static_cast<std::size_t>(interface);
      const double share = interface == Interface::node ? 1 - across : across;
      const double carried = sent * share * kPayloadWhole / stepped.choice.payload_ppm[i];
      const double rate = static_cast<double>(in_.network.bandwidth(interface)) *
                          in_.network.ports(interface);
      if (carried <= 0 || alone.ps == 0) continue;
      const double part = std::min(1.0, carried / (rate * core::to_seconds(alone)));
      use.ppm[i] = static_cast<std::uint32_t>(std::ceil(part * kWholeUse));
    }
    return use;
  }

  // Members that share the node of the first one.
  double in_node_of(const GroupNetwork& group) {
    const auto [it, fresh] = in_node_.try_emplace(&group, 1);
    for (std::uint32_t p = 1; fresh && p < group.members(); ++p) {
      it->second += group.tier(0, p) == Tier::node ? 1 : 0;
    }
    return it->second;
  }

  using Key = std::tuple<const GroupNetwork*, std::uint16_t, CollectiveIdentity,
                         std::array<Time, 2>, std::array<std::uint32_t, 2>>;

  const ProgramTableInputs& in_;
  std::vector<ProgramTable>& tables_;
  std::map<Among, Family> families_;
  std::vector<std::vector<std::vector<bool>>> used_;  // by program, channel and class
  std::map<Key, Time> known_;
  std::map<const GroupNetwork*, std::uint32_t> in_node_;
};

}  // namespace

void add_collective_times(const ProgramTableInputs& inputs, std::vector<ProgramTable>& tables) {
  TimeFinder(inputs, tables).run();
}

}  // namespace exawarp::model
