// Devices as logical processes: their block from its list of parts (device_layout.h), which gives
// its size, its start and its description. What they do with an event stands in the parts
// (device_run.h).
#include "model/device/device.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

#include "model/collective/ring.h"
#include "model/device/background_traffic.h"
#include "model/network/packet/endpoint.h"

namespace exawarp::model {
namespace {

using core::DeviceId;
using core::LpId;
using core::Time;
using pdes::Context;
using pdes::StateArchive;

void describe(StateArchive& archive, EarlySteps& steps) { archive.bytes(&steps); }
void describe(StateArchive& archive, SteppedLane& lane) { archive.bytes(&lane); }

void describe(StateArchive& archive, EarlyMessage& m) {
  archive.kept(m.source);
  archive.kept(m.tag);
  archive.kept(m.request);
  archive.digest_word(std::uint64_t{m.source} << 32 | m.tag);
  if (m.request != 0) archive.digest_word(m.request);
}

void describe(StateArchive& archive, DeviceAccount& account) {
  archive.word(account.since);
  archive.word(account.finish);
  archive.bytes(account.spent.data(), account.spent.size());
  archive.digest_word(account.early.size());
  account.early.describe(archive, [&](EarlyMessage& m) { describe(archive, m); });
}

void describe(StateArchive& archive, SteppedState& stepped) {
  stepped.lanes.describe(archive, [&](SteppedLane& lane) { describe(archive, lane); });
  stepped.early.describe(archive, [&](EarlySteps& early) { describe(archive, early); });
}

void describe(StateArchive& archive, PassAccount& passes) { archive.bytes(&passes); }

// The digest has `later`, a field of a record that came to it, only where it is not 0: so that of
// records without it is what it was. The two words before it are all that there was.
template <class Record>
void describe(StateArchive& archive, Record& record, std::uint32_t& later) {
  std::array<std::uint64_t, 2> before;
  std::memcpy(before.data(), &record, sizeof before);
  archive.bytes(before.data(), before.size());
  std::memcpy(static_cast<void*>(&record), before.data(), sizeof before);
  archive.kept(later);
  archive.kept(record.unused);
  if (later != 0) archive.digest_word(later);
}

// Of keys of some layers, their tokens.
void describe(StateArchive& archive, KeysToSend& keys) {
  static_assert(offsetof(KeysToSend, tokens) == 16);
  describe(archive, keys, keys.tokens);
}

// Of a group of data-parallel attention, the class of its tokens.
void describe(StateArchive& archive, IterationBegins& it) {
  static_assert(offsetof(IterationBegins, group_below) == 16);
  describe(archive, it, it.group_below);
}

void describe(StateArchive& archive, ServedState& served) {
  served.told.describe(archive, [&](IterationBegins& told) { describe(archive, told); });
  served.transfers.describe(archive, [&](KeysToSend& keys) { describe(archive, keys); });
  served.by_layer.describe(archive, [&](KeysByLayer& keys) { archive.bytes(&keys); });
  describe(archive, served.now);
  for (std::uint32_t* word : {&served.begin, &served.end, &served.sent, &served.transfers_end}) {
    archive.word(*word);
  }
}

void describe(StateArchive& archive, SharingState& sharing) { archive.bytes(&sharing); }

void describe(StateArchive& archive, InterfaceLine& line) {
  SendLine& sends = line.sends;
  archive.word(sends.at);
  archive.word(sends.served);
  archive.word(sends.sender.value);
  archive.kept(sends.unused);
  archive.digest_word(sends.shares.size());
  sends.shares.describe(archive, [&](LineShare& share) { archive.bytes(&share); });
  archive.bytes(&line.receives);
}

void describe(StateArchive& archive, FurtherClocks& further) { archive.kept(further.count); }

void describe(StateArchive& archive, PacketsState& packets) {
  packets.overtaken.describe(archive, [&](EarlySteps& chunk) { describe(archive, chunk); });
}

// A visitor that finds the parts and describes them, save those of background traffic.
class PartDescriber : public PartFinder {
 public:
  PartDescriber(DeviceState& state, StateArchive& archive)
      : PartFinder(&state), archive_(archive) {}

  template <class T>
  void array(T*& part, std::size_t count) {
    PartFinder::array(part, count);
    if constexpr (std::is_same_v<T, DeviceAccount> || std::is_same_v<T, InterfaceLine>) {
      for (std::size_t i = 0; i < count; ++i) describe(archive_, part[i]);
    } else if constexpr (std::is_same_v<T, Time>) {
      if (count != 0) archive_.bytes(part, count);
    } else if constexpr (!std::is_same_v<T, ReceiveShare>) {
      archive_.bytes(part, count);
    }
  }
  template <class T>
  void one_if(T*& part, bool present) {
    PartFinder::one_if(part, present);
    if constexpr (!std::is_same_v<T, BackgroundState>) {
      if (present) describe(archive_, *part);
    }
  }
  void block(EndpointState*& endpoint, std::size_t bytes) {
    PartFinder::block(endpoint, bytes);
    Endpoint::describe(archive_, *endpoint);
  }

