// The LogGOPS model: range of time, start and digest of its hosts; host.h.
#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "core/check.h"
#include "core/digest.h"
#include "core/error.h"
#include "model/guests/goal/host.h"
#include "pdes/block_pool.h"
#include "pdes/context.h"

namespace exawarp::model::goal {
namespace {

__extension__ typedef unsigned __int128 Wide;

constexpr std::int64_t kTicksMax = std::int64_t{1} << 62;
constexpr std::int64_t kEagerSteps = 2;            // arrivals, then what is due
constexpr std::int64_t kAtOnceStepsMax = 1 << 20;  // where hosts act on each other at one instant
constexpr std::int64_t kAtOnceStepsMin = 16;

struct Extent {
  Wide units = 0;  // of everything, one after the other: no run takes longer
  bool has_rendezvous = false;
};

Extent extent_of(const Schedule& schedule, const Parameters& p) {
  Extent extent;
  for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
    for (std::uint32_t i = 0; i < schedule.op_count(rank); ++i) {
      const Op op = schedule.op(rank, i);
      if (op.type == OpType::calc) extent.units += Wide{op.size} * p.units_per_ns;
      if (op.type != OpType::send) continue;
      const auto fixed = static_cast<Wide>(p.L) + 2 * static_cast<Wide>(p.o + p.g);
      const auto each = 2 * static_cast<Wide>(p.O + p.G);
      extent.units += fixed + each * op.size;
      if (op.size > p.S) extent.has_rendezvous = true;
    }
  }
  return extent;
}

// A block of `count` values of T, or null for none.
template <class T>
T* allocate(pdes::Context& ctx, std::uint64_t count) {
  if (count == 0) return nullptr;
  return static_cast<T*>(ctx.allocate_block(pdes::size_class_of(count * sizeof(T))));
}

}  // namespace

LogGops::LogGops(const Schedule& schedule, const Parameters& parameters)
    : schedule_(&schedule),
      parameters_(parameters),
      type_(pdes::make_lp_type<Host>("host")),
      range_{pdes::LpId{0}, schedule.ranks(), 0} {
  if (parameters.L + parameters.o <= 0)
    throw core::InputError("LogGOPS parameters",
                           "L + o is 0, so a message would take no time; expected at least 1 ns");
  const Extent extent = extent_of(schedule, parameters);
  has_rendezvous_ = extent.has_rendezvous;
  const std::int64_t least = acts_at_once() ? kAtOnceStepsMin : kEagerSteps;
  const std::int64_t most = acts_at_once() ? kAtOnceStepsMax : kEagerSteps;
  const Wide room = static_cast<Wide>(kTicksMax) / (extent.units + 1);
  if (room < static_cast<Wide>(least))
    throw core::InputError(
        schedule.place(),
        fmt::format("could take {:.3g} s, more than time reaches in steps of 1/{} ns; expected "
                    "smaller sizes, or parameters with fewer decimals",
                    static_cast<double>(extent.units) / parameters.units_per_ns * 1e-9,
                    parameters.units_per_ns));
  steps_ = static_cast<std::int64_t>(std::min(room, static_cast<Wide>(most))) & ~std::int64_t{1};
  const std::int64_t flight = (parameters.L + parameters.o) * steps_ - 1;
  lookahead_ = pdes::Time{acts_at_once() ? 1 : flight};
}

void LogGops::initialise(pdes::LpId lp, void* state, pdes::Context& ctx) const {
  auto& s = *static_cast<Host::State*>(state);
  const std::uint32_t rank = lp.value;
  EXAWARP_CHECK(rank < schedule_->ranks(), rank, schedule_->ranks());
  const std::uint32_t clocks = schedule_->cpus() + 2 * schedule_->nics();
  s.clocks = allocate<std::int64_t>(ctx, clocks);
  std::fill_n(s.clocks, clocks, 0);
  s.clock_count = clocks;
  const std::uint32_t ops = schedule_->op_count(rank);
  if (has_rendezvous_) {
    s.occupied_count = schedule_->cpus();
    s.occupied = allocate<Occupied>(ctx, s.occupied_count);
    std::uninitialized_fill_n(s.occupied, s.occupied_count, Occupied{});
  }
  s.waits = allocate<std::uint32_t>(ctx, ops);
  for (std::uint32_t i = 0; i < ops; ++i) s.waits[i] = schedule_->op(rank, i).dependences;
  s.ops = ops;
  if (schedule_->cpus() > 1 && !parameters_.as_loggopsim) {
    s.earliest = allocate<std::int64_t>(ctx, ops);
    std::fill_n(s.earliest, ops, 0);
  }
  auto* const followers = allocate<Which>(ctx, ops);
  std::fill_n(followers, ops, Which{});
  s.agenda.start(followers);
  const Dependents roots = schedule_->roots(rank);
  if (roots.size() == 0) return;
  std::uint32_t receives = 0;
  for (std::uint32_t i = 0; i < roots.size(); ++i)
    receives += schedule_->op(rank, roots[i]).type == OpType::receive ? 1u : 0u;
  s.posted.reserve(ctx, receives);
  AgendaItem item{.due = 0, .order = {-1, -1, -1, 0, 0, rank, ++s.sequence}, .which = {}};
  for (const OpType type : {OpType::send, OpType::receive, OpType::calc}) {
    for (std::uint32_t i = 0; i < roots.size(); ++i) {
      const Op op = schedule_->op(rank, roots[i]);
      if (op.type != type) continue;
      s.waits[roots[i]] = Host::kReleased;
      item.which = {roots[i], item.which.ordinal + 1};
      s.agenda.push(ctx, item, lane_of(op),
                    type == OpType::receive ? Agenda::kWaitsForNothing : 0);
    }
  }
  ctx.send(lp, pdes::Time{1}, kWake);  // of unit 0
  s.next_wake = 1;
}

std::int64_t LogGops::finish(const Host::State& state) const {
  EXAWARP_CHECK(state.clock_count >= schedule_->cpus(), state.clock_count);
  return *std::max_element(state.clocks, state.clocks + schedule_->cpus());
}

void Host::describe(State& s, pdes::StateArchive& archive) {
  archive.kept(s.clock_count);
  archive.kept(s.occupied_count);
  archive.kept(s.ops);
  archive.kept(s.next_wake);
  archive.array(s.clocks, s.clock_count, [&](std::int64_t& clock) { archive.word(clock); });
  archive.array(s.occupied, s.occupied_count, [&](Occupied& each) { archive.bytes(&each); });
  s.met.describe(archive, [&](Met& met) { archive.bytes(&met); });
  for (std::uint32_t* count : {&s.sequence, &s.started, &s.ended, &s.messages})
    archive.word(*count);
  s.posted.describe(archive);
  s.unexpected.describe(archive);
  s.agenda.describe(archive, s.ops);
  archive.array(s.waits, s.ops, [&](std::uint32_t& count) { archive.word(count); });
  std::uint32_t earliest_count = s.earliest == nullptr ? 0 : s.ops;
  archive.kept(earliest_count);
  archive.array(s.earliest, earliest_count, [&](std::int64_t& time) { archive.word(time); });
}

}  // namespace exawarp::model::goal
