#include "core/mapped_file.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include "core/error.h"

namespace exawarp::tests {
namespace {

using namespace core;

TEST(MappedFile, ShowsTheBytesOfTheFile) {
  const std::string path = testing::TempDir() + "exawarp_mapped_file_test";
  std::ofstream(path) << "some bytes";
  MappedFile first(path);
  const MappedFile file = std::move(first);
  ASSERT_EQ(file.bytes().size(), 10u);
  EXPECT_EQ(std::memcmp(file.bytes().data(), "some bytes", 10), 0);
  EXPECT_TRUE(first.bytes().empty());  // NOLINT: moved from, and said to be empty
  std::remove(path.c_str());
}

TEST(MappedFile, EmptyFileHasNoBytes) {
  const std::string path = testing::TempDir() + "exawarp_mapped_file_test_empty";
  std::ofstream{path};
  EXPECT_TRUE(MappedFile(path).bytes().empty());
  std::remove(path.c_str());
}

TEST(MappedFile, DirectoryIsTheUsersError) {
  try {
    MappedFile("/tmp");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "/tmp: not a regular file");
  }
}

}  // namespace
}  // namespace exawarp::tests
