#include "pdes/observed_model.h"

#include "pdes/composed_model.h"
#include "pdes/context.h"

namespace exawarp::pdes {

ObservedModel::ObservedModel(const Model& model, Observer observer)
    : model_(model),
      observer_(std::move(observer)),
      types_(types_handled_by(observe, model)) {}

void ObservedModel::initialise(LpId lp, void* state, Context& context) const {
  initialise_as(model_, lp, state, context);
}

void ObservedModel::observe(void* state, const Event& event, Context& context) {
  const auto& own = context.model<ObservedModel>();
  own.observer_(event);
  handle_as(own.model_, state, event, context);
}

}  // namespace exawarp::pdes
