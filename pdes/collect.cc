// Committing: what does not lie beyond GVT can never be undone.
//
// The tail of the log advances over records that are dead or not later than GVT; their events go
// back to the pool. After rollbacks the log is not quite sorted by time, so a few committed
// records may wait behind a later one; nothing depends on when they go, save emissions, which
// are picked from the whole log so that they leave in order of time.
#include <algorithm>
#include <utility>

#include "core/check.h"
#include "pdes/partition.h"
#include "pdes/whereabouts.h"

namespace exawarp::pdes {

void Partition::collect(Time gvt) {
  gvt = std::max(gvt, frontier_);
  Log<Record>& records = history_.records;
  if (!extras_.empty() || !certain_.empty()) deliver_emissions(gvt);
  std::uint64_t tail = records.tail();
  while (tail != records.head()) {
    const Record& record = records[tail];
    if (record.event != nullptr) {
      if (record.time > gvt) break;
      last_committed_ = std::max(last_committed_, record.time);
      events_.release(record.event);
    }
    ++tail;
  }
  if (tail == records.tail()) return;
  if (!extras_.empty()) settle_extras(tail);
  history_.drop_before(tail);
}

void Partition::deliver_emissions(Time up_to) {
  const auto comes_before = [](const Emission* a, const Emission* b) {
    return a->key != b->key ? a->key < b->key : a->ordinal < b->ordinal;
  };
  const std::vector<Emission> certain = std::exchange(certain_, {});
  std::vector<const Emission*> ready;
  for (const Emission& emission : certain) ready.push_back(&emission);
  for (Extra& extra : extras_) {
    if (extra.kind != Extra::Kind::emission || extra.emission.key.time > up_to) continue;
    ready.push_back(&extra.emission);
    extra.kind = Extra::Kind::settled;
  }
  // What was undone comes out of order, and what has no record before what has.
  if (!std::ranges::is_sorted(ready, comes_before)) std::ranges::sort(ready, comes_before);
  for (const Emission* emission : ready) deliver(*emission);
}

void Partition::settle_extras(std::uint64_t new_tail) {
  auto extra = extras_.begin();
  for (; extra != extras_.end() && extra->record < new_tail; ++extra)
    if (extra->kind == Extra::Kind::released) blocks_.release(extra->block, extra->size_class);
  extras_.erase(extras_.begin(), extra);
}

void Partition::deliver(const Emission& emission) {
  if (emission.channel == kFailureChannel) {
    const auto* text = reinterpret_cast<const char*>(static_cast<std::uintptr_t>(emission.a));
    // Where it failed, not where the partition is by now.
    context_.self_ = emission.lp;
    context_.now_ = emission.key.time;
    context_.header_ = directory_.find(emission.lp).header;
    const AtWork at_work(*this);
    EXAWARP_CHECK(false, text);
  }
  if (sink_ != nullptr) sink_->deliver(setup_.id, emission);
}

}  // namespace exawarp::pdes
