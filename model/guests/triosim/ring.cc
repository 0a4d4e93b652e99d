// What does not divide goes with the first chunk, so one link of each round carries more. That is
// what decides the last digits of TrioSim's results.
#include "model/guests/triosim/ring.h"

#include <utility>

namespace exawarp::model::triosim {

Ring::Ring(Agenda& agenda, Network& network, std::uint32_t gpus, double link_bytes_per_s,
           Hooks hooks)
    : agenda_(agenda),
      network_(network),
      gpus_(gpus),
      bytes_per_s_(link_bytes_per_s * 2 * (gpus - 1) / gpus),
      hooks_(std::move(hooks)) {}

void Ring::start(std::uint64_t bytes) {
  chunks_.assign(gpus_, bytes / gpus_);
  chunks_[0] += bytes % gpus_;
  phase_ = Phase::reduce;
}

void Ring::advance() {
  if (phase_ == Phase::reduce && under_way_ == 0) reduce_round();
  if (phase_ == Phase::gather && under_way_ == 0) gather_round();
}

void Ring::reduce_round() {
  for (std::uint32_t gpu = 0; gpu < gpus_; ++gpu) {
    send(gpu, chunks_[before(gpu, reduced_)]);
  }
  under_way_ = gpus_;
  if (++reduced_ == gpus_ - 1) {
    phase_ = Phase::gather;
    reduced_ = 0;
  }
}

void Ring::gather_round() {
  for (std::uint32_t gpu = 0; gpu < gpus_; ++gpu) {
    send(gpu, chunks_[before(gpu + 1, gathered_)]);
  }
  under_way_ = gpus_;
  if (++gathered_ == gpus_ - 1) {
    phase_ = Phase::idle;
    gathered_ = 0;
    hooks_.last_round();
  }
}

void Ring::send(std::uint32_t from, std::uint64_t bytes) {
  const std::uint32_t to = (from + 1) % gpus_;
  hooks_.sent(to);
  network_.send({from, to}, bytes_per_s_, bytes, [this, to] {
    --under_way_;
    agenda_.now([this] { advance(); });
    hooks_.received(to);
  });
}

}  // namespace exawarp::model::triosim
