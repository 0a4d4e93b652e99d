// The section `profile` of a serving study.
#pragma once

#include "io/study/keys.h"
#include "io/study/serving_study.h"

namespace exawarp::io {

const Keys<ProfileStudy>& profile_keys();
// How its keys depend on those of the replicas. Throws core::InputError at `path`.
void check_profile(const ServingStudy& study, const std::string& path);

}  // namespace exawarp::io
