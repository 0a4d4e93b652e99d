#include "model/network/packet/steady/steady_watch.h"

#include <algorithm>
#include <array>

#include "core/random.h"
#include "model/network/packet/steady/frozen_port.h"
#include "model/network/packet/steady/steady_parts.h"
#include "pdes/transport.h"

namespace exawarp::model {
namespace {

using core::DeviceId;
using core::LpId;
using core::Time;
using pdes::Context;

constexpr std::int64_t kQueueAtOnce = 2;           // packets of a message at a line, and more
// One stretch of so many is simulated to be compared; after the first 256, a quarter as many.
constexpr std::uint64_t kReplaysOneOf = 16, kReplaysOneOfMany = 64;
constexpr std::uint32_t kManyStretches = 256;
constexpr std::int64_t kReplayedMost = 4'096;      // packets of a message
constexpr std::uint64_t kReplayStream = 0x57ead;

static_assert(std::has_unique_object_representations_v<WatchedFlow>);

std::uint64_t key_of(std::uint32_t source, std::uint32_t message) {
  return std::uint64_t{source} << 32 | message;
}

// The watch during one event.
class Watch {
 public:
  Watch(const SteadyNetwork& network, SteadyWatchState& state, Context& ctx)
      : network_(network),
        packets_(network.packets),
        flows_(network.flows),
        shift_(network.flows.hop_shift()),
        s_(state),
        ctx_(ctx),
        parts_(network, state, ctx.now()) {}

  void on_start(DeviceId from, const SteadyStart& start);
  void on_end(const SteadyEnd& end);
  void on_report(DeviceId from, const SteadyReport& report);
  void on_queue(const QueueLeft& queue);
  void on_over(const StretchOver& over);

 private:
  std::uint32_t take_place();
  void cut_short(std::uint32_t link, bool is_first);
  [[nodiscard]] std::uint32_t find(std::uint32_t source, std::uint32_t message);
  void look_at_replay(WatchedFlow& flow, Time changed);
  void try_to_skip(std::uint32_t flow);
  void replay(Time stretch);
  void freeze(std::uint32_t flow, const SteadyParts::Verdict& verdict);
  void thaw(std::uint32_t link, Time quiet = Time{0});
  std::uint32_t count_out(std::uint32_t flow, Time quiet);
  void tell_freeze(std::uint32_t link, bool keeps_queue);
  void tell_thaw(std::uint32_t link, std::uint64_t packets);

