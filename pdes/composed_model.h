// For models that are made of others (changing_model.h, observed_model.h): what one of these does.
// Its handlers and its initialise() see it as the run's model.
#pragma once

#include <vector>

#include "pdes/logical_process.h"

namespace exawarp::pdes {

// The types of `model`, with events handled by `handle`. They foresee nothing: nobody has them see
// `model` then.
std::vector<LpType> types_handled_by(decltype(LpType::handle) handle, const Model& model);
void handle_as(const Model& model, void* state, const Event& event, Context& context);
void initialise_as(const Model& model, LpId lp, void* state, Context& context);

}  // namespace exawarp::pdes
