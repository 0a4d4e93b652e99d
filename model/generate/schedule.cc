// Pipeline schedules; see schedule.h.
//
// All are: some forwards to warm up, then one forward and one backward in turn, then the backwards
// that are left. They differ in the number of warm-up forwards and in what the k-th forward is.
// Interleaved, micro-batches go in groups of p: a group passes chunk 0, then chunk 1, and so on,
// and backwards go through the chunks in reverse. All stages see the same sequence, which is why
// messages between two stages arrive in the order they are expected.
//
// DualPipe is another kind: two such sequences that meet, see dualpipe().
#include "model/generate/schedule.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/check.h"

namespace exawarp::model {
namespace {

Slot slot_of(const PipelineShape& shape, Pass pass, std::uint32_t k) {
  if (shape.chunks == 1) return {pass, k, 0};
  const std::uint32_t group = k / (shape.stages * shape.chunks);
  const std::uint32_t within = k % (shape.stages * shape.chunks);
  const std::uint32_t chunk = within / shape.stages;
  return {pass, group * shape.stages + within % shape.stages,
          pass == Pass::forward ? chunk : shape.chunks - 1 - chunk};
}

// Spreads `layers` over chunks [first, last), the first ones getting fewer.
void spread(std::vector<std::uint32_t>& result, std::uint32_t first, std::uint32_t last,
            std::uint32_t layers) {
  if (first >= last) return;
  const std::uint32_t chunks = last - first;
  const std::uint32_t fewer = chunks - layers % chunks;  // chunks: all alike
  for (std::uint32_t i = 0; i < chunks; ++i) {
    result[first + i] = layers / chunks + (i < fewer ? 0 : 1);
  }
}

std::uint32_t warm_up_of(ScheduleKind kind, const PipelineShape& shape, std::uint32_t stage) {
  const std::uint32_t total = shape.micro_batches * shape.chunks;
  if (kind == ScheduleKind::kGpipe) return total;
  const std::uint32_t behind = shape.stages - 1 - stage;
  if (shape.chunks == 1 && !shape.together) return std::min(total, behind);
  // Together, a pair waits for the stage before and the one after: were only one pair between them,
  // neighbours would take turns.
  return std::min(total, 2 * behind + (shape.chunks - 1) * shape.stages + (shape.together ? 1 : 0));
}

// Splits each backward, and puts the weight part off by `delay` micro-batches; what is left at the
// end comes last. In the cool-down the weight parts fill the waits for the next stage.
std::vector<Slot> split_backwards(const std::vector<Slot>& slots, std::uint32_t delay) {
  std::vector<Slot> result;
  std::vector<Slot> put_off;
  std::size_t done = 0;
  for (Slot slot : slots) {
    if (slot.pass == Pass::forward) {
      result.push_back(slot);
      continue;
    }
    slot.pass = Pass::input_gradient;
    result.push_back(slot);
    slot.pass = Pass::weight_gradient;
    put_off.push_back(slot);
    if (put_off.size() - done > delay) result.push_back(put_off[done++]);
  }
  while (done < put_off.size()) result.push_back(put_off[done++]);
  EXAWARP_CHECK(result.size() == slots.size() + put_off.size(), result.size(), slots.size());
  return result;
}

// From the point of view of a stage that is `place_` from its end of the pipeline. Near passes are
// of micro-batches that came in at that end, in chunk 0; far ones of those that came in at the
// other, in chunk 1. Far micro-batches come late, and near ones come back late, so each stage
// starts with near forwards, and ends with near backwards; weight gradients that were put off there
// fill the waits.
class DualPipe {
 public:
  DualPipe(const PipelineShape& shape, std::uint32_t stage)
      : half_(shape.stages / 2),
        place_(std::min(stage, shape.stages - 1 - stage)),
        each_way_(shape.micro_batches / 2),
        first_{stage < half_ ? 0 : each_way_, stage < half_ ? each_way_ : 0} {
    EXAWARP_CHECK(shape.stages % 2 == 0 && shape.chunks == 2, shape.stages, shape.chunks);
    EXAWARP_CHECK(shape.micro_batches % 2 == 0 && each_way_ >= shape.stages, shape.micro_batches);
  }

  std::vector<Slot> run() {
    warm_up();
    for (std::uint32_t i = 0; i < each_way_ - 2 * half_ + place_ + 1; ++i) {
      const bool apart = i == 0 && place_ + 1 == half_;  // the other middle stage waits for it
      forward(kNear, !apart);
      backward(kFar);
      forward(kFar, true);
      backward(kNear);
    }
    cool_down();
    EXAWARP_CHECK(put_off_.size() == done_ && slots_.size() >= 4 * each_way_, done_);
    return std::move(slots_);
  }

 private:
  enum Way : std::uint32_t { kNear, kFar };

