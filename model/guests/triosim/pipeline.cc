// Micro-batches are passes. Forward, a pass goes on after an operator only when the pass before it
// has ended its operators on that GPU; backward, when the one after it has. So a pass computes one
// operator beside the one ahead of it, and then waits. A pass at the end of its forward half is
// held until the last one has sent its first gradients on, and the last one turns at once.
#include "model/guests/triosim/pipeline.h"

#include <algorithm>

namespace exawarp::model::triosim {

Pipeline::Pipeline(const RecordedStep& step, const Rules& rules)
    : Replay(step, rules,
             {.parts = rules.batch / rules.micro_batch,
              .only_split = false,
              .fetches_gradients = false,
              .micro_batches = rules.batch / rules.micro_batch}),
      stages_(rules.devices),
      goes_back_(division_.micro_batches) {
  assign_stages();
}

// Equal numbers of operators, in their order: of the forward pass from the first GPU to the last,
// of all others from the last to the first.
void Pipeline::assign_stages() {
  std::vector<std::size_t> forward, others;
  for (std::size_t op = 0; op < step_.operators.size(); ++op) {
    const bool is_forward = step_.operators[op].phase == RecordedPhase::forward;
    (is_forward ? forward : others).push_back(op);
    if (is_forward) last_forward_ = std::max(last_forward_, step_.operators[op].id);
  }
  const std::size_t n = stages_.size();
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t j = n - 1 - i;
    const auto take = [&](const std::vector<std::size_t>& from, std::size_t part) {
      const std::size_t end = (part + 1) * from.size() / n;
      for (std::size_t k = part * from.size() / n; k < end; ++k) stages_[i].has[from[k]] = true;
      return step_.operators[from[end - 1]].id;
    };
    stages_[i].has.resize(step_.operators.size());
    stages_[i].last_forward = take(forward, i);
    stages_[i].last_backward = take(others, j);
  }
}

void Pipeline::begin() { go_on_later(0, 0); }

bool Pipeline::is_complete() const {
  return finished_ == std::uint64_t{step_.operators.size()} * division_.micro_batches;
}

// The first operator of what is to be done elsewhere is not here, even where this GPU has it: it
// comes with a message.
bool Pipeline::is_here(std::uint32_t gpu, std::uint32_t pass, std::size_t op) {
  const Stage& stage = stages_[gpu];
  if (!stage.has[op]) return false;
  const std::uint64_t before = op == 0 ? 0 : step_.operators[op - 1].id;
  const std::uint64_t end = goes_back_[pass] ? stage.last_backward : stage.last_forward;
  return before != end || step_.operators[op].id == end;
}

std::optional<std::uint32_t> Pipeline::successor(std::uint32_t gpu, std::uint32_t pass,
                                                 std::size_t op) {
  const Stage& stage = stages_[gpu];
  const std::uint64_t id = step_.operators[op].id;
  if (id != (goes_back_[pass] ? stage.last_backward : stage.last_forward)) return gpu;
  const bool is_last = pass + 1 == division_.micro_batches;
  if (goes_back_[pass]) {
    if (is_last && gpu > 0) turns_ = true;
    return gpu == 0 ? rules_.devices : gpu - 1;
  }
  if (id != last_forward_) return (gpu + 1) % rules_.devices;
  goes_back_[pass] = true;
  if (is_last) return gpu;
  turns_ = false;
  held_.push_back({gpu, pass});
  if (!behind_.empty()) release(gpu, pass + 1);
  return {};
}

void Pipeline::finished(std::uint32_t gpu, std::uint32_t pass, std::size_t op) {
  const bool was_back = goes_back_[pass];
  const std::optional<std::uint32_t> next = successor(gpu, pass, op);
  if (!next) return;
  const bool is_over = *next == rules_.devices;
  const bool ends = step_.operators[op].id ==
                    (was_back ? stages_[gpu].last_backward : stages_[gpu].last_forward);
  if (ends && !is_over) {
    const Pass& here = gpus_[gpu].passes[pass];
    Pass& there = gpus_[*next].passes[pass];
    const std::size_t reached = std::max(here.fetching, here.computing);
    there.fetching = there.computing = reached;
  }
  leave(gpu, pass, is_over ? std::nullopt : next, op);
}

bool Pipeline::is_behind(std::uint32_t gpu, std::uint32_t pass) const {
  const bool back = goes_back_[pass];
  if (back ? pass + 1 == division_.micro_batches : pass == 0) return false;
  const std::size_t reached = gpus_[gpu].passes[back ? pass + 1 : pass - 1].computing;
  const Stage& stage = stages_[gpu];
  return reached == 0 ||
         step_.operators[reached - 1].id < (back ? stage.last_backward : stage.last_forward);
}

// `next`: none where the pass is over.
void Pipeline::leave(std::uint32_t gpu, std::uint32_t pass, std::optional<std::uint32_t> next,
                     std::size_t op) {
  if (is_behind(gpu, pass)) {
    behind_.push_back({gpu, pass});
    return;
  }
  if (next == gpu) return go_on_later(gpu, pass);
  const Stage& stage = stages_[gpu];
  const std::uint64_t id = step_.operators[gpus_[gpu].passes[pass].computing - 1].id;
  if (goes_back_[pass]) {
    if (pass > 0 && id == stage.last_backward) release(gpu, pass - 1);
  } else if (pass + 1 < division_.micro_batches && id == stage.last_forward) {
    release(gpu, pass + 1);
  }
  if (!next) return;
  if (turns_) {
    for (const Waiting& w : held_) go_on_later(w.gpu, w.pass);
    held_.clear();
  }
  send(gpu, pass, *next, op);
}

void Pipeline::release(std::uint32_t gpu, std::uint32_t pass) {
  std::erase_if(behind_, [&](const Waiting& w) {
    if (w.gpu != gpu || w.pass != pass) return false;
    go_on_later(gpu, pass);
    return true;
  });
}

// What the first GPU has sent forward brings the next pass in, when it arrives.
void Pipeline::send(std::uint32_t gpu, std::uint32_t pass, std::uint32_t next, std::size_t op) {
  const bool begins =
      gpu == 0 && !goes_back_[pass] && begun_ + 1 < division_.micro_batches;
  ++gpus_[next].passes[pass].in_flight;
  network_.send({gpu, next}, rules_.link_bytes_per_s, shares_[op].output_bytes,
                [this, pass, next, op, begins] {
                  --gpus_[next].passes[pass].in_flight;
                  arrive(gpus_[next], op, step_.operators[op].outputs);
                  if (begins) go_on_later(0, ++begun_);
                  go_on_later(next, pass);
                });
}

}  // namespace exawarp::model::triosim
