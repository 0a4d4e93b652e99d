// The tables of configs/collectives: what they say inside a node is what was measured there, and
// what is right inside a node is not taken for what goes on between nodes.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

const std::filesystem::path kShipped = std::filesystem::path(EXAWARP_SOURCE_DIR) / "configs";

struct Machine {
  std::string accelerator, fabric;
};

// Microseconds; `rules` as in a study, `devices` as keys of a microbenchmark.
double time_us(const Workspace& workspace, const Machine& machine, const std::string& rules,
               const std::string& type, const std::string& devices, std::int64_t bytes) {
  workspace.write("study.yaml",
                  "study: table\nworkload: {microbenchmark: {kind: collective, collective: " +
                      type + ", " + devices + ", bytes: " + std::to_string(bytes) +
                      " B}}\nsystem: {name: s, accelerator: " +
                      (kShipped / "accelerators" / (machine.accelerator + ".yaml")).string() +
                      ", fabric: " + (kShipped / "fabrics" / (machine.fabric + ".yaml")).string() +
                      "}\ncollectives: " + rules + "\nnetwork: {fidelity: analytical}\n");
  const Ran ran = workspace.run({"run", "study.yaml", "--json", "--force"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  if (ran.exit_code != 0) return 0;
  return static_cast<double>(nlohmann::json::parse(ran.out)["simulated_time_ps"]) / 1e6;
}

std::string table_file(const std::string& name) {
  return (kShipped / "collectives" / (name + ".yaml")).string();
}

TEST(CollectiveTables, InsideANodeAreAsMeasured) {
  const Workspace workspace;
  std::ifstream file(EXAWARP_SOURCE_DIR "/tests/golden/collectives/in_node.csv");
  std::map<std::string, std::vector<double>> errors;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#') || line.starts_with("table,")) continue;
    std::istringstream in(line);
    std::vector<std::string> field(7);
    for (std::string& f : field) std::getline(in, f, ',');
    const double predicted =
        time_us(workspace, {field[1], field[2]}, table_file(field[0]), field[3],
                "devices: " + field[4], std::stoll(field[5]));
    const double error = predicted / std::stod(field[6]) - 1;
    EXPECT_LT(std::abs(error), 0.25) << line << ": " << predicted;
    errors[field[0] + ", " + field[4] + " devices"].push_back(std::abs(error));
  }
  EXPECT_EQ(errors.size(), 11u);
  for (const auto& [what, of] : errors) {
    double sum = 0;
    for (const double error : of) sum += error;
    EXPECT_LT(sum / static_cast<double>(of.size()), 0.08) << what;
  }
}

const std::map<std::string, Machine> kTables{
    {"nccl_a100", {"a100_sxm_80", "a100_hgx_hdr200"}},
    {"nccl_h100", {"h100_sxm", "h100_hgx_ndr400"}},
    {"nccl_b200", {"b200", "b200_hgx_roce400"}},
    {"nccl_gb200_nvl72", {"gb200_nvl72", "gb200_nvl72_roce400"}}};

// A ring at the rate of the interfaces moves no byte too many, so that nothing large is faster. A
// group's size does not tell it from one inside a node.
TEST(CollectiveTables, BetweenNodesAreNotFasterThanTheirInterfaces) {
  const Workspace workspace;
  for (const auto& entry : kTables) {
    const std::string& table = entry.first;
    const Machine& machine = entry.second;
    const std::string node = machine.fabric.starts_with("gb200") ? "72" : "8";
    for (const std::string nodes : {"2", "4", "8"}) {
      const std::string devices =
          "mesh: {inner: " + node + ", outer: " + nodes + "}, along: [outer]";
      for (const std::string type : {"all_reduce", "reduce_scatter", "all_to_all"}) {
        constexpr std::int64_t kBytes = 256 << 20;
        const auto by = [&](const std::string& rules) {
          return time_us(workspace, machine, rules, type, devices, kBytes);
        };
        const std::string best = type == "all_to_all" ? "direct" : "ring";
        EXPECT_GE(by(table_file(table)), 0.999 * by("{rules: [{algorithm: " + best + "}]}"))
            << table << ", " << type << " among " << nodes << " nodes";
      }
    }
  }
}

// All of a node's interfaces carry a part of what goes from node to node, so that it takes less
// than one of them would need for all. Most of that is left where nodes have members enough.
TEST(CollectiveTables, BroadcastsLeaveNodesByAllInterfaces) {
  const Workspace workspace;
  for (const auto& entry : kTables) {
    const bool domain = entry.first == "nccl_gb200_nvl72";
    const std::string node = domain ? "72" : "8";
    const std::string devices = "mesh: {inner: " + node + ", outer: 4}, along: [inner, outer]";
    for (const std::string type : {"broadcast", "reduce"}) {
      constexpr std::int64_t kBytes = 1 << 30;
      const auto by = [&](const std::string& rules, const std::string& of) {
        return time_us(workspace, entry.second, rules, type, of, kBytes);
      };
      const double one = by("{rules: [{algorithm: direct}]}",
                            "mesh: {inner: " + node + ", outer: 2}, along: [outer]");
      EXPECT_LT(by(table_file(entry.first), devices), 0.4 * one) << entry.first << ", " << type;
      EXPECT_GT(by(table_file(entry.first), devices), 0.125 * one) << entry.first << ", " << type;
    }
  }
}

TEST(CollectiveTables, OfAnotherFileComeFirst) {
  const Workspace workspace;
  const Machine machine{"h100_sxm", "h100_hgx_ndr400"};
  const std::string direct = "{algorithm: direct, max_group: 4, start: 3 us}";
  const std::string ring = "{algorithm: ring, start: 7 us}";
  workspace.write("small.yaml", "name: small\nrules:\n  - " + direct + "\n");
  for (const std::string devices : {"devices: 4", "devices: 8"}) {
    const auto by = [&](const std::string& rules) {
      return time_us(workspace, machine, rules, "all_reduce", devices, 1 << 20);
    };
    EXPECT_EQ(by("{first: small.yaml, rules: [" + ring + "]}"),
              by("{rules: [" + direct + ", " + ring + "]}"))
        << devices;
  }
}

}  // namespace
}  // namespace exawarp::tests
