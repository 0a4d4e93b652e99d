// What a handler may do: read its state, change it through set() and add(), send, emit.
//
// A handler has no other side effect. Under Time Warp it may run on a state that is wrong, run
// again, or be undone; so every change is recorded when the run is optimistic and is a plain
// store otherwise, and one handler serves every mode. The rollback audit (pdes/audit.cc) finds a
// write that by-passed the context.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "pdes/emission.h"
#include "pdes/event.h"
#include "pdes/undo.h"

namespace exawarp::pdes {

class Model;
class Partition;
struct LpHeader;

// Owner: one partition; handed to one handler at a time.
class Context {
 public:
  Context(Partition& partition, const Model& model, std::uint64_t seed)
      : partition_(&partition), model_(&model), seed_(seed) {}

  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] LpId self() const { return self_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }

  // The model the run was started with. Requires M to be its type.
  template <class M>
  [[nodiscard]] const M& model() const {
    return static_cast<const M&>(*model_);
  }
  // Has model() be `model` while `handler` runs; for a model that is made of others.
  template <class Handler>
  void see_model(const Model& model, Handler&& handler) {
    const Model* const own = std::exchange(model_, &model);
    handler();
    model_ = own;
  }

  // field = value, undone on rollback. The field is inside this LP's state or a block of one of
  // its containers.
  template <class T>
  [[gnu::always_inline]] void set(T& field, std::type_identity_t<T> value) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (undo_ != nullptr) undo_->save(field);
    field = value;
  }
  template <class T>
  void add(T& field, std::type_identity_t<T> delta) {
    set(field, static_cast<T>(field + delta));
  }

  // Schedules an event of `kind` at `to`, `delay` from now. Requires delay >= 1 ps. What would lie
  // beyond core::kEndOfTime lies there: it is never executed, and says so (RunResult::late).
  template <class P>
  void send(LpId to, Time delay, EventKind kind, const P& payload) {
    static_assert(std::is_trivially_copyable_v<P> && sizeof(P) <= kPayloadBytes);
    static_assert(std::has_unique_object_representations_v<P>, "padding would reach the digest");
    Payload& bytes = schedule(to, delay, kind);
    std::memcpy(bytes.data(), &payload, sizeof(P));
    std::memset(bytes.data() + sizeof(P), 0, kPayloadBytes - sizeof(P));
  }
  void send(LpId to, Time delay, EventKind kind) { schedule(to, delay, kind).fill(std::byte{0}); }

  // Output: delivered to the run's sink only if and when the event commits.
  void emit(std::uint32_t channel, std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0);

  // A condition a handler cannot act on: ends the run, with `text`, only if this event commits.
  // `text` must outlive the run (a literal).
  void check(bool condition, const char* text) {
    if (!condition) [[unlikely]]
      fail(text);
  }

  // Memory for the undoable containers: a block lives until its release commits.
  // `size_class` is the block's size as a power of two, 4 (16 bytes) to 30.
  [[nodiscard]] void* allocate_block(std::uint32_t size_class);
  void release_block(void* block, std::uint32_t size_class);

 private:
  friend class Partition;
  // Returns the event's payload, to be written at once. An event is put together where it will lie:
  // copied from the stack, 16 bytes would be read over two stores of 8 and wait for both.
  [[nodiscard]] Payload& schedule(LpId to, Time delay, EventKind kind);
  void fail(const char* text);

  Partition* partition_;
  const Model* model_;
  UndoLog* undo_ = nullptr;  // null: the run never rolls back
  LpHeader* header_ = nullptr;
  std::uint64_t event_origin_ = 0;  // of the event being handled
  std::uint32_t emissions_ = 0;     // by its handler so far
  Time now_;
  LpId self_;
  std::uint64_t seed_;
  Payload discarded_{};  // of sends that failed
};

}  // namespace exawarp::pdes
