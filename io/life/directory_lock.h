// Who has a directory of checkpoints: one run that writes, or any number that choose what to read.
#pragma once

#include <chrono>
#include <string>

namespace exawarp::io {

// As long as it lives. The system ends it with the process.
class DirectoryLock {
 public:
  enum class Kind { shared, exclusive };

  // Waits for others, up to `patience`. File systems that know no locks, and directories that are
  // not there, are had at once.
  DirectoryLock(const std::string& directory, Kind kind, std::chrono::milliseconds patience);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

  // False: another one still has it.
  [[nodiscard]] bool is_held() const { return held_; }

 private:
  int descriptor_;
  bool held_ = true;
};

}  // namespace exawarp::io
