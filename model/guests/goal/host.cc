// The LogGOPS rules as handlers; host.h states them.
#include "model/guests/goal/host.h"

#include <algorithm>

#include "core/check.h"
#include "pdes/context.h"

namespace exawarp::model::goal {
namespace {

using pdes::Context;
using pdes::Event;
using pdes::Time;

// A message: everything else about it stands in the schedule.
struct Message {
  std::int64_t arrival;          // units
  std::int64_t created;          // of its CreationOrder; it was created by its send
  std::int64_t creator_created;
  std::uint32_t op;
  std::uint32_t sequence;
};

struct Match {
  std::int64_t at;               // units
  std::int64_t created;          // of the CreationOrder of what it releases
  std::int64_t creator_created;
  std::uint32_t op;              // the send
  std::uint32_t sequence;        // of the receiver
};

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
  void hand_over(const QueueEntry& sent, std::int64_t creator_created);
  [[nodiscard]] Time hand_over_delay() const;
  void release(const Release& what, const CreationOrder& order);
  [[nodiscard]] std::uint32_t count_down(const Freed& freed);
  void push_freed(const Freed& freed, OpType type, AgendaItem& item);
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
  // The order of what an item of `created` creates here; its sequence comes with the first.
  [[nodiscard]] CreationOrder created_here(const AgendaItem& by) const {
    return {now_, by.order.created, self_, kSequenceOpen};
  }
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
  std::uint32_t started_ = 0;  // of operations, by this activation
  std::uint32_t ended_ = 0;
};

// Every turn ends an item or puts it off to a later unit, so there is an end to it.
void Activation::run_what_is_due() {
  for (;;) {
    const Agenda::Turn turn = first();
    if (turn.run == Agenda::kNone || turn.item.due > now_) {
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

void Activation::run_calc(const AgendaItem& item, const Op& op) {
  std::int64_t& clock = cpu(op.cpu);
  ctx_.set(clock, at_ + static_cast<std::int64_t>(op.size) * p_.units_per_ns);
  release({item.which.op, true, true, at_, clock}, created_here(item));
}

void Activation::run_send(const AgendaItem& item, const Op& op) {
  const std::int64_t behind = bytes_behind_head(op);
  ctx_.set(cpu(op.cpu), at_ + p_.o + behind * p_.O);
  ctx_.set(send_side(op.nic), at_ + p_.g + behind * p_.G);
  const std::int64_t arrival = at_ + p_.L + p_.o;
  const Time flight = Time{arrival * model_.steps()} - ctx_.now();
  const bool late = flight.ps <= 0;
  ctx_.send({op.peer}, late ? hand_over_delay() : flight, late ? kLateArrival : kArrival,
            Message{arrival, now_, item.order.created, item.which.op, next_sequence()});
  const bool eager = op.size <= p_.S;
  release({item.which.op, true, eager, at_, cpu(op.cpu)}, created_here(item));
}

void Activation::post_receive(const AgendaItem& item, const Op& op) {
  const std::uint32_t found = s_.unexpected.find(op.peer, op.tag);
  if (found == MatchQueue::kNone) {
    s_.posted.push_back(ctx_, {.source = op.peer, .tag = op.tag, .op = item.which.op});
    return release({item.which.op, true, false, at_, 0}, created_here(item));
  }
  const QueueEntry sent = s_.unexpected.take(ctx_, found);
  hand_over(sent, item.order.created);
  release({item.which.op, true, true, at_, std::max(at_, sent.done)}, created_here(item));
}

void Activation::take_message(const AgendaItem& item) {
  const std::uint32_t source = item.order.host;
  const Op op = schedule_.op(source, item.which.op);
  const std::int64_t behind = bytes_behind_head(op);
  ctx_.set(cpu(op.cpu), at_ + p_.o + behind * std::max(p_.O, p_.G));
  ctx_.set(receive_side(op.nic), at_ + p_.g + behind * p_.G);
  ctx_.add(s_.messages, 1);
  const QueueEntry sent{
      .done = cpu(op.cpu), .source = source, .tag = op.tag, .op = item.which.op};
  const std::uint32_t found = s_.posted.find(source, op.tag);
  if (found == MatchQueue::kNone) return s_.unexpected.push_back(ctx_, sent);
  const QueueEntry receive = s_.posted.take(ctx_, found);
  hand_over(sent, item.order.created);
  release({receive.op, false, true, 0, sent.done}, created_here(item));
}

// What takes effect at this instant elsewhere is seen a tick later. The last tick of a unit has no
// successor in it: then it is seen a unit later.
Time Activation::hand_over_delay() const {
  const std::int64_t steps = model_.steps();
  return Time{ctx_.now().ps % steps == steps - 1 ? 3 : 1};
}

// A message and its receive have met: a rendezvous lets the sender go on, at this instant.
void Activation::hand_over(const QueueEntry& sent, std::int64_t creator_created) {
  if (schedule_.op(sent.source, sent.op).size <= p_.S) return;
  ctx_.send({sent.source}, hand_over_delay(), kMatched,
            Match{at_, now_, creator_created, sent.op, next_sequence()});
}

void Activation::arrive(const Event& event) {
  const auto message = event.as<Message>();
  const std::uint32_t sender = event.source.value;
  if (sender >= schedule_.ranks() || message.op >= schedule_.op_count(sender))
    return ctx_.check(false, "a host received a message of no operation");
  const Op op = schedule_.op(sender, message.op);
  if (op.type != OpType::send || op.peer != self_)
    return ctx_.check(false, "a host received a message that was sent to nobody, or to another");
  const LaneId lane{LaneId::Kind::message, op.cpu, op.nic};
  const std::int64_t free = free_at(lane);
  s_.agenda.push(ctx_,
                 {.due = std::max(message.arrival, free),
                  .order = {message.created, message.creator_created, event.source.value,
                            message.sequence},
                  .which = {message.op, 0}},
                 lane, free);
}

void Activation::end_rendezvous(const Event& event) {
  const auto match = event.as<Match>();
  if (match.op >= s_.ops) return ctx_.check(false, "a rendezvous of no operation ended");
  const Op op = schedule_.op(self_, match.op);
  if (op.type != OpType::send || op.peer != event.source.value)
    return ctx_.check(false, "a rendezvous ended that was with another host");
  for (std::int64_t* clock : {&cpu(op.cpu), &send_side(op.nic)})
    if (*clock < match.at) ctx_.set(*clock, match.at);
  release({match.op, false, true, 0, match.at},
          {match.created, match.creator_created, event.source.value, match.sequence});
}

// Meets one dependence of each; returns a mask of the types of those that became free. An operation
// may occur twice: it is the last occurrence that frees it, the `first + i`-th of this release.
std::uint32_t Activation::count_down(const Freed& freed) {
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
    if (waits >= Host::kFreed)
      types |= 1u << static_cast<unsigned>(schedule_.op(self_, index).type);
  }
  return types;
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
  const std::uint32_t types = count_down(starts) | count_down(ends);
  if (types == 0) return;
  AgendaItem item{.due = 0, .order = order, .which = {}};
  if (order.sequence == kSequenceOpen) item.order.sequence = next_sequence();
  for (const OpType type : {OpType::send, OpType::receive, OpType::calc}) {
    if ((types >> static_cast<unsigned>(type) & 1u) == 0) continue;
    push_freed(starts, type, item);
    push_freed(ends, type, item);
  }
}

// Pushes those of `type` with the order of `item`, which counts them.
void Activation::push_freed(const Freed& freed, OpType type, AgendaItem& item) {
  for (std::uint32_t i = 0; i < freed.dependents.size(); ++i) {
    const std::uint32_t index = freed.dependents[i];
    if (s_.waits[index] != Host::kFreed + freed.first + i) continue;
    const Op op = schedule_.op(self_, index);
    if (op.type != type) continue;
    ctx_.set(s_.waits[index], Host::kReleased);
    const LaneId lane = lane_of(op);
    const std::int64_t free = free_at(lane);
    item.which = {index, item.which.ordinal + 1};
    item.due = free;
    if (!p_.as_loggopsim) item.due = std::max({free, now_, earliest_of(index)});
    s_.agenda.push(ctx_, item, lane, type == OpType::receive ? Agenda::kWaitsForNothing : free);
  }
}

// One wake-up is under way for the earliest item; an earlier one may be left over, and does no
// harm.
void Activation::close() {
  if (started_ != 0) ctx_.add(s_.started, started_);
  if (ended_ != 0) ctx_.add(s_.ended, ended_);
  if (s_.next_wake <= ctx_.now().ps) ctx_.set(s_.next_wake, Host::kNoWake);
  if (next_due_ == kUnknown) {
    const Agenda::Turn turn = first();
    next_due_ = turn.run == Agenda::kNone ? kNever : turn.item.due;
  }
  if (next_due_ == kNever) return;
  const std::int64_t wake = next_due_ * model_.steps() + 1;
  if (wake >= s_.next_wake) return;
  ctx_.set(s_.next_wake, wake);
  ctx_.send(ctx_.self(), Time{wake} - ctx_.now(), kWake);
}

}  // namespace

void Host::handle(State& s, const Event& event, Context& ctx) {
  const auto& model = ctx.model<LogGops>();
  Activation now(s, ctx.now().ps / model.steps(), ctx);
  switch (event.kind) {
    case kArrival: now.arrive(event); break;
    case kLateArrival:
      now.arrive(event);
      now.run_what_is_due();
      break;
    case kWake: now.run_what_is_due(); break;
    case kMatched:
      now.end_rendezvous(event);
      now.run_what_is_due();
      break;
    default: return ctx.check(false, "a host received an event of no known kind");
  }
  now.close();
}

}  // namespace exawarp::model::goal
