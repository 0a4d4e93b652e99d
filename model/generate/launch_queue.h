// Inside the generators: what a host has launched and its device may not have begun.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "core/time.h"

namespace exawarp::model {

class LaunchQueue {
 public:
  // Time{}: all is launched before a step. Otherwise `pending_max` >= 1 launches fit.
  LaunchQueue() = default;
  LaunchQueue(core::Time each, std::uint64_t pending_max)
      : each_(each), pending_max_(pending_max) {}

  [[nodiscard]] bool is_used() const { return each_.ps > 0; }
  // How long one launch takes the host.
  [[nodiscard]] core::Time each() const { return each_; }
  // `node` of the compute stream has taken `launches`, one after the other.
  void add(std::uint32_t node, std::uint32_t launches) {
    pending_.push_back({node, launches});
    launches_ += launches;
  }
  // Makes room for one launch more. The node that has to be over then, if one has.
  std::optional<std::uint32_t> make_room() {
    std::optional<std::uint32_t> over;
    while (launches_ >= pending_max_) {
      over = pending_.front().node;
      launches_ -= pending_.front().launches;
      pending_.pop_front();
    }
    return over;
  }

 private:
  struct Launched {
    std::uint32_t node, launches;
  };

  core::Time each_;
  std::uint64_t pending_max_ = 0;
  std::deque<Launched> pending_;
  std::uint64_t launches_ = 0;  // of all that are pending
};

}  // namespace exawarp::model
