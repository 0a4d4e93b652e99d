#include "io/cli/kernels_command_line.h"

#include <CLI/CLI.hpp>

#include "core/error.h"
#include "io/cli/option_values.h"
#include "io/formats/kernels/scale_sim.h"

namespace exawarp::io {
namespace {

const CLI::Range kSides(std::uint64_t{1}, model::kSystolicSideMax);

void add_systolic(CLI::App& app, KernelsArguments& a, RawKernelsOptions& raw) {
  CLI::App& sub =
      *app.add_subcommand("systolic", "counts the cycles of products on a systolic array");
  sub.add_option("TOPOLOGY", a.input,
                 "layers as SCALE-Sim lists them (CSV): Layer,M,N,K or convolutions")
      ->required();
  CLI::Option* config = sub.add_option("--config", a.config, "the array, a .cfg of SCALE-Sim");
  CLI::Option* accelerator =
      sub.add_option("--accelerator", a.accelerator,
                     "the arrays of an accelerator, and times there (configs/accelerators/*.yaml)")
          ->excludes(config);
  sub.add_option("--rows", a.rows, "of the array (default: 128)")->check(kSides);
  sub.add_option("--columns", a.columns, "of the array (default: 128)")->check(kSides);
  sub.add_option("--dataflow", raw.dataflows,
                 "os, ws, is or all (default: that of the array, without one all; repeatable)")
      ->take_all()
      ->allow_extra_args(false);
  sub.add_option("--type", a.type, "of elements on the accelerator (default: bf16)")
      ->needs(accelerator);
  CLI::Option* csv = sub.add_flag("--csv", a.csv, "prints CSV");
  sub.add_flag("--json", a.json, "prints one JSON object")->excludes(csv);
  sub.callback([&a] { a.action = KernelsArguments::Action::systolic; });
}

void add_import(CLI::App& app, KernelsArguments& a, RawKernelsOptions& raw) {
  CLI::App& sub = *app.add_subcommand(
      "import", "makes tables of measured kernels, for `tables:` of an accelerator");
  sub.add_option("FILE", a.input, "times of kernels")->required();
  sub.add_option("-o,--output", a.output, "the folder of the tables")->required();
  sub.add_option("--format", raw.format, "csv (default), pytorch, cocossim or accel-sim");
  sub.add_option("--clock", raw.clock, "of cycles, e.g. \"1410 MHz\"");
  sub.add_option("--type", a.import.type, "of kernels that do not say theirs, e.g. bf16");
  sub.add_option("--device", a.import.device, "of a column device, the rows to take");
  sub.add_option("--shapes", a.import.shapes_file,
                 "what the kernels of a log of Accel-Sim compute (CSV)");
  sub.callback([&a] { a.action = KernelsArguments::Action::import; });
}

}  // namespace

void add_kernels(CLI::App& app, KernelsArguments& a, RawKernelsOptions& raw) {
  app.require_subcommand(1);
  add_import(app, a, raw);
  add_systolic(app, a, raw);
}

void finish_kernels(const RawKernelsOptions& raw, KernelsArguments& a) {
  if (!raw.format.empty()) {
    a.import.format = parse_choice<KernelFormat>("--format", raw.format);
  }
  if (!raw.clock.empty()) {
    const auto clock = core::parse_quantity(raw.clock, core::Dimension::frequency);
    if (!clock.ok() || clock.value == 0) {
      throw core::InputError("--clock",
                             in_quotes(raw.clock) + " " +
                                 (clock.ok() ? "is 0; expected e.g. \"1410 MHz\"" : clock.error));
    }
    a.import.clock_hz = clock.value;
  }
  for (const std::string& text : raw.dataflows) {
    if (text == "all") {
      a.dataflows = {model::Dataflow::output_stationary, model::Dataflow::weight_stationary,
                     model::Dataflow::input_stationary};
      return;
    }
    const auto dataflow = dataflow_named(text);
    if (!dataflow) {
      throw core::InputError("--dataflow",
                             in_quotes(text) + " is not known; expected one of: os, ws, is, all");
    }
    a.dataflows.push_back(*dataflow);
  }
}

}  // namespace exawarp::io
