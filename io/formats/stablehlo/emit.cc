// Collectives are resolved to communicators once. One program then serves all devices, unless a
// permute names some of them: then each has its own. A kernel waits for the newest node of each
// stream that it reads.
#include "io/formats/stablehlo/emit.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/check.h"
#include "io/formats/stablehlo/groups.h"

namespace exawarp::io::stablehlo {
namespace {

namespace schema = model::schema;
using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

constexpr std::uint32_t kGroupStreamsMax = 24;
constexpr std::uint64_t kNodesMax = std::uint64_t{1} << 24;  // of all programs

// A collective as it will run, resolved once for all devices.
struct Communication {
  std::uint32_t family = MeshGroups::kNobody;
  Pairs pairs;  // of a collective_permute
  std::uint32_t ordinal = 0;
};

schema::DataType data_type_of(std::string_view element) {
  if (element == "bf16") return schema::DataType::BF16;
  if (element == "f16") return schema::DataType::FP16;
  if (element == "f32") return schema::DataType::FP32;
  if (element == "f64") return schema::DataType::FP64;
  if (element.starts_with("f8")) return schema::DataType::FP8;
  if (element == "i8" || element == "ui8" || element == "si8") return schema::DataType::INT8;
  return schema::DataType::NONE;
}

schema::CollectiveType collective_type(std::string_view name) {
  if (name == "all_gather") return schema::CollectiveType::ALL_GATHER;
  if (name == "reduce_scatter") return schema::CollectiveType::REDUCE_SCATTER;
  if (name == "all_to_all") return schema::CollectiveType::ALL_TO_ALL;
  if (name == "collective_broadcast") return schema::CollectiveType::BROADCAST;
  return schema::CollectiveType::ALL_REDUCE;
}

bool contains(const Operation& op, std::string_view name) {
  for (const Region& region : op.regions)
    for (const Operation& inner : region.operations)
      if (inner.name == name || contains(inner, name)) return true;
  return false;
}

schema::Operation operation_of(const Step& step) {
  switch (step.cost.kind) {
    case CostClass::matrix: return schema::Operation::GEMM;
    case CostClass::convolution: return schema::Operation::CONVOLUTION;
    case CostClass::elementwise:
    case CostClass::reduction: return schema::Operation::ELEMENTWISE;
    default: break;
  }
  if (contains(*step.op, "dot_general")) return schema::Operation::GEMM;
  if (contains(*step.op, "convolution")) return schema::Operation::CONVOLUTION;
  return schema::Operation::OTHER;
}

class Emitter {
 public:
  Emitter(const EmitInput& input, MeshGroups& mesh, model::WorkloadBuilder& workload)
      : in_(input), mesh_(mesh), workload_(workload) {}

  std::uint64_t run();

 private:
  void resolve();
  void emit_program(std::uint32_t device, model::ProgramBuilder& program);
  void add_compute(const Kernel& kernel);
  void add_collective(const Step& step, const Communication& how);
  void add_permute(const Step& step, const Communication& how, std::uint32_t device);
  void add(const model::NodeFields& fields);
  void collect_dependencies(const Kernel& kernel);
  std::uint8_t stream_of(const std::string& name);
  [[nodiscard]] const Step& step_of(const Kernel& kernel) const {
    EXAWARP_CHECK(!kernel.steps.empty());
    return in_.program->steps[kernel.steps[0]];
  }

  const EmitInput& in_;
  MeshGroups& mesh_;
  model::WorkloadBuilder& workload_;
  std::map<std::uint32_t, Communication> communications_;  // by kernel
  bool differs_ = false;  // devices have programs of their own

