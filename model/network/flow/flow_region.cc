#include "model/network/flow/flow_region.h"

#include <algorithm>
#include <array>

#include "core/random.h"
#include "pdes/transport.h"

namespace exawarp::model {
namespace {

using core::DeviceId;
using core::LpId;
using core::Time;
using pdes::Context;

// What tells messages between two devices apart, where they may take several ways.
std::uint32_t label_of(const MessageBody& body) {
  return static_cast<std::uint32_t>(core::mix64(body.words[1] ^ core::mix64(body.words[2])));
}

// The region during one event.
class Region {
 public:
  Region(const FlowNetwork& network, FlowRegionState& state, Context& ctx)
      : network_(network),
        s_(state),
        ctx_(ctx),
        shares_(network.shares()),
        scratch_(network.scratch()) {}

  void on_start(DeviceId from, const FlowStart& start);
  void on_due(std::uint32_t flow);
  void on_changed() {
    if (s_.is_changed != 0 && s_.instant < ctx_.now()) settle();
  }

 private:
  [[nodiscard]] FlowLists lists() const {
    return s_.on_links.lists(network_.hop_shift());
  }
  void open_instant();
  void note_changed(std::uint32_t flow);

  std::uint32_t take_place();
  [[nodiscard]] std::uint32_t flow_along(DeviceId from, const FlowStart& start,
                                         std::uint32_t links) const;
  void wait_behind(std::uint32_t flow, const FlowStart& start);
  void take_next_message(std::uint32_t flow);
  void change_way(std::uint32_t flow);
  void join_links(std::uint32_t flow, std::uint32_t links);
  void count_start();

  void note_links(std::uint32_t flow);
  void settle();
  void settle_part(std::uint32_t link);
  bool end_those_over();
  void end(std::uint32_t flow);
  void apply_shares();
  void set_rate(std::uint32_t flow, std::uint64_t rate);
  void await(std::uint32_t flow);

