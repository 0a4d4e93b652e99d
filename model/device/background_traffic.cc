// Background is a sender among the job's on a device's line out (network/message/line.h). The
// receive side takes background as it comes, counts the time that it takes of the line, and puts a
// job's message that keeps the line for W off by W times the share of the last milliseconds: a load
// rho slows a receiver by 1 + rho, as first-in-first-out by bytes does.
//
// Background must not keep a run from ending, and no device knows whether others are done. Devices
// form a tree of kFanOut children by their ids. A device that is done, with all below it, tells the
// one above; when the root is, it tells all to stop. A deadlocked job never ends, and with
// background events never run out, so the root also asks from time to time whether anything of a
// job happens anywhere. Two noes in a row, the later question twice as long after, and all stop;
// then events run out and the run ends as any deadlock does. A question goes out after 10 ms, the
// next ones after twice that each: devices * log2(run / 10 ms) events in all.
#include "model/device/background_traffic.h"

#include <algorithm>
#include <bit>
#include <new>

#include "core/digest.h"
#include "model/device/device.h"

namespace exawarp::model {
namespace {

using core::DeviceId;
using core::LpId;
using core::Time;
using pdes::Context;

constexpr std::uint32_t kFanOut = 16;
constexpr Time kFirstQuestion{10'000'000'000};  // far longer than any message travels
constexpr std::uint32_t kDoublingsMax = 24;     // two days

BackgroundState& background_of(DeviceState& state) {
  return const_cast<BackgroundState&>(model::background_of(state));
}

}  // namespace

BackgroundTraffic::BackgroundTraffic(const DeviceFrame& frame)
    : model_(frame.model), state_(frame.state), b_(background_of(frame.state)), ctx_(frame.ctx) {}

void BackgroundTraffic::start() {
  for (std::uint32_t g = 0; g < model_.backgrounds.size(); ++g) {
    const Background& from = model_.backgrounds[g];
    if (!from.sends(self())) continue;
    const Time first = core::sum_to_end(from.from(), from.gap(self(), 0));
    if (first < std::min(from.until(), core::kEndOfTime)) post_in(first, g);
  }
  tell_if_done();
  if (self().value == 0) ask_in(kFirstQuestion);
}

std::optional<BackgroundTraffic::Sent> BackgroundTraffic::handle(const pdes::Event& event) {
  switch (static_cast<DeviceEvent>(event.kind)) {
    case DeviceEvent::background_due:
      return post(event.as<Post>().generator);
    case DeviceEvent::background_arrives:
      receive(event.as<BackgroundMessage>());
      break;
    default:
      hear(event.as<Census>());
      break;
  }
  return {};
}

// Around the event of a job, or of the endpoint.
void BackgroundTraffic::before(const pdes::Event& event) {
  if (Endpoint::handles(event.kind)) return;  // whose packets it is about is not known yet
  note_activity();
  switch (static_cast<DeviceEvent>(event.kind)) {
    case DeviceEvent::chunk_arrives:
    case DeviceEvent::step_arrives: {
      const auto chunk = event.as<Chunk>();
      return put_off(chunk.interface, Time{chunk.wire_ps});
    }
    case DeviceEvent::message_arrives: {
      const auto message = event.as<Message>();
      return put_off(message.interface, Time{message.wire_ps});
    }
    default:
      return;
  }
}

BackgroundTraffic::SendClocks BackgroundTraffic::send_clocks() const {
  SendClocks clocks;
  for (const Time clock : state_.tx_free) clocks.add(clock);
  const DeviceParts<const DeviceState> parts(state_);
  for (std::uint32_t i = 0; i < parts.further_count(); ++i) clocks.add(parts.further_clocks()[i]);
  return clocks;
}

void BackgroundTraffic::after(const SendClocks& clocks_before) {
  const SendClocks clocks = send_clocks();
  if (clocks_before.sum != clocks.sum && clocks.latest > b_.job_sends_until) {
    ctx_.set(b_.job_sends_until, clocks.latest);
  }
  tell_if_done();
}

std::uint32_t BackgroundTraffic::first_child() const { return self().value * kFanOut + 1; }
std::uint32_t BackgroundTraffic::children() const {
  const std::uint64_t first = std::uint64_t{self().value} * kFanOut + 1;
  return first >= devices()
             ? 0
             : static_cast<std::uint32_t>(std::min<std::uint64_t>(kFanOut, devices() - first));
}

// ---- messages

void BackgroundTraffic::post_in(Time delay, std::uint32_t generator) {
  ctx_.send(ctx_.self(), std::max(delay, Time{1}), kind_of(DeviceEvent::background_due),
            Post{generator, 0});
}

std::optional<BackgroundTraffic::Sent> BackgroundTraffic::post(std::uint32_t g) {
  if (b_.stopped != 0 || g >= model_.backgrounds.size()) return {};
  const Background& from = model_.backgrounds[g];
  const std::uint32_t k = b_.posted[g];
  ctx_.set(b_.posted[g], k + 1);
  const Background::Message message = from.message(self(), k);
  count_sent(message);
  const Time gap = from.gap(self(), k + 1);
  const Time next = core::sum_to_end(ctx_.now(), gap);
  if (next < std::min(from.until(), core::kEndOfTime)) post_in(gap, g);
  const Tier tier = model_.network.tier_between(self(), message.to);
  return Sent{{message.to, tier, Time{0}, k}, {0, static_cast<std::uint64_t>(message.bytes), 0}};
}

void BackgroundTraffic::count_sent(const Background::Message& message) {
  ctx_.set(b_.sent_messages, b_.sent_messages + 1);
  ctx_.set(b_.sent_bytes, b_.sent_bytes + static_cast<std::uint64_t>(message.bytes));
}

void BackgroundTraffic::receive(const BackgroundMessage& message) {
  const auto interface = static_cast<std::uint32_t>(message.interface);
  ctx_.check(has(interface), "a background message came by an interface that is not there");
  if (!has(interface)) return;
  ReceiveShare& share = share_of(interface);
  begin_period(share);
  ctx_.set(share.came, core::sum_to_end(share.came, Time{message.wire_ps}));
  count_received(message.bytes);
}

void BackgroundTraffic::count_received(std::uint64_t bytes) {
  ctx_.set(b_.received_messages, b_.received_messages + 1);
  ctx_.set(b_.received_bytes, b_.received_bytes + bytes);
}

void BackgroundTraffic::note_activity() {
  if (b_.active == 0) ctx_.set(b_.active, std::uint8_t{1});
}

bool BackgroundTraffic::has(std::uint32_t interface) const {
  return interface < kInterfaceCount + model_.network.further_interfaces();
}

// Requires has(interface).
ReceiveShare& BackgroundTraffic::share_of(std::uint32_t interface) const {
  if (interface < kInterfaceCount) return b_.receive[interface];
  return far_parts_of(state_).shares[interface - kInterfaceCount];
}

void BackgroundTraffic::begin_period(ReceiveShare& share) {
  if (ctx_.now() - share.newer_at < ReceiveShare::kPeriod) return;
  ctx_.set(share.older_at, share.newer_at);
  ctx_.set(share.older, share.newer);
  ctx_.set(share.newer_at, ctx_.now());
  ctx_.set(share.newer, share.came);
}

// Has received_at() find the line busy for so much longer, from when the message began to come.
void BackgroundTraffic::put_off(std::uint32_t interface, Time wire) {
  if (!has(interface)) return;
  ReceiveShare& share = share_of(interface);
  if (share.came == share.older || wire.ps == 0) return;
  begin_period(share);
  const std::int64_t taken = (share.came - share.older).ps;
  const std::int64_t period = std::max<std::int64_t>(1, (ctx_.now() - share.older_at).ps);
  const Time delay = core::time_to_end(static_cast<core::WidePs>(wire.ps) * taken / period);
  if (delay.ps == 0) return;
  const DeviceParts<DeviceState> parts(state_);
  Time& clock = parts.rx_free(static_cast<Interface>(interface));
  Time& busy = parts.line(static_cast<Interface>(interface)).receives.busy;
  const Time begun = ctx_.now() - wire, busy_since = std::min(begun, clock - busy);
  ctx_.set(clock, core::sum_to_end(std::max(clock, begun), delay));
  ctx_.set(busy, clock - busy_since);
}

// ---- the end

void BackgroundTraffic::notify(std::uint32_t device, Notice notice, std::uint32_t active) {
  ctx_.send(LpId{device}, model_.network.least_latency_between_atoms(),
            kind_of(DeviceEvent::census), Census{notice, active});
}

void BackgroundTraffic::notify_children(Notice notice) {
  for (std::uint32_t i = 0; i < children(); ++i) notify(first_child() + i, notice);
}

std::uint32_t BackgroundTraffic::parent() const { return (self().value - 1) / kFanOut; }

bool BackgroundTraffic::done() const {
  const DeviceParts<const DeviceState> parts(state_);
  return parts.account->finish >= Time{0};
}

void BackgroundTraffic::tell_if_done() {
  if (b_.told != 0 || b_.children_done != children() || !done()) return;
  ctx_.set(b_.told, std::uint8_t{1});
  if (self().value == 0) return stop();
  notify(parent(), Notice::done);
}

void BackgroundTraffic::stop() {
  if (b_.stopped != 0) return;
  ctx_.set(b_.stopped, std::uint8_t{1});
  notify_children(Notice::stop);
}

void BackgroundTraffic::hear(const Census& census) {
  switch (census.notice) {
    case Notice::done:
      ctx_.set(b_.children_done, b_.children_done + 1);
      return tell_if_done();
    case Notice::stop:
      return stop();
    case Notice::question_due:
    case Notice::ask:
      return ask();
    case Notice::answer:
      break;
  }
  if (census.active != 0 && b_.any_active == 0) ctx_.set(b_.any_active, std::uint8_t{1});
  const bool expected = b_.answers_due != 0;
  ctx_.check(expected, "a device answered that was not asked");
  if (!expected) return;
  ctx_.set(b_.answers_due, b_.answers_due - 1);
  if (b_.answers_due == 0) answer();
}

void BackgroundTraffic::ask_in(Time delay) {
  ctx_.send(ctx_.self(), delay, kind_of(DeviceEvent::census), Census{Notice::question_due, 0});
}

void BackgroundTraffic::ask() {
  if (b_.stopped != 0) return;
  ctx_.set(b_.any_active, static_cast<std::uint8_t>(is_active() ? 1 : 0));
  if (b_.active != 0) ctx_.set(b_.active, std::uint8_t{0});
  ctx_.set(b_.answers_due, children());
  notify_children(Notice::ask);
  if (children() == 0) answer();
}

void BackgroundTraffic::answer() {
  if (self().value != 0) return notify(parent(), Notice::answer, b_.any_active);
  const auto quiet = static_cast<std::uint8_t>(b_.any_active != 0 ? 0 : b_.quiet + 1);
  if (quiet != b_.quiet) ctx_.set(b_.quiet, quiet);
  if (quiet >= 2) return stop();
  const auto questions = static_cast<std::uint8_t>(std::min(kDoublingsMax, b_.questions + 1u));
  ctx_.set(b_.questions, questions);
  ask_in(Time{kFirstQuestion.ps << questions});
}

// Something of the job happened since the last question, or is sure to happen.
bool BackgroundTraffic::is_active() const {
  if (b_.active != 0) return true;
  if (done()) return false;
  const DeviceParts<const DeviceState> parts(state_);
  if (b_.job_sends_until > ctx_.now() || parts.account->since > ctx_.now()) return true;
  const auto is_ahead = [&](Time t) { return t > ctx_.now(); };
  if (std::ranges::any_of(state_.rx_free, is_ahead)) return true;
  const Time* receive = parts.further_clocks() + parts.further_count();
  for (std::uint32_t i = 0; i < parts.further_count(); ++i) {
    if (is_ahead(receive[i])) return true;
  }
  for (std::uint32_t c = 0; parts.channel_packets != nullptr && c < state_.channel_slots; ++c) {
    if (parts.channel_packets[c].leaving != 0) return true;
  }
  const ProgramTable& program = model_.programs[state_.program];
  for (std::uint32_t left = state_.busy; left != 0; left &= left - 1) {
    const auto stream = static_cast<std::uint32_t>(std::countr_zero(left));
    const Task& task = program.task(stream, parts.streams[stream].cursor);
    if (task.kind == TaskKind::compute) return true;
    if (task.kind == TaskKind::send && !task.rendezvous) return true;  // it has not left yet
  }
  return false;
}

const BackgroundState& background_of(const DeviceState& state) {
  return *far_parts_of(state).background;
}

// The digest takes the device's own first, as if there were no background.
void describe_with_background(void* memory, pdes::StateArchive& archive) {
  archive.part([&] { describe_device(memory, archive); });
  auto& state = *static_cast<DeviceState*>(memory);
  const FarParts<DeviceState> parts = far_parts_of(state);
  archive.bytes(parts.background);
  const std::uint32_t further = DeviceParts<DeviceState>(state).further_count();
  if (further != 0 && !state.packets) archive.bytes(parts.shares, further);
}

}  // namespace exawarp::model
