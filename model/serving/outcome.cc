#include "model/serving/outcome.h"

#include <algorithm>

namespace exawarp::model::serving {

void Outcome::deliver(core::PartitionId, const pdes::Emission& emission) {
  if (emission.channel == kTakenChannel && !keys_came_ps_.empty()) {
    keys_asked_ps_[emission.a] = emission.b;
    keys_came_ps_[emission.a] = emission.c;
  }
  if (emission.channel == kCameChannel && !came_ps_.empty()) came_ps_[emission.a] = emission.b;
  if (emission.channel != kDoneChannel) return;
  const auto request = static_cast<std::uint32_t>(emission.a);
  restarts_[request] = emission.a >> 32;
  first_token_ps_[request] = emission.b;
  end_ps_[request] = emission.c;
}

core::Time Outcome::arrival(std::size_t request) const {
  if (came_ps_.empty() || came_ps_[request] == 0) return spec_->requests[request].arrival;
  return core::Time{static_cast<std::int64_t>(came_ps_[request])} - kStart;
}

core::Time Outcome::since_arrival(std::uint64_t engine_ps, std::size_t request) const {
  const core::Time at{static_cast<std::int64_t>(engine_ps)};
  return at - kStart - arrival(request);
}

core::Time Outcome::first_token(std::size_t request) const {
  return since_arrival(first_token_ps_[request], request);
}

core::Time Outcome::end(std::size_t request) const {
  return since_arrival(end_ps_[request], request);
}

core::Time Outcome::per_token(std::size_t request) const {
  const std::int64_t others = std::int64_t{spec_->requests[request].decode} - 1;
  return core::Time{(end(request) - first_token(request)).ps / std::max<std::int64_t>(others, 1)};
}

core::Time Outcome::keys_wait(std::size_t request) const {
  const core::Time asked = since_arrival(keys_asked_ps_[request], request);
  return std::max(core::Time{0}, asked - first_token(request));
}

core::Time Outcome::keys_exposed(std::size_t request) const {
  return since_arrival(keys_came_ps_[request], request) - first_token(request);
}

core::Time Outcome::keys_transfer(std::size_t request) const {
  return core::Time{
      static_cast<std::int64_t>(keys_came_ps_[request] - keys_asked_ps_[request])};
}

core::Time percentile(const std::vector<core::Time>& sorted, std::uint32_t percent) {
  const core::WidePs place = static_cast<core::WidePs>(sorted.size() - 1) * percent;
  const auto below = static_cast<std::size_t>(place / 100);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const core::Time width = sorted[above] - sorted[below];
  return sorted[below] + core::time_to_end((width.ps * (place % 100) + 50) / 100);
}

}  // namespace exawarp::model::serving
