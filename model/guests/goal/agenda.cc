// Runs live in one undoable pool and are chained into lanes or the heap; every change goes through
// the context word by word, which is what makes an undo cost a few words.
#include "model/guests/goal/agenda.h"

#include "pdes/undo_heap.h"

namespace exawarp::model::goal {

using pdes::Context;

void Agenda::push(Context& ctx, const AgendaItem& item, LaneId lane_id, std::int64_t lane_free) {
  Lane& lane = lane_of(ctx, lane_id.bits());
  const bool timed = item.due > lane_free;
  // Where its lane's newest run was created together with it, it goes on with this. A slot that
  // was freed since holds a run of other creation, other lane or other due time.
  const std::uint32_t newest = timed ? lane.timed : lane.last;
  if (newest != kNone && !item.is_message()) {
    const Run& run = runs_[newest];
    if (run.first.order == item.order && run.lane == lane_id.bits() &&
        run.first.due == (timed ? item.due : 0))
      return append(ctx, newest, item);
  }
  push_run(ctx, item, lane, timed);
}

void Agenda::push_late(Context& ctx, const AgendaItem& item, LaneId lane_id,
                       std::int64_t lane_free) {
  push_run(ctx, item, lane_of(ctx, lane_id.bits()), item.due > lane_free);
}

void Agenda::push_run(Context& ctx, const AgendaItem& item, Lane& lane, bool timed) {
  const std::uint32_t at =
      add_run(ctx, {.first = item,
                    .last = item.which.op,
                    .lane = static_cast<std::uint32_t>(lane.key)});
  if (!timed) return join(ctx, lane, at);
  ctx.set(lane.timed, at);
  timed_.push(ctx, runs_, at);
}

void Agenda::append(Context& ctx, std::uint32_t at, const AgendaItem& item) {
  Run& run = runs_.at(at);
  ctx.set(followers_[run.last], item.which);
  ctx.set(run.last, item.which.op);
}

void Agenda::take(Context& ctx, const Turn& turn) {
  Run& run = runs_.at(turn.run);
  Lane* const lane = turn.in_lane ? lanes_.find(turn.lane.bits()) : nullptr;
  if (run.first.which.op == run.last) {
    if (lane != nullptr) {
      leave(ctx, *lane, turn.run);
    } else {
      timed_.pop(ctx, runs_);
    }
    return free_run(ctx, turn.run);
  }
  ctx.set(run.first.which, followers_[run.first.which.op]);
  if (lane == nullptr) return timed_.sink(ctx, runs_);
  if (lane->first != turn.run) return lane->out_of_order.sink(ctx, runs_);
  // What was created together, but came to the lane at different times, may alternate.
  if (run.next == kNone || run.first < runs_[run.next].first) return;
  leave(ctx, *lane, turn.run);
  join(ctx, *lane, turn.run);
}

void Agenda::wait_in_lane(Context& ctx, const Turn& turn) {
  timed_.pop(ctx, runs_);
  join(ctx, lane_of(ctx, turn.lane.bits()), turn.run);
}

void Agenda::join(Context& ctx, Lane& lane, std::uint32_t at) {
  Run& run = runs_.at(at);
  if (run.first.due != 0) ctx.set(run.first.due, 0);
  if (lane.last != kNone && run.first < runs_[lane.last].first)
    return lane.out_of_order.push(ctx, runs_, at);
  if (run.next != kNone) ctx.set(run.next, kNone);
  if (lane.last == kNone) {
    ctx.set(lane.first, at);
  } else {
    ctx.set(runs_.at(lane.last).next, at);
  }
  ctx.set(lane.last, at);
}

// Requires that the run is the least of its lane.
void Agenda::leave(Context& ctx, Lane& lane, std::uint32_t at) {
  if (lane.first != at) return lane.out_of_order.pop(ctx, runs_);
  ctx.set(lane.first, runs_[at].next);
  if (lane.first == kNone) ctx.set(lane.last, kNone);
}

std::uint32_t Agenda::add_run(Context& ctx, const Run& run) {
  if (free_ == kNone) {
    runs_.extend(ctx, run);
    return runs_.size() - 1;
  }
  const std::uint32_t at = free_;
  ctx.set(free_, runs_[at].next);
  runs_.assign(ctx, at, run);
  return at;
}

void Agenda::free_run(Context& ctx, std::uint32_t at) {
  ctx.set(runs_.at(at).next, free_);
  ctx.set(free_, at);
}

namespace {

// An order of runs by their first items.
template <class Runs>
auto by_first(const Runs& runs) {
  return [&runs](std::uint32_t a, std::uint32_t b) { return runs[a].first < runs[b].first; };
}

}  // namespace

void Agenda::Heap::push(Context& ctx, const Runs& runs, std::uint32_t run) {
  pdes::heap_push(slots_, ctx, run, by_first(runs));
}

void Agenda::Heap::pop(Context& ctx, const Runs& runs) {
  pdes::heap_erase(slots_, ctx, 0, by_first(runs));
}

void Agenda::Heap::sink(Context& ctx, const Runs& runs) {
  pdes::heap_sink_first(slots_, ctx, by_first(runs));
}

void Agenda::describe(pdes::StateArchive& archive, std::uint32_t ops) {
  archive.array(followers_, ops, [&](Which& which) { archive.kept(which); });
  runs_.describe(archive, [&](Run& run) { archive.kept(run); });
  lanes_.describe(archive, [&](Lane& lane) {
    archive.kept(lane.key);
    for (std::uint32_t* run : {&lane.first, &lane.last, &lane.timed}) archive.kept(*run);
    lane.out_of_order.describe(archive);
  });
  timed_.describe(archive);
  archive.kept(free_);
  if (archive.is_digest()) digest_items(archive);
}

void Agenda::digest_items(pdes::StateArchive& archive) const {
  for (const std::uint32_t at : timed_.slots()) digest_run(archive, at);
  lanes_.visit([&](const Lane& lane) {
    archive.digest_word(lane.key);
    for (std::uint32_t at = lane.first; at != kNone; at = runs_[at].next) digest_run(archive, at);
    for (const std::uint32_t at : lane.out_of_order.slots()) digest_run(archive, at);
  });
}

void Agenda::digest_run(pdes::StateArchive& archive, std::uint32_t at) const {
  const Run& run = runs_[at];
  const CreationOrder& order = run.first.order;
  for (const std::int64_t time :
       {run.first.due, order.created, order.creator_created, order.before_created})
    archive.digest_word(static_cast<std::uint64_t>(time));
  for (const Place place : {order.before_place, order.creator_place}) archive.digest_word(place);
  archive.digest_word((std::uint64_t{order.host} << 32) | order.sequence);
  archive.digest_word(run.lane);
  Which member = run.first.which;
  for (;;) {
    archive.digest_word((std::uint64_t{member.op} << 32) | member.ordinal);
    if (member.op == run.last) return;
    const Which next = followers_[member.op];
    if (next.ordinal <= member.ordinal) return;  // damaged: the audit is to say so, not to hang
    member = next;
  }
}

}  // namespace exawarp::model::goal
