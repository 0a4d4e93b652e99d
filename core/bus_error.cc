// In the handler nothing may be called but what is safe in a signal: no memory is allocated and
// nothing is locked. So the file's name is read off the system's own list of mappings,
//
//   7f3c20000000-7f3c20200000 r--s 00000000 08:01 1234      /data/big.xwg
//
// which needs no list of ours and knows the files of libraries too (windows of MPI).
#include "core/bus_error.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "core/error.h"
#include "core/temporary_files.h"

namespace exawarp::core {
namespace {

constexpr std::size_t kLineMax = 4'400;  // of the list: a path has at most 4,096 bytes

// The lines of a file, each cut at kLineMax.
class Lines {
 public:
  explicit Lines(const char* path) : file_(::open(path, O_RDONLY | O_CLOEXEC)) {}
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  ~Lines() {
    if (file_ >= 0) ::close(file_);
  }
  // nullptr behind the last one. Valid until the next call.
  const char* next() {
    std::size_t size = 0;
    for (char c; take(c);) {
      if (c == '\n') return terminated(size);
      if (size < kLineMax) line_[size++] = c;
    }
    return size == 0 ? nullptr : terminated(size);
  }

 private:
  bool take(char& c) {
    if (at_ == end_) {
      at_ = 0;
      end_ = file_ < 0 ? 0 : ::read(file_, buffer_, sizeof buffer_);
      if (end_ <= 0) return end_ = 0, false;
    }
    c = buffer_[at_++];
    return true;
  }
  const char* terminated(std::size_t size) {
    line_[size] = '\0';
    return line_;
  }

  int file_;
  ssize_t at_ = 0, end_ = 0;
  char buffer_[1'024];
  char line_[kLineMax + 1];
};

std::uintptr_t hexadecimal(const char*& text) {
  std::uintptr_t value = 0;
  for (;; ++text) {
    const char c = *text;
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return value;
    value = value * 16 + static_cast<std::uintptr_t>(digit);
  }
}

// Of a line of the list.
struct Mapping {
  const char* path = "";
  bool is_written = false;
};

bool holds(const char* line, std::uintptr_t address, Mapping& found) {
  const std::uintptr_t first = hexadecimal(line);
  if (*line++ != '-') return false;
  const std::uintptr_t end = hexadecimal(line);
  if (address < first || address >= end || std::strlen(line) < 3) return false;
  found.is_written = line[2] == 'w';
  const char* const path = std::strchr(line, '/');
  if (path != nullptr) found.path = path;
  return path != nullptr;
}

class Text {
 public:
  void add(const char* text) {
    for (; *text != '\0' && size_ < sizeof text_; ++text) {
      const bool is_control = static_cast<unsigned char>(*text) < 0x20 || *text == 0x7f;
      text_[size_++] = is_control && *text != '\n' ? '?' : *text;
    }
  }
  void print() const { static_cast<void>(!::write(STDERR_FILENO, text_, size_)); }

 private:
  char text_[kLineMax + 256];
  std::size_t size_ = 0;
};

extern "C" void explain(int signal, siginfo_t* what, void*) {
  static std::atomic_flag explained;
  Mapping mapping;
  Lines list("/proc/self/maps");
  if (what->si_code == BUS_ADRERR) {
    const auto address = reinterpret_cast<std::uintptr_t>(what->si_addr);
    for (const char* line; (line = list.next()) != nullptr;)
      if (holds(line, address, mapping)) break;
  }
  if (*mapping.path == '\0') {  // the instruction runs again, and ends as it would have
    std::signal(signal, SIG_DFL);
    return;
  }
  while (explained.test_and_set()) ::pause();  // another thread ends the process
  Text text;
  text.add(mapping.path);
  text.add(mapping.is_written
               ? ": no room is left for what is written there; more of it (df) would help\n"
               : ": was cut short, or could not be read any more, while it was in use; expected "
                 "a file that stays as it is until the end\n");
  text.print();
  remove_all_temporaries();
  ::_exit(kSystemErrorExitCode);
}

}  // namespace

void explain_bus_errors() {
  struct sigaction action {};
  action.sa_sigaction = &explain;
  action.sa_flags = SA_SIGINFO;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace exawarp::core
