// Trains that pass a port at one distance: they take turns, so that the packets of each leave evenly
// as well, until one of them ends. Nothing but them uses the port.
//
// Let packets of a train arrive every S, at e, e + S, ... be ready, and take w of the line. If the
// first of each, in the order of their arrival, leave at d, and the second of each at d + T, with
// the same T for all, then the i-th leave at d + i T:
//
//   T = S > m w   There is room for all m trains. Whoever waits, waits as long in each round.
//   T > S         The line is never free: T = m w, and packets wait longer from round to round.
//   T < S         A queue is being worked off, T = m w: as long as d + i T >= e + i S for all.
//
// For a start is the later of the end of the packet before and of its own e + i S; where both move
// on by T from round to round, so does it.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/time.h"
#include "model/network/packet/passing_train.h"

namespace exawarp::model {

class TrainTurns {
 public:
  // Trains on a line that is free at `free` and takes `wire` for each packet.
  TrainTurns(std::span<const PassingTrain> passing, core::Time free, core::Time wire);

  // Whether they leave evenly. Otherwise nothing below may be called.
  [[nodiscard]] bool even() const { return trains_ != 0; }
  [[nodiscard]] std::uint32_t trains() const { return trains_; }
  // The p-th to have a packet pass, as an index of `passing`.
  [[nodiscard]] std::uint32_t train(std::uint32_t p) const { return turns_[p].train; }
  // When that packet starts.
  [[nodiscard]] core::Time start(std::uint32_t p) const { return turns_[p].start; }
  // From one start of a train's packet to the next.
  [[nodiscard]] core::Time period() const { return period_; }
  // How many packets of the p-th leave so.
  [[nodiscard]] std::uint32_t packets(std::uint32_t p) const {
    return ends_ > p ? static_cast<std::uint32_t>((ends_ - p - 1) / trains_ + 1) : 0;
  }
  // Packets of all trains that leave so.
  [[nodiscard]] std::int64_t ends() const { return ends_; }

 private:
  // More are not worth it: whoever comes takes back what was promised of all.
  static constexpr std::uint32_t kTrainsMax = 8;
  struct Turn {
    std::uint32_t train;
    core::Time start;
  };

  [[nodiscard]] bool put_in_order(std::span<const PassingTrain> passing);
  [[nodiscard]] bool find_period(std::span<const PassingTrain> passing, core::Time free,
                                 core::Time wire);
  void find_end(std::span<const PassingTrain> passing);

  std::uint32_t trains_ = 0;
  core::Time period_{};
  std::int64_t ends_ = 0;
  std::array<Turn, kTrainsMax> turns_;
};

}  // namespace exawarp::model
