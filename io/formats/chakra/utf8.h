// Names for Chakra: protobuf's texts are UTF-8, those of a workload are any bytes.
#pragma once

#include <string>
#include <string_view>

namespace exawarp::io {

// `text` with '?' for each byte that is part of no UTF-8 character (RFC 3629: neither overlong
// forms nor surrogates are).
[[nodiscard]] std::string as_utf8(std::string_view text);

}  // namespace exawarp::io
