// `exawarp kernels`: cycles of products on systolic arrays, and tables of measured kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/cli/console.h"
#include "io/formats/kernels/import.h"
#include "model/compute/systolic_unit.h"
#include "pdes/transport.h"

namespace exawarp::io {

struct KernelsArguments {
  enum class Action { systolic, import };
  Action action = Action::systolic;
  std::string input;
  // systolic: the array is that of a row, then of these, then of a configuration or accelerator.
  std::optional<std::uint64_t> rows, columns;
  std::vector<model::Dataflow> dataflows;  // empty: as there, or all three
  std::string config;                      // SCALE-Sim's; empty: none
  std::string accelerator;                 // empty: none
  std::string type = "bf16";               // on the accelerator
  bool csv = false, json = false;
  // import
  std::string output;  // the folder
  KernelImportOptions import;
};

// Throws core::InputError; systolic also, after its answer, where the file's own counts differ.
int run_kernels(const KernelsArguments& arguments, const Console& console,
                pdes::Transport& transport);

}  // namespace exawarp::io
