// What became of the requests, and what users ask of it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/time.h"
#include "model/serving/replica.h"
#include "pdes/emission.h"

namespace exawarp::model::serving {

// Thread safety: as EmissionSink asks; each request is delivered once, and has elements of its own.
class Outcome final : public pdes::EmissionSink {
 public:
  explicit Outcome(const Spec& spec)
      : spec_(&spec),
        first_token_ps_(spec.requests.size()),
        end_ps_(spec.requests.size()),
        restarts_(spec.requests.size()),
        keys_asked_ps_(spec.hands_over ? spec.requests.size() : 0),
        keys_came_ps_(spec.hands_over ? spec.requests.size() : 0),
        came_ps_(spec.turns.size()) {}

  void deliver(core::PartitionId, const pdes::Emission& emission) override;

  // By request; 0 stands for none of a request that is not done. Ranks add theirs up.
  [[nodiscard]] std::vector<std::uint64_t>& first_token_ps() { return first_token_ps_; }
  [[nodiscard]] std::vector<std::uint64_t>& end_ps() { return end_ps_; }
  [[nodiscard]] std::vector<std::uint64_t>& restarts() { return restarts_; }

  // All that was delivered, to add up or to keep; one order for all outcomes of a spec.
  [[nodiscard]] std::array<std::vector<std::uint64_t>*, 6> all() {
    return {&first_token_ps_, &end_ps_, &restarts_, &keys_asked_ps_, &keys_came_ps_, &came_ps_};
  }
  [[nodiscard]] std::array<const std::vector<std::uint64_t>*, 6> all() const {
    return {&first_token_ps_, &end_ps_, &restarts_, &keys_asked_ps_, &keys_came_ps_, &came_ps_};
  }

  [[nodiscard]] bool is_done(std::size_t request) const { return end_ps_[request] != 0; }
  // Of a request that is done, or that waits for no other.
  [[nodiscard]] core::Time arrival(std::size_t request) const;
  // Of a request that is done, since its arrival.
  [[nodiscard]] core::Time first_token(std::size_t request) const;
  [[nodiscard]] core::Time end(std::size_t request) const;
  // Of a request that is done: mean time between its tokens; 0 where it has but one.
  [[nodiscard]] core::Time per_token(std::size_t request) const;
  // Of a request that is done: whether another pool decoded it, and if so, from its first token to
  // when its keys and values were asked for (0 where they were before), from when they were asked
  // for until all had come, and from its first token until then.
  [[nodiscard]] bool was_handed_over(std::size_t request) const {
    return !keys_came_ps_.empty() && keys_came_ps_[request] != 0;
  }
  [[nodiscard]] core::Time keys_wait(std::size_t request) const;
  [[nodiscard]] core::Time keys_transfer(std::size_t request) const;
  [[nodiscard]] core::Time keys_exposed(std::size_t request) const;
  [[nodiscard]] std::uint64_t restarts_of(std::size_t request) const { return restarts_[request]; }

 private:
  [[nodiscard]] core::Time since_arrival(std::uint64_t engine_ps, std::size_t request) const;

  const Spec* spec_;
  std::vector<std::uint64_t> first_token_ps_;  // engine time
  std::vector<std::uint64_t> end_ps_;
  std::vector<std::uint64_t> restarts_;
  std::vector<std::uint64_t> keys_asked_ps_, keys_came_ps_;  // engine time; empty: none move
  std::vector<std::uint64_t> came_ps_;  // engine time; 0: as the spec says; empty: all do
};

// The `percent`-th percentile with linear interpolation, rounded to a picosecond. Requires `sorted`
// to be so and not empty, percent <= 100.
[[nodiscard]] core::Time percentile(const std::vector<core::Time>& sorted, std::uint32_t percent);

}  // namespace exawarp::model::serving
