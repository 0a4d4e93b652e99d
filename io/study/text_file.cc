#include "io/study/text_file.h"

#include <fmt/format.h>

#include "core/error.h"

namespace exawarp::io {

void check_json_depth(std::string_view text, const std::string& place) {
  constexpr std::size_t kDepthMax = 100;
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c == '\\') ++at;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kDepthMax) {
        throw core::InputError(place, fmt::format("byte {}: is nested more than {} deep", at,
                                                  kDepthMax));
      }
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
}

}  // namespace exawarp::io
