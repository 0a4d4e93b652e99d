// One rank's trace, reduced to what does not depend on the rank.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/formats/chakra/import.h"
#include "io/formats/chakra/source.h"
#include "model/workload/builder.h"

namespace exawarp::io {

// Streams of a program whose trace does not say otherwise; those of receives follow.
constexpr std::uint8_t kComputeStream = 0, kHostStream = 1, kMemoryStream = 2,
                       kCollectivesStream = 3, kSendStream = 4, kReceiveStream = 5;

constexpr std::uint32_t kNoCommunicator = 0xffffffff;  // no collective

struct RankNode {
  std::uint64_t id = 0;
  // peer: offset to the rank; tag: see RankProgram; group: unset; sizes: 1 + index into
  // RankProgram::size_tables.
  model::NodeFields fields;
  std::uint32_t communicator = kNoCommunicator;  // into RankProgram::communicators
  std::uint32_t stream = 0, position = 0;        // where the trace says so (our own exports)
  bool has_stream = false;
  // Where the trace says so: the group of a collective, the axis of a message's peer.
  std::optional<std::uint32_t> mesh_place;
  std::string name;
  std::string record;  // the node less id, name, data dependencies and what depends on the rank
  std::vector<std::uint64_t> data, control;  // ids
};

struct StreamFields {
  std::string name;
  model::schema::StreamKind kind = model::schema::StreamKind::COMPUTE;
};

struct RankProgram {
  ChakraImportOptions counting;              // as given, and as the trace itself says
  std::vector<RankNode> nodes;               // in ascending order of id
  std::vector<std::uint32_t> communicators;  // ids, in order of first use; 0: all ranks
  std::vector<StreamFields> streams;         // where the trace says so
  std::vector<std::vector<std::uint64_t>> size_tables;  // where the trace says so
  std::uint64_t number = 0;                      // of the program, where the trace says so
  std::vector<std::string> axes, groups;         // of its mesh, where the trace says so
  std::vector<std::uint64_t> training, memory;  // as in attributes.h, or empty
  std::vector<CommunicatorList> defined;     // by METADATA nodes
  bool control_given = false, control_used = false;
  std::uint64_t dangling = 0;
  std::uint64_t bytes = 0;  // read
};

// How the trace of `options` counts, as a record of the graph; "" where all is the default.
[[nodiscard]] std::string counting_record(const ChakraImportOptions& options);
// Whether two traces count in one way.
[[nodiscard]] bool counts_alike(const ChakraImportOptions& a, const ChakraImportOptions& b);

// Reads the trace of `rank`. What the trace says of how it counts need not be said by `options`,
// and may be, if it is the same.
[[nodiscard]] RankProgram read_rank(const TraceSource& source, std::uint32_t rank,
                                    const ChakraImportOptions& options);

}  // namespace exawarp::io
