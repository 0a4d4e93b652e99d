// The rebuilding of states: a mode for tests that shows that descriptions are complete.
//
// Before an epoch nothing is left that could be undone: what was committed is forgotten, what was
// not is undone. Then every state of the partition is described to bytes, its blocks are given
// back, its memory is filled with rubbish, and it is made anew of the bytes. A field that the
// description does not know stays rubbish. What a checkpoint and its restart do rests on this.
#include <cstring>
#include <vector>

#include "core/check.h"
#include "core/random.h"
#include "pdes/partition.h"

namespace exawarp::pdes {

// Returns how many events may be executed until states are due again: 1 to twice rebuild_events
// after the last time, so that the moments are random ones.
std::uint64_t Partition::rebuild_if_due(Time gvt) {
  if (statistics_.processed_events >= rebuild_due_) {
    rebuild_states(gvt);
    const std::uint64_t stream = core::stream_of(setup_.seed, setup_.id.value, 0x4eb171d);
    const std::uint64_t bits = core::random_bits(stream, rebuild_due_);
    rebuild_due_ = statistics_.processed_events + 1 + bits % (2 * setup_.rebuild_events);
  }
  return rebuild_due_ - statistics_.processed_events;
}

void Partition::rebuild_states(Time gvt) {
  if (setup_.records_history) {
    give_up_beyond(gvt);
    EXAWARP_CHECK(history_.records.size() == 0, history_.records.size());
  }
  directory_.visit_partition(setup_.id.value,
                             [this](LpId lp, LpSlot slot) { rebuild_state(lp, slot); });
}

void Partition::rebuild_state(LpId lp, LpSlot slot) {
  constexpr int kRubbish = 0xa5;
  const LpType& type = directory_.types()[slot.type];
  void* const state = state_of(slot.header);
  StateWriter before;
  type.describe(state, before);
  StateRelease release(blocks_);
  type.describe(state, release);
  std::memset(state, kRubbish, type.state_bytes);
  StateReader reader(before.bytes(), blocks_);
  type.describe(state, reader);
  EXAWARP_CHECK(reader.is_at_end(), type.name, lp.value);
  StateWriter after;
  type.describe(state, after);
  EXAWARP_CHECK(before.bytes() == after.bytes(), type.name, lp.value);
}

}  // namespace exawarp::pdes
