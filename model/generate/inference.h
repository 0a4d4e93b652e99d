// Inference of a decoder with a fixed batch: all sequences of a batch are read at once (prefill),
// then each pass over the network adds one token to every sequence (decode), with the keys and
// values of all tokens before kept in memory. No scheduler: nothing joins the batch or leaves it.
//
// The first output token comes from prefill, so that there are output_tokens - 1 decode passes.
// A pass, with n new tokens of all sequences (a star: over the tensor group):
//   embedding | receive
//   each layer   norm  qkv  rotary  attention  projection  *AR  residual
//                norm  ffn_in  activation  ffn_out  *AR  residual
//   norm  head  *AG(logits)  sample | send
// The last pipeline stage sends the chosen tokens to the first.
//
// operation            FLOPs                      bytes read                  bytes written
// GEMM (M, K, N)       2 M K N                    e (M K + K N)               e M N
// attention            4 n C q/t, prefill half    e n q/t + e_kv 2 s C k/t    e n q/t
// rotary, to the cache 0                          e n (q + 2k)/t              e n q/t + e_kv 2 n
// k/t sample               s V                        e s V                       4 s where C =
// tokens of a sequence so far, s = sequences, V = vocabulary, t = tensor-parallel size, q and k =
// query and key heads times their width, e and e_kv = bytes of an element and of a cached one.
// Others as in transformer_costs.h.
#pragma once

#include <cstdint>
#include <string>

#include "model/generate/spec.h"
#include "model/generate/transformer_spec.h"
#include "model/workload/graph.h"

namespace exawarp::model {

// Keys: parallel.NAME. devices = tensor * pipeline * data.
struct InferenceParallel {
  std::int64_t tensor = 1;    // parallel.tensor
  std::int64_t pipeline = 1;  // parallel.pipeline: a batch goes through the stages alone
  std::int64_t data = 1;      // parallel.data: copies of the model, each with a batch of its own
};

// Keys: inference.NAME.
struct InferenceSpec {
  std::string name;  // empty: the model's
  ModelSpec model;   // a decoder without experts and latent attention
  InferenceParallel parallel;
  std::int64_t batch = 1;  // sequences of a copy
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 1;
  schema::DataType precision = schema::DataType::BF16;
  schema::DataType cache_precision = schema::DataType::NONE;  // NONE: as `precision`
  // Once a batch, before anything runs: taking the request in, and giving the answer.
  std::int64_t request_overhead_ps = 0;
};

constexpr std::int64_t kOutputTokensMax = 1 << 15;

// Throws SpecProblem naming the first key that makes `spec` impossible.
void check(const InferenceSpec& spec);
// The workload of `spec`, validated and indexed: one step, which is a batch from its arrival to its
// last token. Throws SpecProblem as check() does, and WorkloadTooLarge (builder.h) where the file
// would have more than `bytes_max` bytes.
WorkloadGraph generate_inference(const InferenceSpec& spec,
                                 std::uint64_t bytes_max = ~std::uint64_t{0});

}  // namespace exawarp::model
