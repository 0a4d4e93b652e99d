// Opening a file for reading, in the only way in which the program does it.
#pragma once

#include <cstddef>
#include <string>

namespace exawarp::core {

// The name that stands for standard input.
inline constexpr const char* kStandardInput = "-";

// A regular file, or standard input, which is read at the first use, up to half of the free
// memory, and is the same at each use. A named pipe or device is refused: it may never end.
// Owner: one thread at a time opens standard input.
class InputFile {
 public:
  // Throws InputError where `path` cannot be opened or is not a regular file, SystemError where
  // standard input cannot be read or is too long.
  explicit InputFile(const std::string& path);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  int descriptor_ = -1;
  std::size_t size_ = 0;
};

// From here on kStandardInput is refused with InputError, for the reason `why`: with several ranks,
// only the first has the user's standard input.
void forbid_standard_input(const std::string& why);

}  // namespace exawarp::core
