// The two errors that are not our bugs, both caught once, in io/cli/main.cc.
#pragma once

#include <stdexcept>
#include <string>
#include <system_error>

namespace exawarp::core {

// The user's input is wrong: exit code 2, nothing written. Thrown before time zero, or at its end.
// The text is one line: `place: what is wrong: "value"; what was expected`, where place is a
// file, with line or key where known. Who throws without a place leaves it to the reader of the
// file to give one (io/study/in_file.h).
class InputError : public std::runtime_error {
 public:
  explicit InputError(const std::string& what) : std::runtime_error(what) {}
  InputError(const std::string& place, const std::string& what)
      : std::runtime_error(place + ": " + what), has_place_(true) {}
  [[nodiscard]] bool has_place() const { return has_place_; }

 private:
  bool has_place_ = false;
};

// The system's own words for an error number.
inline std::string system_text(int error) { return std::generic_category().message(error); }

// The world refused (memory, disk, MPI): exit code 4, with the system's own words.
class SystemError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What the program ends with on a SystemError, and where none can be thrown: in a signal handler,
// say.
constexpr int kSystemErrorExitCode = 4;

}  // namespace exawarp::core