 private:
  StateArchive& archive_;
};

// Ports that lead to different places have clocks where messages take their time on them.
std::uint32_t further_clocks(const Network& network, bool packets, bool analytical) {
  if (network.has_rails()) return kRailClocks;
  return packets || analytical ? 0 : network.further_interfaces();
}

}  // namespace

DevicePlace place_of(const DeviceModel& model, DeviceId id) {
  if (model.fold != nullptr) {
    const Fold::StandIn& stand_in = model.fold->stand_ins()[id.value];
    const PlacedJob& job = model.jobs.front();
    return {job.first_program + stand_in.program, stand_in.rank, job.start};
  }
  const auto seat = model.allocation->seat_of(id);
  if (!seat || !model.jobs[seat->job].runs) {
    return {static_cast<std::uint32_t>(model.programs.size()) - 1, id, Time{0}};
  }
  const PlacedJob& job = model.jobs[seat->job];
  const DeviceId rank{seat->rank};
  return {job.first_program + job.graph->program_of(rank), rank, job.start};
}

DeviceSlots slots_for(const std::vector<ProgramTable>& programs, const Network& network,
                      const PacketFabric* packets, bool analytical, bool flows) {
  DeviceSlots slots;
  slots.further = further_clocks(network, packets != nullptr || flows, analytical);
  slots.lines = !analytical;
  slots.packets = packets != nullptr || flows;
  slots.flows = flows;
  if (packets != nullptr) slots.endpoint_bytes = Endpoint::state_bytes(packets->network);
  for (const ProgramTable& p : programs) {
    slots.served = slots.served || p.served != nullptr;
    slots.stream_slots = std::max(slots.stream_slots, static_cast<std::uint8_t>(p.streams()));
    slots.channel_slots =
        std::max(slots.channel_slots, static_cast<std::uint8_t>(p.channels.size()));
    slots.stepped = slots.stepped || !p.stepped.empty();
    slots.passes = slots.passes || p.runs_together;
  }
  return slots;
}

pdes::LpType device_type(const DeviceModel& model) {
  return {"device",
          model.slots.state_bytes(),
          [](void* state) { ::new (state) DeviceState{}; },
          model.handlers.handle,
          model.slots.background ? describe_with_background : describe_device,
          model.handlers.foresee,
          model.handlers.foresee_more};
}

// The head says what follows it, and FurtherClocks of how many interfaces.
void describe_device(void* memory, StateArchive& archive) {
  auto& state = *static_cast<DeviceState*>(memory);
  archive.bytes(&state);
  DeviceSlots slots = slots_of(state);
  PartDescriber describer(state, archive);
  NearParts<DeviceState> near;
  near.visit(slots, describer);
  if (near.further != nullptr) slots.further = static_cast<std::uint32_t>(near.further->count);
  FarParts<DeviceState>{}.visit(slots, describer);
}

void start_device(const DeviceModel& model, DeviceId id, void* memory, Context& context) {
  auto& state = *::new (memory) DeviceState{};
  state.stream_slots = model.slots.stream_slots & 0x3f;
  state.channel_slots = model.slots.channel_slots;
  state.stepped = model.slots.stepped;
  state.further = model.slots.further != 0;
  state.packets = model.slots.packets;
  state.flows = model.slots.flows;
  state.background = model.slots.background;
  state.passes = model.slots.passes;
  state.served = model.slots.served;
  state.shares = model.slots.shares;
  state.lines = model.slots.lines;
  const DevicePlace place = place_of(model, id);
  state.program = place.program;
  const ProgramTable& program = model.programs[state.program];
  if (program.ranks != nullptr) state.set_rank(place.rank);
  PartMaker maker(&state);
  NearParts<DeviceState> near;
  FarParts<DeviceState> far;
  near.visit(model.slots, maker);
  far.visit(model.slots, maker);
  if (near.further != nullptr) near.further->count = model.slots.further;
  if (far.endpoint != nullptr) {
    Endpoint::initialise(model.packets->network, {id.value}, *far.endpoint);
  }
  const std::size_t rings = model.fold != nullptr && model.analytical ? 0 : program.channels.size();
  for (std::uint32_t c = 0; c < rings; ++c) {
    const Channel& ring = program.channels[c];
    const Membership in = program.membership(ring, place.rank);
    if (in.size == 1) continue;
    const DeviceId rank = ring.among.member(*program.graph, place.rank,
                                            next_in_ring(in.position, in.size));
    const DeviceId next = program.device_of(rank);
    const PlacedJob& job = model.jobs.front();  // a stand-in is where the device of its rank is
    const Tier tier =
        model.fold == nullptr
            ? model.network.tier_between(id, next)
            : model.network.tier_between(job.device_of(place.rank), job.device_of(rank));
    near.channels[c].next_and_tier = ChannelState::pack(next, tier);
  }
  // A scheduler has told it nothing yet; requests that come after the job's start see to that.
  state.serves = program.served != nullptr;
  if (state.serves) return model.handlers.start(model, state, context, Time{0});
  for (std::uint32_t s = 0; s < program.streams(); ++s) state.unfinished += program.length(s) != 0;
  model.handlers.start(model, state, context, place.start);
}

}  // namespace exawarp::model
