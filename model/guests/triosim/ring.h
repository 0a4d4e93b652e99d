// TrioSim's all-reduce: chunks go around a ring of N GPUs, N - 1 rounds to reduce and N - 1 to
// gather; a round begins when the one before it has arrived everywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/guests/triosim/network.h"

namespace exawarp::model::triosim {

class Ring {
 public:
  struct Hooks {
    std::function<void(std::uint32_t gpu)> sent;      // a chunk is on its way to `gpu`
    std::function<void(std::uint32_t gpu)> received;  // it is there
    std::function<void()> last_round;                 // has begun: the all-reduce counts as done
  };

  // A link carries link_bytes_per_s * 2 (N - 1) / N, so that an all-reduce of B bytes takes
  // B / link_bytes_per_s whatever N is. Requires gpus >= 2.
  Ring(Agenda& agenda, Network& network, std::uint32_t gpus, double link_bytes_per_s, Hooks hooks);

  [[nodiscard]] bool is_idle() const { return phase_ == Phase::idle; }
  // Begins anew with so many bytes, even where it is not idle; a round under way arrives first.
  void start(std::uint64_t bytes);
  // Begins the next round, if it can.
  void advance();

 private:
  enum class Phase : std::uint8_t { idle, reduce, gather };
  [[nodiscard]] std::uint32_t before(std::uint32_t gpu, std::uint32_t by) const {
    return (gpu + gpus_ - by % gpus_) % gpus_;
  }
  void reduce_round();
  void gather_round();
  void send(std::uint32_t from, std::uint64_t bytes);

  Agenda& agenda_;
  Network& network_;
  std::uint32_t gpus_;
  double bytes_per_s_;
  Hooks hooks_;
  Phase phase_ = Phase::idle;
  std::uint32_t reduced_ = 0, gathered_ = 0;  // rounds begun
  std::uint32_t under_way_ = 0;               // chunks
  std::vector<std::uint64_t> chunks_;         // bytes
};

}  // namespace exawarp::model::triosim
