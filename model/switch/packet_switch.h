// The switch logical process at packet fidelity: packets in, packets out.
#pragma once

#include <cstdint>

#include "model/network/packet/forwarder.h"
#include "model/network/packet/packet_routing.h"
#include "model/network/packet/train_forwarder.h"
#include "pdes/logical_process.h"

namespace exawarp::model {

// The head of a switch's block; its SwitchParts follow.
struct PacketSwitchState {
  std::uint32_t vertex = 0;
  std::uint16_t ports = 0;
  std::uint8_t channels = 0;  // stored for each port; 0 without flow control
  std::uint8_t trains = 0;    // 1: each port has PortTrains
  std::uint64_t lost = 0;     // packets for which there was no way
  std::uint64_t extras = 0;   // PortSlots::kSkips: each port has a FrozenPort
  std::uint64_t reserved[3] = {0, 0, 0};  // so that ports start at cache lines
};
static_assert(sizeof(PacketSwitchState) == 48);

// The parts of a switch's block, in their order.
template <class Head>  // PacketSwitchState or const PacketSwitchState
struct SwitchParts : PortParts<Head> {
  SwitchParts() = default;
  explicit SwitchParts(Head& head) {
    PartFinder finder(&head);
    visit(head, finder);
  }
  template <class Has, class Visitor>
  void visit(const Has& has, Visitor&& visitor) {
    PortParts<Head>::visit(has, visitor);
    visitor.array(trains, std::size_t{has.ports} * has.trains);
  }

  Like<Head, PortTrains>* trains = nullptr;
};

[[nodiscard]] std::uint32_t packet_switch_bytes(const PacketNetwork& network,
                                                std::uint32_t ports);
// Requires that `lp` is in one of the network's runs.
void start_packet_switch(const PacketNetwork& network, core::LpId lp, void* state);
void handle_packet_switch(const PacketNetwork& network, void* state, const pdes::Event& event,
                          pdes::Context& ctx);
// The same where the network has trains.
void handle_train_switch(const PacketNetwork& network, void* state, const pdes::Event& event,
                         pdes::Context& ctx);
void describe_packet_switch(void* state, pdes::StateArchive& archive);
// The port that an event is of, plus 1 (LpType::foresee): for a packet, a train or a cut that by
// which it will leave. Requires ports_are_known_ahead().
std::uint32_t foresee_port(const PacketNetwork& network, void* state, const pdes::Event& event,
                           pdes::Context& ctx);
// Asks for what passes there (LpType::foresee_more).
void foresee_trains(void* state, const pdes::Event& event);

// The type of switches with `ports` ports in a run of `Model`, which has a member
// `const PacketNetwork& packet_network() const`.
template <class Model>
pdes::LpType packet_switch_type(const PacketNetwork& network, std::uint32_t ports) {
  pdes::LpType type{"switch", packet_switch_bytes(network, ports),
                    [](void* state) { ::new (state) PacketSwitchState{}; },
                    [](void* state, const pdes::Event& event, pdes::Context& ctx) {
                      handle_packet_switch(ctx.model<Model>().packet_network(), state, event, ctx);
                    },
                    describe_packet_switch};
  if (network.trains()) {
    type.handle = [](void* state, const pdes::Event& event, pdes::Context& ctx) {
      handle_train_switch(ctx.model<Model>().packet_network(), state, event, ctx);
    };
  }
  if (ports_are_known_ahead(network)) {
    type.foresee = [](void* state, const pdes::Event& event, pdes::Context& ctx) {
      return foresee_port(ctx.model<Model>().packet_network(), state, event, ctx);
    };
    if (network.trains() && network.outgrows_caches()) {
      type.foresee_more = [](void* state, const pdes::Event& event, pdes::Context&) {
        foresee_trains(state, event);
      };
    }
  }
  return type;
}

}  // namespace exawarp::model
