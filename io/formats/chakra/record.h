// One record of an execution trace, as it is written: its length, then the message.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstdint>
#include <string>

namespace exawarp::io {

inline void append_varint(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>((value & 0x7f) | 0x80));
  out.push_back(static_cast<char>(value));
}

inline void append_record(const google::protobuf::MessageLite& message, std::string& out) {
  append_varint(message.ByteSizeLong(), out);
  message.AppendToString(&out);
}

}  // namespace exawarp::io
