// Names of the attributes of a Chakra node, and those that our exports add.
#pragma once

#include <cstdint>
#include <string>

#include "io/chakra.pb.h"
#include "model/workload/graph.h"

namespace exawarp::io {

// Which depend on the rank, so that records leave their values out (0 or "").
inline constexpr const char* kRankAttributes[] = {"comm_src", "comm_dst", "comm_tag", "pg_name",
                                                  "comm_group"};

// What a workload graph knows of a node and Chakra has no attribute for.
inline constexpr const char* kStreamAttribute = "exawarp_stream";
inline constexpr const char* kPositionAttribute = "exawarp_position";
inline constexpr const char* kFieldsAttribute = "exawarp_fields";    // uint64 list, export.cc
inline constexpr const char* kStreamsAttribute = "exawarp_streams";  // of the metadata
// Of the metadata: a list of uint64 for each table; of an all-to-all: the number of its table.
inline constexpr const char* kSizesAttribute = "exawarp_sizes";
// Of the metadata, lists of uint64: the fields of workload.capnp's Training (modelFlopsPerStep as
// the bits of the number); parameters, weights, gradients, optimizer state, and node and bytes of
// each point of a program's memory.
inline constexpr const char* kTrainingAttribute = "exawarp_training";
inline constexpr const char* kMemoryAttribute = "exawarp_memory";
inline constexpr int kTrainingFields = 6, kMemoryFields = 4;  // of the latter, before the points
// Of the metadata, a list of uint64: how the trace counts what it counts, where that is not the
// default (import.h): element bytes, macs, comm_size, control, recorded collectives. A graph keeps
// it as its first record, which is a metadata then (rank_program.h, counting_record).
inline constexpr const char* kCountingAttribute = "exawarp_counting";
// Of the metadata: the program's number in the graph.
inline constexpr const char* kProgramAttribute = "exawarp_program";
// Of the metadata, lists of texts: the mesh (mesh.h); of a collective: the number of its group; of
// a message: the axis that its peer lies along.
inline constexpr const char* kAxesAttribute = "exawarp_axes";
inline constexpr const char* kGroupsAttribute = "exawarp_groups";
inline constexpr const char* kGroupAttribute = "exawarp_group";
inline constexpr const char* kPeerAxisAttribute = "exawarp_peer_axis";
// Of a send: it is a permutation's, by so many positions; of the receive: the send's id.
inline constexpr const char* kPermutationAttribute = "exawarp_permutation";
inline constexpr const char* kArrivalAttribute = "exawarp_arrival_of";

// Unit of a node's duration_micros.
inline constexpr std::uint64_t kPsPerUs = 1'000'000;
// What duration_micros is too coarse for: nanoseconds (uint64).
inline constexpr const char* kDurationAttribute = "exawarp_duration_ns";

// Whether a node has the attributes of a message.
[[nodiscard]] inline bool is_message(model::schema::NodeKind kind) {
  return kind == model::schema::NodeKind::SEND || kind == model::schema::NodeKind::RECEIVE;
}

// Sets the attribute to `value`, as the kind of integer or text that it holds.
void set_number(chakra::Attribute& attribute, std::int64_t value);

}  // namespace exawarp::io
