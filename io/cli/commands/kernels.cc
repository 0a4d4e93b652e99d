#include "io/cli/commands/kernels.h"

#include <fmt/format.h>

#include <ostream>

#include "core/error.h"
#include "core/mapped_file.h"
#include "core/output_file.h"
#include "io/cli/option_values.h"
#include "io/formats/kernels/scale_sim.h"
#include "io/life/agreement.h"
#include "io/report/results.h"
#include "io/report/systolic_report.h"
#include "io/study/file_kinds.h"
#include "io/study/in_file.h"
#include "io/study/system_config.h"
#include "io/study/text_file.h"
#include "model/workload/names.h"

namespace exawarp::io {
namespace {

using model::Dataflow;

constexpr Dataflow kDataflows[] = {Dataflow::output_stationary, Dataflow::weight_stationary,
                                   Dataflow::input_stationary};

model::Accelerator systolic_accelerator(const std::string& path) {
  YamlDocument document(path);
  expect_kind(FileKind::accelerator, document.root(), path);
  model::Accelerator accelerator = read_accelerator(document.root());
  document.finish();
  if (!accelerator.systolic) {
    throw core::InputError(path, fmt::format("accelerator {} has no \"systolic\"; expected one "
                                             "that has, e.g. configs/accelerators/tpu_v4.yaml",
                                             in_quotes(accelerator.name)));
  }
  return accelerator;
}

// The array of layers whose row does not say its own, and what memory it has.
class Counter {
 public:
  explicit Counter(const KernelsArguments& a)
      : a_(a), type_(parse_choice<model::schema::DataType>("--type", a.type)) {
    if (!a.accelerator.empty()) {
      accelerator_ = systolic_accelerator(a.accelerator);
      if (!(model::systolic_clock_hz(*accelerator_, *accelerator_->systolic, type_) > 0)) {
        throw core::InputError("--type", fmt::format("{} is not offered by {}; expected a type of "
                                                     "its matrix_rate",
                                                     in_quotes(a.type), a.accelerator));
      }
      array_ = accelerator_->systolic->array;
    }
    if (!a.config.empty()) {
      const core::MappedFile file(a.config);
      config_ = read_scale_sim_config(a.config, text_of(file));
      array_ = config_->array;
    }
    if (a.rows) array_.rows = *a.rows;
    if (a.columns) array_.columns = *a.columns;
  }

  void add(const SystolicLayer& layer, std::vector<SystolicRow>& out) const {
    if (!a_.dataflows.empty()) {
      for (const Dataflow flow : a_.dataflows) out.push_back(count(layer, flow));
    } else if (layer.dataflow) {
      out.push_back(count(layer, *layer.dataflow));
    } else if (accelerator_ || config_) {
      out.push_back(count(layer, array_.dataflow));
    } else {
      for (const Dataflow flow : kDataflows) out.push_back(count(layer, flow));
    }
  }

 private:
  [[nodiscard]] SystolicRow count(const SystolicLayer& layer, Dataflow flow) const {
    SystolicRow row{.layer = layer.name,
                    .shape = layer.shape,
                    .array = array_,
                    .count = {},
                    .stall_cycles = {},
                    .device = {},
                    .expected_cycles = {}};
    row.array.dataflow = flow;
    if (!a_.rows && layer.rows) row.array.rows = *layer.rows;
    if (!a_.columns && layer.columns) row.array.columns = *layer.columns;
    in_file(layer.place, [&] {
      row.count = model::count_systolic(row.array, row.shape);
      if (accelerator_) row.device = on_device(row);
    });
    if (config_ && config_->bytes_per_cycle) {
      row.stall_cycles = model::systolic_stall_cycles(row.array, row.shape,
                                                      {.bytes_per_cycle = *config_->bytes_per_cycle,
                                                       .sram_bytes = config_->sram_bytes,
                                                       .element_bytes = 1});
    }
    const bool as_the_row_says = layer.dataflow == flow && layer.rows == row.array.rows &&
                                 layer.columns == row.array.columns;
    if (as_the_row_says) row.expected_cycles = layer.cycles;
    return row;
  }

