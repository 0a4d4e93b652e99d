#include "tests/support/small_study.h"

namespace exawarp::tests {

std::string small_workload() {
  return R"(transformer:
  model:
    name: tiny
    layers: 4
    hidden: 256
    ffn: 512
    heads: 8
    vocabulary: 1024
  parallel:
    tensor: 2
    pipeline: 2
    data: 2
  sequence_length: 128
  global_batch_sequences: 8
  gradient_buckets: 1
)";
}

std::string small_study() {
  return R"(study: tiny
workload: workload.yaml
system:
  name: small
  accelerator:
    name: chip
    matrix_rate: {bf16: 100 TFLOP/s}
    vector_rate: 10 TFLOP/s
    memory_bandwidth: 1 TB/s
    memory_capacity: 16 GB
    host_bandwidth: 16 GB/s
    launch_latency: 1 us
    efficiency:
      other: {compute: 0.5, memory: 0.8}
  fabric:
    node:
      name: inside
      devices: 4
      bandwidth: 100 GB/s
      latency: 1 us
    scale_out:
      name: across
      bandwidth: 100 Gb/s
      endpoint_latency: 1 us
      switch_latency: 100 ns
      link_latency: 10 ns
      devices_per_leaf: 4
      leaves_per_pod: 2
      spines_per_pod: 2
)";
}

std::string small_kernel_table() {
  const std::string cells = std::string(14, '\0') + "\xff\xa0";
  return "exawarp-kernels 1\noperation gemm\ntype bfloat16\naxis m 16 4096\naxis n 16 4096\n"
         "axis k 16 4096\nscale 0 0.0001\ncells\n" +
         cells;
}

}  // namespace exawarp::tests
