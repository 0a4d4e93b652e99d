// Goes through the stepped tasks of all programs and finds the time of each for each class of
// groups that some device of the program is in. Equal tasks on equal groups are computed once.
#include "model/device/collective_times.h"

#include <map>
#include <tuple>

#include "model/device/group_time.h"

namespace exawarp::model {
namespace {

using core::DeviceId;
using core::Time;

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
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      for (const Channel& channel : tables_[t].channels) {
        used_[t].emplace_back(family_of(channel).networks.size());
      }
    }
    for (std::uint32_t r = 0; r < in_.graph.device_count(); ++r) {
      const std::uint32_t t = in_.graph.program_of({r});
      const std::vector<Channel>& channels = tables_[t].channels;
      for (std::size_t c = 0; c < channels.size(); ++c) {
        const Among& among = channels[c].among;
        if (among.membership(in_.graph, {r}).size < 2) continue;
        used_[t][c][channels[c].groups->class_of(among.member(in_.graph, {r}, 0))] = true;
      }
    }
  }

  void add_times(std::size_t t) {
    ProgramTable& table = tables_[t];
    for (const Task& task : table.tasks) {
      if (task.kind != TaskKind::stepped) continue;
      const Channel& channel = table.channels[task.channel];
      SteppedTask& stepped = table.stepped[task.tag];
      stepped.first_time = static_cast<std::uint32_t>(table.times.size());
      const std::vector<GroupNetwork>& networks = family_of(channel).networks;
      for (std::uint32_t k = 0; k < networks.size(); ++k) {
        const bool is_used = used_[t][task.channel][k];
        table.times.push_back(is_used ? time_of(stepped, channel, networks[k]) : Time{0});
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

  using Key = std::tuple<const GroupNetwork*, std::uint16_t, CollectiveIdentity,
                         std::array<Time, 2>, std::array<std::uint32_t, 2>>;

  const ProgramTableInputs& in_;
  std::vector<ProgramTable>& tables_;
  std::map<Among, Family> families_;
  std::vector<std::vector<std::vector<bool>>> used_;  // by program, channel and class
  std::map<Key, Time> known_;
};

}  // namespace

void add_collective_times(const ProgramTableInputs& inputs, std::vector<ProgramTable>& tables) {
  TimeFinder(inputs, tables).run();
}

}  // namespace exawarp::model
