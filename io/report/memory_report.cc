#include "io/report/memory_report.h"

#include <fmt/format.h>

#include "core/error.h"
#include "io/report/append.h"

namespace exawarp::io {
namespace {

constexpr double kGigabyte = 1e9;

std::string gigabytes(double bytes) {
  if (bytes < kGigabyte / 10) return fmt::format("{:.2f} MB", bytes / 1e6);
  return fmt::format("{:.2f} GB", bytes / kGigabyte);
}
std::string gigabytes(std::uint64_t bytes) { return gigabytes(static_cast<double>(bytes)); }

std::string parts_text(const model::ProgramMemory& m) {
  return fmt::format("weights {}, gradients {}, optimizer {}, activations and buffers {}",
                     gigabytes(m.weights), gigabytes(m.gradients), gigabytes(m.optimizer),
                     gigabytes(m.largest().bytes));
}

// The program that needs most, the first of equals; none where no program says what it needs.
const model::Program* hungriest(const model::WorkloadGraph& graph) {
  const model::Program* most = nullptr;
  for (std::uint32_t p = 0; p < graph.program_count(); ++p) {
    const model::Program& program = graph.program(p);
    if (!program.memory()) continue;
    if (most == nullptr || program.memory()->peak() > most->memory()->peak()) most = &program;
  }
  return most;
}

}  // namespace

std::string memory_text(const model::WorkloadFacts& facts) {
  std::string out;
  for (const model::ProgramFacts& p : facts.programs) {
    if (!p.memory) continue;
    if (out.empty()) {
      out = fmt::format("\n  {:<22} {:>10} {:>10} {:>10} {:>12} {:>10} {:>9}\n",
                        "memory of a device, GB", "weights", "gradients", "optimizer",
                        "activations", "peak", "at node");
    }
    const model::ProgramMemory& m = *p.memory;
    const auto gb = [](auto bytes) { return static_cast<double>(bytes) / kGigabyte; };
    append(out, "  {:<22.22} {:>10.3f} {:>10.3f} {:>10.3f} {:>12.3f} {:>10.3f} {:>9}\n", p.name,
           gb(m.weights), gb(m.gradients), gb(m.optimizer), gb(m.largest().bytes), gb(m.peak()),
           m.largest().node);
  }
  return out;
}

std::string memory_line(const model::WorkloadGraph& graph) {
  const model::Program* most = hungriest(graph);
  if (most == nullptr) return {};
  return fmt::format("memory: {} at most, {}: {}\n", gigabytes(most->memory()->peak()),
                     model::printable(most->name()), parts_text(*most->memory()));
}

void check_memory(const model::WorkloadGraph& graph, const model::Accelerator& accelerator,
                  const std::string& place) {
  const model::Program* most = hungriest(graph);
  if (most == nullptr || accelerator.memory_bytes == 0) return;
  const auto capacity = static_cast<double>(accelerator.memory_bytes);
  if (most->memory()->peak() <= capacity) return;
  throw core::InputError(
      place,
      fmt::format("program \"{}\" needs {} of memory a device: {}; expected at most {} ({}): split "
                  "the model further, recompute, shard, or go on with --ignore-memory",
                  model::printable(most->name()), gigabytes(most->memory()->peak()),
                  parts_text(*most->memory()), gigabytes(capacity), accelerator.name));
}

}  // namespace exawarp::io
