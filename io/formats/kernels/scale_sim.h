// Files of SCALE-Sim (v2 and v3): topologies, which list the layers of a network, and
// configurations of an array.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/compute/systolic.h"

namespace exawarp::io {

// A layer as the product it is computed by, and what its row says of the array and of the outcome.
struct SystolicLayer {
  std::string place, name;
  model::GemmShape shape;
  std::optional<model::Dataflow> dataflow;
  std::optional<std::uint64_t> rows, columns;
  std::optional<std::uint64_t> cycles;  // without stalls
};

// A topology, by its line of names: products (Layer, M, N, K) where it has columns M, N and K, or
// convolutions (layer, height and width of the input, of the filter, channels, filters, stride,
// stride of the width). A layer whose name has DP in it is depthwise: a layer for each channel, as
// there. Sparsity ("2:4") is passed over. Columns dataflow, rows, cols, total_cycles and
// stall_cycles may say more of products. Throws core::InputError.
std::vector<SystolicLayer> read_topology(const std::string& file, std::string_view text);

struct ScaleSimConfig {
  model::SystolicArray array;
  // InterfaceBandwidth: USER, words of a byte; none: CALC, in which nothing waits.
  std::optional<double> bytes_per_cycle;
  std::uint64_t sram_bytes = 0;  // all three
};

// Throws core::InputError.
ScaleSimConfig read_scale_sim_config(const std::string& file, std::string_view text);

// "os", "ws", "is", or "output", "weight", "input"; none: no dataflow.
std::optional<model::Dataflow> dataflow_named(std::string_view name);
// "os".
std::string_view short_name(model::Dataflow dataflow);

}  // namespace exawarp::io
