// Example: an all-to-all of four devices on nodes of two. In the phase with shift 1 devices 0 and 2
// send to their neighbour in the node and receive from the other node, 1 and 3 the other way round.
// So there are two classes, and the stand-in of 0, 2 sends to that of 1, 3 and hears from it.
#include "model/device/fold_messages.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "core/random.h"
#include "model/collective/algorithm.h"
#include "model/device/device_state.h"

namespace exawarp::model {
namespace {

using core::DeviceId;

// A number for the sequence of `before` and `next`.
std::uint64_t mixed(std::uint64_t before, std::uint64_t next) {
  return core::mix64(before * core::kGoldenGamma + next);
}

template <class... Numbers>
std::uint64_t number_for(const Numbers&... numbers) {
  std::uint64_t out = 0;
  ((out = mixed(out, static_cast<std::uint64_t>(numbers))), ...);
  return out;
}

std::uint32_t phases_that_differ(const Collective& c, std::uint32_t phases) {
  return phases_are_alike(c) ? std::min(phases, 1u) : phases;
}

}  // namespace

CollectiveMessages::CollectiveMessages(const PlacedJob& job,
                                       const std::vector<ProgramTable>& tables,
                                       const Network& network)
    : job_(job), tables_(tables), network_(network) {
  for (const ProgramTable& table : tables) kinds_.push_back(kinds_of(table));
}

std::vector<CollectiveMessages::Kind> CollectiveMessages::kinds_of(const ProgramTable& table) {
  std::set<std::pair<std::uint32_t, CollectiveIdentity>> known;  // with its channel
  std::vector<std::uint32_t> of_channel(table.channels.size());
  std::vector<Kind> kinds;
  for (const Task& task : table.tasks) {
    const bool plain = task.kind == TaskKind::collective;
    if (!plain && task.kind != TaskKind::stepped) continue;
    const Collective c = plain ? Collective{} : table.stepped[task.tag].collective;
    if (!known.emplace(task.channel, identity_of(c)).second) continue;
    kinds.push_back({task.channel, of_channel[task.channel]++, c});
  }
  return kinds;
}

std::string CollectiveMessages::why_not() const {
  if (network_.further_interfaces() != 0) return "devices have several interfaces out of a node";
  if (network_.tiers() > ChannelState::kTiersKept) return "ways have too many lengths";
  for (const auto& kinds : kinds_) {
    for (const Kind& kind : kinds) {
      if (runs_in_network(kind.collective)) {
        return "the network carries out collectives, at network.fidelity message";
      }
    }
  }
  return "";
}

template <class Take>
void CollectiveMessages::for_each_phase(DeviceId rank, const Take& take) const {
  const std::uint32_t p = job_.graph->program_of(rank);
  for (const Kind& kind : kinds_[p]) {
    const Channel& channel = tables_[p].channels[kind.channel];
    const Membership in = channel.among.membership(*job_.graph, rank);
    if (in.size < 2) continue;
    Collective c = kind.collective;
    c.members = in.size;
    for (std::uint32_t lane = 0; lane < c.lanes; ++lane) {
      const std::uint32_t phases = phases_that_differ(c, phase_count(c, in.position, lane));
      for (std::uint32_t phase = 0; phase < phases; ++phase) {
        take(At{channel, kind.number, c, in.position, lane, phase});
      }
    }
  }
}

template <class Take>
void CollectiveMessages::for_each_sent(DeviceId rank, const Take& take) const {
  for_each_phase(rank, [&](const At& at) {
    const Channel& channel = at.channel;
    const std::uint32_t sends = phase_of(at.collective, at.position, at.lane, at.phase).sends;
    for (std::uint32_t i = 0; i < sends; ++i) {
      const Transfer t = transfer_of(at.collective, at.position, at.lane, at.phase, i);
      if (t.peer == kNoMember) continue;
      const DeviceId to = channel.among.member(*job_.graph, rank, t.peer);
      take(Sent{to, channel.number, at.kind, at.lane, t.peer_phase,
                number_for(channel.number, at.kind, at.lane, t.peer_phase, at.phase, i, t.bytes,
                           t.bytes_received, tier(rank, to))});
    }
  });
}

std::vector<CollectiveMessages::Sides> CollectiveMessages::sides(
    std::span<const std::uint32_t> class_of) const {
  std::vector<Sides> sides(class_of.size());
  for (std::uint32_t r = 0; r < class_of.size(); ++r) {
    for_each_sent({r}, [&](const Sent& sent) {
      sides[r].sent = number_for(sides[r].sent, sent.label, class_of[sent.to.value]);
      // A sum, as messages of different senders have no order that all devices share.
      sides[sent.to.value].received += number_for(sent.label, class_of[r]);
    });
  }
  return sides;
}

bool CollectiveMessages::are_complete(std::span<const std::uint32_t> class_of,
                                      std::span<const DeviceId> ranks) const {
  struct Balance {
    std::array<std::uint32_t, 5> at;  // stand-in, channel, kind, lane, phase
    std::int64_t messages;            // received, less those waited for
  };
  std::vector<Balance> all;
  for (std::uint32_t k = 0; k < ranks.size(); ++k) {
    for_each_sent(ranks[k], [&](const Sent& sent) {
      all.push_back(
          {{class_of[sent.to.value], sent.channel, sent.kind, sent.lane, sent.phase}, 1});
    });
    for_each_phase(ranks[k], [&](const At& at) {
      const Phase phase = phase_of(at.collective, at.position, at.lane, at.phase);
      all.push_back({{k, at.channel.number, at.kind, at.lane, at.phase},
                     -std::int64_t{phase.receives}});
    });
  }
  std::ranges::sort(all, {}, &Balance::at);
  for (std::size_t i = 0; i < all.size();) {
    const auto at = all[i].at;
    std::int64_t left = 0;
    for (; i < all.size() && all[i].at == at; ++i) left += all[i].messages;
    if (left != 0) return false;
  }
  return true;
}

}  // namespace exawarp::model
