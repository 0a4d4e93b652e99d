// Residual convolutional networks in data-parallel training: ResNet-50, 101 and 152 (He et al.,
// CVPR 2016, Table 1), stride in the 3 x 3 convolution of a block. One program for all devices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/generate/spec.h"
#include "model/workload/graph.h"

namespace exawarp::model {

// Keys: resnet.NAME.
struct ResnetSpec {
  std::string name = "resnet50";
  std::vector<std::uint32_t> blocks = {3, 4, 6, 3};  // of each of the four stages
  std::int64_t image = 224;                          // pixels of an edge, a multiple of 32
  std::int64_t classes = 1000;
  std::int64_t devices = 1;
  std::int64_t global_batch = 0;  // images a step
  schema::DataType precision = schema::DataType::BF16;
  std::int64_t bucket_bytes = 25 << 20;  // PyTorch's DistributedDataParallel: 25 MiB
  std::int64_t steps = 1;
};

// Throws SpecProblem naming the first key that makes `spec` impossible.
void check(const ResnetSpec& spec);
// The workload of `spec`, validated and indexed. Throws SpecProblem as check() does.
// Throws WorkloadTooLarge (builder.h) where the file would have more than `bytes_max` bytes.
WorkloadGraph generate_resnet(const ResnetSpec& spec,
                       std::uint64_t bytes_max = ~std::uint64_t{0});

}  // namespace exawarp::model
