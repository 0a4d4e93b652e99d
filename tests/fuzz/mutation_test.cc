// Every parser on inputs mutated from a fixed seed, and on inputs that once went wrong
// (regressions/TARGET/). EXAWARP_FUZZ_CASES raises the number of mutations.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/fuzz/mutate.h"
#include "tests/fuzz/targets.h"

namespace exawarp::fuzz {
namespace {

class Parser : public testing::TestWithParam<Target> {
 protected:
  const Target& target_ = GetParam();
};

TEST_P(Parser, AcceptsItsSeeds) {
  std::size_t number = 0;
  for (const std::string& seed : target_.seeds()) {
    EXPECT_TRUE(target_.run(seed)) << "seed " << number;
    ++number;
  }
}

// A bug ends the process; the seed that SCOPED_TRACE would print is then in EXAWARP_FUZZ_TRACE's
// last line.
TEST_P(Parser, AcceptsOrRefusesWhateverIsMadeOfThem) {
  const char* wanted = std::getenv("EXAWARP_FUZZ_CASES");
  const std::uint64_t cases = wanted == nullptr ? 150 : std::strtoull(wanted, nullptr, 10);
  const bool traced = std::getenv("EXAWARP_FUZZ_TRACE") != nullptr;
  const std::vector<std::string> seeds = target_.seeds();
  const std::vector<std::string> words = target_.words();
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 1; seed <= cases; ++seed) {
    if (traced) std::fprintf(stderr, "seed %llu\n", static_cast<unsigned long long>(seed));
    const std::string bytes =
        mutated({.bytes = seeds[seed % seeds.size()], .others = seeds, .words = words}, seed);
    if (!target_.run(bytes)) ++refused;
  }
  EXPECT_GT(refused, cases / 10);
  EXPECT_LT(refused, cases);
}

TEST_P(Parser, HandlesWhatOnceWentWrong) {
  const std::filesystem::path directory =
      std::filesystem::path(EXAWARP_SOURCE_DIR) / "tests/fuzz/regressions" / target_.name;
  if (!std::filesystem::exists(directory)) return;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream in(entry.path(), std::ios::binary);
    static_cast<void>(target_.run(std::string{std::istreambuf_iterator<char>(in), {}}));
  }
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Parser, testing::ValuesIn(targets().begin(), targets().end()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace exawarp::fuzz
