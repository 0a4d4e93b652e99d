// A StableHLO module as a workload: one program for all devices of a mesh
// (docs/guide/stablehlo.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/formats/stablehlo/program.h"
#include "model/workload/graph.h"

namespace exawarp::io::stablehlo {

struct ImportOptions {
  // Axes of the mesh, the last one varying fastest over device ids. Empty: the module's devices on
  // one axis.
  std::vector<std::pair<std::string, std::uint32_t>> mesh;
  bool fuse = true;
  std::string entry = "main";               // the function to run
  std::optional<std::uint64_t> trip_count;  // of loops that do not tell theirs
  std::uint32_t module = 0;                 // of several in a file, counted from 1; 0: the only one
  std::uint64_t steps_max = kStepsMax;      // kernels and collectives, and iterations of loops
};

struct Import {
  model::WorkloadGraph graph;
  Program program;
  std::uint32_t module_devices = 1;
  std::uint64_t kernels = 0;
  std::uint64_t bytes = 0;         // memory traffic of the kernels of a device
  std::uint64_t communications = 0;  // collectives that join more than one device
};

// Throws core::InputError "FILE:LINE:COLUMN: ..." for what the file has wrong, and where the mesh
// does not fit the module.
Import import_stablehlo(const std::string& path, const ImportOptions& options);

// "data=4,tensor=2". Throws core::InputError.
std::vector<std::pair<std::string, std::uint32_t>> parse_mesh_option(const std::string& text);

// What was imported, for the terminal: totals, operations by name, and those without a cost.
std::string import_text(const Import& import);

}  // namespace exawarp::io::stablehlo
