#include "model/guests/astra/usage.h"

namespace exawarp::model::astra {
namespace {

// The member that counts nodes like `node`; nullptr: none does.
BusyTime* counted(Usage& usage, const TraceNode& node) {
  switch (node.kind) {
    case NodeKind::compute: return node.host ? &usage.host : &usage.accelerator;
    case NodeKind::send:
    case NodeKind::receive:
    case NodeKind::collective: return &usage.communication;
    case NodeKind::memory_load:
    case NodeKind::memory_store: return &usage.memory;
    case NodeKind::invalid:
    case NodeKind::metadata: break;
  }
  return nullptr;
}

bool overlaps(const Usage& usage, const BusyTime* time) {
  return time == &usage.accelerator || time == &usage.communication;
}

}  // namespace

void Usage::begin(const TraceNode& node, Ns now) {
  BusyTime* const time = counted(*this, node);
  if (time == nullptr) return;
  time->begin(now);
  if (overlaps(*this, time)) accelerator_or_communication.begin(now);
}

void Usage::end(const TraceNode& node, Ns now) {
  BusyTime* const time = counted(*this, node);
  if (time == nullptr) return;
  time->end(now);
  if (overlaps(*this, time)) accelerator_or_communication.end(now);
}

}  // namespace exawarp::model::astra
