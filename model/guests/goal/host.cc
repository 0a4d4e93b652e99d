// The LogGOPS rules as handlers; host.h states them.
#include "model/guests/goal/host.h"

#include <algorithm>
#include <tuple>

#include "core/check.h"
#include "pdes/context.h"

namespace exawarp::model::goal {
namespace {

using pdes::Context;
using pdes::Event;
using pdes::Time;

// A message, or the match that ends its send: everything else about it stands in the schedule, or
// follows from when the event comes. Of the CreationOrder of what the event creates:
struct Notice {
  std::int64_t creator_created;
  std::int64_t before_created;
  std::uint32_t op;              // the send
  // Of its creator, the ordinal of its Place, and above it when: of a message the tick of its
  // unit, of a match how many ticks ago.
  std::uint32_t creator;
  Place before_place;
};
// The same in the past of its host.
struct PastNotice {
  std::int64_t at;               // units: a message's arrival, or when it was matched
  std::int64_t created;
  std::int64_t creator_created;
  std::uint32_t op;
  std::uint32_t unused;
};

// The bits of which place_at() makes a Place.
std::uint32_t ordinal_in(Place place) { return static_cast<std::uint32_t>(place); }

// Of an instant, so that none costs more than a multiple of what it does; with more of them a tie
// may be decided otherwise.
constexpr std::uint32_t kMetMost = 256;

// One activation of a host: where it is and when.
class Activation {
 public:
  Activation(Host::State& s, std::int64_t now, Context& ctx)
      : s_(s), ctx_(ctx), model_(ctx.model<LogGops>()), schedule_(model_.schedule()),
        p_(model_.parameters()), self_(ctx.self().value), now_(now), at_(now) {}

  void run_what_is_due();
  void arrive(const Event& event);
  void end_rendezvous(const Event& event);
  // Counts what was done, and sees to it that the host is woken for what comes next.
  void close();

 private:
  // Dependents that become free together: who made them so, and from when on they may start.
  struct Release {
    std::uint32_t op;         // whose dependents
    bool start;               // those of its start
    bool end;                 // those of its end
    std::int64_t start_time;  // units
    std::int64_t end_time;
  };
  // Some of these, and where they stand among all.
  struct Freed {
    Dependents dependents;
    std::uint32_t first;    // as in count_down()
    std::int64_t earliest;  // units: when they may start
  };

  void run(const Agenda::Turn& turn);
  void run_calc(const AgendaItem& item, const Op& op);
  void run_send(const AgendaItem& item, const Op& op);
  void post_receive(const AgendaItem& item, const Op& op);
  void take_message(const AgendaItem& item);
  void hand_over(const QueueEntry& sent, const CreationOrder& order);
  [[nodiscard]] std::int64_t hand_over_ticks() const;
  void occupy(std::uint32_t cpu, std::int64_t until, const AgendaItem& by);
  void release(const Release& what, const CreationOrder& order);
  [[nodiscard]] std::uint32_t count_down(const Freed& freed, const CreationOrder& order);
  void note_met(std::uint32_t op, std::uint32_t position, const CreationOrder& order);
  [[nodiscard]] const Met* set_free_later(std::uint32_t op, const CreationOrder& order) const;
  void push_freed(const Freed& freed, OpType type, const CreationOrder& order);
  [[nodiscard]] std::int64_t tick() const { return ctx_.now().ps; }
  // Whether it has to wait for what other hosts do at this instant.
  [[nodiscard]] bool is_of_next_tick(const AgendaItem& item) const {
    return model_.acts_at_once() && item.due == now_ && item.order.created == tick();
  }
  [[nodiscard]] Agenda::Turn first() const {
    return s_.agenda.first([this](LaneId lane) { return free_at(lane); });
  }
  // When what `lane` waits for is free; of a receive, from when on it may be posted.
  [[nodiscard]] std::int64_t free_at(LaneId lane) const {
    const std::int64_t cpu = s_.clocks[lane.cpu];
    switch (lane.kind) {
      case LaneId::Kind::send: return std::max(cpu, send_side(lane.nic));
      case LaneId::Kind::message: return std::max(cpu, receive_side(lane.nic));
      default: return cpu;
    }
  }
  // Among what its creator created; of a message it is 0, whoever sent it.
  [[nodiscard]] Place place_of(const AgendaItem& item) const {
    return goal::place_of(self_, item.which.ordinal);
  }
  // The order of what `by` creates here; its sequence comes with the first. Where hosts act in
  // their past, the times of generations before say nothing of which was first.
  [[nodiscard]] CreationOrder created_here(const AgendaItem& by) const {
    if (model_.has_past()) return {tick(), by.order.created, -1, 0, 0, self_, kSequenceOpen};
    return {tick(), by.order.created, by.order.creator_created, by.order.creator_place,
            place_of(by), self_, kSequenceOpen};
  }
  [[nodiscard]] CreationOrder order_of(const Event& event, const Notice& notice,
                                       std::int64_t created) const;
  [[nodiscard]] CreationOrder order_of(const Event& event, const PastNotice& notice) const;
  void arrive(const Event& event, std::uint32_t index, std::int64_t arrival,
              const CreationOrder& order);
  void end_rendezvous(const Event& event, std::uint32_t index, std::int64_t at,
                      const CreationOrder& order);
  [[nodiscard]] std::int64_t posted_from(LaneId lane, const CreationOrder& order) const;
  // When all that it waited for was over. With one CPU its clock says so.
  [[nodiscard]] std::int64_t earliest_of(std::uint32_t op) const {
    return s_.earliest == nullptr ? 0 : s_.earliest[op];
  }
  [[nodiscard]] std::uint32_t next_sequence() {
    ctx_.add(s_.sequence, 1);
    return s_.sequence;
  }
  [[nodiscard]] std::int64_t& cpu(std::uint32_t i) const { return s_.clocks[i]; }
  [[nodiscard]] std::int64_t& receive_side(std::uint32_t nic) const {
    return s_.clocks[schedule_.cpus() + nic];
  }
  [[nodiscard]] std::int64_t& send_side(std::uint32_t nic) const {
    return s_.clocks[schedule_.cpus() + schedule_.nics() + nic];
  }
  [[nodiscard]] static std::int64_t bytes_behind_head(const Op& op) {
    return op.size == 0 ? 0 : static_cast<std::int64_t>(op.size - 1);
  }

