// A 4-ary heap of keys with pointers to the events: half the levels of a binary heap, 24 bytes
// moved at each, and the four children lie in two cache lines.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "pdes/pending_set.h"

namespace exawarp::bench {

class QuadHeap {
 public:
  static constexpr const char* kName = "4-ary heap of keys";
  static constexpr bool kCopies = false;

  void push(pdes::Event* event) {
    const pdes::PendingKey key{pdes::key_of(*event), event};
    std::size_t hole = heap_.size();
    heap_.push_back(key);
    while (hole != 0) {
      const std::size_t parent = (hole - 1) / 4;
      if (!(key < heap_[parent])) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = key;
  }

  // Requires that it is not empty.
  [[nodiscard]] pdes::Event* pop() {
    pdes::Event* first = heap_.front().event;
    const pdes::PendingKey last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift_down(last);
    return first;
  }

 private:
  void sift_down(const pdes::PendingKey& key) {
    const std::size_t size = heap_.size();
    std::size_t hole = 0;
    for (std::size_t child = 1; child < size; child = 4 * hole + 1) {
      const std::size_t end = std::min(child + 4, size);
      std::size_t least = child;
      for (std::size_t c = child + 1; c < end; ++c)
        if (heap_[c] < heap_[least]) least = c;
      if (!(heap_[least] < key)) break;
      heap_[hole] = heap_[least];
      hole = least;
    }
    heap_[hole] = key;
  }

  std::vector<pdes::PendingKey> heap_;
};

}  // namespace exawarp::bench
