// The cases that run as one pass of every GPU; pipeline.h has the other.
#include "model/guests/triosim/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "model/guests/triosim/pipeline.h"
#include "model/guests/triosim/replay.h"
#include "model/guests/triosim/ring.h"

namespace exawarp::model::triosim {
namespace {

constexpr const char* kUpdate = "aten::_foreach_addcdiv_";

class Single : public Replay {
 public:
  Single(const RecordedStep& step, const Rules& rules) : Replay(step, rules, {}) {}

 protected:
  void begin() override {
    for (std::uint32_t gpu = 0; gpu < rules_.devices; ++gpu) go_on_later(gpu, 0);
  }
  void finished(std::uint32_t gpu, std::uint32_t, std::size_t) override { go_on_later(gpu, 0); }
};

// The buckets are those of the first GPU. A bucket has the parameters that an operator of the
// backward pass reads, again if they have been in one, and all whose name comes later as a text.
class Overlapped final : public Single {
 public:
  Overlapped(const RecordedStep& step, const Rules& rules)
      : Single(step, rules),
        ring_(agenda_, network_, rules.devices, rules.link_bytes_per_s,
              {.sent = [this](std::uint32_t gpu) { ++gpus_[gpu].passes[0].in_flight; },
               .received = [this](std::uint32_t gpu) {
                 --gpus_[gpu].passes[0].in_flight;
                 agenda_.now([this] { next_bucket(); });
               },
               .last_round = [] {}}),
        is_updated_(step.tensors.size()),
        was_reduced_(step.tensors.size()),
        updated_(updated_tensors(step)) {
    for (const std::uint32_t tensor : updated_) is_updated_[tensor] = true;
  }

 private:
  void started(std::uint32_t gpu, std::size_t op) override {
    const RecordedOperator& reads = step_.operators[op];
    if (gpu != 0 || reads.phase != RecordedPhase::backward) return;
    std::uint64_t bytes = 0;
    bool any = false;
    const auto add = [&](std::uint32_t tensor) {
      bytes += bytes_at_batch(step_.tensors[tensor].bytes, rules_);
      was_reduced_[tensor] = any = true;
    };
    for (const std::uint32_t tensor : reads.inputs) {
      if (is_updated_[tensor]) add(tensor);
    }
    if (!any) return;
    for (const std::uint32_t tensor : reads.inputs) {
      if (!is_updated_[tensor]) continue;
      for (const std::uint32_t other : updated_) {
        const bool later = step_.tensors[other].id > step_.tensors[tensor].id;
        if (later && !was_reduced_[other]) add(other);
      }
    }
    buckets_.push_back(bytes);
    agenda_.now([this] { next_bucket(); });
  }
  void next_bucket() {
    if (ring_.is_idle() && next_ < buckets_.size()) ring_.start(buckets_[next_++]);
    ring_.advance();
  }

  Ring ring_;
  std::vector<bool> is_updated_, was_reduced_;
  std::vector<std::uint32_t> updated_;
  std::vector<std::uint64_t> buckets_;  // bytes
  std::size_t next_ = 0;
};

// `open_`: the operators before this one may be computed.
class Split final : public Replay {
 public:
  Split(const RecordedStep& step, const Rules& rules)
      : Replay(step, rules,
               {.parts = rules.devices, .only_split = true, .fetches_gradients = false}),
        ring_(agenda_, network_, rules.devices, rules.link_bytes_per_s,
              {.sent = [this](std::uint32_t gpu) { ++gpus_[gpu].passes[0].in_flight; },
               .received = [this](std::uint32_t gpu) {
                 --gpus_[gpu].passes[0].in_flight;
                 if (ring_.is_idle()) all_go_on();
               },
               .last_round = [this] { ++open_; }}) {}

 private:
  void begin() override { all_go_on(); }
  void all_go_on() {
    for (std::uint32_t gpu = 0; gpu < rules_.devices; ++gpu) go_on_later(gpu, 0);
  }
  [[nodiscard]] bool may_compute(std::uint32_t, std::size_t op) override { return op <= open_; }

