// The yardstick's pending set: a binary heap of whole events, 64 bytes moved at each level.
// What speaks for it: no pool, no pointer; the next event is at the top, in cache.
#pragma once

#include <queue>
#include <vector>

#include "pdes/event.h"

namespace exawarp::bench {

class WholeEventHeap {
 public:
  static constexpr const char* kName = "heap of events";
  static constexpr bool kCopies = true;  // push() copies; what pop() returns is ours until the next

  void push(const pdes::Event* event) { heap_.push(*event); }
  // Requires that it is not empty.
  [[nodiscard]] pdes::Event* pop() {
    out_ = heap_.top();
    heap_.pop();
    return &out_;
  }

 private:
  struct Later {
    bool operator()(const pdes::Event& a, const pdes::Event& b) const {
      return pdes::key_of(b) < pdes::key_of(a);
    }
  };
  std::priority_queue<pdes::Event, std::vector<pdes::Event>, Later> heap_;
  pdes::Event out_;
};

}  // namespace exawarp::bench
