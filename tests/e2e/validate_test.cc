// `exawarp validate`: rows of a file become studies, and what is said of them is right.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

const std::string kHeader =
    "family,row,system,model,tensor,global_batch,sequence,precision,settings,measured_s,"
    "noise_percent,reason,source\n";
const std::string kValidationConfigs = EXAWARP_SOURCE_DIR "/configs/";

class Validate : public testing::Test {
 protected:
  // Of one layer of a small model, on four devices.
  static std::string row(const std::string& name, const std::string& measured,
                         const std::string& reason = "") {
    return "mine," + name + ",h100_hgx_roce400,gpt3_125m,4,4,1024,bf16," +
           "model.layers=1;parallel.data=1,\"" + measured + "\",1.5," + reason +
           ",\"here, there\"\n";
  }
  Ran run(const std::string& rows, std::vector<std::string> more = {}) const {
    workspace.write("mine.csv", rows);
    std::vector<std::string> all{
        "validate",  "--mine", "mine.csv", "--study", kValidationConfigs + "validation/study.yaml",
        "--threads", "2"};
    all.insert(all.end(), more.begin(), more.end());
    return workspace.run(all);
  }
  const Workspace workspace;
};

TEST_F(Validate, PredictsEachRowAsItsStudyRuns) {
  const Ran ran = run(kHeader + row("first", "0.002") + row("second", "", "no layout"), {"--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto said = nlohmann::json::parse(ran.out);
  ASSERT_EQ(said["rows"].size(), 2u);
  ASSERT_TRUE(said["rows"][0].contains("predicted_s")) << ran.out;
  const double predicted = said["rows"][0]["predicted_s"];
  EXPECT_NEAR(said["rows"][0]["error_percent"], 100 * (predicted / 0.002 - 1), 1e-9);
  EXPECT_EQ(said["rows"][1]["left_out"], "no layout");
  EXPECT_EQ(said["families"]["mine"]["rows"], 1);
  EXPECT_EQ(said["families"]["mine"]["left_out"], 1);

  const std::string workload = "workload.transformer.";
  const Ran alone = workspace.run(
      {"run", kValidationConfigs + "validation/study.yaml", "--json", "--set",
       workload + "model=" + kValidationConfigs + "models/gpt3_125m.yaml", "--set",
       "system=" + kValidationConfigs + "systems/h100_hgx_roce400.yaml", "--set",
       workload + "model.layers=1", "--set", workload + "parallel.tensor=4", "--set",
       workload + "global_batch_sequences=4", "--set", workload + "sequence_length=1024"});
  ASSERT_EQ(alone.exit_code, 0) << alone.err;
  const std::int64_t step_ps = nlohmann::json::parse(alone.out)["iteration_time_ps"];
  EXPECT_DOUBLE_EQ(predicted, static_cast<double>(step_ps) / 1e12);
}

// Beside the study, whatever folder the program runs in. Four devices of a node are one ring.
TEST_F(Validate, ARowNamesItsCollectivesFileAsAStudyDoes) {
  std::string by_file = row("by file", "0.002");
  const std::string own = "model.layers=1;";
  by_file.insert(by_file.find(own) + own.size(), "collectives=../collectives/nccl_h100.yaml;");
  const Ran ran = run(kHeader + row("rings", "0.002") + by_file, {"--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto rows = nlohmann::json::parse(ran.out)["rows"];
  ASSERT_TRUE(rows[1].contains("predicted_s")) << ran.out;
  EXPECT_NE(rows[0]["predicted_s"], rows[1]["predicted_s"]);
}

TEST_F(Validate, WritesItsFilesAndSaysWhatIsLeftOut) {
  const Ran ran =
      run(kHeader + row("first", "0.002") + row("second", "", "no layout"), {"--out", "said"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("no layout"), std::string::npos) << ran.out;
  EXPECT_TRUE(workspace.has("said/validation.json"));
  EXPECT_NE(workspace.read("said/validation.svg").find("mine"), std::string::npos);
}

TEST_F(Validate, RefusesRowsAndFamiliesThatAreNone) {
  const auto error = [&](const std::string& rows, std::vector<std::string> more = {}) {
    const Ran ran = run(rows, std::move(more));
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1) << ran.err;
    return ran.err;
  };
  EXPECT_NE(error("family,row\n").find("mine.csv:1: has no column \"system\""), std::string::npos);
  EXPECT_NE(error(kHeader + row("first", "fast")).find("mine.csv:2: column measured_s: \"fast\""),
            std::string::npos);
  EXPECT_NE(error(kHeader + row("first", "")).find("mine.csv:2: column measured_s: is empty"),
            std::string::npos);
  EXPECT_NE(error(kHeader).find("mine.csv: has no rows"), std::string::npos);
  EXPECT_NE(error(kHeader + row("first", "1"), {"--family", "yours"}).find("expected one of: mine"),
            std::string::npos);
  EXPECT_NE(error(kHeader + row("first", "1"), {"--accelerator", "abacus"}).find("abacus"),
            std::string::npos);
}

TEST_F(Validate, ComparesRatiosOfRowsWithThoseMeasured) {
  workspace.write("suite.csv", kHeader + row("first", "0.002") + row("second", "0.004") +
                                   row("twin", "0.004") + row("twin", "0.004"));
  const auto compared = [&](const std::string& pair) {
    workspace.write("trends.csv", "kind,family,row,other_family,other_row\n" + pair + "\n");
    return workspace.run({"validate", "--suite", "suite.csv", "--trends", "trends.csv", "--study",
                          kValidationConfigs + "validation/study.yaml", "--threads", "2",
                          "--json"});
  };
  const Ran ran = compared("scale,mine,first,mine,second");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto said = nlohmann::json::parse(ran.out);
  ASSERT_EQ(said["trends"].size(), 1u) << ran.out;
  EXPECT_DOUBLE_EQ(said["trends"][0]["measured"], 2);
  EXPECT_DOUBLE_EQ(said["trends"][0]["predicted"], 1);
  // Equal rows, so the formula says of their ratio what the prediction says.
  const auto from_one = said["from_one_row"]["mine"];
  EXPECT_EQ(from_one["pairs"], 12);
  EXPECT_NEAR(from_one["mean_percent"], from_one["formula_mean_percent"], 1e-9);

  const auto error = [&](const std::string& pair) {
    const Ran refused = compared(pair);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_EQ(refused.err.find('\n'), refused.err.size() - 1) << refused.err;
    return refused.err;
  };
  EXPECT_NE(error("scale,mine,first,mine,third")
                .find("trends.csv:2: \"third\" of family \"mine\" "
                      "is the name of 0 rows"),
            std::string::npos);
  EXPECT_NE(error("scale,mine,first,mine,twin").find("the name of 2 rows"), std::string::npos);
  EXPECT_NE(error("scale,mine,first").find("has 3 columns; expected 5"), std::string::npos);
}

// What a row asks for that no study can be is said of the row, and the others are simulated.
TEST_F(Validate, ARowThatIsRefusedIsLeftOut) {
  const std::string impossible = "mine,third,h100_hgx_roce400,gpt3_125m,5,4,1024,bf16,,1,,,\n";
  const Ran ran = run(kHeader + impossible + row("first", "0.002"), {"--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto said = nlohmann::json::parse(ran.out);
  EXPECT_NE(said["rows"][0]["left_out"].get<std::string>().find("5"), std::string::npos);
  EXPECT_GT(said["rows"][1]["predicted_s"], 0);
}

}  // namespace
}  // namespace exawarp::tests
