// What differs between two results, and what counts as drift.
#include "io/report/comparison.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/error.h"

namespace exawarp::tests {
namespace {

class Comparisons : public testing::Test {
 protected:
  ~Comparisons() override { std::filesystem::remove_all(directory_); }

  // A directory of results.
  std::string results(const std::string& name, const std::string& keys,
                      const std::string& study = "") const {
    const std::filesystem::path folder = directory_ / name;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "summary.json") << "{\"schema\": \"exawarp-summary-1\", " << keys << "}";
    if (!study.empty()) std::ofstream(folder / "study.resolved.yaml") << study;
    return folder.string();
  }

  const std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() / ("exawarp_compare_" + std::to_string(getpid()));
};

const std::string kRun = "\"digest\": \"aa\", \"iteration_time_ps\": 1000, \"run_s\": 2.5, "
                         "\"engine\": {\"epochs\": 7}";

TEST_F(Comparisons, OfEqualResultsIsEmptyWhateverTheHostDid) {
  const std::string a = results("a", kRun, "seed: 1\n");
  const std::string b = results(
      "b", "\"digest\": \"aa\", \"iteration_time_ps\": 1000, \"run_s\": 9.5, \"engine\": {}",
      "seed: 1  # default\n");
  const io::Comparison same = io::compare_results(a, b, 0);
  EXPECT_TRUE(same.inputs.empty());
  EXPECT_TRUE(same.figures.empty());
  EXPECT_EQ(same.figures_compared, 2u);
  EXPECT_EQ(same.drifted(), 0u);
}

TEST_F(Comparisons, NamesInputsFirstAndFiguresWithTheirChange) {
  const std::string a = results("a", kRun, "seed: 1\nnetwork: {fidelity: message}\n");
  const std::string b = results("b", "\"digest\": \"bb\", \"iteration_time_ps\": 1020",
                                "seed: 1\nnetwork: {fidelity: packet}\n");
  const io::Comparison all = io::compare_results(a, b, 0.01);
  ASSERT_EQ(all.inputs.size(), 1u);
  EXPECT_EQ(all.inputs[0].key, "study.network.fidelity");
  EXPECT_EQ(all.inputs[0].b, "packet");
  ASSERT_EQ(all.figures.size(), 2u);
  EXPECT_EQ(all.figures[0].key, "digest");
  EXPECT_FALSE(all.figures[0].drifted);
  EXPECT_EQ(all.figures[1].key, "iteration_time_ps");
  EXPECT_DOUBLE_EQ(all.figures[1].change, 0.02);
  EXPECT_TRUE(all.figures[1].drifted);
  EXPECT_EQ(all.drifted(), 1u);
  EXPECT_EQ(io::compare_results(a, b, 0.05).drifted(), 0u);
  EXPECT_EQ(io::compare_results(a, b, 0).drifted(), 2u);
}

TEST_F(Comparisons, TellsEntriesOfListsByTheirTexts) {
  const std::string a = results("a", R"("jobs": [{"name": "x", "t": 1}, {"name": "y", "t": 2}])");
  const std::string b = results("b", R"("jobs": [{"name": "y", "t": 2}, {"name": "z", "t": 0}])");
  const io::Comparison all = io::compare_results(a, b, 0);
  std::vector<std::string> keys;
  for (const io::Difference& d : all.figures) keys.push_back(d.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"jobs.x.name", "jobs.x.t", "jobs.z.name", "jobs.z.t"}));
}

TEST_F(Comparisons, AChangeFromNothingIsDriftAtAnyTolerance) {
  const io::Comparison all = io::compare_results(results("a", "\"idle\": 0"),
                                                 results("b", "\"idle\": 0.25"), 10);
  ASSERT_EQ(all.figures.size(), 1u);
  EXPECT_TRUE(std::isinf(all.figures[0].change));
  EXPECT_EQ(all.drifted(), 1u);
}

TEST_F(Comparisons, RefuseWhatIsNoSummary) {
  const std::string a = results("a", kRun);
  for (const char* text : {"", "{", "[]", "{\"schema\": \"other\"}", "{\"schema\": 1}"}) {
    std::ofstream(directory_ / "b.json") << text;
    EXPECT_THROW(io::compare_results(a, (directory_ / "b.json").string(), 0), core::InputError)
        << text;
  }
  EXPECT_THROW(io::compare_results(a, (directory_ / "none").string(), 0), core::InputError);
}

}  // namespace
}  // namespace exawarp::tests
