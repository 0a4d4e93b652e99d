#include "core/bus_error.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "core/error.h"
#include "core/mapped_file.h"

namespace exawarp::tests {
namespace {

using namespace core;

// In the child process: a mapped file is cut short, then read.
void read_behind_the_end(const std::string& path) {
  explain_bus_errors();
  std::ofstream(path) << std::string(10'000, 'x');
  const MappedFile file(path);
  if (::truncate(path.c_str(), 1) != 0) std::_Exit(9);
  const volatile std::byte* last = &file.bytes().back();
  static_cast<void>(*last);
  std::_Exit(8);
}

TEST(BusError, AFileCutShortIsNamed) {
  const std::string path = testing::TempDir() + "exawarp_bus_error_test";
  EXPECT_EXIT(read_behind_the_end(path), testing::ExitedWithCode(kSystemErrorExitCode),
              "exawarp_bus_error_test: was cut short, or could not be read");
  std::remove(path.c_str());
}

// As with shared memory on a full file system: there is no page to write on.
void write_behind_the_end() {
  explain_bus_errors();
  const int file = ::memfd_create("exawarp_board", 0);
  void* const memory = ::mmap(nullptr, 4'096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) std::_Exit(9);
  *static_cast<volatile char*>(memory) = 1;
  std::_Exit(8);
}

TEST(BusError, SharedMemoryWithoutRoomIsNamed) {
  EXPECT_EXIT(write_behind_the_end(), testing::ExitedWithCode(kSystemErrorExitCode),
              "exawarp_board.*: no room is left");
}

}  // namespace
}  // namespace exawarp::tests
