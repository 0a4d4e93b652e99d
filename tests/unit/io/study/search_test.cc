#include "io/study/search.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "io/study/study.h"
#include "tests/support/small_study.h"

namespace exawarp::tests {
namespace {

using io::Search;

const std::string kSearchHead = "search: s\nstudy: study.yaml\n";

class SearchFile : public testing::Test {
 protected:
  SearchFile() {
    std::filesystem::create_directories(folder_);
    write("study.yaml", small_study());
    write("workload.yaml", small_workload());
  }
  ~SearchFile() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  [[nodiscard]] Search read(const std::string& rest) const {
    write("search.yaml", kSearchHead + rest);
    return io::read_search((folder_ / "search.yaml").string());
  }
  // The folder cut off.
  [[nodiscard]] std::string error_of(const std::string& rest) const {
    try {
      static_cast<void>(read(rest));
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
      std::filesystem::temp_directory_path() / ("exawarp_search_" + std::to_string(getpid()));
};

TEST_F(SearchFile, LayoutsAreWhatFillsTheDevices) {
  const Search search = read("devices: [8]\nover: {tensor: [1, 2, 3], pipeline: [1, 2]}\n");
  using Points = std::vector<std::vector<std::string>>;
  EXPECT_EQ(search.combinations, 6U);
  EXPECT_EQ(search.impossible.at("devices"), 2U);  // 3 does not divide 8
  EXPECT_EQ(search.sweep.axes.back().key, "workload.transformer.parallel.data");
  EXPECT_EQ(search.sweep.points,
            (Points{{"1", "1", "8"}, {"1", "2", "4"}, {"2", "1", "4"}, {"2", "2", "2"}}));
}

TEST_F(SearchFile, EveryCombinationIsALayoutOrHasItsReason) {
  const Search search = read(
      "devices: [4, 8]\nover: {tensor: [1, 2, 4], pipeline: [1, 2, 4], context: [1, 2],\n"
      "  virtual_stages: [1, 2], micro_batch_sequences: [1, 2], recompute: [none, full],\n"
      "  sharding: [zero1, fsdp], schedule: [1f1b, gpipe]}\nwhere: [\"tensor <= 2\"]\n");
  std::size_t impossible = 0;
  for (const auto& [key, count] : search.impossible) impossible += count;
  EXPECT_EQ(search.combinations, 3U * 3 * 2 * 2 * 2 * 2 * 2 * 2 * 2);
  EXPECT_EQ(search.sweep.points.size() + impossible, search.combinations);
  EXPECT_GT(search.impossible.at("where"), 0U);
}

TEST_F(SearchFile, EveryLayoutIsOneThatTheStudyTakes) {
  const Search search = read(
      "devices: [8]\nover: {tensor: [1, 2, 4], pipeline: [1, 2, 4], virtual_stages: [1, 2],\n"
      "  micro_batch_sequences: [1, 2], schedule: [1f1b, zb_h1]}\n");
  for (const auto& point : search.sweep.points) {
    EXPECT_NO_THROW(static_cast<void>(
        io::read_study(search.sweep.study_file, io::overrides_of(search.sweep, point))));
  }
}

TEST_F(SearchFile, TheBestAreSimulatedDeviceByDevice) {
  for (const auto& [how, fidelity] :
       {std::pair{"packet", io::NetworkFidelity::packet}, {"flow", io::NetworkFidelity::flow}}) {
    const Search search =
        read(std::string("devices: [8]\nover: {tensor: [1, 2]}\nverify: ") + how + "\n");
    const io::Sweep sweep = io::verification_of(search, {search.sweep.points[1]});
    const auto all = io::overrides_of(sweep, sweep.points.front());
    const io::Study study = io::read_study(sweep.study_file, all);
    EXPECT_EQ(sweep.points.size(), 1U);
    EXPECT_EQ(study.network_fidelity, fidelity);
    EXPECT_EQ(study.folding, model::Folding::off);
    EXPECT_NE(sweep.identity, search.sweep.identity);
  }
}

TEST_F(SearchFile, TheBestAreFoldedWhereTheSearchSaysSo) {
  const Search search = read("devices: [8]\nover: {tensor: [1, 2]}\nverify: folded_message\n");
  const io::Sweep sweep = io::verification_of(search, {search.sweep.points[1]});
  const io::Study study = io::read_study(
      sweep.study_file, io::overrides_of(sweep, sweep.points.front()));
  EXPECT_EQ(study.network_fidelity, io::NetworkFidelity::message);
  EXPECT_EQ(study.folding, model::Folding::required);
}

TEST_F(SearchFile, TheSecondLookIsFoldedAtMessage) {
  const Search search = read("devices: [8]\nover: {tensor: [1, 2]}\nverify: packet\n");
  const io::Sweep sweep = io::second_look_of(search, {search.sweep.points[1]});
  const io::Study study =
      io::read_study(sweep.study_file, io::overrides_of(sweep, sweep.points.front()));
  EXPECT_EQ(study.network_fidelity, io::NetworkFidelity::message);
  EXPECT_EQ(study.folding, model::Folding::required);
  EXPECT_NE(sweep.identity, io::verification_of(search, {search.sweep.points[1]}).identity);
}

TEST_F(SearchFile, TheSecondLookIsAtNoFewerThanAreVerified) {
  const std::string over = "devices: [8]\nover: {tensor: [1, 2]}\n";
  EXPECT_EQ(io::second_looks(read(over + "best: 3\n")), 20U);
  EXPECT_EQ(io::second_looks(read(over + "best: 3\nlook_again: 2\n")), 3U);
  EXPECT_EQ(io::second_looks(read(over + "best: 30\n")), 30U);
}

TEST_F(SearchFile, ThereIsNoSecondLookWhereItWouldDecideNothing) {
  const std::string over = "devices: [8]\nover: {tensor: [1, 2]}\n";
  EXPECT_EQ(io::second_looks(read(over + "look_again: 0\n")), 0U);
  EXPECT_EQ(io::second_looks(read(over + "best: 0\n")), 0U);
}

struct WrongSearch {
  const char* name;
  const char* rest;
  const char* error;
};

class SearchFileWrong : public SearchFile, public testing::WithParamInterface<WrongSearch> {};

TEST_P(SearchFileWrong, IsToldWhatIsWrong) {
  EXPECT_NE(error_of(GetParam().rest).find(GetParam().error), std::string::npos)
      << error_of(GetParam().rest);
}

INSTANTIATE_TEST_SUITE_P(
    Files, SearchFileWrong,
    testing::Values(
        WrongSearch{"NoDevices", "over: {tensor: [1]}\n", "devices"},
        WrongSearch{"EmptyDevices", "devices: []\nover: {tensor: [1]}\n", "is empty"},
        WrongSearch{"NoAxis", "devices: [8]\nover: {}\n", "has no keys"},
        WrongSearch{"NoValues", "devices: [8]\nover: {tensor: []}\n", "has no values"},
        WrongSearch{"UnknownAxis", "devices: [8]\nover: {tensr: [1]}\n", "did you mean"},
        WrongSearch{"Data", "devices: [8]\nover: {data: [1]}\n", "follows from devices"},
        WrongSearch{"DataInFull", "devices: [8]\nover: {workload.transformer.parallel.data: [1]}\n",
                    "follows from devices"},
        WrongSearch{"Twice",
                    "devices: [8]\n"
                    "over: {tensor: [1], workload.transformer.parallel.tensor: [2]}\n",
                    "is there twice"},
        WrongSearch{"NoNumber", "devices: [8]\nover: {tensor: [two]}\n",
                    "\"two\" is no value of it"},
        WrongSearch{"NoChoice", "devices: [8]\nover: {recompute: [some]}\n",
                    "\"some\" is no value of it"},
        WrongSearch{"NoneFits", "devices: [8]\nover: {tensor: [3]}\n",
                    "none of 1 combinations of values is possible: 1 by devices"},
        WrongSearch{"NoneHolds", "devices: [8]\nover: {tensor: [1, 2]}\nwhere: [tensor = 4]\n",
                    "none of 2 combinations of values holds all conditions"},
        WrongSearch{"Fidelity", "devices: [8]\nover: {tensor: [1]}\nverify: analytical\n",
                    "verify"}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace exawarp::tests
