// `serving:` of a job: a language model that is served on devices of the cluster, by one pool of
// replicas or by two, of which the first computes prompts and the second decodes.
#pragma once

#include <optional>
#include <string>

#include "io/study/keys.h"
#include "io/study/serving_study.h"
#include "model/generate/transformer_spec.h"
#include "model/job/placement.h"
#include "model/serving/pool.h"

namespace exawarp::io {

struct PoolConfig {
  model::serving::PoolLayout layout;
  model::serving::Spec spec;   // without requests; replicas and stages are the layout's
  bool by_formula = false;     // a batch takes spec.time; else what its kernels take
  model::PlacementSpec placement;  // of `decode` alone; the other pool has the job's
  bool seed_given = false;
  std::string place;
};

struct ServedJobConfig {
  PoolConfig pool;
  std::optional<PoolConfig> decode;
  model::ModelSpec model;
  model::schema::DataType precision = model::schema::DataType::BF16;
  std::int64_t expert = 1;
  core::Time host;
  std::uint32_t all_reduces = 0;  // of a stage in an iteration; 0: two a layer
  RequestSource requests;
  Objectives objectives;
};

const Keys<ServedJobConfig>& served_job_keys();
// Reads and checks it. Throws core::InputError.
ServedJobConfig read_served_job(const YamlSection& section);

}  // namespace exawarp::io
