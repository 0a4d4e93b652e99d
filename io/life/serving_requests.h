// The requests of a serving study: read, drawn, or both.
#pragma once

#include "io/study/serving_study.h"

namespace exawarp::io {

// Sets `requests`, in order of arrival, and `prefixes` of `spec`. Throws core::InputError at the
// file that has them.
void add_requests(const ServingStudy& study, model::serving::Spec& spec);

}  // namespace exawarp::io
