// A pool: replicas of one layout on devices of a cluster.
//
// Its devices run no program of a file: their scheduler tells them iteration by iteration what to
// do (device/served_program.h). What such an iteration may consist of is known before, and stands
// in a workload graph like any other job's: the all-reduces, exchanges with experts, gathers, sends
// and receives of batches of each size class (size_classes.h). So groups, algorithms, transfer
// times and their checks are those of training.
//
// With data-parallel attention the tensor ranks of a replica are so many groups, one behind the
// other, each with requests of its own, dealt to them in turns as they get blocks. A layer's sum
// behind attention is among a group's ranks. All ranks do the rest of the layer: what groups have
// is gathered before it and scattered behind it, or goes to experts and comes back. Whatever is a
// group's own is as large as that of the group that has most.
#pragma once

#include <cstdint>
#include <vector>

#include "model/generate/transformer_spec.h"
#include "model/serving/serving.h"
#include "model/workload/graph.h"

namespace exawarp::model::serving {

// Rank of a pool: tensor + T (stage + P replica).
struct PoolLayout {
  std::uint32_t tensor = 1;    // devices that split each layer
  std::uint32_t pipeline = 1;  // stages
  std::uint32_t replicas = 1;
  std::uint32_t attention_data = 1;  // groups of tensor ranks with requests of their own

  [[nodiscard]] constexpr std::uint32_t replica_devices() const { return tensor * pipeline; }
  // Tensor ranks of a group; and all its ranks, of all stages.
  [[nodiscard]] constexpr std::uint32_t attention_ranks() const { return tensor / attention_data; }
  [[nodiscard]] constexpr std::uint32_t group_devices() const {
    return attention_ranks() * pipeline;
  }
  [[nodiscard]] std::uint32_t devices() const { return replica_devices() * replicas; }
};

// How tokens get to experts, of which each tensor rank has some (expert_exchange.h).
struct ExpertExchange {
  bool on = false;  // else each rank has a part of each expert, or sums up what its experts make
  std::uint32_t count = 0;  // of a stage in an iteration, there and back; 0: one a layer
  double imbalance = 0;     // as RoutingSpec has it
  std::int64_t seed = 1;
};

struct Pool {
  Spec spec;  // of its replicas: as many as the layout says, and stages
  PoolLayout layout;
  ModelSpec model;  // dimensions of what is sent: layers, hidden, vocabulary, heads
  // Of a stage in an iteration; 0: two a layer, or one where its experts' tokens are exchanged or
  // its attention is data-parallel.
  std::uint32_t all_reduces = 0;
  ExpertExchange exchange;
  // Requests come from the pool before it, which computes their prompts and sends their keys and
  // values: disaggregated serving.
  bool continues = false;
  // Where another pool continues: keys and values go once so many layers more are computed; 0: once
  // the prompt is done, all at once.
  std::uint32_t layers_per_message = 0;
  schema::DataType cache_precision = schema::DataType::BF16;  // of keys and values that are sent
};

// Within a replica: rank `rank` of group `group`, as a replica of the group's ranks alone would
// number them.
constexpr std::uint32_t rank_of_group(const PoolLayout& layout, std::uint32_t group,
                                      std::uint32_t rank) {
  const std::uint32_t ranks = layout.attention_ranks();
  return rank % ranks + ranks * group + layout.tensor * (rank / ranks);
}

constexpr std::uint64_t kElementBytes = 2;  // bfloat16: activations and logits

// Tokens of a batch, at most.
std::uint64_t batch_tokens_bound(const Spec& spec);
// Sequences of a batch that give a token, and their drafts, at most.
std::uint64_t batch_outputs_bound(const Spec& spec);
// All-reduces of a stage in an iteration, and the bytes of each for so many tokens (of a group).
// None where a group of data-parallel attention is one device.
std::uint32_t all_reduces_of(const Pool& pool);
std::uint64_t all_reduce_bytes(const Pool& pool, std::uint64_t tokens);
// Gathers of what groups have, and as many scatters, of a stage in an iteration; what all ranks
// together have in each, of so many tokens of all groups.
std::uint32_t regroupings_of(const Pool& pool);
std::uint64_t regrouping_bytes(const Pool& pool, std::uint64_t tokens);

// Layers of a stage, and the pieces that its computation is done in: an all-reduce ends each, or
// one way of an exchange or of a regrouping, or, where there are none, a piece is what one message
// of keys and values is of.
std::uint32_t layers_of(const Pool& pool, std::uint32_t stage);
std::uint32_t pieces_of(const Pool& pool);

// Throws core::InputError, without a place, where the layout does not divide the model.
void check(const Pool& pool);
// What devices of the pool send to each other, by stage and size class; program p is of stage p.
// Its nodes lie on stream 0, in this order: receives, all-reduces, gathers of what groups have,
// scatters, dispatches to experts, what comes back, gathers of logits, sends. Validated.
WorkloadGraph pool_graph(const Pool& pool);

// Of keys and values: who sends how many bytes of a token to whom, in one message. Ranks are among
// those that have a request's: of its group in all stages, numbered as in a replica of such ranks
// alone.
struct KvPart {
  std::uint32_t to = 0;
  std::uint32_t layers = 0;  // of the sender's stage, from its first on, that are to be computed
  std::uint64_t bytes_per_token = 0;
};
struct KvPlan {
  // By sending rank, and there by `layers`; of equal ones each stage begins with another receiver.
  std::vector<std::vector<KvPart>> parts;
  std::uint32_t messages = 0;  // of a request, or of each part of its prompt
};
// A request's tokens, times messages, that a replica can count.
constexpr std::uint64_t kKeyTokensMax = 0xffffffff;
// Layers are split over stages and heads over the tensor ranks of a group on both sides; the plan
// is the same from each group to each. Where several ranks hold the same head (fewer heads than
// ranks, or a latent that all hold) receivers take turns with them.
// A message is of as many layers of the sender's stage as Pool::layers_per_message says.
KvPlan kv_plan(const ModelSpec& model, const PoolLayout& from, const PoolLayout& to,
               std::uint32_t layers_per_message,
               schema::DataType cache_precision = schema::DataType::BF16);

}  // namespace exawarp::model::serving
