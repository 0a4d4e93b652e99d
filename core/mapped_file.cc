// Read-only mapping of a file; see mapped_file.h.
#include "core/mapped_file.h"

#include <sys/mman.h>

#include <cerrno>
#include <utility>

#include "core/error.h"
#include "core/input_file.h"

namespace exawarp::core {

MappedFile::MappedFile(const std::string& path) {
  const InputFile file(path);
  const std::size_t size = file.size();
  if (size == 0) return;  // mmap refuses a length of zero
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (address == MAP_FAILED) throw SystemError(path + ": mmap: " + system_text(errno));
  address_ = address;
  size_ = size;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (address_ != nullptr) ::munmap(address_, size_);
}

}  // namespace exawarp::core
