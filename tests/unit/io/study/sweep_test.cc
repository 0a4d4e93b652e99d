#include "io/study/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "tests/support/small_study.h"

namespace exawarp::tests {
namespace {

using io::Sweep;
using Points = std::vector<std::vector<std::string>>;

const std::string kHead = "sweep: s\nstudy: study.yaml\n";
const std::string kParallel = "workload.transformer.parallel.";

class SweepFile : public testing::Test {
 protected:
  SweepFile() {
    std::filesystem::create_directories(folder_);
    write("study.yaml", small_study());
    write("workload.yaml", small_workload());
  }
  ~SweepFile() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  [[nodiscard]] Sweep read(const std::string& rest) const {
    write("sweep.yaml", kHead + rest);
    return io::read_sweep((folder_ / "sweep.yaml").string());
  }
  [[nodiscard]] Points points(const std::string& rest) const { return read(rest).points; }
  // The folder cut off.
  [[nodiscard]] std::string error_of(const std::string& rest) const {
    return error_of_file(kHead + rest);
  }
  [[nodiscard]] std::string error_of_file(const std::string& text) const {
    write("sweep.yaml", text);
    try {
      static_cast<void>(io::read_sweep((folder_ / "sweep.yaml").string()));
      return "";
    } catch (const core::InputError& error) {
      std::string what = error.what();
      const std::string prefix = folder_.string() + "/";
      for (std::size_t at; (at = what.find(prefix)) != std::string::npos;) {
        what.erase(at, prefix.size());
      }
      return what;
    }
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("exawarp_sweep_" + std::to_string(getpid()));
};

TEST_F(SweepFile, GridIsEveryCombinationTheLastKeyFastest) {
  EXPECT_EQ(points("over: {seed: [1, 2], placement.method: [block, metis]}\n"),
            (Points{{"1", "block"}, {"1", "metis"}, {"2", "block"}, {"2", "metis"}}));
}

TEST_F(SweepFile, ListTakesTheValuesSideBySide) {
  EXPECT_EQ(points("how: list\nover: {seed: [1, 2], placement.method: [block, metis]}\n"),
            (Points{{"1", "block"}, {"2", "metis"}}));
}

TEST_F(SweepFile, PointsAreTakenAsTheyAre) {
  const Sweep sweep = read(
      "points: [{seed: 3, placement.method: block},\n"
      "         {placement.method: metis, seed: 1}]\n");
  EXPECT_EQ(sweep.points, (Points{{"3", "block"}, {"1", "metis"}}));
  EXPECT_EQ(io::overrides_of(sweep, sweep.points[1]),
            (std::vector<std::string>{"seed=1", "placement.method=metis"}));
}

TEST_F(SweepFile, RangesGoByStepsOrFactors) {
  EXPECT_EQ(points("over: {seed: {from: 3, to: 6}}\n"), (Points{{"3"}, {"4"}, {"5"}, {"6"}}));
  EXPECT_EQ(points("over: {seed: {from: 2, to: 33, factor: 2}}\n"),
            (Points{{"2"}, {"4"}, {"8"}, {"16"}, {"32"}}));
  EXPECT_EQ(points("over: {compute.jitter: {from: 0, to: 0.3, step: 0.1}}\n"),
            (Points{{"0"}, {"0.1"}, {"0.2"}, {"0.3"}}));
}

TEST_F(SweepFile, ConditionsKnowKeysByTheirLastPartAndTheStudysOwn) {
  const std::string over =
      fmt::format("over: {{{0}tensor: [1, 2, 4], {0}data: [1, 2, 4]}}\n", kParallel);
  // The study has 8 devices in 2 stages, and 4 layers.
  EXPECT_EQ(points(over + "where: [tensor * data * pipeline = devices]\n"),
            (Points{{"1", "4"}, {"2", "2"}, {"4", "1"}}));
  EXPECT_EQ(points(over + "where: [tensor = layers, data > tensor / 4]\n"),
            (Points{{"4", "2"}, {"4", "4"}}));
  EXPECT_EQ(points(over + fmt::format("as: {{tp: {0}tensor}}\nwhere: [tp = 2 and {0}data = 1]\n",
                                      kParallel)),
            (Points{{"2", "1"}}));
}

TEST_F(SweepFile, DevicesAreThoseOfThePointWhereItSaysSo) {
  EXPECT_EQ(points("over: {devices: [8, 16, 32]}\nwhere: [devices > 8]\n"),
            (Points{{"16"}, {"32"}}));
}

TEST_F(SweepFile, RandomDrawsPointsThatHoldTheConditionsAgainTheSame) {
  const std::string text =
      "over: {seed: {from: 1, to: 1000}}\nwhere: [seed % 2 = 0]\nhow: random\nsamples: 20\n";
  const Points drawn = points(text);
  EXPECT_EQ(drawn.size(), 20U);
  EXPECT_EQ(points(text), drawn);
  EXPECT_NE(points(text + "seed: 2\n"), drawn);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    EXPECT_EQ(std::stoi(drawn[i][0]) % 2, 0);
  }
  EXPECT_TRUE(std::ranges::is_sorted(
      drawn, {}, [](const std::vector<std::string>& point) { return std::stoi(point[0]); }));
  EXPECT_EQ(points("over: {seed: [1, 2]}\nhow: random\nsamples: 20\n").size(), 2U);
}

TEST_F(SweepFile, WhatHoldsAtAllPointsGoesBeforeTheirOwn) {
  const Sweep sweep = read("set: [seed=7]\nmemory: ignore\nover: {seed: [1]}\n");
  EXPECT_EQ(io::overrides_of(sweep, sweep.points[0]),
            (std::vector<std::string>{"seed=7", "memory.ignore=true", "seed=1"}));
}

TEST_F(SweepFile, FilesAreFoundBesideIt) {
  write("other.yaml", small_workload());
  EXPECT_EQ(points("over: {workload: [other.yaml, absent.yaml]}\n"),
            (Points{{(folder_ / "other.yaml").string()}, {"absent.yaml"}}));
}

TEST_F(SweepFile, IdentityIsOfStudyAndPoints) {
  const std::string text = "over: {seed: [1, 2]}\n";
  const std::string identity = read(text).identity;
  EXPECT_EQ(read(text + "description: other words\n").identity, identity);
  EXPECT_EQ(read("points: [{seed: 1}, {seed: 2}]\n").identity, identity);
  EXPECT_NE(read("over: {seed: [1, 3]}\n").identity, identity);
  EXPECT_NE(read(text + "set: [compute.jitter=0.1]\n").identity, identity);
}

TEST_F(SweepFile, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> kCases[]{
      {"", R"(key "points": and over: expected one of the two)"},
      {"over: {seed: [1]}\npoints: [{seed: 1}]\n", "and over: expected one of the two"},
      {"over: {}\n", R"(key "over": has 0 keys; expected 1 to 100)"},
      {"over: {seed: []}\n", "has no values; expected at least one"},
      {"over: {seed: 3}\n", "is plain text; expected a list"},
      {"over: {seed: ['']}\n", "has an empty value; expected what --set takes"},
      {"over: {seed: {from: 1}}\n", R"(key "over.seed.to": is missing)"},
      {"over: {seed: {from: 4, to: 1}}\n", R"(key "over.seed.to": is below from)"},
      {"over: {seed: {from: 0, to: 9, factor: 2}}\n", "is not above 0, as a factor needs"},
      {"over: {seed: {from: 1, to: 9, factor: 2, step: 1}}\n", "is given beside step"},
      {"over: {seed: {from: 1, to: 9, factor: 1}}\n", "is out of range"},
      {"over: {seed: {from: 1, to: 1e9}}\n", "is too far off: more than 10000 values"},
      {"points: []\n", "has no values; expected at least one point"},
      {"points: [{seed: 1}, {}]\n", "have unlike keys"},
      {"points: [{seed: 1}, {sed: 1}]\n",
       R"(key "points[1].sed": unknown key; did you mean "seed"?)"},
      {"points: [{seed: 1}]\nhow: grid\n", "is for over; points are simulated as they are listed"},
      {"over: {seed: [1]}\nhow: list\nwhere: [seed]\n", R"(sweep.yaml:5: key "where": "seed": )"},
      {"how: list\nover: {seed: [1], devices: [8, 8]}\n", R"(has 2 values, and "seed" has 1)"},
      {"over: {seed: [1]}\nhow: random\n", R"(key "samples": is missing)"},
      {"over: {seed: [1]}\nsamples: 3\n", "unknown key"},
      {"over: {seed: [1]}\nhow: some\n", R"("some" is not known here)"},
      {"over: {seed: [1]}\nwhere: [seed > 1]\n", "none of 1 combinations of values holds all"},
      {"over: {placement.method: [block]}\nwhere: [method = 1]\n", R"("method" is no key that)"},
      {"over: {seed: [1]}\nas: {s: sed}\n", R"(key "as.s": "sed" is no key that has a number)"},
      {"over: {seed: [1]}\nas: {a-b: seed}\n", R"(key "as.a-b": is no name; expected a letter)"},
      {"over: {seed: [1]}\nas: {not: seed}\n", R"(key "as.not": is no name)"},
      {"over: {seed: {from: 1, to: 9999}, devices: {from: 1, to: 999}}\n",
       "has more than 1000000 combinations"},
      {"over: {seed: {from: 1, to: 999}, devices: {from: 1, to: 999}}\n",
       "has 998001 points; expected at most 100000"},
      {"over: {seed: [1]}\nset: [sed=1]\n", R"(sweep.yaml:4: key "set": sed: unknown key; did)"},
      {"over: {seed: [1]}\nset: [seed]\n", R"(sweep.yaml:4: key "set": seed: has no "=")"}};
  for (const auto& [text, expected] : kCases) {
    const std::string error = error_of(text);
    EXPECT_NE(error.find(expected), std::string::npos) << text << " -> " << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

TEST_F(SweepFile, ThoseOfConfigsHaveTheirPoints) {
  const std::string folder = std::string(EXAWARP_SOURCE_DIR) + "/configs/sweeps/";
  EXPECT_EQ(io::read_sweep(folder + "layouts_1k.yaml").points.size(), 200U);
  EXPECT_EQ(io::read_sweep(folder + "tutorial_layouts.yaml").points.size(), 150U);
  EXPECT_EQ(io::read_sweep(folder + "tutorial_topologies.yaml").points.size(), 3U);
}

TEST_F(SweepFile, NamesItsKindAndItsStudy) {
  EXPECT_THROW(static_cast<void>(io::read_sweep((folder_ / "study.yaml").string())),
               core::InputError);
  std::string error = error_of_file("sweep: s\nstudy: absent\nover: {seed: [1]}\n");
  EXPECT_TRUE(error.starts_with(R"(sweep.yaml:2: key "study": "absent": there is no such file)"))
      << error;
  error = error_of_file("sweep: s\nover: {seed: [1]}\n");
  EXPECT_TRUE(error.starts_with(R"(sweep.yaml:1: key "study": is missing)")) << error;
  error = error_of_file("sweep: a/b\nstudy: study.yaml\nover: {seed: [1]}\n");
  EXPECT_TRUE(error.starts_with(R"(sweep.yaml:1: key "sweep": )")) << error;
}

}  // namespace
}  // namespace exawarp::tests
