#include "tests/e2e/workspace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace exawarp::tests {

Workspace::Workspace()
    : before_(std::filesystem::current_path()),
      directory_(std::filesystem::temp_directory_path() /
                 ("exawarp_e2e_" + std::to_string(getpid()))) {
  std::filesystem::remove_all(directory_);
  std::filesystem::create_directories(directory_);
  std::filesystem::current_path(directory_);
}

Workspace::~Workspace() {
  std::filesystem::current_path(before_);
  std::filesystem::remove_all(directory_);
}

void Workspace::write(const std::string& name, const std::string& content) const {
  std::ofstream(name, std::ios::binary) << content;
}

std::string Workspace::read(const std::string& name) const {
  std::ifstream in(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool Workspace::has(const std::string& name) const { return std::filesystem::exists(name); }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "the text to replace is gone: " << from;
  for (; at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

}  // namespace exawarp::tests
