#include "core/input_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/error.h"
#include "core/mapped_file.h"

namespace exawarp::tests {
namespace {

using namespace core;

std::string error(const std::string& path) {
  try {
    const InputFile file(path);
  } catch (const InputError& problem) {
    return problem.what();
  }
  return "";
}

TEST(InputFile, APipeWithoutAWriterIsRefusedAtOnce) {
  const std::string path = testing::TempDir() + "exawarp_pipe_" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(error(path), path + ": is a pipe; expected a file, or - for standard input");
  std::filesystem::remove(path);
}

TEST(InputFile, ADeviceIsRefused) {
  EXPECT_EQ(error("/dev/zero"), "/dev/zero: is a device; expected a file, or - for standard input");
}

// In processes of their own: standard input is taken in once.
TEST(InputFileDeathTest, StandardInputIsTheSameEachTime) {
  EXPECT_EXIT(
      {
        int ends[2];
        if (pipe(ends) != 0 || write(ends[1], "bytes", 5) != 5) std::_Exit(1);
        close(ends[1]);
        dup2(ends[0], STDIN_FILENO);
        for (int i = 0; i < 2; ++i) {
          const MappedFile file(kStandardInput);
          if (file.bytes().size() != 5) std::_Exit(2);
          if (std::memcmp(file.bytes().data(), "bytes", 5) != 0) std::_Exit(3);
        }
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(InputFileDeathTest, StandardInputCanBeForbidden) {
  EXPECT_EXIT(
      {
        forbid_standard_input("has no place here");
        std::_Exit(error("-") == "-: has no place here" ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace exawarp::tests
