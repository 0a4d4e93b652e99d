#include "io/text_file.h"

#include <fstream>

#include "core/error.h"

namespace exawarp::io {

void write_text_file(const std::string& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) throw core::SystemError(path + ": cannot be written");
}

}  // namespace exawarp::io
