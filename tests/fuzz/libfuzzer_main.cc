// The targets of targets.h under libFuzzer (preset `fuzz`, clang only; scripts/fuzz runs them):
//
//   fuzz_parsers --list                                      the targets' names
//   fuzz_parsers --target=goal --seeds=DIR -dict=DIR.dict DIR  as long as nothing is found
//   fuzz_parsers --target=goal FILE                          this one input
//
// --seeds has the seeds and the dictionary written first. libFuzzer passes over options with two
// dashes, and hands them on to its child processes.
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "core/check.h"
#include "tests/fuzz/targets.h"

namespace {

using exawarp::fuzz::Target;

const Target* chosen = nullptr;

void write_seeds(const std::filesystem::path& directory) {
  std::filesystem::create_directories(directory);
  int number = 0;
  for (const std::string& seed : chosen->seeds()) {
    std::ofstream(directory / fmt::format("seed_{}", number++), std::ios::binary) << seed;
  }
  std::ofstream dictionary(directory.string() + ".dict");
  for (const std::string& word : chosen->words()) {
    dictionary << '"';
    for (const char c : word) dictionary << fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    dictionary << "\"\n";
  }
}

[[noreturn]] void list_targets() {
  for (const Target& target : exawarp::fuzz::targets()) fmt::print("{}\n", target.name);
  std::exit(0);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr std::string_view kTarget = "--target=", kSeeds = "--seeds=";
  std::string_view seeds;
  for (int i = 1; i < *argc; ++i) {
    const std::string_view argument = (*argv)[i];
    if (argument == "--list") list_targets();
    if (argument.starts_with(kSeeds)) seeds = argument.substr(kSeeds.size());
    if (argument.starts_with(kTarget)) {
      chosen = exawarp::fuzz::find_target(argument.substr(kTarget.size()));
    }
  }
  if (chosen == nullptr) {
    fmt::print(stderr, "expected --target=NAME; --list prints the names\n");
    std::exit(2);
  }
  if (!seeds.empty()) write_seeds(seeds);
  exawarp::core::set_check_hook([](int) { std::abort(); });  // so that libFuzzer keeps the input
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static_cast<void>(chosen->run({reinterpret_cast<const char*>(data), size}));
  return 0;
}
