#include "model/guests/astra/event_queue.h"

#include <algorithm>
#include <functional>

namespace exawarp::model::astra {

EventQueue::EventQueue() : current_(0), recent_(0) {
  buckets_.emplace_back();
  bucket_of_.insert(0, 0);
}

std::uint32_t EventQueue::bucket_at(Ns time) {
  if (buckets_[recent_].time == time) return recent_;
  if (const std::uint32_t* found = bucket_of_.find(time)) return *found;
  std::uint32_t index = static_cast<std::uint32_t>(buckets_.size());
  if (free_.empty()) {
    buckets_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  buckets_[index].time = time;
  bucket_of_.insert(time, index);
  heap_.emplace_back(time, index);
  std::ranges::push_heap(heap_, std::greater<>());
  return index;
}

void EventQueue::push(Ns time, Event event) {
  EXAWARP_CHECK(time >= now_, time, now_);
  recent_ = bucket_at(time);
  buckets_[recent_].events.push_back(event);
}

bool EventQueue::pop(Event& event) {
  Bucket* bucket = &buckets_[current_];
  if (bucket->next == bucket->events.size()) {
    if (heap_.empty() || heap_.front().first >= kEndNs) return false;
    bucket_of_.erase(now_);
    bucket->events.clear();
    bucket->next = 0;
    free_.push_back(current_);
    std::ranges::pop_heap(heap_, std::greater<>());
    current_ = heap_.back().second;
    heap_.pop_back();
    bucket = &buckets_[current_];
    now_ = bucket->time;
    recent_ = current_;
  }
  event = bucket->events[bucket->next++];
  ++popped_;
  return true;
}

const Event* EventQueue::late() const {
  return heap_.empty() ? nullptr : buckets_[heap_.front().second].events.data();
}

}  // namespace exawarp::model::astra
