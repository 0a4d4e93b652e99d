// `exawarp traffic` through the program's commands: results, modes that agree, and errors.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;

class TrafficCommand : public testing::Test {
 protected:
  TrafficCommand() {
    workspace.write("fabric.yaml", R"(name: small
topology:
  kind: fat_tree
  radix: 4
  link: {bandwidth: "1 GB/s", latency: "100 ns"}
  switch_latency: "10 ns"
  endpoint_latency: "0 ns"
)");
    workspace.write("study.yaml", R"(study: small
devices: 16
fabric: fabric.yaml
packet: {packet_size: "1000 B", cut_through: false}
traffic: {pattern: incast, senders: 1, size: "4000 B"}
)");
  }
  json result(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"traffic", "study.yaml", "--json"});
    const Ran ran = workspace.run(arguments);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return json::parse(ran.out);
  }
  std::string error(const std::vector<std::string>& overrides) const {
    std::vector<std::string> arguments{"traffic", "study.yaml"};
    for (const std::string& text : overrides) arguments.insert(arguments.end(), {"--set", text});
    const Ran ran = workspace.run(arguments);
    EXPECT_EQ(ran.exit_code, 2);
    return ran.err;
  }
  const Workspace workspace;
};

TEST_F(TrafficCommand, PrintsCompletionTimesByTheFormula) {
  // Below one leaf: 2 links of 100 ns, a switch of 10 ns, 4 + 1 packets of 1 us.
  const json r = result({});
  EXPECT_EQ(r["schema"], "exawarp-traffic-1");
  EXPECT_EQ(r["completion_ps"]["max"], 210'000 + 5'000'000);
  EXPECT_EQ(r["messages"], 1);
  EXPECT_EQ(r["packet_hops"], 4);
}

TEST_F(TrafficCommand, EveryModePrintsTheSameDigest) {
  const std::vector<std::string> pattern{"--set", "traffic.pattern=permutation"};
  const auto digest = [&](std::vector<std::string> more) {
    more.insert(more.end(), pattern.begin(), pattern.end());
    return result(more)["digest"];
  };
  const json expected = digest({"--sync", "sequential"});
  EXPECT_EQ(digest({"--sync", "conservative", "--threads", "2"}), expected);
  EXPECT_EQ(digest({"--sync", "optimistic", "--threads", "2", "--audit", "0.2"}), expected);
}

TEST_F(TrafficCommand, SaysWhatIsWrongInOneLine) {
  EXPECT_EQ(error({"packet.flow_control=credits"}),
            "--set packet.flow_control: \"credits\" is not known here; expected one of: none, "
            "credit, pfc; did you mean \"credit\"?\n");
  EXPECT_EQ(error({"traffic.senders=16"}),
            "traffic: senders: \"16\"; this pattern has 15 at most on 16 devices\n");
  EXPECT_EQ(error({"packet.flow_control=credit", "packet.buffer=100 B"}),
            "packet network: buffer: \"100 B\" an input and channel; credits need 4 packets, "
            "4000 B, at least\n");
}

}  // namespace
}  // namespace exawarp::tests
