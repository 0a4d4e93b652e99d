#include "model/guests/triosim/replay.h"

#include <algorithm>

namespace exawarp::model::triosim {

std::uint64_t bytes_at_batch(std::uint64_t bytes, const Rules& rules) {
  const double ratio = static_cast<double>(rules.trace_batch) / static_cast<double>(rules.batch);
  return static_cast<std::uint64_t>(static_cast<double>(bytes) / ratio);
}

Replay::Replay(const RecordedStep& step, const Rules& rules, const Division& division)
    : step_(step),
      rules_(rules),
      division_(division),
      network_(agenda_),
      gpus_(rules.devices),
      shares_(step.operators.size()),
      // With one pass, all tensors have their names from the start.
      named_after_(step.operators.size(), division.micro_batches == 1 ? 0 : kWhole) {
  for (Gpu& gpu : gpus_) {
    gpu.passes.resize(division.micro_batches);
    gpu.presents.resize(step.tensors.size() * division.micro_batches);
  }
  const double ratio = static_cast<double>(rules.trace_batch) / static_cast<double>(rules.batch);
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const RecordedOperator& op = step.operators[i];
    const std::uint32_t parts = op.splits || !division.only_split ? division.parts : 1;
    const auto bytes = [&](std::uint32_t tensor) {
      return bytes_at_batch(step.tensors[tensor].bytes, rules) / parts;
    };
    shares_[i].time_s = op.time_us / 1e6 / ratio / parts;
    for (const std::uint32_t tensor : op.inputs) shares_[i].input_bytes.push_back(bytes(tensor));
    for (const std::uint32_t tensor : op.outputs) shares_[i].output_bytes += bytes(tensor);
  }
}

std::optional<double> Replay::run() {
  begin();
  agenda_.run();
  if (!is_complete()) return {};
  return agenda_.now_s();
}

bool Replay::is_complete() const {
  return finished_ == std::uint64_t{step_.operators.size()} * gpus_.size();
}

void Replay::go_on(std::uint32_t gpu, std::uint32_t pass) {
  fetch(gpu, pass);
  compute(gpu, pass);
}

void Replay::go_on_later(std::uint32_t gpu, std::uint32_t pass) {
  agenda_.now([this, gpu, pass] { go_on(gpu, pass); });
}

std::size_t Replay::key_of(std::size_t op, std::uint32_t tensor) const {
  return named_after_[op] * step_.tensors.size() + tensor;
}

// An operator that nobody has come to has tensors of no micro-batch: none of them is there.
bool Replay::all_present(const Gpu& gpu, std::size_t op) const {
  return std::ranges::all_of(step_.operators[op].inputs, [&](std::uint32_t tensor) {
    return named_after_[op] != kWhole && gpu.presents[key_of(op, tensor)];
  });
}

bool Replay::needs(const Gpu& gpu, std::size_t op, std::uint32_t tensor) const {
  if (!division_.fetches_gradients && step_.tensors[tensor].is_gradient) return false;
  return !gpu.presents[key_of(op, tensor)];
}

void Replay::divide(std::size_t op, std::uint32_t pass) {
  if (named_after_[op] == kWhole) named_after_[op] = pass;
}

void Replay::arrive(Gpu& gpu, std::size_t op, const std::vector<std::uint32_t>& tensors) {
  for (const std::uint32_t tensor : tensors) gpu.presents[key_of(op, tensor)] = true;
}

// What is fetched, and what the operator will write, has its place from the start of the transfer:
// so compute() does not wait for its end.
void Replay::fetch(std::uint32_t g, std::uint32_t p) {
  Gpu& gpu = gpus_[g];
  Pass& pass = gpu.passes[p];
  std::size_t op = pass.fetching;
  for (;; op = ++pass.fetching) {
    if (pass.in_flight > 0 || op >= step_.operators.size() || !is_here(g, p, op)) return;
    if (op < pass.computing) {
      ++pass.fetching;
      return go_on_later(g, p);
    }
    if (!all_present(gpu, op)) break;
  }
  divide(op, p);
  const RecordedOperator& reads = step_.operators[op];
  std::uint64_t bytes = 0;
  std::vector<std::uint32_t> missing;
  for (std::size_t i = 0; i < reads.inputs.size(); ++i) {
    if (!needs(gpu, op, reads.inputs[i])) continue;
    missing.push_back(reads.inputs[i]);
    bytes += shares_[op].input_bytes[i];
  }
  arrive(gpu, op, missing);
  arrive(gpu, op, reads.outputs);
  if (missing.empty()) {
    ++pass.fetching;
    return go_on_later(g, p);
  }
  ++pass.in_flight;
  network_.send({rules_.devices, g}, rules_.remote_bytes_per_s, bytes, [this, g, p] {
    --gpus_[g].passes[p].in_flight;
    go_on_later(g, p);
  });
}

void Replay::compute(std::uint32_t g, std::uint32_t p) {
  Gpu& gpu = gpus_[g];
  Pass& pass = gpu.passes[p];
  const std::size_t op = pass.computing;
  if (pass.computes || op >= step_.operators.size() || !may_compute(g, op) || !is_here(g, p, op)) {
    return;
  }
  divide(op, p);
  const RecordedOperator& reads = step_.operators[op];
  const auto is_missing = [&](std::uint32_t tensor) { return needs(gpu, op, tensor); };
  if (std::ranges::any_of(reads.inputs, is_missing)) return;
  pass.computes = true;
  ++pass.computing;
  agenda_.at(agenda_.now_s() + shares_[op].time_s, [this, g, p, op] {
    arrive(gpus_[g], op, step_.operators[op].outputs);
    arrive(gpus_[g], op, step_.operators[op].inputs);
    gpus_[g].passes[p].computes = false;
    ++finished_;
    finished(g, p, op);
  });
  started(g, op);
}

}  // namespace exawarp::model::triosim
