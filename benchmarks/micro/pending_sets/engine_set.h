// The engine's pending set, popped as the engine's loop pops it: with a look ahead.
#pragma once

#include "pdes/pending_set.h"

namespace exawarp::bench {

class EngineSet {
 public:
  static constexpr const char* kName = "PendingSet";
  static constexpr bool kCopies = false;

  void push(pdes::Event* event) { set_.push(event); }
  // Requires that it is not empty.
  [[nodiscard]] pdes::Event* pop() {
    pdes::Event* event = set_.pop_before(core::Time::max());
    if (const pdes::Event* ahead = set_.ahead(16)) __builtin_prefetch(ahead, 1);
    return event;
  }

 private:
  pdes::PendingSet set_;
};

}  // namespace exawarp::bench
