// A model that changes while it is simulated: up to a moment events are handled as one model has
// it, from then on as another, with the same logical processes in the same states. What a handler
// has decided before the moment stays: a transfer that is under way ends when it was to end.
//
// Which model handles an event is a function of the event's time, so a run has one digest in every
// mode; and a run that goes on from a cut before the moment is the run that knew of the change from
// the start.
#pragma once

#include <span>
#include <vector>

#include "pdes/logical_process.h"

namespace exawarp::pdes {

class ChangingModel final : public Model {
 public:
  struct Change {
    Time at;  // of the first events that `model` handles
    const Model* model;
  };

  // `first` is the one that sets start states. Requires ascending changes; all models outlive this
  // one. Throws core::InputError, without a place, where a later one has other logical processes or
  // keeps other states.
  ChangingModel(const Model& first, std::vector<Change> changes);

  [[nodiscard]] std::span<const LpType> types() const override { return types_; }
  [[nodiscard]] std::span<const LpRange> ranges() const override { return first_.ranges(); }
  [[nodiscard]] Time lookahead() const override { return lookahead_; }
  void initialise(LpId lp, void* state, Context& context) const override;

  // What handles events at `at`.
  [[nodiscard]] const Model& model_at(Time at) const;

 private:
  const Model& first_;
  std::vector<Change> changes_;
  std::vector<LpType> types_;
  Time lookahead_;
};

}  // namespace exawarp::pdes
