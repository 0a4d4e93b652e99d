// One message's congestion control, step by step, away from any network.
#pragma once

#include <memory>
#include <string_view>

#include "model/network/packet/congestion_control.h"

namespace exawarp::tests {

// A message of a registered algorithm, on a line of 50 GB/s with packets of 4 KiB, whose unloaded
// round trip is 10 us.
struct CongestionSteps {
  static constexpr std::int64_t kLine = 50'000'000'000;

  explicit CongestionSteps(std::string_view name, const model::GivenParameters& given = {})
      : algorithm(model::congestion_algorithm(name)),
        control(model::make_congestion_control(name, given)),
        parameters(algorithm.parameters, name, given),
        state(control->start(line, core::Time{10'000'000})) {}

  [[nodiscard]] std::int64_t field(std::string_view name) const {
    return model::field_of(algorithm, state, name);
  }
  core::Time sent(core::Time start, core::Time end, std::int64_t bytes) {
    return control->packet_sent(state, line, {start, end, bytes});
  }
  void acknowledged(core::Time now, std::uint32_t packets, core::Time round_trip) {
    control->acknowledged(state, line, {now, packets, round_trip});
  }
  void notified(core::Time now) { control->notified(state, line, now); }
  [[nodiscard]] std::uint32_t packets_max() const { return control->packets_max(state); }

  model::CongestionLine line{kLine, 4'096};
  const model::CongestionAlgorithm& algorithm;
  std::shared_ptr<const model::CongestionControl> control;
  model::ParameterValues parameters;
  model::CongestionState state;
};

}  // namespace exawarp::tests
