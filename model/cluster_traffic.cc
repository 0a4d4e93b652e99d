// Who talks to whom in a cluster: what placements are made from.
//
// At packet fidelity devices talk through switches, so every device's packets are walked to each
// of its peers along one shortest way, with switches spread over destinations, and count at each
// vertex and link that they pass. What adaptive routing or detours would do is not known here.
#include <algorithm>
#include <utility>

#include "model/cluster.h"
#include "model/collective/ring.h"
#include "model/device/device.h"
#include "model/network/packet/routing.h"

namespace exawarp::model {
namespace {

// What a send weighs beside a collective. Members of a collective have the same work at the same
// times; stages of a pipeline, which sends link, have it at different times, so that partitions
// cut along them wait for each other in turn (docs/reference/partitioning.md).
constexpr std::uint64_t kSendWeight = 4;

// Directed edges between atoms, added up into a symmetric CSR graph.
class TrafficBuilder {
 public:
  explicit TrafficBuilder(std::uint32_t atoms) { traffic_.work.assign(atoms, 0); }

  void add_work(std::uint32_t atom, std::uint64_t events) { traffic_.work[atom] += events; }
  void add_edge(std::uint32_t a, std::uint32_t b, std::uint64_t weight) {
    if (a == b || weight == 0) return;
    edges_.push_back({a, b, weight});
    edges_.push_back({b, a, weight});
    if (edges_.size() > 2 * merged_ + kMergeEvery) merge();
  }

  Traffic build() {
    merge();
    traffic_.first_edge.assign(traffic_.work.size() + 1, 0);
    for (const Edge& e : edges_) {
      ++traffic_.first_edge[e.from + 1];
      traffic_.neighbour.push_back(e.to);
      traffic_.weight.push_back(e.weight);
    }
    for (std::size_t a = 0; a < traffic_.work.size(); ++a) {
      traffic_.first_edge[a + 1] += traffic_.first_edge[a];
    }
    return std::move(traffic_);
  }

 private:
  struct Edge {
    std::uint32_t from, to;
    std::uint64_t weight;
  };
  static constexpr std::size_t kMergeEvery = 1u << 16;  // bounds memory by the merged edges

  void merge() {
    std::sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) {
      return std::pair(a.from, a.to) < std::pair(b.from, b.to);
    });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < edges_.size(); ++i) {
      if (kept != 0 && edges_[kept - 1].from == edges_[i].from &&
          edges_[kept - 1].to == edges_[i].to) {
        edges_[kept - 1].weight += edges_[i].weight;
      } else {
        edges_[kept++] = edges_[i];
      }
    }
    edges_.resize(kept);
    merged_ = kept;
  }

  Traffic traffic_;
  std::vector<Edge> edges_;
  std::size_t merged_ = 0;
};

// Adds what devices send each other by packets.
class PacketTraffic {
 public:
  PacketTraffic(const PacketNetwork& network, std::uint32_t atom_shift, TrafficBuilder& builder)
      : network_(network), atom_shift_(atom_shift), builder_(builder) {}

  void add(core::DeviceId from, core::DeviceId to, const Sent& sent) {
    const Topology& topology = network_.topology();
    const std::uint64_t packets =
        sent.messages +
        sent.bytes / static_cast<std::uint64_t>(network_.options().packet_bytes);
    const VertexId end{to.value};
    for (VertexId at{from.value}; at != end;) {
      const PortChoices choices = topology.minimal(at, end);
      if (choices.empty()) return;
      const Link link =
          topology.link(at, destination_port(choices, topology.spread(at, end)));
      builder_.add_work(atom_of(link.peer), packets);
      builder_.add_edge(atom_of(at), atom_of(link.peer), packets);
      at = link.peer;
    }
  }

 private:
  [[nodiscard]] std::uint32_t atom_of(VertexId v) const {
    return network_.lp_of(v).value >> atom_shift_;
  }

  const PacketNetwork& network_;
  std::uint32_t atom_shift_;
  TrafficBuilder& builder_;
};

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
  std::optional<PacketTraffic> packets;
  if (has_packets()) packets.emplace(*packet_network_, atom_shift_, builder);
  const auto add = [&](core::DeviceId from, core::DeviceId to, const Sent& sent,
                       std::uint64_t weight = 1) {
    const Interface interface = interface_of(devices_->network.tier_between(from, to));
    if (packets && from != to && devices_->packets->carries(interface)) {
      return packets->add(from, to, sent);
    }
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
