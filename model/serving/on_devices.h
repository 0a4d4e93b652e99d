// What schedulers of a pool know of the devices that their replicas run on.
#pragma once

#include <cstdint>

#include "core/ids.h"
#include "model/job/job.h"
#include "model/network/message/message.h"
#include "model/serving/iteration_time.h"
#include "model/serving/pool.h"
#include "model/serving/replica.h"
#include "pdes/context.h"

namespace exawarp::model::serving {

struct OnDevices {
  const PlacedJob* job = nullptr;  // of the pool
  PoolLayout layout;
  // Where the pool hands over, or takes over: of one request's keys and values.
  std::uint32_t key_messages = 0;

  // Rank `rank` of replica `replica`.
  [[nodiscard]] core::LpId device(std::uint32_t replica, std::uint32_t rank) const {
    return {job->device_of({replica * layout.replica_devices() + rank}).value};
  }
};

// Groups of data-parallel attention of each replica, and that of a request which holds blocks: they
// take turns.
inline std::uint32_t groups_of(const Spec& spec) {
  return spec.devices == nullptr ? 1 : spec.devices->layout.attention_data;
}
inline std::uint32_t group_of(const Spec& spec, const Live& request) {
  return request.admitted % groups_of(spec);
}
// Whether Live::admitted of all requests is counted.
inline bool counts_admissions(const Spec& spec) {
  return spec.policy == Policy::vllm_v1 || !spec.turns.empty() || groups_of(spec) > 1;
}

// Tells the devices of this replica. `begins` lacks its size classes. Requires work.tokens > 0.
void begin_on_devices(const Spec& spec, const IterationWork& work, IterationBegins begins,
                      pdes::Context& ctx);

}  // namespace exawarp::model::serving