  // Each GPU that is ready begins the all-reduce anew.
  void finished(std::uint32_t gpu, std::uint32_t, std::size_t op) override {
    open_ = op;
    if (!step_.operators[op].splits) {
      ++open_;
      return go_on_later(gpu, 0);
    }
    const auto is_here = [&](const Gpu& other) { return other.passes[0].computing == op + 1; };
    if (!std::ranges::all_of(gpus_, is_here)) return;
    if (!step_.operators[op].outputs.empty()) last_bytes_ = shares_[op].output_bytes;
    ring_.start(last_bytes_);
    agenda_.now([this] { ring_.advance(); });
  }

  Ring ring_;
  std::size_t open_ = 0;
  std::uint64_t last_bytes_ = 0;  // an operator without outputs has those of the one before
};

// Nothing but the all-reduces of the updates, one after another.
double gradients_s(const RecordedStep& step, const Rules& rules) {
  std::vector<bool> is_updated(step.tensors.size());
  for (const std::uint32_t tensor : updated_tensors(step)) is_updated[tensor] = true;
  Agenda agenda;
  Network network(agenda);
  std::vector<std::uint64_t> updates;
  std::size_t next = 0;
  Ring ring(agenda, network, rules.devices, rules.link_bytes_per_s,
            {.sent = [](std::uint32_t) {}, .received = [](std::uint32_t) {}, .last_round = [] {}});
  for (const RecordedOperator& op : step.operators) {
    if (op.name != kUpdate) continue;
    std::uint64_t bytes = 0;
    for (const std::uint32_t tensor : op.inputs) {
      if (is_updated[tensor]) bytes += bytes_at_batch(step.tensors[tensor].bytes, rules);
    }
    if (bytes > 0) updates.push_back(bytes);
  }
  for (; next < updates.size(); ++next) {
    ring.start(updates[next]);
    ring.advance();
    agenda.run();
  }
  return agenda.now_s();
}

}  // namespace

std::string refusal_of(const RecordedStep& step, const Rules& rules) {
  // Routes are the cheapest by bytes per second: past this, those between GPUs would go through
  // the remote memory.
  if (rules.link_bytes_per_s > rules.remote_bytes_per_s) {
    return "links between GPUs are faster than those from the remote memory; expected at most "
           "as fast";
  }
  if (rules.which != Case::pipeline || rules.devices == 1) return "";
  if (rules.micro_batch == 0 || rules.batch % rules.micro_batch != 0) {
    return fmt::format("a batch of {} has no whole number of micro-batches of {}", rules.batch,
                       rules.micro_batch);
  }
  const auto forward = static_cast<std::size_t>(std::ranges::count(
      step.operators, RecordedPhase::forward, &RecordedOperator::phase));
  const std::size_t least = std::min(forward, step.operators.size() - forward);
  if (least >= rules.devices) return "";
  return fmt::format("{} stages are more than the {} operators of the forward pass, or than the "
                     "{} after it; expected fewer",
                     rules.devices, forward, step.operators.size() - forward);
}

std::optional<double> step_time_s(const RecordedStep& step, const Rules& rules) {
  if (rules.devices == 1) return Single(step, rules).run();
  switch (rules.which) {
    case Case::single: return Single(step, rules).run();
    case Case::data_parallel: {
      const std::optional<double> computing = Single(step, rules).run();
      if (!computing) return {};
      return *computing + gradients_s(step, rules);
    }
    case Case::ddp: return Overlapped(step, rules).run();
    case Case::tensor_parallel: return Split(step, rules).run();
    case Case::pipeline: return Pipeline(step, rules).run();
  }
  return {};
}

double recorded_time_s(const RecordedStep& step, const Rules& rules) {
  double sum_s = 0;
  for (const RecordedOperator& op : step.operators) {
    const bool divided = rules.which == Case::pipeline ||
                         (rules.which == Case::tensor_parallel && op.splits);
    sum_s += op.time_us / 1e6 / (divided ? rules.devices : 1);
  }
  return sum_s * rules.batch / rules.trace_batch;
}

}  // namespace exawarp::model::triosim
