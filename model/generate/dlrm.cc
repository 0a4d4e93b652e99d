// Deep learning recommendation models; see dlrm.h.
//
// Symbols: b = samples a device, n = devices, f = tables, d = vector width, l = lookups a sample
// over all tables, e and w = bytes of an activation and of a table's element. A device has an n-th
// of all rows and does an n-th of all lookups: tables are taken to be cut so that devices are
// equally busy.
//   indices all-to-all   8 b l bytes in             lookup   w b l d read, e b f d written, b l d
//   FLOPs vectors all-to-all   e b f d bytes in           update   2 w b l d read, w b l d written,
//   2 b l d dot                  2 b (f + 1)^2 d FLOPs, out d + f (f + 1)/2 wide; backward twice
//   cross, a layer       two products, from width (f + 1) d to the rank and back
#include "model/generate/dlrm.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "model/generate/network_writer.h"
#include "model/generate/spec_range.h"
#include "model/workload/builder.h"
#include "model/workload/validate.h"

namespace exawarp::model {
namespace {

using schema::CollectiveType;
using Op = schema::Operation;

constexpr std::int64_t kIndexBytes = 8;
constexpr std::int64_t kLayerWidthMax = 1 << 16;
constexpr std::int64_t kListMax = 1024;
constexpr std::uint64_t kBucketBytes = 25 << 20;

constexpr LayerNames kBottom{"bottom", "bottom.dx", "bottom.dw", "bottom.relu",
                             "bottom.relu.backward"};
constexpr LayerNames kTop{"top", "top.dx", "top.dw", "top.relu", "top.relu.backward"};
constexpr LayerNames kCross{"cross", "cross.dx", "cross.dw", "cross.sum", "cross.sum.backward"};

struct DlrmSizes {
  std::uint64_t samples, tables, lookups, width, element, table_element, interacted;
  std::uint64_t table_parameters;  // on a device
};

DlrmSizes sizes_of(const DlrmSpec& spec) {
  DlrmSizes s{};
  s.samples = unsign(spec.global_batch / spec.devices);
  s.tables = spec.table_rows.size();
  s.lookups =
      spec.table_lookups.empty()
          ? s.tables
          : std::accumulate(spec.table_lookups.begin(), spec.table_lookups.end(), std::uint64_t{0});
  s.width = unsign(spec.vector_width);
  s.element = unsign(bytes_of(spec.precision));
  s.table_element = unsign(bytes_of(spec.table_precision));
  s.interacted = spec.interaction == Interaction::kDot ? s.width + s.tables * (s.tables + 1) / 2
                                                       : s.width * (s.tables + 1);
  const std::uint64_t rows =
      std::accumulate(spec.table_rows.begin(), spec.table_rows.end(), std::uint64_t{0});
  s.table_parameters = divide_up(rows * s.width, unsign(spec.devices));
  return s;
}

class DlrmWriter {
 public:
  using Node = ProgramWriter::Node;

  DlrmWriter(const DlrmSpec& spec, WorkloadBuilder& workload, ProgramBuilder& program,
             std::uint16_t group)
      : spec_(spec),
        s_(sizes_of(spec)),
        out_(workload, program),
        gradients_(out_, group, static_cast<std::uint32_t>(spec.devices), kBucketBytes) {
    add_mlp(kBottom, unsign(spec.dense_features), spec.bottom_mlp, bottom_);
    const std::uint64_t rank = unsign(spec.cross_rank);
    for (std::int64_t i = 0; crosses() && i < spec.cross_layers; ++i) {
      cross_.push_back(layer(kCross, s_.interacted, rank));
      cross_.push_back(layer(kCross, rank, s_.interacted));
    }
    add_mlp(kTop, s_.interacted, spec.top_mlp, top_);
  }

  void write() {
    for (std::int64_t i = 0; i < spec_.steps; ++i) step();
    const std::uint64_t dense = dense_parameters();
    out_.program().set_parameter_count(dense + s_.table_parameters);
    std::uint64_t outputs = s_.samples * (s_.tables * s_.width + s_.interacted);
    for (const auto* part : {&bottom_, &cross_, &top_}) {
      for (const NetworkLayer& l : *part) outputs += l.outputs;
    }
    out_.program().set_memory(
        {.weights = s_.element * dense + s_.table_element * s_.table_parameters,
         .gradients = kGradientBytes * dense,
         .optimizer = 2 * kGradientBytes * dense,
         .timeline = {{0, s_.element * outputs}}});
  }

