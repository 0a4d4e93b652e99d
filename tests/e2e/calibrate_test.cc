// `exawarp calibrate`: finds the numbers that steps were made with, and writes what is run with.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

const std::string kConfigs = EXAWARP_SOURCE_DIR "/configs/";
const std::string kTruth = "system.accelerator.calibration=";

// Small networks on four devices, in two families: what they need of each kind of kernel differs.
class Calibrate : public testing::Test {
 protected:
  struct Row {
    std::string family, name, settings;
    double measured_s = 1;
  };
  static std::vector<Row> rows() {
    const std::string wide = "model.hidden=8192;model.ffn=32768;model.heads=64;model.layers=";
    const std::string scores =
        "flash_attention=false;dropout=true;sequence_length=4096;model.layers=";
    return {{"wide", "wide", wide + "1"},
            {"wide", "long", wide + "3"},
            {"narrow", "narrow", scores + "1"},
            {"narrow", "deep", scores + "4"}};
  }
  void write(const std::vector<Row>& rows) const {
    std::string text = "family,row,system,model,tensor,global_batch,sequence,settings,measured_s\n";
    for (const Row& row : rows) {
      text += row.family + "," + row.name + ",h100_hgx_roce400,gpt3_125m,4,8,1024," + row.settings +
              "," + std::to_string(row.measured_s) + "\n";
    }
    workspace.write("mine.csv", text);
  }
  Ran run(const std::string& command, std::vector<std::string> more) const {
    std::vector<std::string> all{
        command,     "--mine", "mine.csv", "--study", kConfigs + "validation/study.yaml",
        "--threads", "2"};
    all.insert(all.end(), more.begin(), more.end());
    return workspace.run(all);
  }
  nlohmann::json validated(const std::string& calibration) const {
    const Ran ran = run("validate", {"--json", "--set", kTruth + calibration});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return nlohmann::json::parse(ran.out);
  }
  // Rows as if they had been measured on what `calibration` says.
  void measure(const std::string& calibration) const {
    std::vector<Row> made = rows();
    write(made);
    const auto said = validated(calibration);
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i].measured_s = said["rows"][i]["predicted_s"];
    }
    write(made);
  }
  const Workspace workspace;
};

double number_in(const std::string& text, const std::string& key) {
  const std::size_t at = text.find("\n" + key + ": ");
  EXPECT_NE(at, std::string::npos) << key << " in " << text;
  return at == std::string::npos ? 0 : std::stod(text.substr(at + key.size() + 3));
}

TEST_F(Calibrate, FindsTheNumbersThatStepsWereMadeWith) {
  measure("{products: 1.3, memory: 0.9, step: 2 ms}");
  const Ran ran = run("calibrate", {"-o", "chip.yaml", "--leave-one-out"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const std::string file = workspace.read("chip.yaml");
  EXPECT_NEAR(number_in(file, "products"), 1.3, 0.02) << file;
  EXPECT_NEAR(number_in(file, "memory"), 0.9, 0.02) << file;
  EXPECT_NEAR(number_in(file, "step"), 2, 0.2) << file;
  EXPECT_NE(file.find("fitted_to: [narrow, wide]\n"), std::string::npos) << file;
  EXPECT_NE(ran.out.find("left out, and predicted by a fit to the others"), std::string::npos);

  // What it wrote is what it simulated.
  const auto said = validated("chip.yaml");
  for (const auto& row : said["rows"]) EXPECT_NEAR(row["error_percent"], 0, 0.5) << row;
  EXPECT_EQ(said["families"]["wide"]["fitted"], 2);
}

TEST_F(Calibrate, RefusesNumbersThatAreNone) {
  write(rows());
  const auto error = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"-o", "chip.yaml"});
    const Ran ran = run("calibrate", more);
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1) << ran.err;
    EXPECT_FALSE(workspace.has("chip.yaml"));
    return ran.err;
  };
  EXPECT_NE(error({"--fit", "product"}).find("did you mean \"products\""), std::string::npos);
  EXPECT_NE(error({"--fit", "step,step"}).find("expected at most 4 different"), std::string::npos);
  EXPECT_NE(error({"--fit", "products,eight_bit_products,attention,memory,step"})
                .find("expected at most 4 different"),
            std::string::npos);
  EXPECT_NE(error({"--row", "nobody"}).find("has such a name"), std::string::npos);
  const Ran nowhere = run("calibrate", {"-o", "nowhere/chip.yaml"});
  EXPECT_EQ(nowhere.exit_code, 2);
  EXPECT_NE(nowhere.err.find("\"nowhere/chip.yaml\" is in no folder"), std::string::npos)
      << nowhere.err;
}

TEST_F(Calibrate, ARowThatIsRefusedIsNotFitted) {
  workspace.write("mine.csv",
                  "family,row,system,model,tensor,global_batch,sequence,measured_s\n"
                  "mine,odd,h100_hgx_roce400,gpt3_125m,5,8,1024,1\n");
  const Ran ran = run("calibrate", {});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.err.find("none of 1 rows can be simulated"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace exawarp::tests
