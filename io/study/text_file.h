// Files that are read at once.
#pragma once

#include <string>
#include <string_view>

#include "core/mapped_file.h"

namespace exawarp::io {

// Valid as long as `file`.
inline std::string_view text_of(const core::MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

// Refuses JSON that is nested so deeply that code which walks it might run out of stack. Throws
// core::InputError that starts with `place`.
void check_json_depth(std::string_view text, const std::string& place);

}  // namespace exawarp::io
