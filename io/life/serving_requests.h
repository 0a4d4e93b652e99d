// The requests of a serving study: read, drawn, or both.
#pragma once

#include <vector>

#include "io/study/serving_study.h"

namespace exawarp::io {

// In order of arrival. Throws core::InputError at the file that has them.
std::vector<model::serving::Request> requests_of(const ServingStudy& study);

}  // namespace exawarp::io
