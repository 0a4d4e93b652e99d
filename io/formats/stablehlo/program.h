// What a device does, in order: the kernels and collectives of a module's @main, with calls, loops
// and branches resolved.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/formats/stablehlo/costs.h"
#include "io/formats/stablehlo/module.h"

namespace exawarp::io::stablehlo {

enum class StepKind : std::uint8_t { kernel, collective };

// A tensor that a step reads.
struct TensorRead {
  std::uint64_t key;  // equal for equal tensors, so that none counts twice
  std::uint64_t bytes;
};

// A kernel, or a collective operation.
struct Step {
  StepKind kind = StepKind::kernel;
  const Operation* op = nullptr;
  Cost cost;                         // kernel
  std::string_view element;          // widest element type among operands and results
  std::uint32_t element_bits = 0;
  std::uint64_t comm_bytes = 0;      // collective: of its operands
  std::vector<std::uint32_t> inputs; // what made each tensor it reads: a step, or kArgument
  std::vector<TensorRead> reads;     // of each
  bool result_escapes = false;       // @main returns it
};
constexpr std::uint32_t kArgument = 0xffffffff;

struct OpTotal {
  std::uint64_t count = 0, flops = 0, bytes = 0;
};

struct Program {
  std::deque<Step> steps;  // a loop may make millions, which a vector would move
  // Costs as counted: kernels only, with free operations; by name.
  std::map<std::string, OpTotal, std::less<>> by_name;
  std::map<std::string, std::uint64_t, std::less<>> uncosted;  // operations without a rule
  std::uint64_t operations = 0;  // not counting collectives, calls, loops and returns
  std::uint64_t flops = 0, bytes = 0;
  std::uint64_t collectives = 0, collective_output_bytes = 0;
  std::vector<std::string> notes;
};

constexpr std::uint64_t kStepsMax = std::uint64_t{1} << 22;

struct FlattenOptions {
  std::string entry = "main";               // the function to run
  std::optional<std::uint64_t> trip_count;  // of loops that do not tell theirs
  std::uint64_t steps_max = kStepsMax;      // also of the iterations of loops
};

// Throws core::InputError where a loop's trip count is not known, a function is missing or calls
// itself, or where there are more than steps_max steps or iterations of loops: of a loop, after its
// first turn, with the number that all of its turns would make.
Program flatten(const Module& module, const Source& source, const FlattenOptions& options);

bool is_collective(std::string_view name);

}  // namespace exawarp::io::stablehlo
