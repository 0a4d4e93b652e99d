// A directory of its own for a test, the program run inside the process, and a small study.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/small_study.h"

namespace exawarp::tests {

struct Ran {
  int exit_code = 0;
  std::string out, err;
};

// Creates a temporary directory, makes it the current one, and removes it at the end.
class Workspace {
 public:
  Workspace();
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  void write(const std::string& name, const std::string& content) const;
  [[nodiscard]] std::string read(const std::string& name) const;
  [[nodiscard]] bool has(const std::string& name) const;
  // Runs the program's commands in this process.
  [[nodiscard]] Ran run(const std::vector<std::string>& arguments) const;

 private:
  std::filesystem::path before_, directory_;
};

// Text with every `from` replaced; the text must contain it.
std::string replaced(std::string text, const std::string& from, const std::string& to);

}  // namespace exawarp::tests
