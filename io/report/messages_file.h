// When each message of a run was sent and received, as a table.
#pragma once

#include "core/output_file.h"
#include "model/network/message_trace.h"

namespace exawarp::io {

// CSV, by time of sending: source, destination, kind (message: of a send and its receive;
// collective; request and ready: notices of long messages; background), tag (of a message that does
// not go by packets), bytes, start_ps, end_ps (empty: it did not come). Throws core::SystemError.
void write_messages(const model::MessageTrace& trace, core::OutputFile& file);

}  // namespace exawarp::io
