// One record of an execution trace, as it is written: its length, then the message.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstdint>
#include <string>

#include "core/varint.h"

namespace exawarp::io {

inline void append_varint(std::uint64_t value, std::string& out) {
  char bytes[core::kVarintBytesMax];
  out.append(bytes, core::write_varint(value, bytes));
}

inline void append_record(const google::protobuf::MessageLite& message, std::string& out) {
  append_varint(message.ByteSizeLong(), out);
  message.AppendToString(&out);
}

}  // namespace exawarp::io