  static constexpr std::uint32_t kSequenceOpen = 0;  // next_sequence() begins with 1

  Host::State& s_;
  Context& ctx_;
  const LogGops& model_;
  const Schedule& schedule_;
  const Parameters& p_;
  std::uint32_t self_;
  std::int64_t now_;  // units
  // When what is done takes place, in units: as LogGOPSim perhaps before now, else now.
  std::int64_t at_;
  static constexpr std::int64_t kUnknown = -1, kNever = -2;
  std::int64_t next_due_ = kUnknown;  // units: of what is to be done next
  std::int64_t matched_at_ = kNever;  // units: of the match at another host that this is of
  std::uint32_t matched_cpu_ = 0;     // its send's
  std::uint32_t started_ = 0;         // of operations, by this activation
  std::uint32_t ended_ = 0;
};

// Every turn ends an item or puts it off to a later unit, so there is an end to it.
void Activation::run_what_is_due() {
  for (;;) {
    const Agenda::Turn turn = first();
    if (turn.run == Agenda::kNone || turn.item.due > now_ || is_of_next_tick(turn.item)) {
      next_due_ = turn.run == Agenda::kNone ? kNever : turn.item.due;
      return;
    }
    run(turn);
  }
}

void Activation::run(const Agenda::Turn& turn) {
  const AgendaItem& item = turn.item;
  if (turn.lane.kind != LaneId::Kind::receive && free_at(turn.lane) > item.due)
    return s_.agenda.wait_in_lane(ctx_, turn);
  EXAWARP_DCHECK(item.is_message() || item.which.op < s_.ops, item.which.op, s_.ops);
  s_.agenda.take(ctx_, turn);
  at_ = item.due;
  if (item.is_message()) return take_message(item);
  const Op op = schedule_.op(self_, item.which.op);
  switch (op.type) {
    case OpType::calc: return run_calc(item, op);
    case OpType::send: return run_send(item, op);
    case OpType::receive: return post_receive(item, op);
  }
}

// The CPU is busy from `at_` on.
void Activation::occupy(std::uint32_t i, std::int64_t until, const AgendaItem& by) {
  if (s_.occupied != nullptr) {
    ctx_.set(s_.occupied[i], Occupied{at_, cpu(i), by.order.created, by.order.creator_created,
                                      by.order.creator_place, place_of(by)});
  }
  ctx_.set(cpu(i), until);
}

void Activation::run_calc(const AgendaItem& item, const Op& op) {
  occupy(op.cpu, at_ + static_cast<std::int64_t>(op.size) * p_.units_per_ns, item);
  release({item.which.op, true, true, at_, cpu(op.cpu)}, created_here(item));
}

void Activation::run_send(const AgendaItem& item, const Op& op) {
  const std::int64_t behind = bytes_behind_head(op);
  occupy(op.cpu, at_ + p_.o + behind * p_.O, item);
  ctx_.set(send_side(op.nic), at_ + p_.g + behind * p_.G);
  const std::int64_t arrival = at_ + p_.L + p_.o;
  const CreationOrder order = created_here(item);
  const std::uint32_t ordinal = ordinal_in(order.creator_place);
  std::int64_t flight = arrival * model_.steps() - tick();
  if (at_ == now_) {
    const auto tick_of_unit = static_cast<std::uint32_t>(tick() % model_.steps());
    ctx_.send({op.peer}, Time{flight}, kArrival,
              Notice{order.creator_created, order.before_created, item.which.op,
                     tick_of_unit << kOrdinalBits | ordinal, order.before_place});
  } else {
    if (flight <= 0) flight = hand_over_ticks();
    ctx_.send({op.peer}, Time{flight}, kPastArrival,
              PastNotice{arrival, order.created, order.creator_created, item.which.op, 0});
  }
  const bool eager = op.size <= p_.S;
  release({item.which.op, true, eager, at_, cpu(op.cpu)}, order);
}

void Activation::post_receive(const AgendaItem& item, const Op& op) {
  const std::uint32_t found = s_.unexpected.find(op.peer, op.tag);
  if (found == MatchQueue::kNone) {
    s_.posted.push_back(ctx_, {.source = op.peer, .tag = op.tag, .op = item.which.op});
    return release({item.which.op, true, false, at_, 0}, created_here(item));
  }
  const QueueEntry sent = s_.unexpected.take(ctx_, found);
  const CreationOrder order = created_here(item);
  hand_over(sent, order);
  release({item.which.op, true, true, at_, std::max(at_, sent.done)}, order);
}

void Activation::take_message(const AgendaItem& item) {
  const std::uint32_t source = item.order.host;
  const Op op = schedule_.op(source, item.which.op);
  const std::int64_t behind = bytes_behind_head(op);
  occupy(op.cpu, at_ + p_.o + behind * std::max(p_.O, p_.G), item);
  ctx_.set(receive_side(op.nic), at_ + p_.g + behind * p_.G);
  ctx_.add(s_.messages, 1);
  const QueueEntry sent{
      .done = cpu(op.cpu), .source = source, .tag = op.tag, .op = item.which.op};
  const std::uint32_t found = s_.posted.find(source, op.tag);
  if (found == MatchQueue::kNone) return s_.unexpected.push_back(ctx_, sent);
  const QueueEntry receive = s_.posted.take(ctx_, found);
  const CreationOrder order = created_here(item);
  hand_over(sent, order);
  release({receive.op, false, true, 0, sent.done}, order);
}

// What takes effect at this instant elsewhere is seen a tick later. The last tick of a unit has no
// successor in it: then it is seen a unit later.
std::int64_t Activation::hand_over_ticks() const {
  const std::int64_t steps = model_.steps();
  return tick() % steps == steps - 1 ? 3 : 1;
}

// A message and its receive have met: a rendezvous lets the sender go on, at this instant.
void Activation::hand_over(const QueueEntry& sent, const CreationOrder& order) {
  if (schedule_.op(sent.source, sent.op).size <= p_.S) return;
  const std::uint32_t ordinal = ordinal_in(order.creator_place);
  const std::int64_t ticks = hand_over_ticks();
  if (at_ == now_) {
    ctx_.send({sent.source}, Time{ticks}, kMatched,
              Notice{order.creator_created, order.before_created, sent.op,
                     static_cast<std::uint32_t>(ticks) << kOrdinalBits | ordinal,
                     order.before_place});
  } else {
    ctx_.send({sent.source}, Time{ticks}, kPastMatched,
              PastNotice{at_, order.created, order.creator_created, sent.op, 0});
  }
}

// The order of what `event` creates here; what sent it was done at tick `created`.
CreationOrder Activation::order_of(const Event& event, const Notice& notice,
                                   std::int64_t created) const {
  return {created,
          notice.creator_created,
          notice.before_created,
          notice.before_place,
          place_at(event.source.value, notice.creator & ((1u << kOrdinalBits) - 1)),
          event.source.value,
          event.sequence};
}

CreationOrder Activation::order_of(const Event& event, const PastNotice& notice) const {
  return {notice.created, notice.creator_created, -1, 0, 0, event.source.value, event.sequence};
}

void Activation::arrive(const Event& event) {
  if (event.kind == kPastArrival) {
    const auto notice = event.as<PastNotice>();
    return arrive(event, notice.op, notice.at, order_of(event, notice));
  }
  const auto notice = event.as<Notice>();
  const std::int64_t sent = now_ - p_.L - p_.o;
  arrive(event, notice.op, now_,
         order_of(event, notice, sent * model_.steps() + (notice.creator >> kOrdinalBits)));
}

void Activation::arrive(const Event& event, std::uint32_t index, std::int64_t arrival,
                        const CreationOrder& order) {
  const std::uint32_t sender = event.source.value;
  if (sender >= schedule_.ranks() || index >= schedule_.op_count(sender))
    return ctx_.check(false, "a host received a message of no operation");
  const Op op = schedule_.op(sender, index);
  if (op.type != OpType::send || op.peer != self_)
    return ctx_.check(false, "a host received a message that was sent to nobody, or to another");
  const LaneId lane{LaneId::Kind::message, op.cpu, op.nic};
  const std::int64_t free = free_at(lane);
  s_.agenda.push(ctx_, {.due = std::max(arrival, free), .order = order, .which = {index, 0}}, lane,
                 free);
}

void Activation::end_rendezvous(const Event& event) {
  if (event.kind == kPastMatched) {
    const auto notice = event.as<PastNotice>();
    return end_rendezvous(event, notice.op, notice.at, order_of(event, notice));
  }
  const auto notice = event.as<Notice>();
  const std::int64_t matched = tick() - (notice.creator >> kOrdinalBits);
  end_rendezvous(event, notice.op, matched / model_.steps(), order_of(event, notice, matched));
}

void Activation::end_rendezvous(const Event& event, std::uint32_t index, std::int64_t at,
                                const CreationOrder& order) {
  if (index >= s_.ops) return ctx_.check(false, "a rendezvous of no operation ended");
  const Op op = schedule_.op(self_, index);
  if (op.type != OpType::send || op.peer != event.source.value)
    return ctx_.check(false, "a rendezvous ended that was with another host");
  for (std::int64_t* clock : {&cpu(op.cpu), &send_side(op.nic)})
    if (*clock < at) ctx_.set(*clock, at);
  matched_at_ = at;
  matched_cpu_ = op.cpu;
  release({index, false, true, 0, at}, order);
}

// From when on a receive may be posted that a match of `order` at another host sets free: when its
// CPU was free then.
std::int64_t Activation::posted_from(LaneId lane, const CreationOrder& order) const {
  const std::int64_t free = free_at(lane);
  if (matched_at_ == kNever || s_.occupied == nullptr) return free;
  const Occupied& last = s_.occupied[lane.cpu];
  if (last.at != matched_at_) return free;
  const auto key_of_match = std::tie(order.creator_created, order.before_created,
                                     order.before_place, order.creator_place);
  const auto key_of_last =
      std::tie(last.created, last.creator_created, last.creator_place, last.place);
  if (key_of_match >= key_of_last) return free;
  return lane.cpu == matched_cpu_ ? std::max(last.until, matched_at_) : last.until;
}

// Meets one dependence of each; returns a mask of the types of those that became free. An operation
// may occur twice: it is the last occurrence that frees it, the `first + i`-th of this release.
std::uint32_t Activation::count_down(const Freed& freed, const CreationOrder& order) {
  std::uint32_t types = 0;
  for (std::uint32_t i = 0; i < freed.dependents.size(); ++i) {
    const std::uint32_t index = freed.dependents[i];
    std::uint32_t& waits = s_.waits[index];
    if (waits == 0 || waits >= Host::kFreed) {
      ctx_.check(false, "a dependence was met twice");
      continue;
    }
    if (s_.earliest != nullptr && s_.earliest[index] < freed.earliest)
      ctx_.set(s_.earliest[index], freed.earliest);
    ctx_.set(waits, waits == 1 ? Host::kFreed + freed.first + i : waits - 1);
    if (waits < Host::kFreed) {
      note_met(index, freed.first + i, order);
    } else {
      types |= 1u << static_cast<unsigned>(schedule_.op(self_, index).type);
    }
  }
  return types;
}

void Activation::note_met(std::uint32_t op, std::uint32_t position, const CreationOrder& order) {
  if (s_.occupied == nullptr) return;
  if (!s_.met.empty() && s_.met[0].at != now_) s_.met.clear(ctx_);
  if (s_.met.size() == kMetMost) return;
  s_.met.push_back(ctx_, {now_, order, op, ordinal_of(schedule_.op(self_, op).type, position)});
}

// The latest of those that met a dependence of `op` at this instant, if it is after `order`.
const Met* Activation::set_free_later(std::uint32_t op, const CreationOrder& order) const {
  const Met* latest = nullptr;
  if (matched_at_ == kNever || s_.met.empty() || s_.met[0].at != now_) return latest;
  for (const Met& met : s_.met) {
    if (met.op != op) continue;
    if ((latest == nullptr ? order : latest->order).creator_is_before(met.order)) latest = &met;
  }
  return latest;
}

// Sends first, then receives, then calculations; of one type in the order of the schedule.
void Activation::release(const Release& what, const CreationOrder& order) {
  if (what.start) ++started_;
  if (what.end) ++ended_;
  const Dependents none(nullptr, 0);
  const Freed starts{what.start ? schedule_.after_start(self_, what.op) : none, 0,
                     what.start_time};
  const Freed ends{what.end ? schedule_.after_end(self_, what.op) : none, starts.dependents.size(),
                   what.end_time};
  if (starts.dependents.size() + ends.dependents.size() == 0) return;
  AgendaItem item{.due = 0, .order = order, .which = {}};
  if (order.sequence == kSequenceOpen) item.order.sequence = next_sequence();
  const std::uint32_t types = count_down(starts, item.order) | count_down(ends, item.order);
  for (const OpType type : {OpType::send, OpType::receive, OpType::calc}) {
    if ((types >> static_cast<unsigned>(type) & 1u) == 0) continue;
    push_freed(starts, type, item.order);
    push_freed(ends, type, item.order);
  }
}

// Pushes those of `type`.
void Activation::push_freed(const Freed& freed, OpType type, const CreationOrder& order) {
  for (std::uint32_t i = 0; i < freed.dependents.size(); ++i) {
    const std::uint32_t index = freed.dependents[i];
    if (s_.waits[index] != Host::kFreed + freed.first + i) continue;
    const Op op = schedule_.op(self_, index);
    if (op.type != type) continue;
    ctx_.set(s_.waits[index], Host::kReleased);
    AgendaItem item{.due = 0, .order = order, .which = {index, ordinal_of(type, freed.first + i)}};
    const Met* const later = set_free_later(index, order);
    if (later != nullptr) {
      item.order = later->order;
      item.which.ordinal = later->ordinal;
    }
    const LaneId lane = lane_of(op);
    const bool is_receive = type == OpType::receive;
    const std::int64_t free = is_receive ? posted_from(lane, item.order) : free_at(lane);
    item.due = free;
    if (!p_.as_loggopsim) item.due = std::max({free, now_, earliest_of(index)});
    const std::int64_t lane_free = is_receive ? Agenda::kWaitsForNothing : free;
    if (later != nullptr) {
      s_.agenda.push_late(ctx_, item, lane, lane_free);
    } else {
      s_.agenda.push(ctx_, item, lane, lane_free);
    }
  }
}

// One wake-up is under way for the earliest item; an earlier one may be left over, and does no
// harm.
void Activation::close() {
  if (started_ != 0) ctx_.add(s_.started, started_);
  if (ended_ != 0) ctx_.add(s_.ended, ended_);
  if (s_.next_wake <= tick()) ctx_.set(s_.next_wake, Host::kNoWake);
  if (next_due_ == kUnknown) {
    const Agenda::Turn turn = first();
    next_due_ = turn.run == Agenda::kNone ? kNever : turn.item.due;
  }
  if (next_due_ == kNever) return;
  const std::int64_t next_odd = tick() + 1 + tick() % 2;  // a unit's ticks are even in number
  const std::int64_t wake = std::max(next_due_ * model_.steps() + 1, next_odd);
  if (wake >= s_.next_wake) return;
  ctx_.set(s_.next_wake, wake);
  ctx_.send(ctx_.self(), Time{wake} - ctx_.now(), kWake);
}

}  // namespace

void Host::handle(State& s, const Event& event, Context& ctx) {
  const auto& model = ctx.model<LogGops>();
  Activation now(s, ctx.now().ps / model.steps(), ctx);
  switch (event.kind) {
    case kArrival:
    case kPastArrival: now.arrive(event); break;
    case kWake: now.run_what_is_due(); break;
    case kMatched:
    case kPastMatched: now.end_rendezvous(event); break;
    default: return ctx.check(false, "a host received an event of no known kind");
  }
  now.close();
}

}  // namespace exawarp::model::goal
