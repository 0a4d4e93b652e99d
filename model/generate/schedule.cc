// Pipeline schedules; see schedule.h.
//
// All are: some forwards to warm up, then one forward and one backward in turn, then the backwards
// that are left. They differ in the number of warm-up forwards and in what the k-th forward is.
// Interleaved, micro-batches go in groups of p: a group passes chunk 0, then chunk 1, and so on,
// and backwards go through the chunks in reverse. All stages see the same sequence, which is why
// messages between two stages arrive in the order they are expected.
#include "model/generate/schedule.h"

#include <algorithm>

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
  return std::min(total,
                  shape.chunks == 1 ? behind : 2 * behind + (shape.chunks - 1) * shape.stages);
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

}  // namespace

std::vector<Slot> slots_of(ScheduleKind kind, const PipelineShape& shape, std::uint32_t stage) {
  const std::uint32_t total = shape.micro_batches * shape.chunks;
  EXAWARP_CHECK(stage < shape.stages, stage, shape.stages);
  const std::uint32_t warm_up = warm_up_of(kind, shape, stage);
  std::vector<Slot> slots;
  slots.reserve(std::size_t{2} * total);
  for (std::uint32_t k = 0; k < warm_up; ++k) slots.push_back(slot_of(shape, Pass::forward, k));
  for (std::uint32_t k = warm_up; k < total; ++k) {
    slots.push_back(slot_of(shape, Pass::forward, k));
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
