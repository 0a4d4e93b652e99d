// One program for all devices, but for a pipeline, which has one for each stage. Operators follow
// one another on the stream "compute"; communication has streams of its own, so that it runs beside
// what does not wait for it.
#include "model/extrapolate/layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "model/extrapolate/pipeline_stages.h"
#include "model/workload/builder.h"

namespace exawarp::model {
namespace {

constexpr std::uint64_t kNodesMax = 1u << 26;
constexpr double kStepMaxUs = 1e12;  // eleven days

using Phase = RecordedPhase;

schema::Phase phase_of(Phase phase) {
  if (phase == Phase::forward) return schema::Phase::FORWARD;
  return phase == Phase::backward ? schema::Phase::BACKWARD : schema::Phase::OPTIMIZER;
}

// What a bucket of gradients holds, and the operator that it waits for.
struct Bucket {
  std::uint64_t bytes = 0;
  std::size_t ready = 0;
};

// A parameter's gradient is there with the last backward operator that reads the parameter. Some
// are read through a view, whose name is another: theirs are there with those of the parameters
// before them in the forward pass.
std::vector<Bucket> buckets_of(const RecordedStep& step, std::uint64_t bucket_bytes) {
  std::vector<std::optional<std::size_t>> first_use(step.tensors.size()),
      gradient(step.tensors.size());
  std::size_t last_backward = 0;
  for (std::size_t i = 0; i < step.operators.size(); ++i) {
    const RecordedOperator& op = step.operators[i];
    if (op.phase == Phase::backward) last_backward = i;
    for (const std::uint32_t tensor : op.inputs) {
      if (op.phase == Phase::forward && !first_use[tensor]) first_use[tensor] = i;
      if (op.phase == Phase::backward) gradient[tensor] = i;
    }
  }
  std::vector<std::uint32_t> parameters = parameters_of(step);
  std::ranges::stable_sort(parameters, {}, [&](std::uint32_t p) { return first_use[p]; });
  std::vector<Bucket> ready;  // of one parameter each
  std::size_t latest = last_backward;
  for (const std::uint32_t tensor : parameters) {
    if (gradient[tensor]) latest = *gradient[tensor];
    ready.push_back({step.tensors[tensor].bytes, latest});
  }
  std::ranges::reverse(ready);
  std::ranges::stable_sort(ready, {}, &Bucket::ready);
  std::vector<Bucket> out;
  for (const Bucket& next : ready) {
    if (out.empty() || out.back().bytes >= bucket_bytes) out.emplace_back();
    out.back().bytes += next.bytes;
    out.back().ready = std::max(out.back().ready, next.ready);
  }
  return out;
}

class Writer {
 public:
  Writer(const RecordedStep& step, const Extrapolation& to, const std::string& name)
      : step_(step), to_(to), workload_(name) {}

  WorkloadGraph data_parallel() {
    begin("data", "every device");
    const std::uint8_t gradients = communication("gradients");
    const std::vector<Bucket> buckets = buckets_of(step_, to_.bucket_bytes);
    std::size_t next = 0;
    std::vector<std::uint32_t> reduced;
    for (std::size_t i = 0; i < step_.operators.size(); ++i) {
      const Phase phase = step_.operators[i].phase;
      const std::uint32_t node = phase == Phase::optimizer
                                     ? compute(i, 1, reduced)
                                     : compute(i, of_batch(to_.batch), {});
      for (; next < buckets.size() && buckets[next].ready == i && to_.devices > 1; ++next) {
        reduced = {collective(gradients, schema::CollectiveType::ALL_REDUCE, "gradients",
                              buckets[next].bytes, schema::Phase::BACKWARD, node)};
      }
    }
    return finish(std::uint64_t{to_.devices} * to_.batch);
  }

  WorkloadGraph tensor_parallel() {
    begin("tensor", "every device");
    const std::uint8_t stream = communication("tensors");
    const double share = split_share();
    std::vector<std::uint32_t> after;
    for (std::size_t i = 0; i < step_.operators.size(); ++i) {
      const RecordedOperator& op = step_.operators[i];
      const bool updates = op.phase == Phase::optimizer;
      const double whole = updates ? share : of_batch(to_.batch);
      const std::uint32_t node =
          compute(i, op.splits && !updates ? whole / to_.devices : whole, after);
      after.clear();
      const std::uint64_t bytes = activations(op.outputs);
      if (!op.splits || updates || bytes == 0 || to_.devices == 1) continue;
      const bool forward = op.phase == Phase::forward;
      after = {forward ? collective(stream, schema::CollectiveType::ALL_GATHER, "outputs",
                                    std::max<std::uint64_t>(bytes / to_.devices, 1),
                                    schema::Phase::FORWARD, node)
                       : collective(stream, schema::CollectiveType::ALL_REDUCE, "input gradients",
                                    bytes, schema::Phase::BACKWARD, node)};
    }
    return finish(to_.batch);
  }

