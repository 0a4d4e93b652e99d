// Handlers are plain functions, so one stands for those of all types and models: it looks up by the
// event's time which model is meant, and by the logical process which type.
#include "pdes/changing_model.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "core/units.h"
#include "pdes/composed_model.h"
#include "pdes/context.h"

namespace exawarp::pdes {
namespace {

void handle_by_time(void* state, const Event& event, Context& context) {
  const Model& model = context.model<ChangingModel>().model_at(context.now());
  handle_as(model, state, event, context);
}

bool have_same_states(const Model& a, const Model& b) {
  return std::ranges::equal(a.types(), b.types(), [](const LpType& x, const LpType& y) {
    return x.state_bytes == y.state_bytes && x.describe == y.describe;
  });
}

bool have_same_lps(const Model& a, const Model& b) {
  return std::ranges::equal(a.ranges(), b.ranges(), [](const LpRange& x, const LpRange& y) {
    return x.first == y.first && x.count == y.count && x.type == y.type;
  });
}

}  // namespace

ChangingModel::ChangingModel(const Model& first, std::vector<Change> changes)
    : first_(first),
      changes_(std::move(changes)),
      types_(types_handled_by(handle_by_time, first)),
      lookahead_(first.lookahead()) {
  EXAWARP_CHECK(std::ranges::is_sorted(changes_, {}, &Change::at), changes_.size());
  for (const Change& change : changes_) {
    const std::string at = "from " + core::format_time(change.at) + " on ";
    if (!have_same_lps(first, *change.model)) {
      throw core::InputError(at + "there are other devices or switches to simulate");
    }
    if (!have_same_states(first, *change.model)) {
      throw core::InputError(at + "devices or switches keep other states");
    }
    lookahead_ = std::min(lookahead_, change.model->lookahead());
  }
}

void ChangingModel::initialise(LpId lp, void* state, Context& context) const {
  initialise_as(first_, lp, state, context);
}

const Model& ChangingModel::model_at(Time at) const {
  const auto behind = std::ranges::upper_bound(changes_, at, {}, &Change::at);
  return behind == changes_.begin() ? first_ : *std::prev(behind)->model;
}

}  // namespace exawarp::pdes
