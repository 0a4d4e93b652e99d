// What a model gives the engine: types of logical processes, how many of each, and their start.
//
// A logical process is a trivially copyable state struct and a handler. The state lives in the
// partition's arena behind a 16-byte engine header, so both share a cache line.
//
//   struct Counter {
//     struct State { std::uint64_t seen = 0; };
//     static void handle(State& s, const Event& e, Context& ctx) { ctx.add(s.seen, 1u); }
//     static void describe(State& s, StateArchive& archive) { archive.word(s.seen); }
//   };
//   const LpType type = make_lp_type<Counter>("counter");
#pragma once

#include <cstdint>
#include <new>
#include <span>
#include <type_traits>

#include "pdes/event.h"
#include "pdes/state_archive.h"

namespace exawarp::pdes {

class Context;

struct LpType {
  const char* name;
  std::uint32_t state_bytes;
  void (*construct)(void* state);  // default state, before Model::initialise
  void (*handle)(void* state, const Event&, Context&);
  // The state's one description: digest, audit and what is written out follow from it.
  void (*describe)(void* state, StateArchive&);  // pdes/state_archive.h
  // Optional: asks the processor for what `handle` will touch beyond the state's first lines. It is
  // called a few events early, at another event's time, and not for each; it may see another state
  // than `handle` will. So it changes nothing, and the context is not its own. What it found out
  // and returns is in Event::foreseen then: it has to follow from the event, and from what never
  // changes.
  std::uint32_t (*foresee)(void* state, const Event&, Context&) = nullptr;
  // Optional, under the same terms: asks for what lies behind what `foresee` asked for. It is
  // called a little later, with Event::foreseen as it is by then.
  void (*foresee_more)(void* state, const Event&, Context&) = nullptr;

  // Hash of what the description says.
  [[nodiscard]] std::uint64_t digest(const void* state) const {
    StateDigest digest;
    describe(const_cast<void*>(state), digest);  // a digest changes nothing
    return digest.value();
  }
};

template <class Lp>
LpType make_lp_type(const char* name) {
  using State = typename Lp::State;
  static_assert(std::is_trivially_copyable_v<State> && alignof(State) <= 16);
  return {name, sizeof(State), [](void* state) { ::new (state) State{}; },
          [](void* state, const Event& event, Context& context) {
            Lp::handle(*static_cast<State*>(state), event, context);
          },
          [](void* state, StateArchive& archive) {
            Lp::describe(*static_cast<State*>(state), archive);
          }};
}

// `count` logical processes of one type with consecutive ids. Ids between ranges may stay unused.
struct LpRange {
  LpId first;
  std::uint32_t count = 0;
  std::uint32_t type = 0;  // index into Model::types()
};

// A model, as one rank sees it. Shared, read-only while the simulation runs.
// Thread safety: initialise() is called for different LPs from several threads at once.
class Model {
 public:
  Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  [[nodiscard]] virtual std::span<const LpType> types() const = 0;
  // Disjoint, ascending. Each `first` is a multiple of the placement's atom (see Placement).
  [[nodiscard]] virtual std::span<const LpRange> ranges() const = 0;
  // The least delay of a message between LPs of different atoms; > 0. What conservative mode
  // relies on; there a message to another partition that undercuts it is caught by a check.
  [[nodiscard]] virtual Time lookahead() const = 0;
  // Sets the start state and sends the first events (at time 0, so that they arrive later).
  // Called for the LPs of this rank only.
  virtual void initialise(LpId lp, void* state, Context& context) const = 0;
};

}  // namespace exawarp::pdes
