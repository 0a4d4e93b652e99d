// Values of options that are no numbers, or out of range: exit code 2 and the option's name.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

struct BadValue {
  std::string name;
  std::vector<std::string> arguments;
  std::string option;  // what the line names
};
void PrintTo(const BadValue& b, std::ostream* out) { *out << b.name; }

std::vector<std::string> phold(const std::string& option, const std::string& value) {
  std::vector<std::string> arguments{"phold", "--json"};
  for (const auto& [name, usual] : {std::pair{"--lps", "4"},
                                    {"--start-events", "1"},
                                    {"--remote", "0.1"},
                                    {"--end", "1"},
                                    {"--threads", "1"}}) {
    if (name != option) arguments.insert(arguments.end(), {name, usual});
  }
  arguments.insert(arguments.end(), {option, value});
  return arguments;
}

std::vector<std::string> astra(const std::string& option) {
  return {"astra",
          "--workload-configuration=t",
          "--system-configuration=s.json",
          "--network-configuration=n.yml",
          "--remote-memory-configuration=m.json",
          option};
}

class BadOptionValue : public testing::TestWithParam<BadValue> {};

TEST_P(BadOptionValue, EndsWithOneLineThatNamesTheOption) {
  const Workspace workspace;
  workspace.write("study.yaml", small_study());
  workspace.write("workload.yaml", small_workload());
  const Ran ran = workspace.run(GetParam().arguments);
  EXPECT_EQ(ran.exit_code, 2) << ran.out << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
  EXPECT_NE(ran.err.find(GetParam().option), std::string::npos) << ran.err;
  EXPECT_FALSE(workspace.has("results"));
}

const std::string kPast64Bits = "18446744073709551616";

INSTANTIATE_TEST_SUITE_P(
    Reals, BadOptionValue,
    testing::Values(
        BadValue{"Remote", phold("--remote", "nan"), "--remote"},
        BadValue{"RemoteNegativeNan", phold("--remote", "-nan"), "--remote"},
        BadValue{"End", phold("--end", "nan"), "--end"},
        BadValue{"EndInfinite", phold("--end", "inf"), "--end"},
        BadValue{"Audit", phold("--audit", "NaN"), "--audit"},
        BadValue{"RunAudit", {"run", "study.yaml", "--audit", "nan"}, "--audit"},
        BadValue{"TimeLimit", {"run", "study.yaml", "--time-limit", "nan"}, "--time-limit"},
        BadValue{"TimeLimitInfinite", {"run", "study.yaml", "--time-limit", "inf"}, "--time-limit"},
        BadValue{"TimeLimitZero", {"run", "study.yaml", "--time-limit", "0"}, "--time-limit"},
        BadValue{"YamlTimeLimit",
                 {"run", "study.yaml", "--set", "engine.time_limit_s=.nan"},
                 "engine.time_limit_s"},
        BadValue{"YamlAudit", {"run", "study.yaml", "--set", "engine.audit=nan"}, "engine.audit"},
        BadValue{"TrafficAudit", {"traffic", "study.yaml", "--audit", "nan"}, "--audit"},
        BadValue{"AstraInjectionScale", astra("--injection-scale=nan"), "--injection-scale"},
        BadValue{"AstraInjectionScaleInfinite", astra("--injection-scale=inf"),
                 "--injection-scale"},
        BadValue{"GoalAudit", {"goal", "x.goal", "--audit", "nan"}, "--audit"}),
    [](const auto& parameter) { return parameter.param.name; });

INSTANTIATE_TEST_SUITE_P(
    WholeNumbers, BadOptionValue,
    testing::Values(
        BadValue{"Seed", phold("--seed", "-1"), "--seed"},
        BadValue{"SeedPast64Bits", phold("--seed", kPast64Bits), "--seed"},
        BadValue{"SeedHexPast64Bits", phold("--seed", "0x10000000000000000"), "--seed"},
        BadValue{"SeedFraction", phold("--seed", "1.5"), "--seed"},
        BadValue{"RunSeed", {"run", "study.yaml", "--seed", "-1"}, "--seed"},
        BadValue{"TrafficSeed", {"traffic", "study.yaml", "--seed", kPast64Bits}, "--seed"},
        BadValue{"YamlSeed", {"run", "study.yaml", "--set", "seed=-1"}, "seed"},
        BadValue{
            "YamlSeedPast64Bits", {"run", "study.yaml", "--set", "seed=" + kPast64Bits}, "seed"},
        BadValue{"Threads", phold("--threads", "-1"), "--threads"},
        BadValue{"ThreadsPast32Bits", phold("--threads", "4294967297"), "--threads"},
        BadValue{"Partitions", phold("--partitions", "-1"), "--partitions"},
        BadValue{"AstraQueues", astra("--num-queues-per-dim=-1"), "--num-queues-per-dim"},
        BadValue{"Lps", phold("--lps", "-1"), "--lps"},
        BadValue{"StartEvents", phold("--start-events", "-4294967295"), "--start-events"},
        BadValue{"TripCount",
                 {"workload", "import", "stablehlo", "x", "-o", "y", "--trip-count", "-1"},
                 "--trip-count"},
        BadValue{"Module",
                 {"workload", "import", "stablehlo", "x", "-o", "y", "--module", "-1"},
                 "--module"},
        BadValue{"Device", {"workload", "inspect", "x.xwg", "--device", "-4294967295"}, "--device"},
        BadValue{
            "Ranks", {"workload", "import", "text", "x", "-o", "y", "--ranks", "-1"}, "--ranks"}),
    [](const auto& parameter) { return parameter.param.name; });

TEST(OptionValues, SeedsOf64BitsAreTakenAsTheyAre) {
  const Workspace workspace;
  const Ran greatest = workspace.run(phold("--seed", "18446744073709551615"));
  EXPECT_EQ(greatest.exit_code, 0) << greatest.err;
  EXPECT_EQ(workspace.run(phold("--seed", "0xffffffffffffffff")).exit_code, 0);
}

}  // namespace
}  // namespace exawarp::tests
