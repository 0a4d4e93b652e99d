// `exawarp validate --serving`: measured points of serving engines beside what is predicted.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

const std::string kColumns =
    "benchmark,model,accelerator,engine,version,precision,expert_precision,mode,tensor,"
    "attention_data,expert_tensor,expert,input_tokens,output_tokens,clients,batch,ttft_ms,tpot_ms,"
    "prefill_workers,prefill_batch,prefill_tensor,prefill_attention_data,prefill_expert_tensor,"
    "prefill_expert,decode_workers,decode_batch,decode_tensor,"
    "decode_attention_data,decode_expert_tensor,decode_expert\n";

// Of one replica.
std::string replica(const std::string& model, const std::string& layout,
                    const std::string& clients = "1", const std::string& precision = "bf16") {
  return fmt::format("sweep,{},h100,vllm,1,{},,agg,{},256,16,{},1,20,5,,,,,,,,,,,,\n", model,
                     precision, layout, clients);
}

// Of one worker of prompts and one of decodes, each with `layout`.
std::string pools(const std::string& layout, const std::string& decode_workers = "1") {
  return fmt::format(
      "sweep,llama3_8b,h100,vllm,1,bf16,,disagg,,,,,256,16,1,,20,5,1,1,{},{},1,{}\n", layout,
      decode_workers, layout);
}

class ServingPoints : public testing::Test {
 protected:
  // Points name models and accelerators of the configs.
  ServingPoints() { setenv("EXAWARP_CONFIGS", EXAWARP_SOURCE_DIR "/configs", 1); }
  ~ServingPoints() override { unsetenv("EXAWARP_CONFIGS"); }

  Ran run(const std::string& rows) const {
    workspace.write("points.csv", kColumns + rows);
    return workspace.run(
        {"validate", "--serving", "--points", "points.csv", "--points-out", "out.csv"});
  }
  // The fields of each line that was written.
  [[nodiscard]] std::vector<std::vector<std::string>> written() const {
    std::vector<std::vector<std::string>> out;
    std::istringstream lines(workspace.read("out.csv"));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream cells(line);
      out.emplace_back();
      for (std::string cell; std::getline(cells, cell, ',');) out.back().push_back(cell);
    }
    return out;
  }
  const Workspace workspace;
};

constexpr std::size_t kDevices = 6, kFirstToken = 11, kPerToken = 13, kReason = 14;

TEST_F(ServingPoints, OneClientSeesNoDifferenceBetweenAReplicaAndTwoPools) {
  const Ran ran = run(replica("llama3_8b", "2,1,1,1") + pools("2,1,1,1"));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto lines = written();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1][kDevices], "2");
  EXPECT_EQ(lines[2][kDevices], "4");
  EXPECT_GT(std::stod(lines[1][kFirstToken]), 0);
  EXPECT_EQ(lines[1][kFirstToken], lines[2][kFirstToken]);
  EXPECT_EQ(lines[1][kPerToken], lines[2][kPerToken]);
  EXPECT_NE(ran.out.find("vllm, two pools"), std::string::npos) << ran.out;
}

TEST_F(ServingPoints, OneClientWaitsLongerWhereAttentionIsDataParallel) {
  const Ran ran = run(replica("llama3_8b", "4,1,1,1") + replica("llama3_8b", "1,4,1,1"));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto lines = written();
  EXPECT_EQ(lines[1][kDevices], lines[2][kDevices]);
  EXPECT_GT(std::stod(lines[2][kFirstToken]), std::stod(lines[1][kFirstToken]));
}

TEST_F(ServingPoints, SayWhyTheyAreLeftOut) {
  const Ran ran = run(replica("llama3_9b", "2,1,1,1") + replica("llama3_8b", "2,1,1,1", "") +
                      replica("deepseek_v3", "8,1,2,4", "1", "fp8") + pools("2,1,1,1", "") +
                      replica("llama3_8b", "1,1,1,1"));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto lines = written();
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[1].at(kReason), "no file of the model");
  EXPECT_EQ(lines[2].at(kReason), "columns are empty");
  EXPECT_EQ(lines[3].at(kReason), "experts are dealt and split");
  EXPECT_EQ(lines[4].at(kReason), "workers of pools are not said");
  EXPECT_EQ(lines[5].size(), kReason);
  EXPECT_NE(ran.out.find("5 points, of which 1 are predicted"), std::string::npos) << ran.out;
}

TEST_F(ServingPoints, AreRefusedByLine) {
  const Ran ran =
      run(replica("llama3_8b", "2,1,1,1") + replica("llama3_8b", "2,1,1,1", "1", "fp7"));
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.err.find("points.csv:3: precision: \"fp7\" is not known; expected one of: bf16"),
            std::string::npos)
      << ran.err;
  EXPECT_FALSE(workspace.has("out.csv"));
}

}  // namespace
}  // namespace exawarp::tests