  [[nodiscard]] SystolicOnDevice on_device(const SystolicRow& row) const {
    model::SystolicUnit unit = *accelerator_->systolic;
    unit.array = row.array;
    const model::SystolicModel priced(*accelerator_, unit);
    const model::SystolicMemory memory =
        model::systolic_memory(*accelerator_, unit, model::schema::Operation::GEMM, type_);
    const auto price = priced.price(
        {.operation = model::schema::Operation::GEMM, .data_type = type_, .shape = row.shape});
    return {.cycles = model::systolic_cycles(unit, row.shape, memory),
            .us = static_cast<double>(price->duration.ps) / 1e6};
  }

  const KernelsArguments& a_;
  model::schema::DataType type_;
  model::SystolicArray array_;
  std::optional<model::Accelerator> accelerator_;
  std::optional<ScaleSimConfig> config_;
};

void refuse_differences(const std::string& file, const std::vector<SystolicRow>& rows) {
  for (const SystolicRow& row : rows) {
    if (!row.expected_cycles || *row.expected_cycles == row.count.cycles) continue;
    throw core::InputError(
        file,
        fmt::format("differs from what is counted, the first time at m {}, n {}, k {}, {}, "
                    "{}x{}: {} cycles; expected {}",
                    row.shape.m, row.shape.n, row.shape.k, short_name(row.array.dataflow),
                    row.array.rows, row.array.columns, row.count.cycles, *row.expected_cycles));
  }
}

void count_layers(const KernelsArguments& a, const Console& console) {
  const Counter counter(a);
  const core::MappedFile file(a.input);
  std::vector<SystolicRow> rows;
  for (const SystolicLayer& layer : read_topology(a.input, text_of(file))) {
    counter.add(layer, rows);
  }
  console.out << (a.json  ? systolic_json(rows)
                  : a.csv ? systolic_csv(rows)
                          : printable(systolic_text(rows)))
              << std::flush;
  refuse_differences(a.input, rows);
}

void import_file(const KernelsArguments& a, const Console& console) {
  KernelImportOptions options = a.import;
  std::optional<core::MappedFile> shapes;
  if (options.format == KernelFormat::accel_sim) {
    if (options.shapes_file.empty()) {
      throw core::InputError("--shapes",
                             "is not given, and logs of Accel-Sim do not say what "
                             "kernels compute; expected a CSV of uid or name, and "
                             "sizes");
    }
    shapes.emplace(options.shapes_file);
    options.shapes = text_of(*shapes);
  }
  const core::MappedFile file(a.input);
  const KernelImport import = import_kernels(a.input, text_of(file), options);
  prepare_directory(a.output);
  core::OutputFiles files;
  std::string says;
  for (const model::KernelTable& table : import.tables) {
    const auto& [operation, type, keys, axes] = table.layout();
    const std::string path = fmt::format("{}/{}_{}.xkt", a.output, operation, type);
    files.add(path, table.file_text(fmt::format("imported from {} ({})", one_line(a.input),
                                                core::name_of(options.format))));
    says += one_line(path) + "\n";
  }
  files.commit();
  says += fmt::format("{} kernels\n", import.kernels);
  for (const auto& [operation, count] : import.left_out) {
    says += fmt::format("left out: {} of {}\n", count, one_line(operation));
  }
  console.out << printable(says) << std::flush;
}

}  // namespace

int run_kernels(const KernelsArguments& a, const Console& console, pdes::Transport& transport) {
  agree(transport, [&] {
    if (transport.rank().value != 0) return;
    if (a.action == KernelsArguments::Action::import) {
      import_file(a, console);
    } else {
      count_layers(a, console);
    }
  });
  return kDone;
}

}  // namespace exawarp::io
