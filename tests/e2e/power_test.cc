// Energy and power of `exawarp run`: `--power` names a table that adds up to the summary's energy
// and is the same however a study is run; its main line is the steps'; what is printed.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "io/cli/commands/run.h"
#include "pdes/transport_in_process.h"
#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;

constexpr const char* kPower =
    "system.accelerator.power={idle: 100 W, limit: 500 W, communicating: 150 W}";
constexpr const char* kAround =
    "system.power={node: 800 W, switch: 300 W, link: 20 W, nodes_per_rack: 2, carbon_g_per_kwh: "
    "400, cost_per_device_hour: 3}";

class PowerOfARun : public testing::Test {
 protected:
  PowerOfARun() {
    workspace.write("study.yaml", small_study());
    workspace.write("workload.yaml", small_workload() + "  steps: 8\n");
    arguments.study_file = "study.yaml";
    arguments.quiet = true;
    arguments.options.sync = pdes::Sync::optimistic;
    arguments.overrides = {kPower, kAround, "compute.jitter=0.05",
                           "power={bin: 20 us, devices: [3]}"};
  }
  // The table after a run on `ranks` ranks, which are threads here.
  std::string power(std::uint32_t ranks, std::uint32_t threads) {
    arguments.options.threads = threads;
    arguments.power = "power.csv";
    pdes::InProcessHub hub(ranks, 0);
    std::ostringstream out, err;
    std::vector<std::jthread> all;
    for (std::uint32_t r = 0; r < ranks; ++r) {
      all.emplace_back([&, r] {
        const auto transport = hub.endpoint({r});
        EXPECT_EQ(io::run_study(arguments, io::Console{out, err, false}, *transport), 0);
      });
    }
    all.clear();
    EXPECT_EQ(err.str(), "");
    return workspace.read("power.csv");
  }
  [[nodiscard]] json summary() const {
    return json::parse(workspace.read("results/tiny/summary.json"));
  }
  [[nodiscard]] Ran run(std::vector<std::string> more) const {
    std::vector<std::string> all{"run", "study.yaml", "--set", kAround};
    all.insert(all.end(), more.begin(), more.end());
    return workspace.run(all);
  }
  const Workspace workspace;
  io::RunArguments arguments;
};

// Joules of the table's third column, the cluster's.
double joules_of(const std::string& csv) {
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("from_ps,until_ps,\"cluster W\",\"class ")) << line;
  EXPECT_NE(line.find("\"rack 0 W\",\"node 0 W\",\"node 1 W\",\"device 3 W\""), std::string::npos)
      << line;
  double sum = 0;
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    double from = 0, until = 0, watts = 0;
    char comma = 0;
    cells >> from >> comma >> until >> comma >> watts;
    sum += watts * (until - from) * 1e-12;
  }
  return sum;
}

TEST_F(PowerOfARun, AddsUpToTheEnergyAndChangesNoDigest) {
  const double joules = joules_of(power(1, 1));
  const json with = summary();
  const double total = with["energy"]["total_j"];
  EXPECT_NEAR(joules, total, 1e-4 * total);
  const json& cluster = with["power"]["series"][0];
  EXPECT_EQ(cluster["name"], "cluster");
  const double mean_w = total / (1e-12 * with["simulated_time_ps"].get<double>());
  EXPECT_NEAR(cluster["mean_w"], mean_w, 1e-4 * mean_w);
  EXPECT_GT(cluster["peak_w"], cluster["mean_w"]);
  EXPECT_LT(cluster["least_w"], cluster["mean_w"]);
  EXPECT_GT(cluster["rise_w_per_s"], 0);
  arguments.power.clear();
  std::ostringstream out, err;
  const auto transport = pdes::make_single_transport();
  EXPECT_EQ(io::run_study(arguments, io::Console{out, err, false}, *transport), 0);
  const json without = summary();
  EXPECT_EQ(without["digest"], with["digest"]);
  EXPECT_EQ(without["energy"], with["energy"]);
  EXPECT_FALSE(without.contains("power"));
}

