// Drawing workload graphs from what was fitted. A pure function of model, request and index.
//
// Why nothing waits for ever: a workload has one program, or two that are mirror images, which send
// where the other receives. Node i of both is one event: a computation, a collective of devices
// that run the same program, or a message and its receive. A node waits for nodes of lower index
// only, by dependencies and by the order of streams, so the events are done one after the other.
#pragma once

#include <cstdint>
#include <optional>

#include "model/sample/fit.h"

namespace exawarp::model {

constexpr std::uint32_t kSampleNodesMax = 1u << 22;
constexpr std::uint32_t kSampleRanksMax = 1u << 20;
constexpr std::uint32_t kSampleCountMax = 1'000;

struct SampleRequest {
  std::uint64_t seed = 1;
  std::uint32_t count = 1;              // graphs in all, 1 to kSampleCountMax
  std::optional<std::uint32_t> nodes = {};  // of each program; otherwise about as its model has
  std::optional<std::uint32_t> ranks = {};  // devices; otherwise as the graph it is like has
};

// Graph `index` of `request.count`, validated and indexed. The graphs together are like every
// program by its weight, as evenly as their number allows. Where an odd number of
// devices is asked for, messages have nobody to pair with and become markers. O(nodes * log nodes).
WorkloadGraph draw_sample(const SampleModel& model, const SampleRequest& request,
                          std::uint32_t index);

}  // namespace exawarp::model