  WorkloadGraph pipeline() {
    const StagePlan plan = plan_stages(step_, to_.devices, to_.trace_batch);
    const std::uint8_t axis = workload_.add_axis("pipeline", to_.devices);
    for (std::uint32_t stage = 0; stage < to_.devices; ++stage) {
      add_program(fmt::format("stage {}", stage));
      workload_.bind_range(program_->index(), {.axis = axis, .first = stage, .count = 1});
      write_stage(plan, axis, stage);
    }
    return finish(to_.batch);
  }

 private:
  enum Way : std::uint8_t { kForward, kBackward };
  static constexpr std::uint32_t kNobody = 0xffffffff;

  void add_program(const std::string& name) {
    program_ = &workload_.add_program(name);
    compute_ = program_->add_stream("compute", schema::StreamKind::COMPUTE);
  }
  std::uint8_t communication(const char* name) {
    return program_->add_stream(name, schema::StreamKind::COMMUNICATION);
  }
  void begin(const char* axis_name, const char* program_name) {
    const std::uint8_t axis = workload_.add_axis(axis_name, to_.devices);
    group_ = workload_.add_group(axis_name, {axis});
    add_program(program_name);
    workload_.bind_range(0, {.axis = axis, .first = 0, .count = to_.devices});
  }

  [[nodiscard]] double of_batch(std::uint32_t batch) const {
    return static_cast<double>(batch) / to_.trace_batch;
  }
  [[nodiscard]] std::uint64_t scaled(std::uint64_t bytes, std::uint32_t batch) const {
    return static_cast<std::uint64_t>(std::ceil(static_cast<double>(bytes) * of_batch(batch)));
  }
  [[nodiscard]] std::uint64_t activations(const std::vector<std::uint32_t>& tensors) const {
    std::uint64_t bytes = 0;
    for (const std::uint32_t tensor : tensors) {
      if (step_.tensors[tensor].rows == to_.trace_batch) bytes += step_.tensors[tensor].bytes;
    }
    return scaled(bytes, to_.batch);
  }

  // Of the optimizer's work, what a device has if the parameters of split operators are divided.
  [[nodiscard]] double split_share() const {
    std::vector<bool> divided(step_.tensors.size());
    for (const RecordedOperator& op : step_.operators) {
      if (!op.splits || op.phase != Phase::forward) continue;
      for (const std::uint32_t tensor : op.inputs) divided[tensor] = true;
    }
    double all = 0, mine = 0;
    for (const std::uint32_t tensor : parameters_of(step_)) {
      const auto bytes = static_cast<double>(step_.tensors[tensor].bytes);
      all += bytes;
      mine += divided[tensor] ? bytes / to_.devices : bytes;
    }
    return all > 0 ? mine / all : 1;
  }

  std::uint32_t compute(std::size_t op, double share, const std::vector<std::uint32_t>& after) {
    NodeFields fields;
    fields.stream = compute_;
    fields.phase = phase_of(step_.operators[op].phase);
    fields.micro_batch = micro_batch_;
    fields.name = workload_.name(step_.operators[op].name);
    fields.duration_ps =
        static_cast<std::uint64_t>(std::llround(step_.operators[op].time_us * 1e6 * share));
    return program_->add_node(fields, after);
  }

  std::uint32_t collective(std::uint8_t stream, schema::CollectiveType type, const char* name,
                           std::uint64_t bytes, schema::Phase phase, std::uint32_t after) {
    NodeFields fields;
    fields.kind = schema::NodeKind::COLLECTIVE;
    fields.stream = stream;
    fields.collective = type;
    fields.group = group_;
    fields.comm_bytes = bytes;
    fields.phase = phase;
    fields.name = workload_.name(name);
    return program_->add_node(fields, {after});
  }

  // Which micro-batches a stage computes one after another, and in which direction.
  struct Slot {
    Way way;
    std::uint32_t micro_batch;
  };
  [[nodiscard]] std::vector<Slot> slots(std::uint32_t stage) const {
    const std::uint32_t count = to_.batch / to_.micro_batch;
    const std::uint32_t ahead = to_.order == MicroBatchOrder::all_forward_first
                                    ? count
                                    : std::min(count, to_.devices - 1 - stage);
    std::vector<Slot> out;
    for (std::uint32_t i = 0; i < count + ahead; ++i) {
      if (i < count) out.push_back({kForward, i});
      if (i >= ahead) out.push_back({kBackward, i - ahead});
    }
    return out;
  }

