// Deep learning recommendation models in training (DLRM: Naumov et al., arXiv:1906.00091; DCN v2:
// Wang et al., WWW 2021): embedding tables spread over all devices, everything else data-parallel.
// One program, shared by all devices.
//
//   forward   read (indices)  *A2A(indices)  lookup  *A2A(vectors) beside bottom MLP  interaction
//             top MLP  loss
//   backward  top MLP  interaction  *A2A(vectors) beside bottom MLP  scatter-add, table update
//   overlap   *AR of dense gradients, in buckets; then the optimizer
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/names.h"
#include "model/generate/spec.h"
#include "model/workload/graph.h"

namespace exawarp::model {

enum class Interaction {
  kDot,    // "dot": of each pair of vectors
  kCross,  // "cross": layers of DCN v2, each of two products through a low rank
};

inline constexpr core::Named<Interaction> kInteractionNames[] = {
    {"dot", Interaction::kDot}, {"cross", Interaction::kCross}};
constexpr std::span<const core::Named<Interaction>> names_of(Interaction) {
  return kInteractionNames;
}
static_assert(core::names_each(kInteractionNames));

// Keys: dlrm.NAME. Dense gradients go in buckets of 25 MiB, as in PyTorch.
struct DlrmSpec {
  std::string name = "dlrm";
  std::int64_t devices = 1;
  std::int64_t global_batch = 0;             // samples a step
  std::int64_t dense_features = 13;          // inputs of the bottom MLP
  std::vector<std::uint32_t> table_rows;     // rows of each table
  std::vector<std::uint32_t> table_lookups;  // rows a sample reads of each; empty: one
  std::int64_t vector_width = 0;             // of an embedding
  std::vector<std::uint32_t> bottom_mlp;     // widths of its layers; the last is vector_width
  std::vector<std::uint32_t> top_mlp;        // widths of its layers; the last is 1
  Interaction interaction = Interaction::kDot;
  std::int64_t cross_layers = 3;  // interaction: cross
  std::int64_t cross_rank = 512;
  schema::DataType precision = schema::DataType::FP32;        // of activations and transfers
  schema::DataType table_precision = schema::DataType::FP32;  // of the tables
  std::int64_t steps = 1;
};

// Throws SpecProblem naming the first key that makes `spec` impossible.
void check(const DlrmSpec& spec);
// The workload of `spec`, validated and indexed. Throws SpecProblem as check() does.
// Throws WorkloadTooLarge (builder.h) where the file would have more than `bytes_max` bytes.
WorkloadGraph generate_dlrm(const DlrmSpec& spec,
                       std::uint64_t bytes_max = ~std::uint64_t{0});

}  // namespace exawarp::model
