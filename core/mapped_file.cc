// Read-only mapping of a file; see mapped_file.h.
#include "core/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "core/error.h"

namespace exawarp::core {
namespace {

std::string system_text(int code) { return std::generic_category().message(code); }

class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : value_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (value_ < 0) throw InputError(path, "cannot open: " + system_text(errno));
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { ::close(value_); }
  [[nodiscard]] int value() const { return value_; }

 private:
  int value_;
};

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const Descriptor file(path);
  struct stat facts {};
  if (::fstat(file.value(), &facts) != 0) {
    throw SystemError(path + ": fstat: " + system_text(errno));
  }
  if (!S_ISREG(facts.st_mode)) throw InputError(path, "not a regular file");
  if (facts.st_size == 0) return;  // mmap refuses a length of zero
  const auto size = static_cast<std::size_t>(facts.st_size);
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.value(), 0);
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
