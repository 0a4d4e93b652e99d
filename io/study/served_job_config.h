// `serving:` of a job: a language model that is served on devices of the cluster, by one pool of
// replicas or by two, of which the first computes prompts and the second decodes.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/names.h"
#include "io/study/keys.h"
#include "io/study/serving_study.h"
#include "model/generate/transformer_spec.h"
#include "model/job/placement.h"
#include "model/serving/pool.h"

namespace exawarp::io {

// How keys and values go to the pool that decodes.
enum class KeysMove { whole, by_layer };
inline constexpr core::Named<KeysMove> kKeysMoveNames[] = {{"whole", KeysMove::whole},
                                                           {"by_layer", KeysMove::by_layer}};
constexpr std::span<const core::Named<KeysMove>> names_of(KeysMove) { return kKeysMoveNames; }
static_assert(core::names_each(kKeysMoveNames));

// What follows a layer's experts, where devices share them.
enum class Experts { sum, exchange };
inline constexpr core::Named<Experts> kExpertsNames[] = {{"sum", Experts::sum},
                                                         {"exchange", Experts::exchange}};
constexpr std::span<const core::Named<Experts>> names_of(Experts) { return kExpertsNames; }
static_assert(core::names_each(kExpertsNames));

struct PoolConfig {
  model::serving::PoolLayout layout;
  model::serving::Spec spec;   // without requests; replicas and stages are the layout's
  bool by_formula = false;     // a batch takes spec.time; else what its kernels take
  model::PlacementSpec placement;  // of `decode` alone; the other pool has the job's
  bool seed_given = false;
  std::string place;
  // Of `decode` alone:
  KeysMove keys = KeysMove::whole;
  std::uint32_t layers_per_message = 1;  // by_layer

  // As serving::Pool has it.
  [[nodiscard]] std::uint32_t layers_of_message() const {
    return keys == KeysMove::whole ? 0 : layers_per_message;
  }
};

struct ServedJobConfig {
  PoolConfig pool;
  std::optional<PoolConfig> decode;
  model::ModelSpec model;
  model::schema::DataType precision = model::schema::DataType::BF16;
  model::schema::DataType cache_precision = model::schema::DataType::BF16;
  std::int64_t expert = 1;
  Experts experts = Experts::sum;
  model::serving::ExpertExchange exchange;  // `on` is what `experts` says
  core::Time host;
  std::uint32_t all_reduces = 0;  // of a stage in an iteration; 0: two a layer
  RequestSource requests;
  Objectives objectives;
};

const Keys<ServedJobConfig>& served_job_keys();
// What an iteration of a pool's replica takes, the sums over devices left to the network.
model::serving::IterationSpec iteration_of(const ServedJobConfig& job, const PoolConfig& pool);
// Reads and checks it. Throws core::InputError.
ServedJobConfig read_served_job(const YamlSection& section);

}  // namespace exawarp::io
