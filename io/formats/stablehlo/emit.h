// Kernels and collectives as nodes of a workload's programs.
#pragma once

#include <vector>

#include "io/formats/stablehlo/fusion.h"
#include "io/formats/stablehlo/mesh_groups.h"

namespace exawarp::io::stablehlo {

struct EmitInput {
  const Module* module;
  const Source* source;
  const Program* program;
  const std::vector<Kernel>* kernels;
  std::uint32_t module_devices;
};

// Adds one program for all devices; where collective_permutes give devices different peers, one for
// each device. Returns how many of the collectives join more than one device.
std::uint64_t emit(const EmitInput& input, MeshGroups& mesh, model::WorkloadBuilder& workload);

}  // namespace exawarp::io::stablehlo
