// One pipe carries what the child prints and, after a byte that no text has, its result.
#include "io/life/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

#include "core/error.h"

namespace exawarp::io {
namespace {

constexpr char kResultFollows = '\0';
constexpr int kOutput = STDOUT_FILENO;

void write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(kOutput, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;  // nobody reads it any more
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

[[noreturn]] void be_child(const ChildProcess::Work& work, int pipe, pid_t parent) noexcept {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it ended before it could have told
  for (const int asks : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) std::signal(asks, SIG_IGN);
  dup2(pipe, STDOUT_FILENO);
  dup2(pipe, STDERR_FILENO);
  close_range(STDERR_FILENO + 1, ~0U, 0);
  std::string result;
  const int exit_code = work(result);
  write_all({&kResultFollows, 1});
  write_all(result);
  _exit(exit_code);
}

std::string last_line(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  return std::string(text.substr(text.rfind('\n') + 1));
}

}  // namespace

ChildProcess::ChildProcess(const Work& work) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw core::SystemError("cannot make a pipe: " + core::system_text(errno));
  }
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ == 0) be_child(work, ends[1], parent);
  const int error = errno;
  close(ends[1]);
  descriptor_ = ends[0];
  if (process_ < 0) {
    close(descriptor_);
    throw core::SystemError("cannot start a process: " + core::system_text(error));
  }
}

ChildProcess::~ChildProcess() {
  if (descriptor_ >= 0) close(descriptor_);
  if (process_ <= 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : process_(std::exchange(other.process_, -1)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      output_(std::move(other.output_)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(process_, other.process_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(output_, other.output_);
  return *this;
}

bool ChildProcess::read() {
  char buffer[1 << 16];
  const ssize_t size = ::read(descriptor_, buffer, sizeof buffer);
  if (size < 0 && errno == EINTR) return true;
  if (size <= 0) return false;
  output_.append(buffer, static_cast<std::size_t>(size));
  return true;
}

ChildEnd ChildProcess::wait() {
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  ChildEnd end;
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end.exit_code = end.signal != 0 ? 128 + end.signal : WEXITSTATUS(status);
  const std::size_t result = output_.find(kResultFollows);
  end.last_words = last_line(std::string_view(output_).substr(0, result));
  if (result != std::string::npos) end.result = output_.substr(result + 1);
  return end;
}

}  // namespace exawarp::io