  // Of one device: products and interaction, forward and backward.
  [[nodiscard]] double model_flops() const {
    double forward = crosses() ? 0 : static_cast<double>(dot_flops());
    for (const auto* part : {&bottom_, &cross_, &top_}) {
      for (const NetworkLayer& l : *part) forward += static_cast<double>(l.product.forward.flops);
    }
    return 3 * forward;
  }
  [[nodiscard]] std::uint64_t dense_parameters() const {
    std::uint64_t sum = 0;
    for (const auto* part : {&bottom_, &cross_, &top_}) {
      for (const NetworkLayer& l : *part) sum += l.parameters;
    }
    return sum;
  }

 private:
  [[nodiscard]] bool crosses() const { return spec_.interaction == Interaction::kCross; }
  [[nodiscard]] NetworkLayer layer(const LayerNames& names, std::uint64_t inner,
                                   std::uint64_t width) const {
    return network_layer(
        names, Op::GEMM,
        {.rows = s_.samples, .inner = inner, .columns = width, .inputs = s_.samples * inner},
        s_.element);
  }
  void add_mlp(const LayerNames& names, std::uint64_t inner,
               const std::vector<std::uint32_t>& widths, std::vector<NetworkLayer>& layers) {
    for (const std::uint32_t width : widths) {
      layers.push_back(layer(names, inner, width));
      inner = width;
    }
  }
  [[nodiscard]] std::uint64_t dot_flops() const {
    return 2 * s_.samples * (s_.tables + 1) * (s_.tables + 1) * s_.width;
  }
  [[nodiscard]] std::uint64_t vector_bytes() const {
    return s_.element * s_.samples * s_.tables * s_.width;
  }

  Node exchange(const char* name, std::uint64_t bytes, Node after) {
    if (spec_.devices == 1) return after;
    return out_.collective(
        {name, CollectiveType::ALL_TO_ALL, kExpert, exchange_group_, bytes, spec_.precision},
        {after});
  }

  void step() {
    out_.context() = {.phase = schema::Phase::FORWARD, .data_type = spec_.precision};
    out_.marker("step.begin", {step_end_});
    forward();
    out_.context().phase = schema::Phase::BACKWARD;
    backward();
    out_.context().phase = schema::Phase::OPTIMIZER;
    out_.compute(sgd_cost(dense_parameters(), s_.element), {gradients_.flush()});
    out_.context() = {};
    step_end_ = out_.marker("step.end", {});
  }

  void forward() {
    const Node sent =
        exchange("indices.all_to_all", unsign(kIndexBytes) * s_.samples * s_.lookups, step_end_);
    const std::uint64_t read = s_.table_element * s_.samples * s_.lookups * s_.width;
    const std::uint32_t found = out_.compute(
        {Op::EMBEDDING, "lookup", s_.samples * s_.lookups * s_.width, read, vector_bytes()},
        {sent});
    const Node there = exchange("vectors.all_to_all", vector_bytes(), found);
    for (const NetworkLayer& l : bottom_) write_forward(out_, l);
    out_.wait_for(there);
    if (!crosses()) out_.compute(dot("interaction", 1));
    for (const NetworkLayer& l : cross_) write_forward(out_, l);
    for (const NetworkLayer& l : top_) write_forward(out_, l);
    const std::uint64_t labels = s_.element * s_.samples;
    out_.compute({Op::ELEMENTWISE, "loss", 4 * s_.samples, 2 * labels, labels});
  }

  [[nodiscard]] OperationCost dot(const char* name, std::uint64_t times) const {
    const std::uint64_t in = s_.element * s_.samples * (s_.tables + 1) * s_.width;
    const std::uint64_t out = s_.element * s_.samples * s_.interacted;
    return {Op::GEMM, name, times * dot_flops(), in + (times - 1) * out, times == 1 ? out : in};
  }

