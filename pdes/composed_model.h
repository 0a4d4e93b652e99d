// For models that are made of others (changing_model.h, observed_model.h): what one of these does.
// Its handlers and its initialise() see it as the run's model.
#pragma once

#include "pdes/logical_process.h"

namespace exawarp::pdes {

void handle_as(const Model& model, void* state, const Event& event, Context& context);
void initialise_as(const Model& model, LpId lp, void* state, Context& context);

}  // namespace exawarp::pdes
