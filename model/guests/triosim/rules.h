// What TrioSim (sarchlab/triosim 3fb3c06) says a recorded step takes on several GPUs: its rules,
// not ours, so that its figures can be had here. Times are its doubles, in seconds.
//
// Every GPU has a link from one remote memory, and GPUs are a ring. A GPU fetches what operators
// read in the order of the trace, one transfer at a time, as far ahead as that allows, and computes
// one operator after another; an operator waits until its fetch has begun, not until it has ended.
// Times and sizes of tensors, those of parameters included, are in proportion to the batch.
//
//   single             one GPU
//   data_parallel      one GPU's step, then a ring all-reduce of all gradients
//   ddp                the same all-reduce in buckets, each begun with the operator of the backward
//                      pass that reads a parameter; nothing in the step waits for it
//   tensor_parallel    operators that split take 1/N, and then a ring all-reduce of their outputs,
//                      1/N of their size. It begins when the first GPU is ready and the others have
//                      begun the operator, and the next operator may begin with its last round
//   pipeline           equal numbers of operators a GPU, forward in order and the rest in reverse;
//                      all micro-batches forward, then backward, the last one first
//
// docs/guide/single_gpu.md compares them with the workload graphs of layouts.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/names.h"
#include "model/extrapolate/recorded_step.h"

namespace exawarp::model::triosim {

enum class Case : std::uint8_t { single, data_parallel, ddp, tensor_parallel, pipeline };

inline constexpr core::Named<Case> kCaseNames[] = {{"single", Case::single},
                                                   {"data_parallel", Case::data_parallel},
                                                   {"ddp", Case::ddp},
                                                   {"tensor_parallel", Case::tensor_parallel},
                                                   {"pipeline", Case::pipeline}};
constexpr std::span<const core::Named<Case>> names_of(Case) { return kCaseNames; }
static_assert(core::names_each(kCaseNames));

struct Rules {
  Case which = Case::single;
  std::uint32_t devices = 2;       // >= 1; of one, every case is `single`
  std::uint32_t trace_batch = 128;  // >= 1
  std::uint32_t batch = 128;        // to simulate, >= 1
  std::uint32_t micro_batch = 128;  // pipeline: divides `batch`
  double link_bytes_per_s = 65e9;     // between GPUs, > 0
  double remote_bytes_per_s = 696e9;  // from the remote memory, > 0
};

// Why `rules` cannot be applied to `step`; "": they can.
[[nodiscard]] std::string refusal_of(const RecordedStep& step, const Rules& rules);

// Seconds; none where the rules come to no end. Requires refusal_of() == "".
[[nodiscard]] std::optional<double> step_time_s(const RecordedStep& step, const Rules& rules);

// Seconds of them that a GPU spends in operators, on average.
[[nodiscard]] double recorded_time_s(const RecordedStep& step, const Rules& rules);

}  // namespace exawarp::model::triosim
