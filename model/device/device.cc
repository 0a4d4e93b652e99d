// Devices as logical processes: their type, their state at time zero, and what is digested of it.
// What they do with an event stands in their parts (device_run.h).
#include "model/device/device.h"

#include <algorithm>
#include <new>

#include "core/digest.h"
#include "model/collective/ring.h"
#include "model/device/background_traffic.h"

namespace exawarp::model {
using core::DeviceId;
using core::Time;
using pdes::Context;

std::uint64_t digest_device(const void* state) {
  const auto& device = *static_cast<const DeviceState*>(state);
  const DeviceParts<const DeviceState> parts(device);
  core::Hasher hash;
  hash.bytes(&device, sizeof(DeviceState));
  hash.bytes(parts.channels, device.channel_slots * sizeof(ChannelState));
  hash.bytes(parts.streams, device.stream_slots * sizeof(StreamState));
  hash.word(static_cast<std::uint64_t>(parts.account->since.ps));
  hash.word(static_cast<std::uint64_t>(parts.account->finish.ps));
  hash.bytes(parts.account->spent.data(), sizeof parts.account->spent);
  hash.word(parts.account->early.size());
  for (const EarlyMessage& m : parts.account->early) {
    hash.word(std::uint64_t{m.source} << 32 | m.tag);
    if (m.request != 0) hash.word(m.request);
  }
  if (parts.stepped != nullptr) {
    for (const SteppedLane& lane : parts.stepped->lanes) hash.bytes(&lane, sizeof lane);
    for (const EarlySteps& early : parts.stepped->early) hash.bytes(&early, sizeof early);
  }
  if (parts.further != nullptr) {
    hash.bytes(parts.further_clocks(), 2 * parts.further_count() * sizeof(core::Time));
  }
  if (parts.endpoint != nullptr) {
    for (const EarlySteps& chunk : parts.packets->overtaken) hash.bytes(&chunk, sizeof chunk);
    hash.bytes(parts.channel_packets, device.channel_slots * sizeof(ChannelPackets));
    Endpoint::hash(hash, *parts.endpoint);
  }
  return hash.value();
}

static_assert(std::has_unique_object_representations_v<DeviceState>);
static_assert(std::has_unique_object_representations_v<ChannelState>);
static_assert(std::has_unique_object_representations_v<StreamState>);
static_assert(std::has_unique_object_representations_v<SteppedLane>);
static_assert(std::has_unique_object_representations_v<EarlySteps>);
static_assert(std::has_unique_object_representations_v<ChannelPackets>);

namespace {

// Ports that lead to different places have clocks where messages take their time on them.
std::uint32_t further_clocks(const Network& network, bool packets, bool analytical) {
  if (network.has_rails()) return kRailClocks;
  return packets || analytical ? 0 : network.further_interfaces();
}

// What a device runs, as which rank, from when on.
struct Place {
  std::uint32_t program;
  DeviceId rank;
  Time start;
};

Place place_of(const DeviceModel& model, DeviceId id) {
  const auto seat = model.allocation->seat_of(id);
  if (!seat || !model.jobs[seat->job].runs) {
    return {static_cast<std::uint32_t>(model.programs.size()) - 1, id, Time{0}};
  }
  const PlacedJob& job = model.jobs[seat->job];
  const DeviceId rank{seat->rank};
  return {job.first_program + job.graph->program_of(rank), rank, job.start};
}

}  // namespace

DeviceSlots slots_for(const std::vector<ProgramTable>& programs, const Network& network,
                      const PacketFabric* packets, bool analytical) {
  DeviceSlots slots;
  slots.further = further_clocks(network, packets != nullptr, analytical);
  slots.packets = packets != nullptr;
  if (packets != nullptr) slots.endpoint_bytes = Endpoint::state_bytes(packets->network);
  for (const ProgramTable& p : programs) {
    slots.streams = std::max(slots.streams, static_cast<std::uint8_t>(p.streams()));
    slots.channels = std::max(slots.channels, static_cast<std::uint8_t>(p.channels.size()));
    slots.stepped = slots.stepped || !p.stepped.empty();
  }
  return slots;
}

pdes::LpType device_type(const DeviceModel& model) {
  return {"device", model.slots.state_bytes(),
          [](void* state) { ::new (state) DeviceState{}; }, model.handlers.handle,
          model.slots.beside ? digest_with_background : digest_device};
}

void start_device(const DeviceModel& model, DeviceId id, void* memory, Context& context) {
  auto& state = *::new (memory) DeviceState{};
  state.stream_slots = model.slots.streams;
  state.channel_slots = model.slots.channels;
  state.stepped = model.slots.stepped;
  state.further = model.slots.further != 0;
  state.packets = model.slots.packets;
  state.beside = model.slots.beside;
  const Place place = place_of(model, id);
  state.program = place.program;
  const ProgramTable& program = model.programs[state.program];
  if (program.ranks != nullptr) state.set_rank(place.rank);
  const DeviceParts<DeviceState> parts(state);
  for (std::uint32_t c = 0; c < state.channel_slots; ++c) {
    ChannelState& channel = *::new (&parts.channels[c]) ChannelState{};
    if (c >= program.channels.size()) continue;
    const Channel& ring = program.channels[c];
    const Membership in = program.membership(ring, place.rank);
    if (in.size == 1) continue;
    const DeviceId next = program.member(ring, place.rank, next_in_ring(in.position, in.size));
    channel.next_and_tier = ChannelState::pack(next, model.network.tier_between(id, next));
  }
  for (std::uint32_t s = 0; s < state.stream_slots; ++s) ::new (&parts.streams[s]) StreamState{};
  ::new (parts.account) DeviceAccount{};
  if (parts.stepped != nullptr) ::new (parts.stepped) SteppedState{};
  if (parts.further != nullptr) {
    ::new (parts.further) FurtherClocks{model.slots.further};
    std::fill_n(parts.further_clocks(), 2 * model.slots.further, Time{0});
  }
  if (parts.endpoint != nullptr) {
    ::new (parts.packets) PacketsState{};
    for (std::uint32_t c = 0; c < state.channel_slots; ++c) {
      ::new (&parts.channel_packets[c]) ChannelPackets{};
    }
    Endpoint::initialise(model.packets->network, {id.value}, *parts.endpoint);
  }
  for (std::uint32_t s = 0; s < program.streams(); ++s) state.unfinished += program.length(s) != 0;
  model.handlers.start(model, state, context, place.start);
}

}  // namespace exawarp::model