  const FlowNetwork& network_;
  FlowRegionState& s_;
  Context& ctx_;
  FairShares& shares_;
  FlowNetwork::Scratch& scratch_;
};

// ---- instants

// What comes now is of this instant; what was of an earlier one is settled first.
void Region::open_instant() {
  on_changed();
  if (s_.is_changed != 0) return;
  ctx_.set(s_.is_changed, 1u);
  ctx_.set(s_.instant, ctx_.now());
  ctx_.send(ctx_.self(), Time{1}, kind_of(FlowEvent::changed));
}

void Region::note_changed(std::uint32_t flow) {
  open_instant();
  s_.changed.push_back(ctx_, flow);
}

void Region::on_start(DeviceId from, const FlowStart& start) {
  on_changed();
  const std::uint32_t links =
      network_.find_way(from, start.to(), label_of(start.body), ctx_, scratch_.way);
  ctx_.check(links != 0, "a message has no way, or one longer than any of its network");
  if (links == 0) return;
  RegionFlow record{.left = network_.work_of(start.bytes()),
                    .since = ctx_.now(),
                    .over = Time::max(),
                    .body = start.body,
                    .source = from.value,
                    .destination = start.to().value,
                    .is_flow = 1};
  count_start();
  const std::uint32_t before = flow_along(from, start, links);
  if (before != kNoFlow) return wait_behind(before, start);
  open_instant();
  const std::uint32_t flow = take_place();
  record.due_at = s_.flows[flow].due_at;
  s_.flows.assign(ctx_, flow, record);
  join_links(flow, links);
  s_.changed.push_back(ctx_, flow);
}

void Region::count_start() {
  ctx_.add(s_.totals.started, 1u);
  const std::uint64_t now = s_.totals.started - s_.totals.ended;
  if (now > s_.totals.most_flows) ctx_.set(s_.totals.most_flows, now);
}

// The flow of this connection along the first links of scratch_.way, or, where messages leave one
// by one, along the first of them; or kNoFlow.
std::uint32_t Region::flow_along(DeviceId from, const FlowStart& start, std::uint32_t links) const {
  std::uint32_t hop = s_.on_links.links[scratch_.way[0]].first;
  for (; hop != kNoFlowHop; hop = s_.on_links.hops[hop].next) {
    const std::uint32_t flow = lists().flow_of(hop);
    const RegionFlow& other = s_.flows[flow];
    if (other.source != from.value) continue;
    if (other.body.connection() != start.body.connection()) continue;
    if (start.body.one_by_one()) return flow;
    if (other.destination != start.to().value) continue;
    const auto hops = lists().hops_of(flow).first(links);
    const auto link = [](const FlowHop& h) { return h.link; };
    if (std::ranges::equal(hops, std::span(scratch_.way).first(links), {}, link)) return flow;
  }
  return kNoFlow;
}

void Region::wait_behind(std::uint32_t flow, const FlowStart& start) {
  std::uint32_t place = s_.free_waiting;
  const WaitingMessage message{.body = start.body, .bytes = start.bytes(), .to = start.to().value};
  if (place == kNoMessage) {
    place = s_.waiting.size();
    s_.waiting.push_back(ctx_, message);
  } else {
    ctx_.set(s_.free_waiting, s_.waiting[place].next);
    s_.waiting.assign(ctx_, place, message);
  }
  RegionFlow& record = s_.flows.at(flow);
  if (record.first_waiting == kNoMessage) {
    ctx_.set(record.first_waiting, place);
  } else {
    ctx_.set(s_.waiting.at(record.last_waiting).next, place);
  }
  ctx_.set(record.last_waiting, place);
}

// The first that waits behind a flow that has ended takes its place, and its way if that is another
// one. Both ways are noted.
void Region::take_next_message(std::uint32_t flow) {
  RegionFlow& record = s_.flows.at(flow);
  const std::uint32_t place = record.first_waiting;
  const WaitingMessage message = s_.waiting[place];
  ctx_.set(record.left, network_.work_of(message.bytes));
  ctx_.set(record.rate, std::uint64_t{0});
  ctx_.set(record.since, s_.instant);
  ctx_.set(record.over, Time::max());
  ctx_.set(record.body, message.body);
  ctx_.set(record.destination, message.to);
  ctx_.set(record.first_waiting, message.next);
  if (message.next == kNoMessage) ctx_.set(record.last_waiting, kNoMessage);
  ctx_.set(s_.waiting.at(place).next, s_.free_waiting);
  ctx_.set(s_.free_waiting, place);
  if (message.body.one_by_one()) change_way(flow);
  note_links(flow);
}

// To that of the message which the flow has become. The links that it leaves are noted. Its first
// link stays, and has not been seen since, so what it comes to is solved, even if it has been.
void Region::change_way(std::uint32_t flow) {
  const RegionFlow& record = s_.flows[flow];
  s_.on_links.part(ctx_, flow, network_.hop_shift(),
                   [&](std::uint32_t left) { scratch_.links.push_back(left); });
  join_links(flow, network_.find_way({record.source}, {record.destination}, label_of(record.body),
                                     ctx_, scratch_.way));
}

// The first `links` of scratch_.way.
void Region::join_links(std::uint32_t flow, std::uint32_t links) {
  const std::uint32_t first = flow << network_.hop_shift();
  for (std::uint32_t h = 0; h < links; ++h) s_.on_links.join(ctx_, first + h, scratch_.way[h]);
}

void Region::on_due(std::uint32_t flow) {
  const bool known = flow < s_.flows.size();
  ctx_.check(known, "a flow is due that there is no place for");
  if (!known) return;
  on_changed();
  const RegionFlow& record = s_.flows[flow];
  if (record.is_flow != 0 && record.over == ctx_.now()) note_changed(flow);
}

std::uint32_t Region::take_place() {
  const std::uint32_t flow = s_.on_links.take_place(ctx_, network_.hop_shift());
  if (flow == s_.flows.size()) s_.flows.push_back(ctx_, {});
  return flow;
}

// ---- shares

// The parts that the flow's links are of are to be solved.
void Region::note_links(std::uint32_t flow) {
  for (const FlowHop& hop : lists().hops_of(flow)) {
    if (hop.link == kNoLink) break;
    scratch_.links.push_back(hop.link);
  }
}

void Region::settle() {
  ctx_.set(s_.is_changed, 0u);
  ctx_.add(s_.totals.instants, 1u);
  shares_.begin();
  scratch_.links.clear();
  scratch_.late.clear();
  for (const std::uint32_t flow : s_.changed) {
    const RegionFlow& record = s_.flows[flow];
    if (record.is_flow == 0) continue;  // noted twice
    if (record.over <= s_.instant) {
      end(flow);
      continue;
    }
    note_links(flow);
  }
  s_.changed.clear(ctx_);
  // Grows on the way, by the links of flows that are found to be over.
  for (std::size_t i = 0; i < scratch_.links.size(); ++i) settle_part(scratch_.links[i]);
  for (const std::uint32_t flow : scratch_.late) note_changed(flow);
}

// The part that the flows on `link` are of. Where some of them are over it may fall apart, and is
// gathered anew.
void Region::settle_part(std::uint32_t link) {
  while (s_.on_links.links[link].flows != 0 && !shares_.has_seen(link)) {
    shares_.gather(lists(), link);
    if (end_those_over()) {
      shares_.forget();
      continue;
    }
    shares_.solve(lists());
    apply_shares();
  }
}

bool Region::end_those_over() {
  bool any = false;
  for (const std::uint32_t flow : shares_.flows()) {
    if (s_.flows[flow].over > s_.instant) continue;
    end(flow);
    any = true;
  }
  return any;
}

// The region's instants are a notice later than the devices', and this is 1 ps after one.
void Region::end(std::uint32_t flow) {
  const RegionFlow& record = s_.flows[flow];
  const Time latency = network_.latency({record.source}, {record.destination});
  const Time late = network_.notice() + Time{1};
  ctx_.send(LpId{record.destination}, std::max(Time{1}, latency - late),
            kind_of(FlowEvent::arrives), FlowArrival{record.body, record.source, 0});
  ctx_.send(LpId{record.source}, network_.notice(), kind_of(FlowEvent::left), record.body);
  ctx_.add(s_.totals.ended, 1u);
  if (record.first_waiting != kNoMessage) return take_next_message(flow);
  s_.on_links.part(ctx_, flow, network_.hop_shift(),
                   [&](std::uint32_t changed) { scratch_.links.push_back(changed); });
  s_.on_links.give_back(ctx_, flow, network_.hop_shift());
  ctx_.set(s_.flows.at(flow).is_flow, 0u);
}

// Each flow of the part gathered last goes on at its share, and the first that is over is awaited.
void Region::apply_shares() {
  const auto flows = shares_.flows();
  std::uint32_t first = flows.front();
  Time over = Time::max();
  for (const std::uint32_t flow : flows) {
    set_rate(flow, shares_.rate_of(flow));
    const Time its = s_.flows[flow].over;
    if (its > over || (its == over && flow > first)) continue;
    over = its;
    first = flow;
  }
  await(first);
  ctx_.add(s_.totals.parts, 1u);
  ctx_.add(s_.totals.looked_at, flows.size());
  if (flows.size() > s_.totals.largest_part) ctx_.set(s_.totals.largest_part, flows.size());
}

void Region::set_rate(std::uint32_t flow, std::uint64_t rate) {
  RegionFlow& record = s_.flows.at(flow);
  if (record.rate == rate) return;
  const auto passed = static_cast<std::uint64_t>((s_.instant - record.since).ps);
  const FlowNetwork::Work done = network_.work_a_ps(record.rate) * passed;
  const FlowNetwork::Work left = record.left - done;  // > 0, as it is not over
  ctx_.set(record.left, left);
  ctx_.set(record.rate, rate);
  ctx_.set(record.since, s_.instant);
  const FlowNetwork::Work each_ps = network_.work_a_ps(rate);
  const FlowNetwork::Work time = (left + each_ps - 1) / each_ps;
  const bool ends = time < static_cast<FlowNetwork::Work>(core::kEndOfTime.ps);
  ctx_.set(record.over, ends ? core::sum_to_end(s_.instant, Time{static_cast<std::int64_t>(time)})
                             : core::kEndOfTime);
}

void Region::await(std::uint32_t flow) {
  RegionFlow& record = s_.flows.at(flow);
  if (record.over <= ctx_.now()) {  // 1 ps after the instant: no event could come in time
    scratch_.late.push_back(flow);
    return;
  }
  if (record.due_at == record.over) return;
  ctx_.set(record.due_at, record.over);
  ctx_.send(ctx_.self(), record.over - ctx_.now(), kind_of(FlowEvent::due), FlowDue{flow, 0});
}

}  // namespace

void FlowTotals::combine(pdes::Transport& transport) {
  const std::array<std::uint64_t*, 7> sums{&started,   &ended,        &instants,  &parts,
                                           &looked_at, &largest_part, &most_flows};
  std::array<std::uint64_t, sums.size()> words{};
  for (std::size_t i = 0; i < sums.size(); ++i) words[i] = *sums[i];
  transport.all_reduce_sum(words);
  for (std::size_t i = 0; i < sums.size(); ++i) *sums[i] = words[i];
}

void start_flow_region(const FlowNetwork& network, void* memory, Context& ctx) {
  auto& state = *::new (memory) FlowRegionState{};
  state.on_links.make_links(ctx, network.links());
}

void handle_flow_region(const FlowNetwork& network, void* memory, const pdes::Event& event,
                        Context& ctx) {
  Region region(network, *static_cast<FlowRegionState*>(memory), ctx);
  switch (static_cast<FlowEvent>(event.kind)) {
    case FlowEvent::starts:
      return region.on_start({event.source.value}, event.as<FlowStart>());
    case FlowEvent::due:
      return region.on_due(event.as<FlowDue>().flow);
    case FlowEvent::changed:
      return region.on_changed();
    case FlowEvent::arrives:
    case FlowEvent::left:
      break;
  }
  ctx.check(false, "the region of a fabric received an event of no kind that it knows");
}

void describe_flow_region(void* memory, pdes::StateArchive& archive) {
  auto& s = *static_cast<FlowRegionState*>(memory);
  archive.word(s.instant);
  archive.word(s.is_changed);
  archive.bytes(&s.totals);
  s.flows.describe(archive, [&](RegionFlow& flow) { archive.bytes(&flow); });
  s.on_links.describe(archive);
  s.changed.describe(archive, [&](std::uint32_t& flow) { archive.word(flow); });
  archive.word(s.free_waiting);
  s.waiting.describe(archive, [&](WaitingMessage& message) { archive.bytes(&message); });
}

}  // namespace exawarp::model