TEST_F(PowerOfARun, SwingsOnceAStep) {
  arguments.overrides.push_back("workload.transformer.parallel={data: 8}");
  power(1, 1);
  const json all = summary();
  const json& main = all["power"]["series"][0]["spectrum"][0];
  const double step_s = 1e-12 * all["iteration_time_ps"].get<double>();
  EXPECT_NEAR(main["hz"].get<double>() * step_s, 1, 0.03);
}

TEST_F(PowerOfARun, IsOneTableOnAnyNumberOfRanksAndThreads) {
  const std::string expected = power(1, 1);
  EXPECT_EQ(power(1, 2), expected);
  EXPECT_EQ(power(2, 1), expected);
  EXPECT_EQ(power(2, 2), expected);
}

TEST_F(PowerOfARun, IsPrintedInUnitsThatFit) {
  const Ran ran = run({"--set", kPower, "--power", "power.csv"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("Energy      "), std::string::npos);
  EXPECT_NE(ran.out.find(" J a step, "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("Wh in all, "), std::string::npos);
  EXPECT_NE(ran.out.find(" g of CO2, costs "), std::string::npos);
  EXPECT_NE(ran.out.find("(24 an hour)"), std::string::npos);
  EXPECT_NE(ran.out.find("kernels' power 100.0 % modelled"), std::string::npos);
  EXPECT_NE(ran.out.find("Power       "), std::string::npos);
  EXPECT_EQ(ran.out.find("e+0"), std::string::npos) << ran.out;
  const json energy = summary()["energy"];
  EXPECT_NEAR(energy["carbon_g"].get<double>(), 400 * energy["kwh"].get<double>(), 1e-12);
  EXPECT_DOUBLE_EQ(energy["cost_per_hour"], 24);
}

struct Refusal {
  const char* name;
  std::vector<std::string> arguments;
  std::string err;
};

class RefusedPower : public PowerOfARun, public testing::WithParamInterface<Refusal> {};

TEST_P(RefusedPower, IsRefusedInOneLineAndWritesNothing) {
  std::vector<std::string> all = GetParam().arguments;
  all.insert(all.end(), {"--power", "power.csv"});
  const Ran ran = run(all);
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.err, GetParam().err);
  EXPECT_FALSE(workspace.has("power.csv"));
}

INSTANTIATE_TEST_SUITE_P(
    PowerOfARun, RefusedPower,
    testing::Values(
        Refusal{"Unknown",
                {},
                "--power: what accelerator \"chip\" draws is not known; expected one with "
                "\"power\"\n"},
        Refusal{"Device",
                {"--set", kPower, "--set", "power.devices=[8]"},
                "study.yaml: power: no such device: 8; expected 0 to 7\n"},
        Refusal{"Bins",
                {"--set", kPower, "--set", "power.bins=100"},
                "--set power.bins: 100 is no power of two; expected e.g. 128\n"}),
    [](const auto& test) { return test.param.name; });

// Of 8 H100 that train transformers, 76 % of 10.2 kW (arXiv:2506.14551), within 10 %: models and
// layouts that fit such a node, with measured kernels.
TEST(NodeOfEightH100, DrawsAboutWhatWasReportedOfTraining) {
  const Workspace workspace;
  const std::string configs = EXAWARP_SOURCE_DIR "/configs/";
  struct Job {
    std::string model, parallel;
  };
  for (const Job& job : {Job{"llama2_13b", "{tensor: 2, data: 4, sequence_parallel: true}"},
                         Job{"llama2_7b", "{data: 8}"}, Job{"llama3_8b", "{data: 8}"}}) {
    const Ran ran = workspace.run(
        {"run", configs + "studies/llama2_7b_8.yaml", "--out", "out", "--quiet", "--ignore-memory",
         "--set", "network.fidelity=analytical", "--set", "compute.fidelity=table", "--set",
         "workload.transformer.model=" + configs + "models/" + job.model + ".yaml", "--set",
         "workload.transformer.parallel=" + job.parallel});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    const json energy = json::parse(workspace.read("out/summary.json"))["energy"];
    EXPECT_NEAR(energy["node_w"].get<double>(), 0.76 * 10'200, 0.1 * 0.76 * 10'200) << job.model;
    const json& known = energy["computing_known_by"];
    EXPECT_GT(known["derived"].get<double>(), 0.7) << job.model;
  }
}

}  // namespace
}  // namespace exawarp::tests
