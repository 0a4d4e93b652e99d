// Names of the attributes of a Chakra node, and those that our exports add.
#pragma once

#include <string>

#include "io/chakra.pb.h"

namespace exawarp::io {

// Which depend on the rank, so that records leave their values out (0 or "").
inline constexpr const char* kRankAttributes[] = {"comm_src", "comm_dst", "comm_tag", "pg_name",
                                                  "comm_group"};

// What a workload graph knows of a node and Chakra has no attribute for.
inline constexpr const char* kStreamAttribute = "exawarp_stream";
inline constexpr const char* kPositionAttribute = "exawarp_position";
inline constexpr const char* kFieldsAttribute = "exawarp_fields";    // uint64 list, export.cc
inline constexpr const char* kStreamsAttribute = "exawarp_streams";  // of the metadata

// What duration_micros is too coarse for: nanoseconds (uint64).
inline constexpr const char* kDurationAttribute = "exawarp_duration_ns";

// Sets the attribute to `value`, whichever kind of integer or text it holds.
void set_number(chakra::Attribute& attribute, std::int64_t value);

}  // namespace exawarp::io
