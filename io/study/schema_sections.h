// What mappings hold that stand below several others, or below one of another file: their tables of
// keys are beside their readers, in io/study/*_config.cc.
#pragma once

#include <vector>

#include "io/study/schema.h"
#include "model/variation.h"

namespace exawarp::io {

constexpr RealRange kJitterRange{.min = 0,
                                 .max = model::deviation_max(model::Distribution::normal)};

const SectionSchema& packet_schema();
const SectionSchema& jitter_schema();
const SectionSchema& job_schema();
std::vector<ValueShape> placement_shapes();  // of a job
const SectionSchema& background_schema();
const SectionSchema& faults_schema();
const SectionSchema& link_faults_schema();  // of links and switches alone
const SectionSchema& system_schema();
const SectionSchema& fabric_schema();

}  // namespace exawarp::io
