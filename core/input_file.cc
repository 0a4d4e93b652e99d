// Opens a path without waiting for a pipe, looks at what it is, and refuses all but regular files.
// Standard input is copied once into a file of its own, which every later opening reads.
#include "core/input_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "core/error.h"
#include "core/machine.h"

namespace exawarp::core {
namespace {

constexpr const char* kInsteadOfPipes = "; expected a file, or - for standard input";

std::string& standard_input_is_forbidden() {
  static std::string why;
  return why;
}

// What is no regular file, in words.
std::string refusal(mode_t mode) {
  if (S_ISFIFO(mode)) return std::string("is a pipe") + kInsteadOfPipes;
  if (S_ISCHR(mode) || S_ISBLK(mode)) return std::string("is a device") + kInsteadOfPipes;
  return "not a regular file";
}

int open_regular(const std::string& path) {
  struct stat facts {};
  // Before it is opened, which alone makes some devices act.
  if (::stat(path.c_str(), &facts) != 0) {
    throw InputError(path, "cannot open: " + system_text(errno));
  }
  if (!S_ISREG(facts.st_mode)) throw InputError(path, refusal(facts.st_mode));
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) throw InputError(path, "cannot open: " + system_text(errno));
  return descriptor;
}

void append(int file, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(file, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      throw SystemError(std::string(kStandardInput) + ": cannot keep it: " + system_text(errno));
    }
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
}

void copy_standard_input(int to) {
  const std::uint64_t size_max = discover_machine().memory_available_bytes / 2;
  std::uint64_t size = 0;
  std::array<char, 1 << 16> buffer{};
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw SystemError(std::string(kStandardInput) + ": cannot read: " + system_text(errno));
    }
    if (got == 0) return;
    size += static_cast<std::uint64_t>(got);
    if (size > size_max) {
      throw SystemError(std::string(kStandardInput) +
                        ": standard input takes more than half of "
                        "the free memory; expected a file");
    }
    append(to, buffer.data(), static_cast<std::size_t>(got));
  }
}

// A file that can be mapped with what standard input holds: itself where it is a regular file at
// its start, or a copy in memory.
int standard_input() {
  struct stat facts {};
  if (::fstat(STDIN_FILENO, &facts) == 0 && S_ISREG(facts.st_mode) &&
      ::lseek(STDIN_FILENO, 0, SEEK_CUR) == 0) {
    return STDIN_FILENO;
  }
  const int copy = ::memfd_create("exawarp-standard-input", MFD_CLOEXEC);
  if (copy < 0) {
    throw SystemError(std::string(kStandardInput) + ": cannot keep it: " + system_text(errno));
  }
  copy_standard_input(copy);
  return copy;
}

// Several readers may ask, for a file is often looked into before it is read: all get the same.
int open_standard_input() {
  if (const std::string& why = standard_input_is_forbidden(); !why.empty()) {
    throw InputError(kStandardInput, why);
  }
  static const int kept = standard_input();
  const int descriptor = ::fcntl(kept, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (descriptor < 0) {
    throw SystemError(std::string(kStandardInput) + ": cannot open: " + system_text(errno));
  }
  return descriptor;
}

}  // namespace

InputFile::InputFile(const std::string& path)
    : descriptor_(path == kStandardInput ? open_standard_input() : open_regular(path)) {
  struct stat facts {};
  const int error = ::fstat(descriptor_, &facts) == 0 ? 0 : errno;
  if (error == 0 && S_ISREG(facts.st_mode)) {
    size_ = static_cast<std::size_t>(facts.st_size);
    return;
  }
  ::close(descriptor_);
  if (error != 0) throw SystemError(path + ": fstat: " + system_text(error));
  throw InputError(path, refusal(facts.st_mode));
}

InputFile::~InputFile() { ::close(descriptor_); }

void forbid_standard_input(const std::string& why) { standard_input_is_forbidden() = why; }

}  // namespace exawarp::core
