// Execution traces as JSON, in the two forms that Chakra's own tools write and read:
//
//   messages  one JSON object after another, in the names of the protobuf fields: the metadata,
//             then the nodes (chakra_jsonizer); what we write
//   feeder    {"workload_graph": [{"Id": 1, "Name": "a", "NodeType": 4, "ctrlDeps": [],
//             "data_deps": [], "runtime": 5, "is_cpu_op": true}, ...]} (et_feeder's second reader)
#pragma once

#include <string>
#include <string_view>

#include "io/formats/chakra/reader.h"

namespace exawarp::io {

// Reads either form. Throws core::InputError that starts with `place`.
void read_json_trace(std::string_view text, const std::string& place, const TraceVisitor& visitor);

// One message as a line.
[[nodiscard]] std::string to_json_line(const google::protobuf::Message& message,
                                       const std::string& place);

// Converts one trace: FILE.et to FILE.json, or the other way, as the names say. Throws
// core::InputError, core::SystemError where the output cannot be written.
void convert_trace(const std::string& input, const std::string& output);

}  // namespace exawarp::io
