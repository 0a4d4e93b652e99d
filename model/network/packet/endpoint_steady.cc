// Sending and receiving, where the network skips stretches in which all rates have settled
// (steady/steady_watch.h): what an endpoint tells of its messages, and what it does while its lines
// stand still. A message that comes meanwhile waits until its line goes on, which takes as long as
// word to the watch and back.
#include <algorithm>
#include <vector>

#include "model/network/packet/endpoint.h"

namespace exawarp::model {

using core::Time;

namespace {

// A shorter message is over before a stretch could pay.
constexpr std::uint32_t kWatchedPackets = 8 * SteadyRun::kWindowLeast;

}  // namespace

void Endpoint::tell_start(const Sending& s) {
  if (!network_.skips()) return;
  ctx_.send(network_.watch(), network_.lookahead(), kind_of(SteadyEvent::starts),
            SteadyStart{static_cast<std::uint32_t>(s.key), s.to, s.packets});
}

void Endpoint::tell_end(const Packet& last) {
  if (!network_.skips()) return;
  ctx_.send(network_.watch(), network_.lookahead(), kind_of(SteadyEvent::ends),
            SteadyEnd{last.source, last.message});
}

void Endpoint::tell_packet(const Sending& s, std::uint32_t number, Time start) {
  pdes::UndoTable<SteadyRun>& runs = parts_.runs->of;
  SteadyRun* run = runs.find(s.key);
  if (run == nullptr) {
    if (number != 0 || s.packets < kWatchedPackets) return;
    run = &runs.insert(ctx_, {.key = s.key, .window_packets = SteadyRun::kWindowLeast});
  }
  SteadyRun next = *run;
  const bool steady = next.take(number, start, network_.options().skip_error_per_million);
  if (number + 1 == s.packets && !acknowledges()) {
    runs.erase(ctx_, run);
    return;
  }
  const bool changed = next.window_began != run->window_began;
  if (changed) ctx_.set(*run, next);
  if (!steady) return;
  const bool is_notified = network_.congestion_traits().notify_every.ps >= 0;
  ctx_.send(network_.watch(), network_.lookahead(), kind_of(SteadyEvent::runs),
            SteadyReport{.message = static_cast<std::uint32_t>(s.key),
                         .sent = number,
                         .at = start,
                         .run = start - next.run_began,
                         .run_packets = next.run_packets,
                         .drift_per_million = next.drift_per_million(is_notified)});
}

// Now, or another time, by the clock of a message's stamps, which stands still while its lines do:
// so a round trip is as long as if nothing had been skipped.
Time Endpoint::stamp_time(std::uint64_t message, Time time) {
  const SteadyRun* run = network_.skips() ? parts_.runs->of.find(message) : nullptr;
  return run == nullptr ? time : time - run->skipped;
}

void Endpoint::forget_run(std::uint64_t message) {
  SteadyRun* run = network_.skips() ? parts_.runs->of.find(message) : nullptr;
  if (run != nullptr) parts_.runs->of.erase(ctx_, run);
}

void Endpoint::count_notification(std::uint64_t message) {
  SteadyRun* run = network_.skips() ? parts_.runs->of.find(message) : nullptr;
  if (run != nullptr) ctx_.add(run->notified, 1u);
}

// Whether the event is about lines that stand still: such is done or kept here.
bool Endpoint::handle_still(const pdes::Event& event) {
  switch (static_cast<PacketEvent>(event.kind)) {
    case PacketEvent::freeze: {
      const auto freeze = event.as<Freeze>();
      frozen_.freeze(freeze);
      if (freeze.end == LineEnd::sends && freeze.port < state_.ports) {
        ctx_.set(frozen_[freeze.port].messages, state_.messages);
        ctx_.set(frozen_[freeze.port].wake, parts_.sides[freeze.port].wake_at);
        ctx_.set(parts_.sides[freeze.port].wake_at, Time{-1});
        pump_control(freeze.port);
      }
      return true;
    }
    case PacketEvent::thaw: {
      const auto thaw = event.as<Thaw>();
      const Time by = frozen_.thaw(thaw);
      if (thaw.end == LineEnd::sends && thaw.port < state_.ports) go_on(thaw.port, by);
      return true;
    }
    case PacketEvent::skip: on_skip(event.as<Skip>()); return true;
    case PacketEvent::skipped: on_skipped(event.source, event.as<Skip>()); return true;
    case PacketEvent::reply: {
      const auto packet = event.as<Packet>();
      if (!keep_for_message(packet.message, event)) on_reply(packet);
      return true;
    }
    case PacketEvent::packet: {
      const auto packet = event.as<Packet>();
      if (packet.type() == PacketType::data || packet.destination != at().value) {
        return frozen_.keep(event);
      }
      return keep_for_message(packet.message, event);
    }
    case PacketEvent::timeout: return keep_for_message(event.as<Timeout>().message, event);
    default: return frozen_.keep(event);
  }
}

// An answer to a message, or a timer of one, whose line stands still.
bool Endpoint::keep_for_message(std::uint32_t message, const pdes::Event& event) {
  const Sending* s = state_.sending.find(message);
  if (s == nullptr || !frozen_.is_still(s->port) || s->key >= frozen_[s->port].messages) {
    return false;
  }
  frozen_.keep_with(s->port, event);
  return true;
}

// Messages that were there before go on where they stopped; those that came since may begin.
void Endpoint::go_on(std::uint32_t port, Time by) {
  pdes::UndoVector<Due>& due = parts_.sides[port].due;
  std::vector<Due> later(due.begin(), due.end());
  bool any_came = false;
  for (Due& d : later) {
    const bool came = d.message >= frozen_[port].messages;
    any_came = any_came || came;
    if (!came) d.at = core::sum_to_end(d.at, by);
  }
  std::sort(later.begin(), later.end());  // a heap, too
  for (std::uint32_t i = 0; i < later.size(); ++i) due.assign(ctx_, i, later[i]);
  const bool was_to_wake = frozen_[port].wake >= ctx_.now() - by;
  if (was_to_wake) {
    const Time wake = std::max(core::sum_to_end(frozen_[port].wake, by), ctx_.now() + Time{1});
    const Time set = parts_.sides[port].wake_at;
    if (set <= ctx_.now() || set > wake) wake_at(port, wake);
  }
  if (any_came || !was_to_wake) pump(port);
}

void Endpoint::on_skip(const Skip& skip) {
  Sending* s = state_.sending.find(skip.message);
  ctx_.check(s != nullptr, "packets of a message were skipped that has none left");
  if (s == nullptr) return;
  const std::uint32_t left = s->packets - s->next;
  const std::uint32_t packets = std::min(skip.packets, left > 1 ? left - 1 : 0);
  ctx_.set(s->packets, s->packets - packets);
  ctx_.set(s->not_before, core::sum_to_end(s->not_before, skip.by));
  if (network_.congestion_traits().has_state && skip.even == 0) {
    CongestionState c = s->congestion;
    congestion().postponed(c, skip.by);
    ctx_.set(s->congestion, c);
  }
  if (SteadyRun* run = parts_.runs->of.find(s->key); run != nullptr) {
    ctx_.set(*run, run->postponed(skip.by));
  }
  ctx_.send({s->to}, network_.lookahead(), kind_of(PacketEvent::skipped),
            Skip{skip.message, packets, skip.by, skip.even, 0});
}

void Endpoint::on_skipped(core::LpId sender, const Skip& skip) {
  Receiving* r = state_.receiving.find(Receiving::key_of(sender.value, skip.message));
  ctx_.check(r != nullptr, "packets of a message were skipped that is not being received");
  if (r == nullptr) return;
  const auto full = static_cast<std::uint64_t>(network_.full_bytes());
  ctx_.set(r->packets, r->packets - skip.packets);
  ctx_.set(r->bytes, r->bytes + full * skip.packets);
  if (r->notified.ps < 0 || skip.even != 0) return;
  ctx_.set(r->notified, core::sum_to_end(r->notified, skip.by));
}

}  // namespace exawarp::model
