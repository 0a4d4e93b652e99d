// Pipeline schedules: which chunk of the model a stage works on, for which micro-batch, in which
// order; and how many layers each chunk has.
//
// A pipeline of p stages with v chunks a stage has p * v chunks; chunk c of stage r is the
// (c * p + r)-th part of the model. v = 1 is not interleaved.
#pragma once

#include <cstdint>
#include <vector>

#include "model/generate/transformer_spec.h"

namespace exawarp::model {

enum class Pass : std::uint8_t {
  forward,
  backward,         // gradients of input and weights
  input_gradient,   // of the input alone,
  weight_gradient,  // and of the weights, later
};

// One pass of one micro-batch through one chunk.
struct Slot {
  Pass pass = Pass::forward;
  std::uint32_t micro_batch = 0;
  std::uint32_t chunk = 0;  // of this stage, 0 to v - 1
  bool with_next = false;   // together with the slot after it, part by part
  friend constexpr bool operator==(const Slot&, const Slot&) = default;
};

struct PipelineShape {
  std::uint32_t stages = 1;         // p
  std::uint32_t chunks = 1;         // v
  std::uint32_t micro_batches = 1;  // m; a multiple of p where v > 1
  // 1f1b: each forward runs together with the backward after it, which is of another micro-batch,
  // for there is one forward more to warm up, and where v = 1 twice as many (Megatron-Core,
  // combined_1f1b).
  bool together = false;
};

// The slots of `stage` (0 to p - 1) in order:
//   gpipe    all forwards, then all backwards (Huang et al., NeurIPS 2019); with v > 1
//   micro-batches
//            go through the chunks in groups of p, as in the interleaved schedule
//   1f1b     Narayanan et al., "Memory-efficient pipeline-parallel DNN training", ICML 2021; where
//            v > 1 interleaved: Narayanan et al., "Efficient large-scale language model training on
//            GPU clusters using Megatron-LM", SC 2021
//   zb_h1    Qi et al., "Zero bubble pipeline parallelism", ICLR 2024: as 1f1b, but stage r puts
//   the
//            weight gradients off by r micro-batches, so no stage holds more than p. Requires v = 1
//   dualpipe arXiv:2412.19437, section 3.2.1, in the order of the authors' program
//            (github.com/deepseek-ai/DualPipe): half of the micro-batches, 0 to m/2 - 1, go through
//            the stages from the first to the last, the others from the last to the first. Stages r
//            and p - 1 - r hold the same two chunks of p of the model: `chunk` 0 is the r-th from
//            the model's near end, 1 its mirror image (model_chunk_of). Requires v = 2, an even p,
//            and an even m of at least 2 p
std::vector<Slot> slots_of(ScheduleKind kind, const PipelineShape& shape, std::uint32_t stage);

// Which part of the model chunk `chunk` of `stage` is.
std::uint32_t model_chunk_of(ScheduleKind kind, const PipelineShape& shape, std::uint32_t stage,
                             std::uint32_t chunk);
// The stage that micro-batches of `stage` in its chunk `chunk` go on to, or come from, where they
// pass the part `model_chunk` of the model, which is beside that chunk's.
std::uint32_t neighbour_of(ScheduleKind kind, const PipelineShape& shape, std::uint32_t stage,
                           std::uint32_t chunk, std::uint32_t model_chunk);

struct LayerSplit {
  std::uint32_t layers = 0;
  std::uint32_t chunks = 1;  // p * v
  std::uint32_t first = 0;   // layers of the first chunk; 0: as the rule below says
  std::uint32_t last = 0;    // of the last
  bool ends = false;         // the first and the last have a part more that counts as a layer
};

// Layers of each chunk, in the model's order. As even as possible; where chunks differ, by one
// layer, the last chunk gets fewer first (it has the head and the loss), then the first one (the
// embedding), then those after it (an early stage holds the most activations). So 126 layers on 16
// stages are 7, 14 times 8, 7. With `ends` that is said of layers and ends together, so the first
// and the last chunk may have no layer: 126 layers on 128 chunks are 0, 126 times 1, 0, as Llama 3
// 405B was trained. Requires a split that leaves each chunk at least one (check() of
// transformer.h).
std::vector<std::uint32_t> layers_of_chunks(const LayerSplit& split);

}  // namespace exawarp::model
