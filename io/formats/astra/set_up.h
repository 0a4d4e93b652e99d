// All the files of an ASTRA-sim set-up together, as one job.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "io/formats/astra/config.h"
#include "model/guests/astra/config.h"

namespace exawarp::io {

// What ASTRA-sim's command line names.
struct AstraSetUp {
  bool congestion_aware = false;
  std::string workload;  // prefix
  std::string system, network, memory;
  std::string comm_groups = "empty";  // a path that contains this means none
  std::uint32_t queues_per_dimension = 1;
  double injection_scale = 1;
  bool rendezvous = false;
};

// A job that is checked, and what there is to warn of. `done` hears of each step that is over; what
// it throws goes through. Throws core::InputError.
[[nodiscard]] model::astra::Job read_astra_job(const AstraSetUp& set_up,
                                               const std::function<void(const char*)>& done,
                                               Warnings& warnings);

}  // namespace exawarp::io
