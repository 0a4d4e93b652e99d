// What kernels that were measured one by one leave out of whole steps on one kind of accelerator:
// clocks under load, caches that other kernels have used, hosts. A few numbers, fitted to measured
// steps by `exawarp calibrate` (docs/guide/validating.md), and shared by all that runs on it.
#pragma once

#include <string>
#include <vector>

#include "core/time.h"
#include "model/compute/compute_model.h"

namespace exawarp::model {

struct Calibration {
  std::string name = {};
  std::vector<std::string> fitted_to = {};  // families of rows (io/report/validation_report.h)
  // Times of kernels, relative to those of the compute models; 1: as those say.
  double products = 1;
  double eight_bit_products = 1;  // of fp8 and int8
  double attention = 1;
  double memory = 1;  // all others, which the memory bounds
  // Once a step of a generated training: what devices wait for beside the workload's host_time.
  core::Time step = {};
};

// Of durations that a workload records, 1: they were measured in place.
double time_factor(const Calibration& calibration, const ComputeOperation& operation,
                   Provenance provenance);

}  // namespace exawarp::model
