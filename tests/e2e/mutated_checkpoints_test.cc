// Checkpoints that something happened to: each is refused by name, or goes on to the right digest.
// EXAWARP_MUTATIONS raises the number of cases; a failure prints the number of its case.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/e2e/workspace.h"
#include "tests/support/draws.h"

namespace exawarp::tests {
namespace {

namespace fs = std::filesystem;

// Something else of the same bytes: changed, lost, added, moved or repeated.
std::string mutated(std::string bytes, Draws& draw) {
  const std::size_t at = bytes.empty() ? 0 : draw.below(bytes.size());
  const std::size_t length = 1 + draw.below(std::min<std::size_t>(64, bytes.size() - at + 1));
  switch (draw.below(7)) {
    case 0: bytes[at] = static_cast<char>(draw.below(256)); break;
    case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << draw.below(8))); break;
    case 2: bytes.resize(at); break;
    case 3: bytes.erase(at, length); break;
    case 4: bytes.insert(at, std::string(length, static_cast<char>(draw.below(256)))); break;
    case 5: bytes.insert(at, bytes.substr(draw.below(bytes.size()), length)); break;
    case 6: std::swap(bytes[at], bytes[draw.below(bytes.size())]); break;
  }
  return bytes;
}

TEST(MutatedCheckpoints, AreRefusedOrRight) {
  const char* const wanted = std::getenv("EXAWARP_MUTATIONS");
  const std::uint64_t cases = wanted == nullptr ? 200 : std::strtoull(wanted, nullptr, 10);
  const Workspace w;
  const std::vector<std::string> phold{"phold", "--lps",   "64",  "--start-events", "2",
                                       "--end", "20",      "--remote", "0.5",
                                       "--json", "--threads", "1"};
  const auto digest_of = [](const Ran& ran) {
    return nlohmann::json::parse(ran.out)["digest"].get<std::string>();
  };
  const std::string digest = digest_of(w.run(phold));
  std::vector<std::string> writing = phold;
  writing.insert(writing.end(), {"--checkpoint", "c", "--checkpoint-every", "12 us simulated"});
  ASSERT_EQ(w.run(writing).exit_code, 0);
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator("c")) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  ASSERT_EQ(files.size(), 2u);
  std::ranges::sort(files);
  std::uint64_t refused = 0;
  for (std::uint64_t n = 0; n < cases; ++n) {
    Draws draw(n, 0x3171);
    const std::string& file = files[draw.below(files.size())];
    const std::string sound = w.read(file);
    std::string other = mutated(sound, draw);
    if (draw.below(4) == 0) other = mutated(std::move(other), draw);
    w.write(file, other);
    const Ran ran = w.run({"phold", "--restart", "c", "--json", "--threads", "1"});
    w.write(file, sound);
    ASSERT_TRUE(ran.exit_code == 0 || ran.exit_code == 2) << n << ": " << ran.err;
    if (ran.exit_code == 0) {
      ASSERT_EQ(digest_of(ran), digest) << n;
      continue;
    }
    ++refused;
    ASSERT_EQ(ran.err.find("c/checkpoint-"), 0u) << n << ": " << ran.err;
    ASSERT_EQ(ran.err.find('\n'), ran.err.size() - 1) << n << ": " << ran.err;
  }
  EXPECT_GT(refused, cases / 2);
}

}  // namespace
}  // namespace exawarp::tests
