// Programs of a workload as graphs for other tools: Graphviz and GraphML.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/workload/graph.h"

namespace exawarp::io {

constexpr std::uint64_t kDrawnNodesMax = 1'000'000;

// Every program once, or that of `device` alone: nodes with their work, dependencies, and (dashed,
// kind "order") what only the order of a stream says. Requires validate() and a device of the
// graph. Throws core::InputError past kDrawnNodesMax nodes.
[[nodiscard]] std::string workload_dot(const model::WorkloadGraph& graph,
                                       std::optional<std::uint32_t> device);
[[nodiscard]] std::string workload_graphml(const model::WorkloadGraph& graph,
                                           std::optional<std::uint32_t> device);

// `text` inside XML: its five special characters as entities, control characters as spaces.
[[nodiscard]] std::string xml_text(std::string_view text);

}  // namespace exawarp::io