  // Of the top and the interaction first; while the vectors' gradients travel, of the bottom.
  void backward() {
    backward_of(top_);
    backward_of(cross_);
    if (!crosses()) out_.compute(dot("interaction.backward", 2));
    const Node home = exchange("vectors.all_to_all", vector_bytes(), out_.last_compute());
    backward_of(bottom_);
    const std::uint64_t rows = s_.samples * s_.lookups * s_.width;
    out_.compute({Op::EMBEDDING, "table.update", 2 * rows, vector_bytes() + s_.table_element * rows,
                  s_.table_element * rows},
                 {home});
  }
  void backward_of(const std::vector<NetworkLayer>& layers) {
    for (std::size_t i = layers.size(); i-- > 0;) {
      write_backward(out_, layers[i], i != 0 || &layers != &bottom_);
      gradients_.add(layers[i].parameters);
    }
  }

  const DlrmSpec& spec_;
  DlrmSizes s_;
  std::uint16_t exchange_group_ = 1;  // the same devices; a stream of its own
  ProgramWriter out_;
  GradientBuckets gradients_;
  std::vector<NetworkLayer> bottom_, cross_, top_;
  Node step_end_;
};

void check_list(const char* key, const std::vector<std::uint32_t>& list, std::int64_t largest) {
  const auto entries = static_cast<std::int64_t>(list.size());
  if (entries < 1 || entries > kListMax) {
    throw SpecProblem(key, fmt::format("has {} entries; expected 1 to {}", entries, kListMax));
  }
  for (const std::uint32_t value : list) in_range(key, value, 1, largest);
}

}  // namespace

void check(const DlrmSpec& spec) {
  in_range("devices", spec.devices, 1, kDevicesMax);
  in_range("global_batch", spec.global_batch, 1, kGlobalBatchMax);
  in_range("dense_features", spec.dense_features, 1, kLayerWidthMax);
  in_range("vector_width", spec.vector_width, 1, kLayerWidthMax);
  in_range("cross_layers", spec.cross_layers, 1, kListMax);
  in_range("cross_rank", spec.cross_rank, 1, kLayerWidthMax);
  in_range("steps", spec.steps, 1, kStepsMax);
  check_list("table_rows", spec.table_rows, std::int64_t{1} << 32);
  check_list("bottom_mlp", spec.bottom_mlp, kLayerWidthMax);
  check_list("top_mlp", spec.top_mlp, kLayerWidthMax);
  if (!spec.table_lookups.empty()) {
    check_list("table_lookups", spec.table_lookups, kLayerWidthMax);
    if (spec.table_lookups.size() != spec.table_rows.size()) {
      throw SpecProblem("table_lookups",
                        fmt::format("has {} entries; expected {}, one a table",
                                    spec.table_lookups.size(), spec.table_rows.size()));
    }
  }
  if (spec.global_batch % spec.devices != 0) {
    throw SpecProblem("global_batch", fmt::format("{} is no multiple of devices: {}",
                                                  spec.global_batch, spec.devices));
  }
  if (spec.bottom_mlp.back() != spec.vector_width) {
    throw SpecProblem("bottom_mlp", fmt::format("ends in {}; expected vector_width: {}",
                                                spec.bottom_mlp.back(), spec.vector_width));
  }
  check_stored("precision", spec.precision);
  check_stored("table_precision", spec.table_precision);
}

WorkloadGraph generate_dlrm(const DlrmSpec& spec, std::uint64_t bytes_max) {
  check(spec);
  const auto devices = static_cast<std::uint32_t>(spec.devices);
  WorkloadBuilder workload(spec.name.empty() ? "dlrm" : spec.name, bytes_max);
  const std::uint8_t axis = workload.add_axis("data", devices);
  const std::uint16_t group = workload.add_group("data", {axis});
  workload.add_group("expert", {axis});
  ProgramBuilder& program = workload.add_program("device");
  workload.bind_range(program.index(), {.axis = axis, .first = 0, .count = devices});
  DlrmWriter writer(spec, workload, program, group);
  writer.write();
  const DlrmSizes sizes = sizes_of(spec);
  return finish_training(
      workload, {.samples = spec.global_batch,
                 .model_flops = writer.model_flops() * static_cast<double>(spec.devices),
                 .parameters = writer.dense_parameters() + sizes.table_parameters * devices,
                 .steps = spec.steps});
}

}  // namespace exawarp::model