  void write_stage(const StagePlan& plan, std::uint8_t axis, std::uint32_t stage) {
    peer_axis_ = axis;
    std::uint8_t receives[2], sends[2];
    receives[kForward] = communication("receive activations");
    sends[kForward] = communication("send activations");
    receives[kBackward] = communication("receive gradients");
    sends[kBackward] = communication("send gradients");
    std::vector<std::size_t> of[2];
    for (std::size_t i = 0; i < step_.operators.size(); ++i) {
      const Phase phase = step_.operators[i].phase;
      if (phase == Phase::optimizer || plan.stage_of[i] != stage) continue;
      of[phase == Phase::backward ? kBackward : kForward].push_back(i);
    }
    const auto last_stage = static_cast<std::uint32_t>(plan.boundary_bytes.size());
    for (const Slot& slot : slots(stage)) {
      micro_batch_ = static_cast<std::uint16_t>(std::min(slot.micro_batch, kNoMicroBatch - 1u));
      const bool forward = slot.way == kForward;
      const bool comes = forward ? stage > 0 : stage < last_stage;
      const bool goes = forward ? stage < last_stage : stage > 0;
      const auto edge = [&](bool before) {
        return plan.boundary_bytes[before ? stage - 1 : stage];
      };
      std::uint32_t last = comes ? transfer(schema::NodeKind::RECEIVE, receives[slot.way], slot.way,
                                            forward ? -1 : 1, edge(forward), kNobody)
                                 : kNobody;
      for (const std::size_t op : of[slot.way]) {
        last = compute(op, of_batch(to_.micro_batch), some(last));
      }
      if (goes) {
        transfer(schema::NodeKind::SEND, sends[slot.way], slot.way, forward ? 1 : -1,
                 edge(!forward), last);
      }
    }
    micro_batch_ = kNoMicroBatch;
    for (std::size_t i = 0; i < step_.operators.size(); ++i) {
      if (step_.operators[i].phase == Phase::optimizer) compute(i, plan.parameter_share[stage], {});
    }
  }

  static std::vector<std::uint32_t> some(std::uint32_t node) {
    return node == kNobody ? std::vector<std::uint32_t>{} : std::vector{node};
  }

  std::uint32_t transfer(schema::NodeKind kind, std::uint8_t stream, Way way, std::int32_t peer,
                         std::uint64_t bytes, std::uint32_t after) {
    NodeFields fields;
    fields.kind = kind;
    fields.stream = stream;
    fields.phase = way == kForward ? schema::Phase::FORWARD : schema::Phase::BACKWARD;
    fields.micro_batch = micro_batch_;
    fields.peer_axis = peer_axis_;
    fields.peer = peer;
    fields.tag = way;
    fields.comm_bytes = std::max<std::uint64_t>(scaled(bytes, to_.micro_batch), 1);
    fields.name = workload_.name(way == kForward ? "activations" : "gradients");
    return program_->add_node(fields, some(after));
  }

  WorkloadGraph finish(std::uint64_t samples) {
    workload_.set_training(
        {.tokens_per_step = samples, .sequences_per_step = samples, .steps = 1});
    return workload_.build();
  }

  const RecordedStep& step_;
  const Extrapolation& to_;
  WorkloadBuilder workload_;
  ProgramBuilder* program_ = nullptr;
  std::uint8_t compute_ = 0, peer_axis_ = schema::NO_AXIS;
  std::uint16_t group_ = 0, micro_batch_ = kNoMicroBatch;
};

}  // namespace

std::string refusal_of(const RecordedStep& step, const Extrapolation& to) {
  const auto forward = static_cast<std::uint64_t>(
      std::ranges::count(step.operators, Phase::forward, &RecordedOperator::phase));
  const bool piped = to.layout == ExtrapolatedLayout::pipeline;
  if (piped && (to.micro_batch == 0 || to.batch % to.micro_batch != 0)) {
    return fmt::format("a batch of {} has no whole number of micro-batches of {}", to.batch,
                       to.micro_batch);
  }
  if (piped && forward < to.devices) {
    return fmt::format("{} stages are more than the {} operators of the forward pass; expected "
                       "fewer, or another --layout", to.devices, forward);
  }
  if (std::ranges::find(step.tensors, to.trace_batch, &RecordedTensor::rows) ==
      step.tensors.end()) {
    return fmt::format("no tensor has the {} rows of the recorded batch; expected --trace-batch as "
                       "it was recorded", to.trace_batch);
  }
  if (to.layout == ExtrapolatedLayout::data_parallel && parameters_of(step).empty()) {
    return "has no parameters: no tensor is a weight or bias, or updated by the optimizer";
  }
  double all_us = 0;
  for (const RecordedOperator& op : step.operators) all_us += op.time_us;
  if (all_us * to.batch / to.trace_batch > kStepMaxUs) return "takes more than eleven days";
  const std::uint64_t passes = piped ? to.batch / to.micro_batch : 1;
  if (step.operators.size() * passes * (piped ? 2 : 1) > kNodesMax) {
    return "has too many operators for so many micro-batches";
  }
  return "";
}

WorkloadGraph extrapolated(const RecordedStep& step, const Extrapolation& to,
                           const std::string& name) {
  Writer writer(step, to, name);
  switch (to.layout) {
    case ExtrapolatedLayout::data_parallel: return writer.data_parallel();
    case ExtrapolatedLayout::tensor_parallel: return writer.tensor_parallel();
    case ExtrapolatedLayout::pipeline: return writer.pipeline();
  }
  return writer.data_parallel();
}

}  // namespace exawarp::model
