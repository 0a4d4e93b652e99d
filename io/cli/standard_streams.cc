#include "io/cli/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "core/error.h"
#include "io/cli/console.h"

namespace exawarp::io {

void open_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) != -1) continue;
    // The lowest free descriptor is this one. Open the wrong way round, so that its use fails.
    const int opened = ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened >= 0 && opened != descriptor) ::close(opened);
  }
}

int StandardOutput::Buffer::overflow(int next) {
  if (sync() != 0) return traits_type::eof();
  if (!traits_type::eq_int_type(next, traits_type::eof())) {
    *pptr() = traits_type::to_char_type(next);
    pbump(1);
  }
  return traits_type::not_eof(next);
}

int StandardOutput::Buffer::sync() {
  const char* from = pbase();
  while (error_ == 0 && from != pptr()) {
    const ssize_t written = ::write(STDOUT_FILENO, from, static_cast<std::size_t>(pptr() - from));
    if (written >= 0) {
      from += written;
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  setp(bytes_.data(), bytes_.data() + bytes_.size());
  return error_ == 0 ? 0 : -1;
}

int StandardOutput::finish(int exit_code, std::ostream& err) {
  stream_.flush();
  if (buffer_.error() == 0) return exit_code;
  err << "standard output: cannot write: " + core::system_text(buffer_.error()) + "\n"
      << std::flush;
  return exit_code == kDone ? kOutOfResources : exit_code;
}

}  // namespace exawarp::io
