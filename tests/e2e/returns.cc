#include "tests/e2e/returns.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace exawarp::tests {

using nlohmann::json;

std::map<std::string, json> run_at(const std::vector<std::string>& fidelities,
                                   const Workspace& workspace, const std::string& workload) {
  std::string study = replaced(small_study(), "workload.yaml", workload);
  study = study.substr(0, study.find("  fabric:")) +
          "  fabric: {topology: {kind: single_switch, link: {bandwidth: 50 GB/s, latency: 100 ns},"
          " switch_latency: 300 ns, endpoint_latency: 1 us}}\n";
  study = replaced(study, "{bf16: 100 TFLOP/s}",
                   "{bf16: 100 TFLOP/s, fp16: 100 TFLOP/s, fp8: 200 TFLOP/s, fp32: 10 TFLOP/s}");
  // Packets large enough for the whole to stay short under a sanitizer.
  workspace.write("study.yaml",
                  study + "compute: {fidelity: recorded}\nmemory: {ignore: true}\n"
                          "network: {packet: {packet_size: 256 KiB}}\n");
  std::map<std::string, json> summaries;
  for (const std::string& fidelity : fidelities) {
    const Ran ran = workspace.run({"run", "study.yaml", "--json", "--sync", "sequential", "--set",
                                   "network.fidelity=" + fidelity});
    EXPECT_EQ(ran.exit_code, 0) << fidelity << ": " << ran.err;
    if (ran.exit_code == 0) summaries[fidelity] = json::parse(ran.out);
  }
  return summaries;
}

void expect_returns(const Workspace& workspace, const std::string& workload,
                    const std::string& format, const std::vector<std::string>& options) {
  ASSERT_EQ(workspace.run({"workload", "export", format, workload, "-o", "again"}).exit_code, 0);
  std::vector<std::string> back{"workload", "import", "chakra", "again", "-o", "b.xwg"};
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (options[i] == "--comm-groups") {
      ++i;
    } else {
      back.push_back(options[i]);
    }
  }
  if (workspace.has("again.comm_groups.json")) {
    back.insert(back.end(), {"--comm-groups", "again.comm_groups.json"});
  }
  const Ran again = workspace.run(back);
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(workspace.run({"workload", "validate", "b.xwg"}).exit_code, 0);
  const Ran same = workspace.run({"workload", "diff", workload, "b.xwg"});
  EXPECT_EQ(same.exit_code, 0) << same.out;
  for (const auto& file : std::filesystem::directory_iterator(".")) {
    if (file.path().filename().string().starts_with("again.")) std::filesystem::remove(file);
  }
}

}  // namespace exawarp::tests
