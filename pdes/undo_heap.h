// Binary heaps in an UndoVector: no element comes before the first one. Every change can be rolled
// back.
//
// `is_before(a, b)` is a strict weak order of elements. What else they look like in memory follows
// from the sequence of calls alone, so it may be part of a digest.
// Cost: one assignment for each level that an element moves.
#pragma once

#include <cstdint>

#include "pdes/context.h"
#include "pdes/undo_vector.h"

namespace exawarp::pdes {

// From i, an empty place, upwards: those that `value` comes before move down, until it fits.
// Returns where.
template <class T, class Before>
std::uint32_t heap_place_above(UndoVector<T>& heap, Context& ctx, std::uint32_t i, const T& value,
                               const Before& is_before) {
  while (i > 0) {
    const std::uint32_t parent = (i - 1) / 2;
    if (!is_before(value, heap[parent])) break;
    heap.assign(ctx, i, heap[parent]);
    i = parent;
  }
  return i;
}

// From i, an empty place, downwards: those that come before `value` move up, until it fits. Returns
// where.
template <class T, class Before>
std::uint32_t heap_place_below(UndoVector<T>& heap, Context& ctx, std::uint32_t i, const T& value,
                               const Before& is_before) {
  for (;;) {
    std::uint32_t child = 2 * i + 1;
    if (child >= heap.size()) break;
    if (child + 1 < heap.size() && is_before(heap[child + 1], heap[child])) ++child;
    if (!is_before(heap[child], value)) break;
    heap.assign(ctx, i, heap[child]);
    i = child;
  }
  return i;
}

template <class T, class Before>
void heap_push(UndoVector<T>& heap, Context& ctx, const T& value, const Before& is_before) {
  const std::uint32_t last = heap.size();
  heap.push_back(ctx, value);
  const std::uint32_t place = heap_place_above(heap, ctx, last, value, is_before);
  if (place != last) heap.assign(ctx, place, value);
}

// `value` takes the place of the first element.
template <class T, class Before>
void heap_replace_first(UndoVector<T>& heap, Context& ctx, const T& value,
                        const Before& is_before) {
  heap.assign(ctx, heap_place_below(heap, ctx, 0, value, is_before), value);
}

// The first element comes later than it did: it goes where it belongs.
template <class T, class Before>
void heap_sink_first(UndoVector<T>& heap, Context& ctx, const Before& is_before) {
  const T value = heap[0];
  const std::uint32_t place = heap_place_below(heap, ctx, 0, value, is_before);
  if (place != 0) heap.assign(ctx, place, value);
}

// Removes element i. Requires i < heap.size().
template <class T, class Before>
void heap_erase(UndoVector<T>& heap, Context& ctx, std::uint32_t i, const Before& is_before) {
  const std::uint32_t last = heap.size() - 1;
  const T moved = heap[last];
  heap.erase(ctx, last);
  if (i == last) return;
  std::uint32_t place = heap_place_above(heap, ctx, i, moved, is_before);
  if (place == i) place = heap_place_below(heap, ctx, i, moved, is_before);
  heap.assign(ctx, place, moved);
}

}  // namespace exawarp::pdes
