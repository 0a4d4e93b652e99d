// Who talks to whom in a cluster: what placements are made from.
// At packet fidelity devices talk through switches, along the ways of PacketPaths.
#include "model/cluster.h"
#include "model/collective/ring.h"
#include "model/device/device.h"

namespace exawarp::model {
namespace {

// What a send weighs beside a collective. Members of a collective have the same work at the same
// times; stages of a pipeline, which sends link, have it at different times, so that partitions
// cut along them wait for each other in turn (docs/reference/partitioning.md).
constexpr std::uint64_t kSendWeight = 4;

}  // namespace

// Of stand-ins: an atom each.
Traffic Cluster::folded_traffic() const {
  const Fold& fold = *devices_->fold;
  const PlacedJob& job = jobs().front();
  TrafficBuilder builder(fold.size());
  for (std::uint32_t k = 0; k < fold.size(); ++k) {
    const Fold::StandIn& stand_in = fold.stand_ins()[k];
    const ProgramTable& program = devices_->programs[job.first_program + stand_in.program];
    builder.add_work(k, program.events);
    for (std::uint32_t c = 0; c < program.channels.size(); ++c) {
      for (const std::uint32_t member : fold.group(k, c).members) {
        builder.add_edge(k, member, program.channels[c].sent.nodes);
      }
    }
    for (const PeerSends& to : program.sends) {
      const auto offset = static_cast<std::uint32_t>(to.peer);
      builder.add_edge(
          k, program.device_of({to.absolute ? offset : stand_in.rank.value + offset}).value,
          kSendWeight * to.sent.nodes);
    }
  }
  return builder.build();
}

Traffic Cluster::traffic() const {
  if (devices_->fold != nullptr) return folded_traffic();
  TrafficBuilder builder(atom_count());
  std::optional<PacketPaths> packets;
  if (has_packets()) packets.emplace(*packet_network_, atom_shift_, builder);
  const auto add_flows = [&](core::DeviceId device, const Sent& sent) {
    constexpr std::uint64_t kEventsOfRegion = 3;  // a message
    const std::uint32_t region = flow_network().region().value >> atom_shift_;
    builder.add_work(region, kEventsOfRegion * sent.messages);
    builder.add_edge(device.value >> atom_shift_, region, sent.messages);
  };
  const auto add = [&](core::DeviceId from, core::DeviceId to, const Sent& sent,
                       std::uint64_t weight = 1) {
    const Interface interface = interface_of(devices_->network.tier_between(from, to));
    if (packets && from != to && devices_->packets->carries(interface)) {
      return packets->add(from, to, sent.messages, sent.bytes);
    }
    if (has_flows() && interface == Interface::scale_out) return add_flows(from, sent);
    builder.add_edge(from.value >> atom_shift_, to.value >> atom_shift_, weight * sent.nodes);
  };
  for (std::uint32_t d = 0; d < device_count(); ++d) {
    const core::DeviceId device{d};
    const auto seat = devices_->allocation->seat_of(device);
    if (!seat || !jobs()[seat->job].runs) continue;
    const PlacedJob& job = jobs()[seat->job];
    const core::DeviceId rank{seat->rank};
    const ProgramTable& program =
        devices_->programs[job.first_program + job.graph->program_of(rank)];
    builder.add_work(d >> atom_shift_, program.events);
    for (const Channel& channel : program.channels) {
      const Membership in = program.membership(channel, rank);
      if (in.size == 1) continue;
      add(device, program.member(channel, rank, next_in_ring(in.position, in.size)),
          channel.sent);
    }
    for (const PeerSends& to : program.sends) {
      const auto offset = static_cast<std::uint32_t>(to.peer);
      add(device, program.device_of({to.absolute ? offset : rank.value + offset}), to.sent,
          kSendWeight);
    }
  }
  return builder.build();
}

}  // namespace exawarp::model
