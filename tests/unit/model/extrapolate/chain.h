// A recorded step of some products in a row: forward, backward and an update, batch 8.
#pragma once

#include <string>
#include <vector>

#include "model/extrapolate/recorded_step.h"

namespace exawarp::tests {

constexpr std::uint64_t kActivationBytes = 8'000, kWeightBytes = 3'000;

// The layer i takes times_us[i] forward and twice that backward; the update 6 us.
inline model::RecordedStep chain_of(const std::vector<double>& times_us) {
  using model::RecordedPhase;
  model::RecordedStep step;
  const auto tensor = [&](std::uint64_t bytes, std::uint64_t rows) {
    step.tensors.push_back({.id = std::to_string(1000 + step.tensors.size()),
                            .bytes = bytes,
                            .rows = rows});
    return static_cast<std::uint32_t>(step.tensors.size() - 1);
  };
  const auto add = [&](const char* name, std::vector<std::uint32_t> in,
                       std::vector<std::uint32_t> out, double time_us, RecordedPhase phase) {
    step.operators.push_back({.id = step.operators.size() + 1,
                              .name = name,
                              .inputs = std::move(in),
                              .outputs = std::move(out),
                              .time_us = time_us,
                              .phase = phase,
                              .splits = phase != RecordedPhase::optimizer});
  };
  std::vector<std::uint32_t> activations{tensor(kActivationBytes, 8)}, weights;
  for (const double time_us : times_us) {
    weights.push_back(tensor(kWeightBytes, 16));
    activations.push_back(tensor(kActivationBytes, 8));
    add("product", {activations[activations.size() - 2], weights.back()}, {activations.back()},
        time_us, RecordedPhase::forward);
  }
  std::uint32_t gradient = tensor(kActivationBytes, 8);
  step.tensors[gradient].is_gradient = true;
  for (std::size_t i = times_us.size(); i-- > 0;) {
    const std::uint32_t next = tensor(kActivationBytes, 8), of_weight = tensor(kWeightBytes, 16);
    add("products", {gradient, activations[i], weights[i]}, {next, of_weight}, 2 * times_us[i],
        RecordedPhase::backward);
    gradient = next;
  }
  add("aten::_foreach_addcdiv_", weights, {}, 6, RecordedPhase::optimizer);
  return step;
}

}  // namespace exawarp::tests
