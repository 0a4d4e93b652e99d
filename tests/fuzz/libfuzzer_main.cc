// One target of targets.h under libFuzzer (preset `fuzz`, clang only):
//
//   EXAWARP_FUZZ_SEEDS=DIR fuzz_TARGET -dict=DIR.dict -max_total_time=600 DIR
//
// EXAWARP_FUZZ_SEEDS has the seeds and the dictionary written first.
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/check.h"
#include "tests/fuzz/targets.h"

namespace {

const exawarp::fuzz::Target& target() {
  static const exawarp::fuzz::Target* const found = exawarp::fuzz::find_target(EXAWARP_FUZZ_TARGET);
  EXAWARP_CHECK(found != nullptr, std::string(EXAWARP_FUZZ_TARGET));
  return *found;
}

void write_seeds(const std::filesystem::path& directory) {
  std::filesystem::create_directories(directory);
  int number = 0;
  for (const std::string& seed : target().seeds()) {
    std::ofstream(directory / fmt::format("seed_{}", number++), std::ios::binary) << seed;
  }
  std::ofstream dictionary(directory.string() + ".dict");
  for (const std::string& word : target().words()) {
    dictionary << '"';
    for (const char c : word) dictionary << fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    dictionary << "\"\n";
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (const char* directory = std::getenv("EXAWARP_FUZZ_SEEDS")) write_seeds(directory);
  exawarp::core::set_check_hook([](int) { std::abort(); });  // so that libFuzzer keeps the input
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static_cast<void>(target().run({reinterpret_cast<const char*>(data), size}));
  return 0;
}
