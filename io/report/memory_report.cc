#include "io/report/memory_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "io/report/append.h"
#include "model/generate/transformer.h"

namespace exawarp::io {
namespace {

constexpr double kGigabyte = 1e9;

std::string gigabytes(double bytes) {
  if (bytes < kGigabyte / 10) return fmt::format("{:.2f} MB", bytes / 1e6);
  return fmt::format("{:.2f} GB", bytes / kGigabyte);
}
template <std::integral T>
std::string gigabytes(T bytes) {
  return gigabytes(static_cast<double>(bytes));
}

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

// An accelerator that does not say what it has has any.
bool fits_in(const model::ProgramMemory& memory, const model::Accelerator& accelerator) {
  return accelerator.memory_bytes == 0 ||
         memory.peak() <= static_cast<double>(accelerator.memory_bytes);
}

void check_fits(std::string_view program, const model::ProgramMemory& memory,
                const model::Accelerator& accelerator, const std::string& place) {
  if (fits_in(memory, accelerator)) return;
  throw core::InputError(
      place,
      fmt::format("program \"{}\" needs {}{}{}; expected at most {} ({}): split the model further, "
                  "recompute, shard, or go on with --ignore-memory",
                  model::printable(program), gigabytes(memory.peak()), kLacksMemory,
                  parts_text(memory), gigabytes(accelerator.memory_bytes), accelerator.name));
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

std::string memory_summary(const model::WorkloadGraph& graph,
                           const model::Accelerator& accelerator) {
  const model::Program* most = hungriest(graph);
  if (most == nullptr) return {};
  const model::ProgramMemory& memory = *most->memory();
  const std::string capacity = accelerator.memory_bytes == 0
                                   ? ""
                                   : fmt::format(" of {}", gigabytes(accelerator.memory_bytes));
  return fmt::format("Memory      {}{} a device at most{}\n            {}: {}\n",
                     gigabytes(memory.peak()), capacity,
                     fits_in(memory, accelerator) ? "" : ": DOES NOT FIT, which was to be ignored",
                     model::printable(most->name()), parts_text(memory));
}

nlohmann::ordered_json memory_json(const Study& study, const LoadedJobs& loaded) {
  const model::Accelerator& accelerator = study.system.accelerator;
  nlohmann::ordered_json programs = nlohmann::ordered_json::array();
  bool fits = true;
  for (std::size_t j = 0; j < loaded.graphs.size(); ++j) {
    const model::WorkloadGraph& graph = *loaded.graphs[j];
    for (std::uint32_t p = 0; p < graph.program_count(); ++p) {
      const auto& memory = graph.program(p).memory();
      if (!memory) continue;
      fits = fits && fits_in(*memory, accelerator);
      programs.push_back({{"job", study.jobs[j].name},
                          {"program", model::printable(graph.program(p).name())},
                          {"weights_bytes", memory->weights},
                          {"gradients_bytes", memory->gradients},
                          {"optimizer_bytes", memory->optimizer},
                          {"activations_bytes", memory->largest().bytes},
                          {"peak_bytes", memory->peak()}});
    }
  }
  return {{"capacity_bytes", accelerator.memory_bytes},
          {"fits", fits},
          {"programs", std::move(programs)}};
}

void check_memory(const model::WorkloadGraph& graph, const model::Accelerator& accelerator,
                  const std::string& place) {
  const model::Program* most = hungriest(graph);
  if (most == nullptr) return;
  check_fits(most->name(), *most->memory(), accelerator, place);
}

void check_memory(const model::TransformerSpec& spec, const model::Accelerator& accelerator,
                  const std::string& place) {
  if (accelerator.memory_bytes == 0) return;
  const std::vector<model::NamedMemory> all = model::memory_of_programs(spec);
  const auto most = std::ranges::max_element(
      all, {}, [](const model::NamedMemory& each) { return each.memory.peak(); });
  check_fits(most->program, most->memory, accelerator, place);
}

}  // namespace exawarp::io
