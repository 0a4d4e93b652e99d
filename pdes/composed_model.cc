#include "pdes/composed_model.h"

#include <algorithm>
#include <iterator>

#include "core/check.h"
#include "pdes/context.h"

namespace exawarp::pdes {
namespace {

const LpType& type_of(const Model& model, LpId lp) {
  const auto behind = std::ranges::upper_bound(model.ranges(), lp, {}, &LpRange::first);
  EXAWARP_CHECK(behind != model.ranges().begin(), lp.value);
  return model.types()[std::prev(behind)->type];
}

}  // namespace

std::vector<LpType> types_handled_by(decltype(LpType::handle) handle, const Model& model) {
  std::vector<LpType> types(model.types().begin(), model.types().end());
  for (LpType& type : types) {
    type.handle = handle;
    type.foresee = nullptr;
    type.foresee_more = nullptr;
  }
  return types;
}

void handle_as(const Model& model, void* state, const Event& event, Context& context) {
  context.see_model(model, [&] { type_of(model, context.self()).handle(state, event, context); });
}

void initialise_as(const Model& model, LpId lp, void* state, Context& context) {
  context.see_model(model, [&] { model.initialise(lp, state, context); });
}

}  // namespace exawarp::pdes