  void warm_up() {
    const std::uint32_t others = half_ - place_ - 1;
    for (std::uint32_t i = 0; i < 2 * others; ++i) forward(kNear);
    for (std::uint32_t i = 0; i <= place_; ++i) {
      forward(kNear);
      forward(kFar);
    }
    for (std::uint32_t i = 0; i < others; ++i) {
      split_backward(kFar);
      weights();
      forward(kFar);
    }
  }

  void cool_down() {
    const std::uint32_t others = half_ - place_ - 1;
    for (std::uint32_t i = 0; i < others; ++i) {
      backward(kFar);
      forward(kFar, true);
      backward(kNear);
    }
    // Of 2 (place_ + 1) backwards those are split whose weights can fill the waits that follow.
    for (std::uint32_t i = 0; i < 2 * (place_ + 1); ++i) {
      const Way way = i % 2 == 0 ? kFar : kNear;
      if (i > place_) {
        split_backward(way);
      } else {
        backward(way);
      }
    }
    for (std::uint32_t i = 0; i < others; ++i) {
      weights();
      split_backward(kNear);
    }
    for (std::uint32_t i = 0; i <= place_; ++i) weights();
  }

  void forward(Way way, bool with_next = false) {
    slots_.push_back({Pass::forward, first_[way] + forwards_[way]++, way, with_next});
  }
  void backward(Way way) {
    slots_.push_back({Pass::backward, first_[way] + backwards_[way]++, way});
  }
  void split_backward(Way way) {
    slots_.push_back({Pass::input_gradient, first_[way] + backwards_[way]++, way});
    put_off_.push_back(slots_.back());
    put_off_.back().pass = Pass::weight_gradient;
  }
  void weights() { slots_.push_back(put_off_[done_++]); }

  std::uint32_t half_, place_, each_way_;
  std::array<std::uint32_t, 2> first_;
  std::array<std::uint32_t, 2> forwards_{}, backwards_{};
  std::vector<Slot> slots_, put_off_;
  std::size_t done_ = 0;
};

}  // namespace

std::uint32_t model_chunk_of(ScheduleKind kind, const PipelineShape& shape, std::uint32_t stage,
                             std::uint32_t chunk) {
  if (kind != ScheduleKind::kDualPipe) return chunk * shape.stages + stage;
  const std::uint32_t place = std::min(stage, shape.stages - 1 - stage);
  return chunk == 0 ? place : shape.stages - 1 - place;
}

std::uint32_t neighbour_of(ScheduleKind kind, const PipelineShape& shape, std::uint32_t stage,
                           std::uint32_t chunk, std::uint32_t model_chunk) {
  if (kind != ScheduleKind::kDualPipe) return model_chunk % shape.stages;
  const bool upwards = (stage < shape.stages / 2) == (chunk == 0);
  return upwards ? model_chunk : shape.stages - 1 - model_chunk;
}

std::vector<Slot> slots_of(ScheduleKind kind, const PipelineShape& shape, std::uint32_t stage) {
  if (kind == ScheduleKind::kDualPipe) return DualPipe(shape, stage).run();
  const std::uint32_t total = shape.micro_batches * shape.chunks;
  EXAWARP_CHECK(stage < shape.stages, stage, shape.stages);
  const std::uint32_t warm_up = warm_up_of(kind, shape, stage);
  std::vector<Slot> slots;
  slots.reserve(std::size_t{2} * total);
  for (std::uint32_t k = 0; k < warm_up; ++k) slots.push_back(slot_of(shape, Pass::forward, k));
  for (std::uint32_t k = warm_up; k < total; ++k) {
    slots.push_back(slot_of(shape, Pass::forward, k));
    slots.back().with_next = shape.together;
    slots.push_back(slot_of(shape, Pass::backward, k - warm_up));
  }
  for (std::uint32_t k = total - warm_up; k < total; ++k) {
    slots.push_back(slot_of(shape, Pass::backward, k));
  }
  EXAWARP_CHECK(slots.size() == std::size_t{2} * total, slots.size(), total);
  return kind == ScheduleKind::kZeroH1 ? split_backwards(slots, stage) : slots;
}

std::vector<std::uint32_t> layers_of_chunks(const LayerSplit& split) {
  if (split.ends) {
    std::vector<std::uint32_t> parts =
        layers_of_chunks({.layers = split.layers + 2, .chunks = split.chunks});
    --parts.front();
    --parts.back();
    return parts;
  }
  std::vector<std::uint32_t> result(split.chunks);
  const std::uint32_t even = split.layers / split.chunks;
  const bool uneven = split.layers % split.chunks != 0;
  std::uint32_t begin = 0;
  std::uint32_t end = split.chunks;
  std::uint32_t left = split.layers;
  const auto fix_last = [&](std::uint32_t layers) { left -= result[--end] = layers; };
  const auto fix_first = [&](std::uint32_t layers) { left -= result[begin++] = layers; };
  if (split.last != 0) {
    fix_last(split.last);
  } else if (split.first == 0 && uneven) {
    fix_last(even);
  }
  if (split.first != 0 && begin < end) fix_first(split.first);
  spread(result, begin, end, left);
  return result;
}

}  // namespace exawarp::model
