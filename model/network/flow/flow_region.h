// The region of a fabric at flow fidelity: one logical process that has all flows between nodes.
//
// What changes at an instant, flows that start and flows that are over, changes together: the
// first event of it has the region settle 1 ps later, once, and reckon from the instant on. A flow
// whose share changes has carried, exactly, its rate times the time since its last change.
//
//   starts  a flow joins the lists of its links
//   due     a flow is over, if it is what it was when the event was sent
//   changed the shares of all parts that either has touched are solved; what is over arrives
//
// Messages of one connection between two devices that go the same way follow each other: one is a
// flow, the others wait, and take its place on its links one by one. So do those that leave one by
// one (MessageBody), whomever they are for: of these each has its own way.
//
// One `due` a part is under way, of the flow that is over first: when it comes, all of the part is
// solved again. An event of a flow whose end has moved since says nothing.
#pragma once

#include <cstdint>

#include "core/time.h"
#include "model/network/flow/flow_events.h"
#include "model/network/flow/flow_network.h"
#include "model/network/flow/link_flows.h"
#include "pdes/context.h"
#include "pdes/logical_process.h"
#include "pdes/undo_vector.h"

namespace exawarp::pdes {
class Transport;
}

namespace exawarp::model {

inline constexpr std::uint32_t kNoMessage = 0xffffffffu;

struct RegionFlow {
  FlowNetwork::Work left = 0;       // work to do, at `since`
  std::uint64_t rate = 0;           // from `since` on; 0: not settled yet
  core::Time since{};
  core::Time over{};    // when it will be; Time::max(): not settled yet
  core::Time due_at{};  // of the last event that was sent for this place
  MessageBody body{};
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t is_flow = 0;
  std::uint32_t first_waiting = kNoMessage;
  std::uint32_t last_waiting = kNoMessage;
  std::uint32_t unused = 0;
};
static_assert(sizeof(RegionFlow) == 96);

// A message that waits for those before it.
struct WaitingMessage {
  MessageBody body{};
  std::int64_t bytes = 0;
  std::uint32_t next = kNoMessage;  // behind the same flow, or of the free places
  std::uint32_t to = 0;             // device
};

// What the region has done.
struct FlowTotals {
  std::uint64_t started = 0, ended = 0;  // messages; one that waits has started
  std::uint64_t instants = 0;            // that were settled
  std::uint64_t parts = 0;               // solved
  std::uint64_t looked_at = 0;           // flows in them
  std::uint64_t largest_part = 0;        // flows
  std::uint64_t most_flows = 0;          // messages at once, those that wait among them

  // Of whoever has the region, known to all ranks; collective.
  void combine(pdes::Transport& transport);
};

struct FlowRegionState {
  core::Time instant;               // of the changes that are not settled
  std::uint32_t is_changed = 0;     // whether there are any
  std::uint32_t free_waiting = kNoMessage;  // first place of `waiting` without a message
  FlowTotals totals;
  pdes::UndoVector<RegionFlow> flows;
  LinkFlows on_links;
  pdes::UndoVector<std::uint32_t> changed;  // flows that started or are due
  pdes::UndoVector<WaitingMessage> waiting;
};

void start_flow_region(const FlowNetwork& network, void* state, pdes::Context& ctx);
void handle_flow_region(const FlowNetwork& network, void* state, const pdes::Event& event,
                        pdes::Context& ctx);
void describe_flow_region(void* state, pdes::StateArchive& archive);

// Of a `Model` with a member `const FlowNetwork& flow_network() const`.
template <class Model>
pdes::LpType flow_region_type() {
  return {"flow region", static_cast<std::uint32_t>(sizeof(FlowRegionState)),
          [](void* state) { ::new (state) FlowRegionState{}; },
          [](void* state, const pdes::Event& event, pdes::Context& ctx) {
            handle_flow_region(ctx.model<Model>().flow_network(), state, event, ctx);
          },
          describe_flow_region};
}

}  // namespace exawarp::model
