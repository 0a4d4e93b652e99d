// The way through the folder, in order: text to modules, the chosen module's @main to steps, steps
// to kernels, groups to the mesh, and kernels to nodes.
#include "io/formats/stablehlo/import.h"

#include <fmt/core.h>

#include <charconv>

#include "core/error.h"
#include "core/mapped_file.h"
#include "core/units.h"
#include "io/formats/stablehlo/emit.h"
#include "io/formats/stablehlo/parser.h"
#include "io/study/suggest.h"
#include "model/workload/validate.h"

namespace exawarp::io::stablehlo {
namespace {

const Module& chosen(const std::vector<Module>& modules, std::uint32_t wanted,
                     const Source& source) {
  if (modules.empty()) source.fail(0, "no module; expected a function @main");
  if (wanted > modules.size())
    source.fail(0, fmt::format("the file has {} modules; expected --module 1 to {}",
                               modules.size(), modules.size()));
  if (wanted == 0 && modules.size() > 1)
    source.fail(0, fmt::format("the file has {} modules; expected --module N", modules.size()));
  return modules[wanted == 0 ? 0 : wanted - 1];
}

}  // namespace

std::vector<std::pair<std::string, std::uint32_t>> parse_mesh_option(const std::string& text) {
  std::vector<std::pair<std::string, std::uint32_t>> axes;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, end - at);
    const std::size_t equals = part.find('=');
    std::uint32_t size = 0;
    bool sound = equals != std::string::npos && equals != 0;
    if (sound) {
      const char* const stop = part.data() + part.size();
      const auto [last, error] = std::from_chars(part.data() + equals + 1, stop, size);
      sound = error == std::errc{} && last == stop && size >= 1;
    }
    for (const auto& axis : axes) sound = sound && axis.first != part.substr(0, equals);
    if (!sound)
      throw core::InputError("--mesh", fmt::format("{} is no axis; expected names of their own "
                                                   "with sizes, e.g. data=4,tensor=2",
                                                   in_quotes(part)));
    axes.emplace_back(part.substr(0, equals), size);
    at = end + 1;
  }
  return axes;
}

Import import_stablehlo(const std::string& path, const ImportOptions& options) {
  const core::MappedFile file(path);
  const std::span<const std::byte> bytes = file.bytes();
  const Source source{{reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path};
  const std::vector<Module> modules = parse_modules(source);
  const Module& module = chosen(modules, options.module, source);
  Program program = flatten(module, source, {.entry = options.entry,
                                             .trip_count = options.trip_count,
                                             .steps_max = options.steps_max});
  const std::vector<Kernel> kernels = kernels_of(program, options.fuse);

  model::WorkloadBuilder workload(path.substr(path.rfind('/') + 1));
  const std::uint32_t module_devices = device_count(module, source);
  MeshGroups mesh(options.mesh, module_devices, source, workload);
  const std::uint64_t communications = emit({.module = &module,
                                             .source = &source,
                                             .program = &program,
                                             .kernels = &kernels,
                                             .module_devices = module_devices},
                                            mesh, workload);
  Import result{.graph = workload.build(),
                .program = std::move(program),
                .module_devices = module_devices,
                .kernels = 0,
                .bytes = 0,
                .communications = communications};
  for (const Kernel& kernel : kernels) {
    if (result.program.steps[kernel.steps[0]].kind != StepKind::kernel) continue;
    ++result.kernels;
    result.bytes += kernel.bytes_read + kernel.bytes_written;
  }
  // The steps point into the modules, which end here.
  result.program.steps.clear();
  model::validate(result.graph);
  return result;
}

std::string import_text(const Import& import) {
  const Program& p = import.program;
  std::string out = fmt::format(
      "{} operations of a device in {} kernels: {} FLOPs, {} of memory traffic ({} without "
      "fusion)\n{} collectives, {} of them between devices; the module is for {} devices\n",
      core::format_grouped(p.operations), core::format_grouped(import.kernels),
      core::format_grouped(p.flops), core::format_bytes(import.bytes),
      core::format_bytes(p.bytes), core::format_grouped(p.collectives),
      core::format_grouped(import.communications), core::format_grouped(import.module_devices));
  for (const auto& [name, total] : p.by_name)
    if (total.flops != 0 || total.bytes != 0)
      out += fmt::format("  {:<24} {:>8}  {:>22} FLOPs  {:>22} bytes\n", name, total.count,
                         core::format_grouped(total.flops), core::format_grouped(total.bytes));
  for (const std::string& note : p.notes) out += "note: " + note + "\n";
  for (const auto& [name, count] : p.uncosted)
    out += fmt::format("without a cost: {} ({} of {} operations, {:.2f} %)\n", one_line(name),
                       count, p.operations,
                       100.0 * static_cast<double>(count) / static_cast<double>(p.operations));
  return out;
}

}  // namespace exawarp::io::stablehlo
