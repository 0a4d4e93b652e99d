#include "model/network/packet/steady/steady_parts.h"

#include <algorithm>
#include <limits>

namespace exawarp::model {

using core::DeviceId;
using core::Time;
using core::WidePs;

namespace {

constexpr std::int64_t kSettledPackets = 32;       // where nothing queues
constexpr std::int64_t kSwingingPackets = 64;      // elsewhere
constexpr std::int64_t kSwingingRoundTrips = 32, kSwingingPeriods = 16;
constexpr std::int64_t kLeftOver = 48;             // packets of a message that are never skipped
// A line that stops and goes on is four events, a message two, and what is under way comes twice.
constexpr std::int64_t kWorthPerLink = 32;         // packet-hops

}  // namespace

WidePs time_of(WidePs packets, Time run, std::uint32_t run_packets) {
  return packets * run.ps / run_packets;
}
std::int64_t packets_in(Time time, Time run, std::uint32_t run_packets, std::int64_t unit) {
  const WidePs twice = 2 * WidePs{time.ps} * run_packets * unit / run.ps;
  return static_cast<std::int64_t>((twice + 1) / 2);
}

Time SteadyParts::changed_of(std::uint32_t flow) const {
  Time changed{0};
  each_link(flow, [&](std::uint32_t l) { changed = std::max(changed, s_.links[l].changed); });
  return changed;
}

// Packets that it will not have sent when its lines would stop.
std::int64_t SteadyParts::left_of(const WatchedFlow& flow) const {
  const Time since = now_ + packets_.lookahead() - flow.at;
  return std::int64_t{flow.packets} - flow.sent - packets_in(since, flow.run, flow.run_packets);
}

bool SteadyParts::has_settled_since(const WatchedFlow& flow, Time changed) const {
  if (flow.run_packets == 0 || flow.replay_at.ps >= 0 || flow.stretch != 0) return false;
  if (flow.at < flow.not_before) return false;
  return (flow.at - changed).ps >= time_of(kSettledPackets, flow.run, flow.run_packets);
}

// In the units of fair shares.
WidePs SteadyParts::rate_of(const WatchedFlow& flow) const {
  const std::int64_t bytes = packets_.full_bytes() * flow.run_packets;
  return static_cast<WidePs>(flows_.work_of(bytes) / flows_.work_a_ps(1)) / flow.run.ps;
}

// Whether no line of the part gathered last is asked for more than it carries, to within the error
// asked for; or, else, whether that is so if each message has the equal share of its sender's line,
// and whether each has that.
bool SteadyParts::lines_suffice(bool of_senders_only) const {
  const WidePs slack = packets_.options().skip_error_per_million;
  std::vector<std::uint64_t>& asked = network_.skipped;
  bool suffice = true;
  for (const std::uint32_t f : flows_.shares().flows()) {
    const WatchedFlow& flow = s_.flows[f];
    const WidePs rate = rate_of(flow);
    const std::uint32_t first = s_.on_links.hops[f << shift_].link;
    const WidePs share = WidePs{flows_.shares().capacity(first)} / s_.on_links.links[first].flows;
    if (of_senders_only) {
      const WidePs apart = rate < share ? share - rate : rate - share;
      suffice = suffice && apart * 1'000'000 <= share * slack;
    }
    each_link(f, [&](std::uint32_t l) {
      const WidePs more = of_senders_only ? share : rate;
      const WidePs most = std::numeric_limits<std::uint64_t>::max() - asked[l];
      asked[l] += static_cast<std::uint64_t>(std::min(more, most));
    });
  }
  for (const std::uint32_t f : flows_.shares().flows()) {
    each_link(f, [&](std::uint32_t l) {
      const WidePs carries = flows_.shares().capacity(l);
      suffice = suffice && WidePs{asked[l]} * 1'000'000 <= carries * (1'000'000 + slack);
    });
  }
  for (const std::uint32_t f : flows_.shares().flows()) {
    each_link(f, [&](std::uint32_t l) { asked[l] = 0; });
  }
  return suffice;
}

// How long its rate may be taken for what it was.
WidePs SteadyParts::stretch_by_drift(const WatchedFlow& flow) const {
  const WidePs drift = std::max<WidePs>(flow.drift_per_million < 0 ? -WidePs{flow.drift_per_million}
                                                               : WidePs{flow.drift_per_million},
                                    1);
  const WidePs error = packets_.options().skip_error_per_million;
  if (drift >= error) return 0;
  const WidePs run = flow.run.ps;
  return std::min(run * (error - drift) / drift, run * kStretchPerRun);
}

// Whether it has been even for so long that no swing explains it.
bool SteadyParts::has_swung(const WatchedFlow& flow, Time changed) const {
  const DeviceId from{flow.source}, to{flow.destination};
  const WidePs round_trip =
      WidePs{packets_.unloaded_delay(from, to, packets_.full_bytes()).ps} +
      packets_.unloaded_delay(to, from, packets_.options().control_bytes).ps;
  const WidePs least =
      std::max({time_of(kSwingingPackets, flow.run, flow.run_packets),
                round_trip * kSwingingRoundTrips,
                WidePs{packets_.congestion_traits().period.ps} * kSwingingPeriods});
  return flow.run.ps >= least && (flow.at - changed).ps >= least;
}

// Whether a line of a part that has settled is asked for all that it carries, to within the error
// asked for.
bool SteadyParts::is_full(std::uint32_t link) const {
  WidePs asked = 0;
  for (std::uint32_t hop = s_.on_links.links[link].first; hop != kNoFlowHop;
       hop = s_.on_links.hops[hop].next) {
    asked += rate_of(s_.flows[lists().flow_of(hop)]);
  }
  const WidePs slack = packets_.options().skip_error_per_million;
  return asked * 1'000'000 >= WidePs{flows_.shares().capacity(link)} * (1'000'000 - slack);
}

// How many packets its sender gives the line at a time: after as many of each message all is as it
// was.
std::int64_t SteadyParts::round_of(std::uint32_t flow) const {
  const auto [vertex, port] = flows_.port_of(s_.on_links.hops[flow << shift_].link);
  const LinkFigures& line = packets_.figures(flows_.topology().link(vertex, port).kind);
  return (line.commit - line.commit_half()).ps / line.full_wire.ps + 1;
}

// Of the part gathered last, all of which has settled.
bool SteadyParts::is_worth(Time stretch) const {
  std::int64_t links = 0, hops = 0;
  for (const std::uint32_t f : flows_.shares().flows()) {
    const WatchedFlow& flow = s_.flows[f];
    const std::int64_t packets = packets_in(stretch, flow.run, flow.run_packets);
    each_link(f, [&](std::uint32_t) {
      ++links;
      hops += packets;
    });
  }
  return hops >= kWorthPerLink * links;
}

SteadyParts::Verdict SteadyParts::judge(std::uint32_t flow) const {
  const WatchedFlow& mine = s_.flows[flow];
  FairShares& shares = flows_.shares();
  shares.begin();
  shares.gather(lists(), s_.on_links.hops[flow << shift_].link);
  Time changed{0};
  for (const std::uint32_t f : shares.flows()) {
    const Time its = changed_of(f);
    if (!has_settled_since(s_.flows[f], its)) return {.unsettled = f};
    changed = std::max(changed, its);
  }
  bool swung = true;
  WidePs stretch = std::numeric_limits<std::int64_t>::max(), by_drift = stretch;
  for (const std::uint32_t f : shares.flows()) {
    const WatchedFlow& other = s_.flows[f];
    if (!has_settled_since(other, changed)) return {};
    swung = swung && has_swung(other, changed);
    const std::int64_t left = std::max<std::int64_t>(left_of(other) - kLeftOver, 0);
    stretch = std::min(stretch, time_of(left, other.run, other.run_packets));
    by_drift = std::min(by_drift, stretch_by_drift(other));
  }
  const bool even = lines_suffice(true);
  if (even) {
    const WidePs rounds = stretch * mine.run_packets / mine.run.ps / round_of(flow);
    stretch = time_of(rounds * round_of(flow), mine.run, mine.run_packets);
  } else {
    if (!swung || !lines_suffice(false)) return {};
    stretch = std::min(stretch, by_drift);
  }
  const Time length{static_cast<std::int64_t>(stretch)};
  return {.stretch = is_worth(length) ? length : Time{0}, .even = even};
}

}  // namespace exawarp::model
