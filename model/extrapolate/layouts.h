// A step that was recorded on one GPU as a workload graph for many. Its operators keep their
// recorded times; communication is left to whatever network the graph runs on.
//
//   data_parallel    every device runs the whole step on a batch of its own. Gradients are reduced
//                    in buckets, each as soon as the backward pass has what it holds; the
//                    optimizer waits for all
//   tensor_parallel  operators that split take 1/N. What they write is gathered in the forward
//                    pass, and the gradients of what they read are reduced in the backward pass
//   pipeline         stages of about equal time, in the order of the forward pass; micro-batches
//                    go through them, and each stage updates its own parameters
//
// Forward and backward times are in proportion to the batch, and so are tensors with as many rows
// as the recorded batch. The optimizer's time is in proportion to the parameters of a device.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/names.h"
#include "model/extrapolate/recorded_step.h"
#include "model/workload/graph.h"

namespace exawarp::model {

enum class ExtrapolatedLayout : std::uint8_t { data_parallel, tensor_parallel, pipeline };

inline constexpr core::Named<ExtrapolatedLayout> kExtrapolatedLayoutNames[] = {
    {"data_parallel", ExtrapolatedLayout::data_parallel},
    {"tensor_parallel", ExtrapolatedLayout::tensor_parallel},
    {"pipeline", ExtrapolatedLayout::pipeline}};
constexpr std::span<const core::Named<ExtrapolatedLayout>> names_of(ExtrapolatedLayout) {
  return kExtrapolatedLayoutNames;
}
static_assert(core::names_each(kExtrapolatedLayoutNames));

enum class MicroBatchOrder : std::uint8_t { one_forward_one_backward, all_forward_first };

inline constexpr core::Named<MicroBatchOrder> kMicroBatchOrderNames[] = {
    {"1f1b", MicroBatchOrder::one_forward_one_backward},
    {"gpipe", MicroBatchOrder::all_forward_first}};
constexpr std::span<const core::Named<MicroBatchOrder>> names_of(MicroBatchOrder) {
  return kMicroBatchOrderNames;
}
static_assert(core::names_each(kMicroBatchOrderNames));

struct Extrapolation {
  ExtrapolatedLayout layout = ExtrapolatedLayout::data_parallel;
  std::uint32_t devices = 1;        // >= 1
  std::uint32_t trace_batch = 128;  // samples of the recorded step, >= 1
  std::uint32_t batch = 128;        // data parallel: of a device; otherwise of all; >= 1
  std::uint32_t micro_batch = 128;  // pipeline: divides `batch`
  std::uint64_t bucket_bytes = 25u << 20;  // data parallel, >= 1; PyTorch's default
  MicroBatchOrder order = MicroBatchOrder::one_forward_one_backward;
};

// Why there is no such graph; "": there is one.
[[nodiscard]] std::string refusal_of(const RecordedStep& step, const Extrapolation& to);

// Requires refusal_of() == "". The graph is not validated.
[[nodiscard]] WorkloadGraph extrapolated(const RecordedStep& step, const Extrapolation& to,
                                         const std::string& name);

}  // namespace exawarp::model
