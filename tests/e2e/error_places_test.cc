// What errors and texts look like on a terminal: each error names its file and is of bounded
// length, and nothing that a user wrote commands the terminal.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

struct Refused {
  std::string name;
  std::vector<std::string> overrides;
  std::string start;  // of the line
  bool traffic = false;
};
void PrintTo(const Refused& r, std::ostream* out) { *out << r.name; }

const std::string kSmallTraffic = R"(study: small
devices: 16
fabric: {topology: {kind: single_switch, link: {bandwidth: 1 GB/s, latency: 1 us},
                    switch_latency: 1 us, endpoint_latency: 1 us}}
traffic: {pattern: uniform, messages: 4, size: 4000 B, load: 0.5}
)";

void write_studies(const Workspace& workspace) {
  workspace.write("study.yaml", small_study());
  workspace.write("workload.yaml", small_workload());
  workspace.write("traffic.yaml", kSmallTraffic);
}

class ErrorPlace : public testing::TestWithParam<Refused> {};

TEST_P(ErrorPlace, IsTheFile) {
  const Refused& r = GetParam();
  const Workspace workspace;
  write_studies(workspace);
  std::vector<std::string> arguments = r.traffic
                                           ? std::vector<std::string>{"traffic", "traffic.yaml"}
                                           : std::vector<std::string>{"run", "study.yaml"};
  for (const std::string& text : r.overrides) arguments.insert(arguments.end(), {"--set", text});
  const Ran ran = workspace.run(arguments);
  EXPECT_EQ(ran.exit_code, 2) << ran.err;
  EXPECT_TRUE(ran.err.starts_with(r.start)) << ran.err;
  EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
}

INSTANTIATE_TEST_SUITE_P(
    Studies, ErrorPlace,
    testing::Values(
        Refused{"PacketSize",
                {"network.fidelity=packet", "network.packet.packet_size=1 B"},
                "study.yaml: packet network: packet_size: "},
        Refused{"PacketSizeOfTraffic",
                {"packet.packet_size=1 B"},
                "traffic.yaml: packet network: packet_size: ",
                true},
        Refused{"LoadTooLittle", {"traffic.load=1e-12"}, "traffic.yaml: traffic: load: ", true},
        Refused{"Senders",
                {"traffic.pattern=incast", "traffic.senders=16"},
                "traffic.yaml: traffic: senders: ",
                true},
        Refused{"LaunchLatency",
                {"system.accelerator.launch_latency=2 s"},
                "study.yaml: accelerator \"chip\": launch latency: "},
        Refused{"NodeLatency", {"system.fabric.node.latency=2 s"}, "study.yaml: fabric \""},
        Refused{"SlowDevices",
                {"faults.slow_devices=[{devices: [8], factor: 2}]"},
                "study.yaml: faults.slow_devices: no such device: 8"}),
    [](const auto& parameter) { return parameter.param.name; });

TEST(ErrorLine, IsOfBoundedLength) {
  const Workspace workspace;
  const std::string name(3'000, 'x');
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"run", name},
                                                    {"run", "study.yaml", "--" + name},
                                                    {"goal", name + "/" + name},
                                                    {"phold", "--lps", name}}) {
    const Ran ran = workspace.run(arguments);
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_LE(ran.err.size(), 1'001u) << ran.err;
    EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
  }
}

TEST(Terminal, IsNotCommandedByWhatAUserWrote) {
  const Workspace workspace;
  write_studies(workspace);
  const std::vector<std::string> hostile{
      "--set", "description=\"red \\e[31m bell \\a back \\b del \\x7F csi \\x9B31m\"",
      "--set", "system.name=\"\\e]0;owned\\a\"",
      "--set", "system.accelerator.name=\"a\\rb\\nc\""};
  std::vector<std::string> arguments{"run", "study.yaml"};
  arguments.insert(arguments.end(), hostile.begin(), hostile.end());
  const Ran ran = workspace.run(arguments);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const auto commands = [](const std::string& text) {
    return text.find_first_of("\x1b\a\b\r\x7f") != std::string::npos ||
           text.find("\xc2\x9b") != std::string::npos;
  };
  EXPECT_FALSE(commands(ran.out)) << ran.out;
  EXPECT_NE(ran.out.find("red \\x1b[31m bell \\x07"), std::string::npos) << ran.out;
  EXPECT_FALSE(commands(workspace.read("results/tiny/summary.txt")));
}

TEST(Terminal, IsNotCommandedByNamesInErrors) {
  const Workspace workspace;
  write_studies(workspace);
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"run", "\x1b[31m"},
                                                    {"run", "study.yaml",
                                                     "--\xc2\x9b"
                                                     "31m"},
                                                    {"run", "study.yaml", "--set", "\x1b[31m=1"},
                                                    {"goal",
                                                     "\x9b"
                                                     "31m"},
                                                    {"workload", "inspect", "\xff\x1b"}}) {
    const Ran ran = workspace.run(arguments);
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_EQ(ran.err.find_first_of("\x1b\x9b\xff"), std::string::npos) << ran.err;
  }
}

}  // namespace
}  // namespace exawarp::tests
