// What schedulers of a pool know of the devices that their replicas run on.
#pragma once

#include <cstdint>

#include "core/ids.h"
#include "model/job/job.h"
#include "model/network/message/message.h"
#include "model/serving/pool.h"
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

// Tells the devices of this replica. `begins` lacks its size classes. Requires tokens > 0.
void begin_on_devices(const Spec& spec, std::uint64_t tokens, std::uint64_t outputs,
                      IterationBegins begins, pdes::Context& ctx);

}  // namespace exawarp::model::serving
