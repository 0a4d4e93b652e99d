// A study of 8 devices that runs in a blink: TP 2, PP 2, DP 2, four layers.
#pragma once

#include <string>

namespace exawarp::tests {

// Complete except for its workload, which it expects next to it in "workload.yaml".
std::string small_study();
// Its `workload:` mapping as a file of its own.
std::string small_workload();
// Measured kernels for it, a file gemm_bfloat16.xkt: products of 1 to 65 us.
std::string small_kernel_table();

}  // namespace exawarp::tests
