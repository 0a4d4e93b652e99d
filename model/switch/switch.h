// A switch at message fidelity as a logical process: latency is charged by hops and no message
// visits a switch, so it has an id and a place and receives nothing. packet_switch.h has the
// switches of packet fidelity.
#pragma once

#include <cstdint>

#include "core/random.h"
#include "pdes/context.h"
#include "pdes/logical_process.h"

namespace exawarp::model {

struct Switch {
  struct State {
    std::uint32_t index = 0;  // leaves, then spines, then cores
    std::uint32_t unused = 0;
  };
  static void handle(State&, const pdes::Event&, pdes::Context& ctx) {
    ctx.check(false, "a switch received an event at message fidelity");
  }
  static void describe(State& s, pdes::StateArchive& archive) {
    archive.kept(s);
    archive.digest_as(core::mix64(s.index + 1));
  }
};

}  // namespace exawarp::model
