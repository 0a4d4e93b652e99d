// Ports of a vertex: giving packets to a line, and what that does to its clock, depth, marks,
// credits and counters.
#include "model/network/packet/port.h"

#include <algorithm>

#include "core/random.h"
#include "model/network/packet/port_counters.h"

namespace exawarp::model {
namespace {

using core::Time;

constexpr std::uint64_t kMarkStream = 0xec4;

// Of this packet at this vertex, whatever else happens: a pure function of who meets whom.
std::uint64_t draw_of(std::uint64_t seed, std::uint32_t at, const Packet& p) {
  const std::uint64_t ends = std::uint64_t{p.source} << 32 | p.destination;
  const std::uint64_t which = std::uint64_t{p.message} << 32 | p.number;
  return core::random_bits(core::stream_of(seed ^ kMarkStream, ends, which), at);
}

}  // namespace

void Ports::connect(const PacketNetwork& network, VertexId at, PortState* ports,
                    ChannelBuffer* buffers) {
  const Topology& topology = network.topology();
  const std::uint32_t count = topology.ports(at);
  for (std::uint32_t p = 0; p < count; ++p) {
    const Link link = topology.link(at, p);
    PortState& port = ports[p];
    port.peer = network.lp_of(link.peer).value;
    port.peer_port = static_cast<std::uint16_t>(link.peer_port);
    port.kind = link.kind;
    port.connected = 1;
  }
  if (!network.has_queues()) return;
  for (std::uint32_t b = 0; b < count * network.channels(); ++b) {
    buffers[b].credit_bytes = static_cast<std::uint32_t>(network.options().buffer_bytes);
  }
}

void describe(pdes::StateArchive& archive, ChannelBuffer& b) {
  archive.pair(b.credit_bytes, b.owed_bytes);
  archive.word(b.owed_at);
  archive.pair(b.held_bytes, b.pausing);
  archive.digest_word(b.queue.size());
  b.queue.describe(archive, [&](WaitingPacket& packet) { archive.bytes(&packet); });
}

void Ports::note_depth(std::uint32_t p) {
  const Time met = depth(p);
  if (met > ports_[p].peak) ctx_.set(ports_[p].peak, met);
  if (network_.options().count_ports && met.ps > 0) {
    PortCounters::emit(ctx_, PortRecord::queued, p, 0, met);
  }
}

void Ports::mark(std::uint32_t p, Packet& packet) {
  PortState& port = ports_[p];
  const Time met = depth(p);
  const LinkFigures& figures = network_.figures(port.kind);
  if (met <= figures.kmin || packet.type() != PacketType::data) return;
  if (met < figures.kmax) {
    __extension__ using Wide = unsigned __int128;
    const auto above = static_cast<std::uint64_t>((met - figures.kmin).ps);
    const auto range = static_cast<std::uint64_t>((figures.kmax - figures.kmin).ps);
    const Wide share =
        (Wide{above} * network_.options().ecn.pmax_per_mille << 32) / (Wide{range} * 1000);
    const std::uint64_t draw =
        draw_of(network_.options().routing.seed, ctx_.self().value, packet) >> 32;
    if (draw >= static_cast<std::uint64_t>(share)) return;
  }
  packet.bits |= Packet::kMarkedBit;
  ctx_.add(port.marks, 1u);
  if (network_.options().count_ports) PortCounters::emit(ctx_, PortRecord::marked, p);
}

bool Ports::has_credit(std::uint32_t p, std::uint32_t c, std::uint32_t bytes) {
  return network_.is_sink({ports_[p].peer}) || buffer(p, c).credit_bytes >= bytes;
}

void Ports::use_credit(std::uint32_t p, std::uint32_t c, std::uint32_t bytes) {
  if (network_.is_sink({ports_[p].peer})) return;
  ChannelBuffer& there = buffer(p, c);
  ctx_.set(there.credit_bytes, there.credit_bytes - bytes);
}

Time Ports::time_on_line(std::uint32_t p, std::int64_t bytes, Time start) const {
  const Time usual = wire(p, bytes);
  if (!faulty(p)) return usual;
  return network_.faults()->end_if_up(at_, p, start, usual) - start;
}

// A switch that cuts through starts when the head is in, but late enough that it never runs out
// of a packet that comes by a slower link than it leaves by.
Time Ports::eligible_at(const Packet& packet, std::uint32_t out) const {
  const Time at = ctx_.now() + network_.topology().forwarding_latency(at_);
  // Most networks: without a look at the ports, which are seldom in cache.
  if (!network_.options().cut_through || network_.has_one_rate()) return at;
  const PortState& in = ports_[packet.in_port];
  if (in.kind == ports_[out].kind && !faulty(packet.in_port)) return at;
  const Time set_out = std::max(Time{0}, ctx_.now() - network_.figures(in.kind).latency);
  const Time behind = time_on_line(packet.in_port, packet.bytes, set_out) -
                      time_on_line(out, packet.bytes, at);
  return behind.ps > 0 ? core::sum_to_end(at, behind) : at;
}

bool Ports::meets_failure(std::uint32_t p, std::int64_t bytes, Time start) const {
  const Time down = network_.faults()->down_from(at_, p, start);
  if (down == Time::max()) return false;
  if (!network_.failures_drop()) {  // held, unless it never comes back
    return network_.faults()->end_of(at_, p, start, Time{0}) == Time::max();
  }
  return down < start + time_on_line(p, bytes, start) + network_.figures(ports_[p].kind).latency;
}

void Ports::drop(std::uint32_t p) {
  ctx_.add(ports_[p].drops, 1u);
  if (network_.options().count_ports) PortCounters::emit(ctx_, PortRecord::dropped, p);
}

// A line that is down takes packets at its usual rate and loses them, or, where nothing sends them
// again, keeps them until it is back.
Time Ports::commit(std::uint32_t p, Packet packet, Time eligible, Time extra_delay) {
  PortState& port = ports_[p];
  Time start = std::max(port.free, eligible);
  Time end = core::sum_to_end(start, wire(p, packet.bytes));
  if (faulty(p)) [[unlikely]] {
    if (meets_failure(p, packet.bytes, start)) {
      end = core::sum_to_end(start, time_on_line(p, packet.bytes, start));
      ctx_.set(port.free, end);
      drop(p);
      return end;
    }
    end = network_.faults()->end_of(at_, p, start, wire(p, packet.bytes));
    start = network_.faults()->end_of(at_, p, start, Time{0});
  }
  take_line(p, packet.bytes, start, end);
  packet.in_port = port.peer_port;
  const Time seen = arrival(p, start, end, port.peer == packet.destination) + extra_delay;
  ctx_.send({port.peer}, seen - ctx_.now(), kind_of(PacketEvent::packet), packet);
  return end;
}

Time Ports::occupy(std::uint32_t p, std::uint32_t bytes, Time eligible) {
  const Time start = std::max(ports_[p].free, eligible);
  take_line(p, bytes, start, core::sum_to_end(start, wire(p, bytes)));
  return start;
}

void Ports::occupy_on(std::uint32_t p, std::uint32_t packets) {
  PortState& port = ports_[p];
  const auto bytes = static_cast<std::uint64_t>(network_.full_bytes());
  const Time taken = network_.figures(port.kind).full_wire;
  if (network_.options().count_ports) {
    for (std::uint32_t i = 0; i < packets; ++i) {
      const Time start = port.free + taken * i;
      PortCounters::emit(ctx_, PortRecord::sent, p, bytes, start, start + taken);
    }
  }
  ctx_.set(port.free, port.free + taken * packets);
  ctx_.set(port.bytes, port.bytes + bytes * packets);
  ctx_.set(port.packets, port.packets + packets);
}

void Ports::take_line(std::uint32_t p, std::uint32_t bytes, Time start, Time end) {
  PortState& port = ports_[p];
  ctx_.set(port.free, end);
  ctx_.set(port.bytes, port.bytes + bytes);
  ctx_.set(port.packets, port.packets + 1);
  if (network_.options().count_ports) {
    PortCounters::emit(ctx_, PortRecord::sent, p, bytes, start, end);
  }
}

}  // namespace exawarp::model
