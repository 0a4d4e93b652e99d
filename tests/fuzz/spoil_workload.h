// Workloads with fields changed, where mutated bytes would seldom be a workload at all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/workload/graph.h"

namespace exawarp::fuzz {

// The graph that `recipe` makes: its first byte takes one of the seeds of target xwg, and each
// kSpoiledBytes that follow change one thing in it, a field or the length of a list. Any bytes are
// a recipe; what they make need not be valid.
constexpr std::size_t kSpoiledBytes = 8;
model::WorkloadGraph spoiled_workload(std::string_view recipe);

// Recipes that change nothing, with places to change, and pieces of others.
std::vector<std::string> spoil_seeds();
std::vector<std::string> spoil_words();

}  // namespace exawarp::fuzz
