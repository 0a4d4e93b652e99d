// The forward pass is cut where the longest stage, with the backward operators that belong to it,
// is shortest. A backward operator belongs to the last operator of the forward pass that has to do
// with a tensor that it reads, and never to a later one than the backward operator before it: the
// backward pass goes through the forward pass in reverse.
#include "model/extrapolate/pipeline_stages.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

namespace exawarp::model {
namespace {

struct Use {  // of a tensor in the forward pass, by positions there
  std::optional<std::uint32_t> written, read, last;
};

struct Forward {
  std::vector<std::size_t> operators;  // in order
  std::vector<Use> uses;               // by tensor
};

Forward forward_of(const RecordedStep& step) {
  Forward out;
  out.uses.resize(step.tensors.size());
  for (std::size_t i = 0; i < step.operators.size(); ++i) {
    const RecordedOperator& op = step.operators[i];
    if (op.phase != RecordedPhase::forward) continue;
    const auto at = static_cast<std::uint32_t>(out.operators.size());
    for (const std::uint32_t tensor : op.inputs) out.uses[tensor].read = out.uses[tensor].last = at;
    for (const std::uint32_t tensor : op.outputs) {
      Use& use = out.uses[tensor];
      if (!use.written) use.written = at;
      use.last = at;
    }
    out.operators.push_back(i);
  }
  return out;
}

// The position in the forward pass that each backward operator belongs to.
std::vector<std::uint32_t> partners(const RecordedStep& step, const Forward& forward) {
  std::vector<std::uint32_t> out(step.operators.size());
  auto at = static_cast<std::uint32_t>(forward.operators.size() - 1);
  for (std::size_t i = 0; i < step.operators.size(); ++i) {
    if (step.operators[i].phase != RecordedPhase::backward) continue;
    std::optional<std::uint32_t> last;
    for (const std::uint32_t tensor : step.operators[i].inputs) {
      last = std::max(last, forward.uses[tensor].last);
    }
    if (last) at = std::min(at, *last);
    out[i] = at;
  }
  return out;
}

// The stage of each position if none may take longer than `most`, as few as that allows, but each
// of at least one operator; empty where there are too few stages.
std::vector<std::uint32_t> cut(const std::vector<double>& times, std::uint32_t stages,
                               double most) {
  std::vector<std::uint32_t> out;
  std::uint32_t stage = 0;
  double sum = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const bool must = times.size() - i == stages - 1 - stage;
    if (i > 0 && (sum + times[i] > most || must)) {
      if (++stage == stages) return {};
      sum = 0;
    }
    sum += times[i];
    out.push_back(stage);
  }
  return out;
}

std::vector<std::uint32_t> balanced(const std::vector<double>& times, std::uint32_t stages) {
  double least = *std::ranges::max_element(times), most = 0;
  for (const double time : times) most += time;
  std::vector<std::uint32_t> best = cut(times, stages, most);
  constexpr int kHalvings = 50;  // to the last bits
  for (int i = 0; i < kHalvings && least < most; ++i) {
    const double middle = least + (most - least) / 2;
    std::vector<std::uint32_t> found = cut(times, stages, middle);
    if (found.empty()) {
      least = middle;
    } else {
      most = middle;
      best = std::move(found);
    }
  }
  return best;
}

// What the operators up to `position` write and later ones read; where there is none that was
// recorded (a view has a name of its own), what the last of them writes.
std::uint64_t boundary_after(const RecordedStep& step, const Forward& forward,
                             std::uint32_t position, std::uint32_t trace_batch) {
  std::uint64_t bytes = 0;
  for (std::size_t tensor = 0; tensor < step.tensors.size(); ++tensor) {
    const Use& use = forward.uses[tensor];
    if (!use.written || *use.written > position || !use.read || *use.read <= position) continue;
    if (step.tensors[tensor].rows == trace_batch) bytes += step.tensors[tensor].bytes;
  }
  if (bytes > 0) return bytes;
  for (const std::uint32_t tensor : step.operators[forward.operators[position]].outputs) {
    if (step.tensors[tensor].rows == trace_batch) bytes += step.tensors[tensor].bytes;
  }
  return bytes;
}

}  // namespace

std::vector<std::uint32_t> parameters_of(const RecordedStep& step) {
  std::vector<std::uint32_t> out = updated_tensors(step);
  if (!out.empty()) return out;
  for (std::uint32_t tensor = 0; tensor < step.tensors.size(); ++tensor) {
    if (step.tensors[tensor].is_parameter) out.push_back(tensor);
  }
  return out;
}

StagePlan plan_stages(const RecordedStep& step, std::uint32_t stages, std::uint32_t trace_batch) {
  const Forward forward = forward_of(step);
  const std::vector<std::uint32_t> partner = partners(step, forward);
  std::vector<double> times(forward.operators.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    times[i] = step.operators[forward.operators[i]].time_us;
  }
  for (std::size_t i = 0; i < step.operators.size(); ++i) {
    const RecordedOperator& op = step.operators[i];
    if (op.phase == RecordedPhase::backward) times[partner[i]] += op.time_us;
  }
  const std::vector<std::uint32_t> stage_at = balanced(times, stages);

  StagePlan out;
  out.stage_of.resize(step.operators.size());
  for (std::size_t i = 0; i < step.operators.size(); ++i) {
    if (step.operators[i].phase == RecordedPhase::backward) out.stage_of[i] = stage_at[partner[i]];
  }
  for (std::uint32_t at = 0; at < stage_at.size(); ++at) {
    out.stage_of[forward.operators[at]] = stage_at[at];
    if (at + 1 < stage_at.size() && stage_at[at] != stage_at[at + 1]) {
      out.boundary_bytes.push_back(boundary_after(step, forward, at, trace_batch));
    }
  }
  out.parameter_share.resize(stages);
  double all = 0;
  for (const std::uint32_t tensor : parameters_of(step)) {
    const std::optional<std::uint32_t> at = forward.uses[tensor].read;
    const auto bytes = static_cast<double>(step.tensors[tensor].bytes);
    out.parameter_share[at ? stage_at[*at] : stages - 1] += bytes;
    all += bytes;
  }
  for (double& share : out.parameter_share) share = all > 0 ? share / all : 1.0 / stages;
  return out;
}

}  // namespace exawarp::model
