// What a node of a program is called in reports: "forward qkv, layer 3, micro-batch 1".
#pragma once

#include <string>

#include "model/workload/graph.h"

namespace exawarp::io {

std::string name_of_node(const model::WorkloadGraph& graph,
                         const model::schema::Node::Reader& node);

}  // namespace exawarp::io
