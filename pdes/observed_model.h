// A model whose events somebody sees, each before it is handled, in the order of a sequential run.
#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "pdes/logical_process.h"

namespace exawarp::pdes {

// For runs of one partition that undo nothing: elsewhere events come twice, or in no order.
class ObservedModel final : public Model {
 public:
  using Observer = std::function<void(const Event&)>;

  // `model` outlives it.
  ObservedModel(const Model& model, Observer observer);

  [[nodiscard]] std::span<const LpType> types() const override { return types_; }
  [[nodiscard]] std::span<const LpRange> ranges() const override { return model_.ranges(); }
  [[nodiscard]] Time lookahead() const override { return model_.lookahead(); }
  void initialise(LpId lp, void* state, Context& context) const override;

 private:
  static void observe(void* state, const Event& event, Context& context);

  const Model& model_;
  Observer observer_;
  std::vector<LpType> types_;
};

}  // namespace exawarp::pdes
