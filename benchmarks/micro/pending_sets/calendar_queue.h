// A calendar queue (Brown: "Calendar queues: a fast O(1) priority queue implementation for the
// simulation event set problem", CACM 31(10), 1988): a year of days, each a sorted list; the days
// are rebuilt, with a width drawn from the events next in line, when the number of events
// doubles or halves. One liberty: a day's width is a power of two, so that no push divides.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pdes/pending_set.h"

namespace exawarp::bench {

class CalendarQueue {
 public:
  static constexpr const char* kName = "calendar queue";
  static constexpr bool kCopies = false;

  CalendarQueue() : days_(kLeastDays, kNone) {}

  void push(pdes::Event* event) {
    if (size_ + 1 > 2 * days_.size()) resize(2 * days_.size());
    insert({pdes::key_of(*event), event});
  }

  // Requires that it is not empty.
  [[nodiscard]] pdes::Event* pop() {
    const pdes::PendingKey first = take_first();
    if (size_ < days_.size() / 2 && days_.size() > kLeastDays) resize(days_.size() / 2);
    return first.event;
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  static constexpr std::size_t kLeastDays = 2;
  struct Node {
    pdes::PendingKey key;
    std::uint32_t next;
  };

  [[nodiscard]] std::int64_t day_of(const pdes::PendingKey& key) const {
    return key.key.time.ps >> width_log2_;
  }
  [[nodiscard]] std::size_t slot_of(std::int64_t day) const {
    return static_cast<std::size_t>(day) & (days_.size() - 1);
  }

  void insert(const pdes::PendingKey& key) {
    std::uint32_t fresh = free_;
    if (fresh != kNone) {
      free_ = nodes_[fresh].next;
    } else {
      fresh = static_cast<std::uint32_t>(nodes_.size());
      nodes_.emplace_back();
    }
    nodes_[fresh].key = key;
    link(fresh);
    ++size_;
  }

  void link(std::uint32_t fresh) {
    const pdes::PendingKey key = nodes_[fresh].key;
    today_ = std::min(today_, day_of(key));
    std::uint32_t* at = &days_[slot_of(day_of(key))];
    while (*at != kNone && nodes_[*at].key < key) at = &nodes_[*at].next;
    nodes_[fresh].next = *at;
    *at = fresh;
  }

  pdes::PendingKey take_first() {
    for (std::size_t scanned = 0;; ++today_) {
      std::uint32_t& head = days_[slot_of(today_)];
      if (head != kNone && day_of(nodes_[head].key) == today_) {
        const std::uint32_t node = head;
        head = nodes_[node].next;
        nodes_[node].next = free_;
        free_ = node;
        --size_;
        return nodes_[node].key;
      }
      if (++scanned == days_.size()) today_ = first_day() - 1;  // an empty year: look for the next
    }
  }

  [[nodiscard]] std::int64_t first_day() const {
    std::int64_t first = INT64_MAX;
    for (const std::uint32_t head : days_)
      if (head != kNone) first = std::min(first, day_of(nodes_[head].key));
    return first;
  }

  // Brown's rule: three times the mean gap between the next events, gaps over twice the mean left
  // out.
  [[nodiscard]] int width_from_sample() {
    const std::size_t wanted = std::min<std::size_t>({size_, 5 + size_ / 10, 25});
    if (wanted < 2) return width_log2_;
    std::vector<pdes::PendingKey> sample;
    while (sample.size() < wanted) sample.push_back(take_first());
    const std::int64_t span = sample.back().key.time.ps - sample.front().key.time.ps;
    const std::int64_t mean = span / static_cast<std::int64_t>(wanted - 1);
    std::int64_t sum = 0;
    std::int64_t gaps = 0;
    for (std::size_t i = 1; i < wanted; ++i) {
      const std::int64_t gap = sample[i].key.time.ps - sample[i - 1].key.time.ps;
      if (gap > 2 * mean) continue;
      sum += gap;
      ++gaps;
    }
    for (const pdes::PendingKey& key : sample) insert(key);
    const std::int64_t width = gaps == 0 ? 1 : std::max<std::int64_t>(1, 3 * sum / gaps);
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(width)) - 1);
  }

  void resize(std::size_t days) {
    const int width_log2 = width_from_sample();
    std::vector<std::uint32_t> live;
    live.reserve(size_);
    for (const std::uint32_t head : days_)
      for (std::uint32_t n = head; n != kNone; n = nodes_[n].next) live.push_back(n);
    days_.assign(days, kNone);
    width_log2_ = width_log2;
    today_ = INT64_MAX;
    for (const std::uint32_t node : live) link(node);
  }

  std::vector<std::uint32_t> days_;
  std::vector<Node> nodes_;
  std::uint32_t free_ = kNone;
  std::int64_t today_ = INT64_MAX;  // no event lies before this day
  int width_log2_ = 20;
  std::size_t size_ = 0;
};

}  // namespace exawarp::bench
