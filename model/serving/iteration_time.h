// Time of one iteration of a language model on a replica, from measured kernels: what a batch of
// prompt chunks and decoding requests takes on devices that split each layer between them.
//
//   layer    2 norms (with the residual), qkv, rotary, attention core, projection, all-reduce,
//            ffn_in, activation, ffn_out, all-reduce; of experts: router, its choice, experts as
//            one kernel group, shared experts; latent attention: products to and from the latents,
//            decodes on the latents themselves (keys and values of a head are never written)
//   state    in place of attention, of layers by letter (ModelSpec::pattern), which have one norm
//            and one all-reduce each: products to and from the heads, a gated norm; of prompts the
//            convolution and the scan of training's forward pass, of decodes their states, read
//            and written
//   ends     embedding, last norm, head and sampling of the sequences that give a token
//   host     once an iteration
//
// With data-parallel attention each of some groups of devices has requests of its own: it computes
// their attention, all devices together the rest of a layer, for which they gather what groups have
// and scatter sums back, in place of one all-reduce. A layer waits for the group that has most.
//
// Kernels are launched as a graph (Accelerator::graph_launch_latency between them). All prices are
// asked for when it is built, at the points of grids; afterwards it interpolates between integers,
// so that an event may ask, and any thread gets the same answer.
// Thread safety: const methods from any thread.
// Cost: about 700 prices to build, four short binary searches an iteration.
#pragma once

#include <cstdint>

#include "core/time.h"
#include "model/compute/accelerator.h"
#include "model/generate/transformer_spec.h"
#include "model/serving/iteration_work.h"
#include "model/serving/time_curve.h"

namespace exawarp::model {
class ComputeModels;
}

namespace exawarp::model::serving {

// Of a buffer of n bytes on t devices: latency + 2 (t - 1)/t n / bytes_per_s. The defaults are near
// one-shot and two-shot kernels in CUDA graphs on eight H100 (vLLM 0.24.0, measured in
// ai-dynamo/aiconfigurator 095f58a5: 4.7 us at 2 KiB, 50.7 us at 8 MiB).
struct AllReduceCost {
  core::Time latency{5'000'000};
  std::int64_t bytes_per_s = 300'000'000'000;
};

// Of so many weights: nvfp4 has half a byte, and a factor of a byte for each 16.
[[nodiscard]] std::uint64_t weight_bytes(schema::DataType type, std::uint64_t elements);

struct IterationSpec {
  ModelSpec model;          // a decoder
  std::int64_t tensor = 1;  // devices of a replica: heads and the widths of blocks are split
  std::int64_t expert = 1;  // parts that experts are dealt to, whole: 1 (each is split), or tensor
  std::int64_t attention_data = 1;  // groups of devices with requests of their own; divides tensor
  schema::DataType precision = schema::DataType::BF16;  // of the layers' products
  schema::DataType expert_precision = schema::DataType::NONE;  // of routed experts; NONE: same
  schema::DataType cache_precision = schema::DataType::BF16;  // of keys and values: that, or FP8
  AllReduceCost all_reduce;
  core::Time host;  // per iteration: scheduling, inputs, sampling's answer; >= 0
};

// Throws SpecProblem (model/generate/spec.h) naming the first field that cannot be.
void check(const IterationSpec& spec);

// What the group that has most has of it, where requests are dealt evenly to so many groups with
// requests of their own and a prompt is one group's.
struct GroupWork {
  std::uint64_t tokens = 0, decodes = 0;
  std::uint64_t with_prompts = 0;  // groups
};
[[nodiscard]] GroupWork busiest_group(const IterationWork& work, std::uint64_t groups);

class IterationTime {
 public:
  // Throws as check(), and core::InputError without a place where the accelerator has no rate for
  // the precision.
  IterationTime(const IterationSpec& spec, const Accelerator& accelerator);

  // Of attention cores and scans, all layers: `tokens` of a prompt behind `past` of its own.
  [[nodiscard]] std::int64_t prompt_core_ps(std::uint64_t tokens, std::uint64_t past) const;
  [[nodiscard]] core::Time of(const IterationWork& work) const;

 private:
  [[nodiscard]] std::int64_t decode_core_ps(std::uint64_t decodes, std::uint64_t context) const;
  [[nodiscard]] core::WidePs grouped_ps(const IterationWork& work) const;

  core::Time host_;
  std::uint64_t groups_ = 1;                  // with requests of their own
  TimeCurve linear_;                          // by tokens: what all devices do but the head
  TimeCurve grouped_;                         // by a group's tokens: the rest; if groups_ > 1
  TimeCurve head_;                            // by outputs
  // By tokens of one prompt, without past: layers that see all of it, and the others.
  TimeCurve prompt_, windowed_prompt_;
  std::uint64_t window_ = 0;  // tokens that the others see; 0: there are none
  TimeCurve scans_;           // by tokens of one prompt: state-space layers, if has_scans_
  bool has_scans_ = false;
  TimePlane decodes_;                         // by decodes, then their mean context
};

}  // namespace exawarp::model::serving
