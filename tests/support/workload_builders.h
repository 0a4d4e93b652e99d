// Workloads for tests: small transformers, and views of a program's nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/generate/transformer_spec.h"
#include "model/workload/builder.h"
#include "model/workload/graph.h"

namespace exawarp::tests {

// Four layers, hidden 64, on one device: what the tests vary.
model::TransformerSpec tiny_llama();  // gated ffn, 2 kv heads of 8; kernels: ideal
model::TransformerSpec tiny_gpt();    // plain ffn, as many kv heads as heads, tied embeddings

// A spec that check() accepts, the same for the same seed, of at most 80 devices.
model::TransformerSpec random_transformer(std::uint64_t seed);

// Two devices on an axis "device": 0 sends 8 bytes to 1 with tag 7; each has one stream.
// Not validated. `send_tag` differs from 7 to make a workload that cannot finish.
model::WorkloadBuilder two_devices(std::uint32_t send_tag = 7);

struct NamedNode {
  std::string name;
  model::schema::Node::Reader node;
};
// The nodes of a program, in the order the generator added them, of one layer and micro-batch and
// phase.
std::vector<NamedNode> nodes_of(const model::WorkloadGraph& graph, std::uint32_t program,
                                model::schema::Phase phase, std::uint16_t layer,
                                std::uint16_t micro_batch);

// A path in the test's temporary directory, unique to the running test.
std::string temporary_path(const std::string& name);

}  // namespace exawarp::tests