  // Of the program being made.
  model::ProgramBuilder* program_ = nullptr;
  std::uint8_t compute_ = 0;
  std::map<std::string, std::uint8_t> streams_;
  std::vector<std::vector<std::uint32_t>> nodes_;  // by kernel; none where nothing runs
  std::vector<std::uint32_t> dependencies_, made_;
};

void Emitter::resolve() {
  for (std::uint32_t k = 0; k < in_.kernels->size(); ++k) {
    const Step& step = step_of((*in_.kernels)[k]);
    if (step.kind != StepKind::collective) continue;
    Communication how;
    how.ordinal = static_cast<std::uint32_t>(communications_.size());
    if (step.op->name == "collective_permute") {
      how.pairs = pairs_of(*step.op, *in_.source, in_.module_devices);
      if (!how.pairs.empty()) differs_ = true;
      if (!how.pairs.empty() && mesh_.growth() != 1)
        in_.source->fail(step.op->offset,
                         fmt::format("collective_permute names devices, so it cannot grow to {}; "
                                     "expected --mesh of {} devices",
                                     mesh_.devices(), in_.module_devices));
    } else {
      how.family = mesh_.family_of(
          groups_of(*step.op, *in_.module, *in_.source, in_.module_devices), *step.op);
    }
    communications_.emplace(k, std::move(how));
  }
}

std::uint64_t Emitter::run() {
  resolve();
  const std::uint64_t programs = differs_ ? mesh_.devices() : 1;
  if (programs * in_.kernels->size() > kNodesMax)
    in_.source->fail(0, fmt::format("{} programs of {} nodes are too many", programs,
                                    in_.kernels->size()));
  for (std::uint32_t p = 0; p < programs; ++p) {
    model::ProgramBuilder& program =
        workload_.add_program(differs_ ? fmt::format("device {}", p) : "main");
    emit_program(p, program);
    if (differs_) {
      workload_.bind_devices(program.index(), {p});
    } else {
      workload_.bind_range(program.index(), {.axis = 0, .first = 0, .count = mesh_.fastest()});
    }
  }
  return static_cast<std::uint64_t>(std::ranges::count_if(communications_, [](const auto& entry) {
    return entry.second.family != MeshGroups::kNobody || !entry.second.pairs.empty();
  }));
}

std::uint8_t Emitter::stream_of(const std::string& name) {
  const auto it = streams_.find(name);
  if (it != streams_.end()) return it->second;
  const std::uint8_t stream = program_->add_stream(name, schema::StreamKind::COMMUNICATION);
  streams_.emplace(name, stream);
  return stream;
}

// The newest node of each stream that the kernel waits for: streams run in order.
void Emitter::collect_dependencies(const Kernel& kernel) {
  std::map<std::uint8_t, std::uint32_t> newest;
  for (const std::uint32_t input : kernel.inputs)
    for (const std::uint32_t node : nodes_[input]) {
      const auto [it, fresh] = newest.emplace(program_->stream_of(node), node);
      if (!fresh) it->second = std::max(it->second, node);
    }
  dependencies_.clear();
  for (const auto& [stream, node] : newest) dependencies_.push_back(node);
}

void Emitter::add(const model::NodeFields& fields) {
  std::vector<std::uint32_t> others;
  for (const std::uint32_t node : dependencies_)
    if (program_->stream_of(node) != fields.stream) others.push_back(node);
  made_.push_back(program_->add_node(fields, others));
}

void Emitter::add_compute(const Kernel& kernel) {
  const Step* most = &step_of(kernel);
  const Step* widest = most;
  for (const std::uint32_t index : kernel.steps) {
    const Step& step = in_.program->steps[index];
    if (step.cost.flops > most->cost.flops) most = &step;
    if (step.element_bits > widest->element_bits) widest = &step;
  }
  const std::string name = kernel.steps.size() == 1
                               ? most->op->name
                               : fmt::format("fusion of {}", kernel.steps.size());
  add({.kind = schema::NodeKind::COMPUTE,
       .stream = compute_,
       .operation = operation_of(*most),
       .data_type = data_type_of(widest->element),
       .name = workload_.name(name),
       .flops = kernel.flops,
       .bytes_read = kernel.bytes_read,
       .bytes_written = kernel.bytes_written});
}

void Emitter::add_collective(const Step& step, const Communication& how) {
  if (how.family == MeshGroups::kNobody || step.comm_bytes == 0) return;
  add({.kind = schema::NodeKind::COLLECTIVE,
       .stream = stream_of(fmt::format("group {}", how.family % kGroupStreamsMax)),
       .collective = collective_type(step.op->name),
       .data_type = data_type_of(step.element),
       .group = static_cast<std::uint16_t>(how.family),
       .name = workload_.name(step.op->name),
       .comm_bytes = step.comm_bytes});
}

void Emitter::add_permute(const Step& step, const Communication& how, std::uint32_t device) {
  if (step.comm_bytes == 0) return;
  for (const auto& [from, to] : how.pairs) {
    if (from != device && to != device) continue;
    const bool sends = from == device;
    add({.kind = sends ? schema::NodeKind::SEND : schema::NodeKind::RECEIVE,
         .stream = stream_of(sends ? "permute send" : "permute receive"),
         .data_type = data_type_of(step.element),
         .peer = static_cast<std::int32_t>(sends ? to : from),
         .tag = how.ordinal,
         .name = workload_.name(step.op->name),
         .comm_bytes = step.comm_bytes});
  }
}

void Emitter::emit_program(std::uint32_t device, model::ProgramBuilder& program) {
  program_ = &program;
  streams_.clear();
  nodes_.assign(in_.kernels->size(), {});
  compute_ = program.add_stream("compute", schema::StreamKind::COMPUTE);
  for (std::uint32_t k = 0; k < in_.kernels->size(); ++k) {
    const Kernel& kernel = (*in_.kernels)[k];
    // Each follows its inputs, which are sorted.
    EXAWARP_CHECK(kernel.inputs.empty() || kernel.inputs.back() < k, k);
    collect_dependencies(kernel);
    made_.clear();
    const auto how = communications_.find(k);
    if (how == communications_.end()) {
      add_compute(kernel);
    } else if (how->second.pairs.empty()) {
      add_collective(step_of(kernel), how->second);
    } else {
      add_permute(step_of(kernel), how->second, device);
    }
    // What runs nothing stands for what it waited for.
    nodes_[k] = made_.empty() ? dependencies_ : made_;
  }
}

}  // namespace

std::uint64_t emit(const EmitInput& input, MeshGroups& mesh, model::WorkloadBuilder& workload) {
  return Emitter(input, mesh, workload).run();
}

}  // namespace exawarp::io::stablehlo
