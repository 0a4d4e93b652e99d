// A file mapped read-only, so that its pages are shared by all processes of a machine and read in
// place.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace exawarp::core {

// Owner:     the mapping; unmapped on destruction. Views of bytes() must not outlive it.
// Invariant: nobody truncates the file while it is mapped (the system would raise SIGBUS, which
//            core/bus_error.h makes a line of); files written by rename, as ours are, cannot be.
class MappedFile {
 public:
  MappedFile() = default;
  // `path` may be "-", standard input. Throws as InputFile does, and SystemError where the system
  // refuses to map it. An empty file gives an empty span.
  explicit MappedFile(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  // Starts on a page boundary.
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(address_), size_};
  }

 private:
  void* address_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace exawarp::core
