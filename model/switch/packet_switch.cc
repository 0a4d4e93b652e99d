#include "model/switch/packet_switch.h"

#include <new>

namespace exawarp::model {
namespace {

// What a switch has of its parts.
struct SwitchSlots : PortSlots {
  std::uint32_t trains = 0;
};
SwitchSlots slots_of(const PacketNetwork& network, std::uint32_t ports) {
  return {PortSlots::of(network, ports), network.trains() ? 1u : 0u};
}

}  // namespace

std::uint32_t packet_switch_bytes(const PacketNetwork& network, std::uint32_t ports) {
  PartFinder finder(static_cast<const PacketSwitchState*>(nullptr));
  SwitchParts<const PacketSwitchState>{}.visit(slots_of(network, ports), finder);
  return static_cast<std::uint32_t>(finder.bytes());
}

void start_packet_switch(const PacketNetwork& network, core::LpId lp, void* memory) {
  std::size_t r = network.switch_runs().size() - 1;
  while (network.switch_runs()[r].first_lp > lp) --r;
  const SwitchRun& run = network.switch_runs()[r];
  const VertexId at =
      network.topology().vertex_of_switch(run.first + (lp.value - run.first_lp.value));
  auto& state = *::new (memory) PacketSwitchState{};
  state.vertex = at.value;
  const SwitchSlots slots = slots_of(network, run.ports);
  state.ports = static_cast<std::uint16_t>(slots.ports);
  state.channels = static_cast<std::uint8_t>(slots.channels);
  state.extras = slots.extras;
  state.trains = static_cast<std::uint8_t>(slots.trains);
  SwitchParts<PacketSwitchState> parts;
  parts.visit(state, PartMaker(&state));
  Ports::connect(network, at, parts.ports, parts.buffers);
}

void handle_packet_switch(const PacketNetwork& network, void* memory, const pdes::Event& event,
                          pdes::Context& ctx) {
  auto& state = *static_cast<PacketSwitchState*>(memory);
  const VertexId at{state.vertex};
  const PortParts<PacketSwitchState> parts(state);
  Ports ports(network, at, parts.ports, parts.buffers, state.ports, ctx);
  Forwarder forwarder(network, at, ports, ctx);
  FrozenPorts frozen(network, ports, parts.frozen_of(state), ctx);
  if (PortSlots::skips(state.extras) && frozen.keep(event)) return;
  switch (static_cast<PacketEvent>(event.kind)) {
    case PacketEvent::packet: {
      auto packet = event.as<Packet>();
      std::uint32_t foreseen = event.foreseen;
      if (PortSlots::skips(state.extras) && packet.type() != PacketType::data) {
        const std::uint32_t out = choose_port(network, ports, at, packet, foreseen);
        if (out < ports.count() && frozen.is_still(out)) {
          forwarder.consumed(packet);
          return frozen.jump(out, packet);
        }
        if (out < ports.count()) foreseen = out + 1;
      }
      if (!forwarder.forward(packet, foreseen).had_route) {
        ctx.add(state.lost, 1u);
      }
      return;
    }
    case PacketEvent::credit: return forwarder.on_credit(event.as<CreditReturn>());
    case PacketEvent::pause: return forwarder.on_pause(event.as<Pause>());
    case PacketEvent::wake: return forwarder.on_wake(event.as<PortWake>().port);
    case PacketEvent::freeze: {
      const auto freeze = event.as<Freeze>();
      frozen.freeze(freeze);
      if (freeze.end == LineEnd::receives) return;
      return forwarder.take_answers_out(
          freeze.port, [&](const Packet& packet) { frozen.jump(freeze.port, packet); });
    }
    case PacketEvent::thaw: frozen.thaw(event.as<Thaw>()); return;
    case PacketEvent::header:
    case PacketEvent::timeout:
    case PacketEvent::train:
    case PacketEvent::cut:
    case PacketEvent::reply:
    case PacketEvent::skip:
    case PacketEvent::skipped: break;
  }
  ctx.check(false, "a switch received an event that is not for switches");
}

void handle_train_switch(const PacketNetwork& network, void* memory, const pdes::Event& event,
                         pdes::Context& ctx) {
  auto& state = *static_cast<PacketSwitchState*>(memory);
  const VertexId at{state.vertex};
  const SwitchParts<PacketSwitchState> parts(state);
  Ports ports(network, at, parts.ports, parts.buffers, state.ports, ctx);
  TrainForwarder forwarder(network, at, ports, parts.trains, ctx, event.foreseen);
  switch (static_cast<PacketEvent>(event.kind)) {
    case PacketEvent::packet:
      if (!forwarder.on_packet(event.as<Packet>(), event.source)) ctx.add(state.lost, 1u);
      return;
    case PacketEvent::train: return forwarder.on_train(event.as<Train>(), event.source);
    case PacketEvent::cut: return forwarder.on_cut(event.as<TrainCut>(), event.source);
    case PacketEvent::wake: return forwarder.on_wake(event.as<PortWake>().port);
    case PacketEvent::credit:
    case PacketEvent::pause:
    case PacketEvent::header:
    case PacketEvent::timeout:
    case PacketEvent::freeze:
    case PacketEvent::thaw:
    case PacketEvent::reply:
    case PacketEvent::skip:
    case PacketEvent::skipped: break;
  }
  ctx.check(false, "a switch of trains received an event that is not for it");
}

std::uint32_t foresee_port(const PacketNetwork& network, void* memory, const pdes::Event& event,
                           pdes::Context& ctx) {
  const auto kind = static_cast<PacketEvent>(event.kind);
  auto& state = *static_cast<PacketSwitchState*>(memory);
  const VertexId at{state.vertex};
  const SwitchParts<PacketSwitchState> parts(state);
  std::uint32_t out = state.ports;
  if (kind == PacketEvent::wake) {
    out = event.as<PortWake>().port;
  } else if (kind == PacketEvent::packet || kind == PacketEvent::train ||
             kind == PacketEvent::cut) {
    const Packet packet = kind == PacketEvent::packet ? event.as<Packet>()
                          : kind == PacketEvent::train
                              ? event.as<Train>().first(network.full_bytes())
                              : event.as<TrainCut>().packet();
    const Ports ports(network, at, parts.ports, parts.buffers, state.ports, ctx);
    out = usual_port(network, ports, at, packet);
    if (packet.in_port < state.ports) __builtin_prefetch(&parts.ports[packet.in_port], 1);
  }
  if (out >= state.ports) return 0;
  __builtin_prefetch(&parts.ports[out], 1);
  if (state.trains != 0) __builtin_prefetch(&parts.trains[out], 1);
  return out + 1;
}

void foresee_trains(void* memory, const pdes::Event& event) {
  auto& state = *static_cast<PacketSwitchState*>(memory);
  if (event.foreseen == 0 || event.foreseen > state.ports || state.trains == 0) return;
  const auto& passing = SwitchParts<PacketSwitchState>(state).trains[event.foreseen - 1].passing;
  if (!passing.empty()) __builtin_prefetch(passing.begin(), 1);
}

void describe_packet_switch(void* memory, pdes::StateArchive& archive) {
  auto& state = *static_cast<PacketSwitchState*>(memory);
  archive.kept(state.vertex);
  archive.kept(state.ports);
  archive.kept(state.channels);
  archive.kept(state.trains);
  archive.kept(state.extras);
  archive.word(state.lost);
  SwitchParts<PacketSwitchState>{}.visit(state, ArrayDescriber(&state, archive));
}

}  // namespace exawarp::model