  const SteadyNetwork& network_;
  const PacketNetwork& packets_;
  const FlowNetwork& flows_;
  std::uint32_t shift_;
  SteadyWatchState& s_;
  Context& ctx_;
  SteadyParts parts_;
};

// ---- messages come and go

std::uint32_t Watch::take_place() {
  const std::uint32_t flow = s_.on_links.take_place(ctx_, shift_);
  if (flow == s_.flows.size()) s_.flows.push_back(ctx_, {});
  return flow;
}

std::uint32_t Watch::find(std::uint32_t source, std::uint32_t message) {
  const FlowPlace* place = s_.places.find(key_of(source, message));
  return place == nullptr ? kNoFlow : static_cast<std::uint32_t>(place->place);
}

void Watch::on_start(DeviceId from, const SteadyStart& start) {
  std::vector<std::uint32_t>& way = flows_.scratch().way;
  const std::uint32_t links = flows_.find_way(from, {start.to}, start.message, ctx_, way);
  ctx_.check(links != 0, "a message has no way, or one longer than any of its network");
  if (links == 0) return;
  for (std::uint32_t h = 0; h < links; ++h) cut_short(way[h], h == 0);
  const std::uint32_t flow = take_place();
  s_.flows.assign(ctx_, flow,
                  {.source = from.value,
                   .message = start.message,
                   .destination = start.to,
                   .packets = start.packets});
  s_.places.insert(ctx_, {key_of(from.value, start.message), flow});
  for (std::uint32_t h = 0; h < links; ++h) {
    s_.on_links.join(ctx_, (flow << shift_) + h, way[h]);
    ctx_.set(s_.links.at(way[h]).changed, ctx_.now());
  }
}

void Watch::on_end(const SteadyEnd& end) {
  FlowPlace* place = s_.places.find(key_of(end.source, end.message));
  ctx_.check(place != nullptr, "a message ended that the watch does not know");
  if (place == nullptr) return;
  const auto flow = static_cast<std::uint32_t>(place->place);
  WatchedFlow& f = s_.flows.at(flow);
  const bool is_still = f.stretch != 0;  // of a sender that has been ahead of this, and comes back
  ctx_.check(!is_still, "a message ended while its lines stood still");
  if (is_still) thaw(s_.on_links.hops[flow << shift_].link);
  s_.on_links.part(ctx_, flow, shift_,
                   [&](std::uint32_t link) { ctx_.set(s_.links.at(link).changed, ctx_.now()); });
  s_.on_links.give_back(ctx_, flow, shift_);
  s_.places.erase(ctx_, place);
}

// A message wants a line that stands still. Where it is its first, it can wait for the end of a
// packet, as it would for those that the line has been given.
void Watch::cut_short(std::uint32_t link, bool is_first) {
  const std::uint32_t stretch = s_.links[link].stretch;
  if (stretch == 0) return;
  std::uint32_t hop = s_.on_links.links[link].first;
  while (s_.flows[parts_.lists().flow_of(hop)].stretch != stretch) hop = s_.on_links.hops[hop].next;
  const WatchedFlow& flow = s_.flows[parts_.lists().flow_of(hop)];
  if (is_first && flow.even != 0) {
    const Time by = ctx_.now() - flow.still_since;
    const std::int64_t whole = static_cast<std::int64_t>(
        (core::WidePs{by.ps} * flow.run_packets + flow.run.ps - 1) / flow.run.ps);
    const core::WidePs end = time_of(whole, flow.run, flow.run_packets);
    const Time left = Time{static_cast<std::int64_t>(end)} - by;
    if (left.ps > 0) {
      return ctx_.send(ctx_.self(), left, kind_of(SteadyEvent::over),
                       StretchOver{flow.source, flow.message, stretch, 1});
    }
  }
  ctx_.add(s_.totals.cut_short, 1u);
  thaw(link);
}

// ---- what senders say

void Watch::on_report(DeviceId from, const SteadyReport& report) {
  const std::uint32_t flow = find(from.value, report.message);
  if (flow == kNoFlow || s_.flows[flow].stretch != 0) return;
  WatchedFlow next = s_.flows[flow];
  next.sent = report.sent;
  next.at = report.at;
  next.run = report.run;
  next.run_packets = report.run_packets;
  next.drift_per_million = report.drift_per_million;
  look_at_replay(next, parts_.changed_of(flow));
  s_.flows.assign(ctx_, flow, next);
  try_to_skip(flow);
}

// A stretch that is simulated ends with its length; one in which the part has changed says nothing.
void Watch::look_at_replay(WatchedFlow& flow, Time changed) {
  if (flow.replay_at.ps < 0) return;
  const bool disturbed = changed > flow.replay_at;
  const std::uint32_t sent = flow.sent - flow.replay_sent;
  if (!disturbed && sent < flow.replay_packets) return;
  if (!disturbed) {
    const std::int64_t expected = packets_in(flow.at - flow.replay_at, flow.replay_run,
                                             flow.replay_run_packets, 1000);
    const std::int64_t excess = expected - std::int64_t{sent} * 1000;
    ctx_.add(s_.totals.replays, 1u);
    ctx_.add(s_.totals.replayed_packets, sent);
    std::uint64_t& off = excess > 0 ? s_.totals.excess_milli : s_.totals.missed_milli;
    ctx_.add(off, static_cast<std::uint64_t>(excess > 0 ? excess : -excess));
  }
  flow.replay_at = Time{-1};
}

// ---- stretches

void Watch::try_to_skip(std::uint32_t flow) {
  const WatchedFlow& mine = s_.flows[flow];
  if (!parts_.has_settled(flow)) return;
  // Most parts have one that has not: it is asked first.
  const FlowPlace* last =
      mine.waits_for == kNobody ? nullptr : s_.places.find(mine.waits_for);
  if (last != nullptr) {
    const auto other = static_cast<std::uint32_t>(last->place);
    const bool is_of_other_part = s_.flows[other].stretch != 0;
    if (!is_of_other_part && !parts_.has_settled(other)) return;
  }
  const SteadyParts::Verdict verdict = parts_.judge(flow);
  if (verdict.unsettled != kNoFlow) {
    const WatchedFlow& other = s_.flows[verdict.unsettled];
    ctx_.set(s_.flows.at(flow).waits_for, key_of(other.source, other.message));
  }
  if (verdict.stretch.ps == 0) return;
  const std::uint64_t stream =
      core::stream_of(packets_.options().routing.seed ^ kReplayStream, mine.source, mine.message);
  const std::uint64_t one_of = s_.stretches < kManyStretches ? kReplaysOneOf : kReplaysOneOfMany;
  if (core::random_bits(stream, mine.sent) % one_of == 0) return replay(verdict.stretch);
  freeze(flow, verdict);
}

void Watch::replay(Time stretch) {
  for (const std::uint32_t f : flows_.shares().flows()) {
    WatchedFlow next = s_.flows[f];
    const std::int64_t packets = packets_in(stretch, next.run, next.run_packets);
    next.replay_at = next.at;
    next.replay_sent = next.sent;
    next.replay_run = next.run;
    next.replay_run_packets = next.run_packets;
    next.replay_packets = static_cast<std::uint32_t>(std::min(packets, kReplayedMost));
    s_.flows.assign(ctx_, f, next);
  }
}

void Watch::freeze(std::uint32_t flow, const SteadyParts::Verdict& verdict) {
  ctx_.add(s_.stretches, 1u);
  // A queue that a full line keeps is what congestion control is about to answer to.
  const bool answers = packets_.congestion_traits().has_state;
  for (const std::uint32_t f : flows_.shares().flows()) {
    WatchedFlow next = s_.flows[f];
    next.still_since = ctx_.now();
    next.stretch = s_.stretches;
    next.even = verdict.even ? 1 : 0;
    s_.flows.assign(ctx_, f, next);
    parts_.each_link(f, [&](std::uint32_t link) {
      if (s_.links[link].stretch != 0) return;
      ctx_.set(s_.links.at(link).stretch, s_.stretches);
      tell_freeze(link, parts_.is_full(link) && !(verdict.even && answers));
    });
  }
  ctx_.send(ctx_.self(), verdict.stretch, kind_of(SteadyEvent::over),
            StretchOver{s_.flows[flow].source, s_.flows[flow].message, s_.stretches, 0});
}

void Watch::on_over(const StretchOver& over) {
  const std::uint32_t flow = find(over.source, over.message);
  if (flow == kNoFlow || s_.flows[flow].stretch != over.stretch) return;  // it is over
  ctx_.add(s_.totals.cut_short, over.is_cut);
  thaw(s_.on_links.hops[flow << shift_].link);
}

// A queue is still getting shorter, or will be answered to: the stretch has begun too early.
void Watch::on_queue(const QueueLeft& queue) {
  if (s_.links[queue.link].stretch != queue.stretch) return;
  thaw(queue.link, std::max(queue.depth * 2, packets_.congestion_traits().period * 4));
}

// All of the stretch that `link` is of goes on. Senders hear of what was skipped before their lines
// go on.
void Watch::thaw(std::uint32_t link, Time quiet) {
  FairShares& shares = flows_.shares();
  shares.begin();
  shares.gather(parts_.lists(), link);
  const std::uint32_t stretch = s_.links[link].stretch;
  ctx_.add(s_.totals.stretches, 1u);
  std::vector<std::uint64_t>& skipped = network_.skipped;
  for (const std::uint32_t f : shares.flows()) {
    if (s_.flows[f].stretch != stretch) continue;  // of one that waits
    const std::uint32_t packets = count_out(f, quiet);
    parts_.each_link(f, [&](std::uint32_t l) { skipped[l] += packets; });
  }
  for (const std::uint32_t f : shares.flows()) {
    parts_.each_link(f, [&](std::uint32_t l) {
      if (s_.links[l].stretch != stretch) return;
      ctx_.set(s_.links.at(l).stretch, 0u);
      tell_thaw(l, skipped[l]);
      ctx_.add(s_.totals.skipped_hops, skipped[l]);
      skipped[l] = 0;
    });
  }
}

// The message has sent what it would have. Returns how many packets that is.
std::uint32_t Watch::count_out(std::uint32_t flow, Time quiet) {
  WatchedFlow next = s_.flows[flow];
  const Time by = ctx_.now() - next.still_since;
  const std::int64_t per_million =
      packets_in(by, next.run, next.run_packets, 1'000'000) + next.owed_per_million;
  const std::int64_t most =
      std::max<std::int64_t>(std::int64_t{next.packets} - next.sent - 1, 0);
  const std::int64_t packets =
      std::clamp<std::int64_t>((per_million + 500'000) / 1'000'000, 0, most);
  next.owed_per_million = per_million - packets * 1'000'000;
  next.packets -= static_cast<std::uint32_t>(packets);
  next.at = core::sum_to_end(next.at, by);
  next.stretch = 0;
  // Where nothing queues, a long stretch needs no more before the next one than a short one.
  const Time least = next.even != 0 ? Time{0} : Time{by.ps / SteadyParts::kStretchPerRun};
  next.not_before = core::sum_to_end(next.at, std::max(quiet, least));
  s_.flows.assign(ctx_, flow, next);
  ctx_.add(s_.totals.skipped_packets, static_cast<std::uint64_t>(packets));
  ctx_.send(LpId{next.source}, packets_.lookahead(), kind_of(PacketEvent::skip),
            Skip{next.message, static_cast<std::uint32_t>(packets), by, next.even, 0});
  return static_cast<std::uint32_t>(packets);
}

// What may wait for the line: any queue, where it is full and keeps it; else what comes at once, or
// gets no mark.
void Watch::tell_freeze(std::uint32_t link, bool keeps_queue) {
  const auto [vertex, port] = flows_.port_of(link);
  const Link to = flows_.topology().link(vertex, port);
  const LinkFigures& line = packets_.figures(to.kind);
  const std::int64_t packets = kQueueAtOnce * (1 + std::int64_t{s_.on_links.links[link].flows});
  Time most = line.full_wire * packets;
  if (packets_.congestion_traits().notify_every.ps >= 0) most = std::max(most, line.kmin);
  if (flows_.topology().is_device(vertex)) most += line.commit;  // which gives it some ahead
  if (keeps_queue) most = Time::max();
  const Time notice = packets_.lookahead();
  ctx_.send(packets_.lp_of(vertex), notice, kind_of(PacketEvent::freeze),
            Freeze{port, LineEnd::sends, most, link, s_.stretches});
  ctx_.send(packets_.lp_of(to.peer), notice, kind_of(PacketEvent::freeze),
            Freeze{to.peer_port, LineEnd::receives, Time{0}, link, s_.stretches});
}

void Watch::tell_thaw(std::uint32_t link, std::uint64_t packets) {
  const auto [vertex, port] = flows_.port_of(link);
  const Link to = flows_.topology().link(vertex, port);
  const Time notice = packets_.lookahead();
  ctx_.send(packets_.lp_of(to.peer), notice, kind_of(PacketEvent::thaw),
            Thaw{to.peer_port, LineEnd::receives, 0});
  ctx_.send(packets_.lp_of(vertex), notice, kind_of(PacketEvent::thaw),
            Thaw{port, LineEnd::sends, packets});
}

double packets_share(std::uint64_t milli, std::uint64_t packets) {
  return packets == 0 ? 0 : static_cast<double>(milli) / 1000 / static_cast<double>(packets);
}

}  // namespace

double SkipTotals::error() const {
  return packets_share(excess_milli, replayed_packets) -
         packets_share(missed_milli, replayed_packets);
}

double SkipTotals::mean_error() const {
  return packets_share(excess_milli + missed_milli, replayed_packets);
}

void SkipTotals::combine(pdes::Transport& transport) {
  const std::array<std::uint64_t*, 8> sums{&stretches, &skipped_packets,  &skipped_hops,
                                           &cut_short, &replays,          &replayed_packets,
                                           &missed_milli, &excess_milli};
  std::array<std::uint64_t, sums.size()> words{};
  for (std::size_t i = 0; i < sums.size(); ++i) words[i] = *sums[i];
  transport.all_reduce_sum(words);
  for (std::size_t i = 0; i < sums.size(); ++i) *sums[i] = words[i];
}

SteadyNetwork::SteadyNetwork(const PacketNetwork& network)
    : packets(network),
      flows(network.topology(), network.options(), network.watch(), network.lookahead()),
      skipped(flows.links()) {}

void start_steady_watch(const SteadyNetwork& network, void* memory, Context& ctx) {
  auto& state = *::new (memory) SteadyWatchState{};
  state.on_links.make_links(ctx, network.flows.links());
  state.links.reserve(ctx, network.flows.links());
  for (std::uint32_t l = 0; l < network.flows.links(); ++l) state.links.push_back(ctx, {});
}

void handle_steady_watch(const SteadyNetwork& network, void* memory, const pdes::Event& event,
                         Context& ctx) {
  Watch watch(network, *static_cast<SteadyWatchState*>(memory), ctx);
  switch (static_cast<SteadyEvent>(event.kind)) {
    case SteadyEvent::starts:
      return watch.on_start({event.source.value}, event.as<SteadyStart>());
    case SteadyEvent::ends:
      return watch.on_end(event.as<SteadyEnd>());
    case SteadyEvent::runs:
      return watch.on_report({event.source.value}, event.as<SteadyReport>());
    case SteadyEvent::queues:
      return watch.on_queue(event.as<QueueLeft>());
    case SteadyEvent::over:
      return watch.on_over(event.as<StretchOver>());
  }
  ctx.check(false, "the watch of steady flows received an event of no kind that it knows");
}

void describe_steady_watch(void* memory, pdes::StateArchive& archive) {
  auto& s = *static_cast<SteadyWatchState*>(memory);
  archive.word(s.stretches);
  archive.bytes(&s.totals);
  s.places.describe(archive, [&](FlowPlace& place) { archive.bytes(&place); });
  s.flows.describe(archive, [&](WatchedFlow& flow) { archive.bytes(&flow); });
  s.on_links.describe(archive);
  s.links.describe(archive, [&](WatchedLink& link) { archive.bytes(&link); });
}

}  // namespace exawarp::model
