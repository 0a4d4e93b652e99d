// `exawarp topology show`, and studies on other networks than nodes on a fat tree.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

using Json = nlohmann::json;

const std::string kTorus = R"(name: torus
topology:
  kind: torus
  dims: [2, 4]
  link: {bandwidth: "50 GB/s", latency: "500 ns"}
  endpoint_latency: "1 us"
)";

void write_study(const Workspace& workspace) {
  workspace.write("study.yaml", small_study());
  workspace.write("workload.yaml", small_workload());
  workspace.write("torus.yaml", kTorus);
}

const std::vector<std::string> kOnTorus{"--set", "system.fabric=torus.yaml"};

std::vector<std::string> with(std::vector<std::string> arguments,
                              const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++found;
  }
  return found;
}

TEST(TopologyShow, PrintsTheFiguresOfATorus) {
  const Workspace workspace;
  write_study(workspace);
  const Ran ran = workspace.run(with({"topology", "show", "study.yaml", "--json"}, kOnTorus));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const Json json = Json::parse(ran.out);
  EXPECT_EQ(json["devices"], 8);
  EXPECT_EQ(json["switches"], 0);
  EXPECT_EQ(json["links"], 12);  // 4 between pairs, 8 of two rings of 4
  EXPECT_EQ(json["diameter_links"], 3);
  EXPECT_EQ(json["bisection_bytes_per_s"], 200'000'000'000);
  ASSERT_EQ(json["paths"].size(), 3u);
  EXPECT_EQ(json["paths"][2]["latency_ps"], 1'500'000);
  EXPECT_EQ(json["paths"][2]["endpoint_ps"], 1'000'000);
}

// 64 x 64 links of 10^18 bytes/s: more than 63 bits hold.
TEST(TopologyShow, PrintsABisectionPast63Bits) {
  const Workspace workspace;
  write_study(workspace);
  workspace.write("full.yaml", R"(name: full
topology:
  kind: fully_connected
  link: {bandwidth: "1000000 TB/s", latency: "500 ns"}
  endpoint_latency: "1 us"
)");
  const std::vector<std::string> more{"--set", "system.fabric=full.yaml", "--set", "devices=128"};
  const Ran ran = workspace.run(with({"topology", "show", "study.yaml"}, more));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("bisection   4096 EB/s\n"), std::string::npos) << ran.out;
  const Ran as_json = workspace.run(with({"topology", "show", "study.yaml", "--json"}, more));
  EXPECT_DOUBLE_EQ(Json::parse(as_json.out)["bisection_bytes_per_s"].get<double>(), 4096e18);
}

TEST(TopologyShow, CountsNodesLeavesAndSpinesOfTheUsualFabric) {
  const Workspace workspace;
  write_study(workspace);
  const Ran ran = workspace.run({"topology", "show", "study.yaml", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const Json json = Json::parse(ran.out);
  EXPECT_EQ(json["switches"], 2 + 2 + 2);  // NVSwitches, leaves, spines
  EXPECT_EQ(json["links"], 8 + 8 + 4);
  EXPECT_EQ(json["paths"][0]["latency_ps"], 1'000'000);  // a node's, end to end
  EXPECT_EQ(json["paths"][1]["latency_ps"], 3 * 100'000 + 4 * 10'000);
}

TEST(TopologyShow, DrawsEveryVertexAndLink) {
  const Workspace workspace;
  write_study(workspace);
  ASSERT_EQ(workspace.run({"topology", "show", "study.yaml", "-o", "a.svg"}).exit_code, 0);
  const std::string svg = workspace.read("a.svg");
  EXPECT_EQ(count(svg, "<circle"), 8u);
  EXPECT_EQ(count(svg, "<rect"), 1u + 6);         // the background, and switches
  EXPECT_EQ(count(svg, "<path"), 20u + 3);        // links, and the kinds' legend
  EXPECT_EQ(count(svg, "<title>d7 to s"), 2u);    // its NVSwitch and its leaf
  EXPECT_NE(svg.find(">d7</text>"), std::string::npos);
  EXPECT_NE(svg.find(">inside nodes</text>"), std::string::npos);
  ASSERT_EQ(workspace.run({"topology", "show", "study.yaml", "-o", "a.dot"}).exit_code, 0);
  EXPECT_EQ(count(workspace.read("a.dot"), " -- "), 20u);
}

TEST(TopologyShow, DrawsWrapsOfATorusAsTwoEnds) {
  const Workspace workspace;
  write_study(workspace);
  const Ran ran = workspace.run(with({"topology", "show", "study.yaml", "-o", "a.svg"}, kOnTorus));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const std::string svg = workspace.read("a.svg");
  EXPECT_EQ(count(svg, "stroke-dasharray"), 2u * 2);  // of each ring of 4
  EXPECT_EQ(count(svg, "<path"), 12u + 2 + 1);        // links, second ends, the legend
}

constexpr const char* kCountersHead = "vertex,port,from_ps,until_ps,utilisation\n";

TEST(TopologyShow, ColoursLinksByTheirLoad) {
  const Workspace workspace;
  write_study(workspace);
  workspace.write("ports.csv", std::string(kCountersHead) +
                                   "d0,0,0,100,1\nd0,0,100,200,0.8\nd1,0,0,100,0.5\n");
  const Ran ran =
      workspace.run({"topology", "show", "study.yaml", "-o", "a.svg", "--load", "ports.csv"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const std::string svg = workspace.read("a.svg");
  EXPECT_EQ(count(svg, ": 90 % busy, 100 % at most"), 1u);
  EXPECT_EQ(count(svg, ": 25 % busy, 50 % at most"), 1u);
  EXPECT_EQ(count(svg, ": no packets"), 18u);
  EXPECT_EQ(count(svg, "stroke=\"#7d0f23\""), 1u);
}

TEST(TopologyShow, RefusesLoadsThatAreNotOfTheNetwork) {
  const Workspace workspace;
  write_study(workspace);
  const auto error_of = [&](const std::string& rows, const char* picture = "a.svg") {
    workspace.write("ports.csv", rows);
    const Ran ran =
        workspace.run({"topology", "show", "study.yaml", "-o", picture, "--load", "ports.csv"});
    EXPECT_EQ(ran.exit_code, 2) << rows;
    EXPECT_FALSE(workspace.has(picture)) << rows;
    return ran.err;
  };
  const std::string head = kCountersHead;
  EXPECT_EQ(error_of(head + "d8,0,0,100,1\n"),
            "ports.csv:2: column vertex: \"d8\"; expected a device (\"d0\") or switch (\"s0\") of "
            "the study's network\n");
  EXPECT_NE(error_of(head + "d0,9,0,100,1\n").find("expected a whole number up to 1"),
            std::string::npos);
  EXPECT_NE(error_of(head + "d0,0,100,100,1\n").find("a later time than from_ps"),
            std::string::npos);
  EXPECT_NE(error_of(head + "d0,0,0,100,1.5\n").find("a share from 0 to 1"), std::string::npos);
  EXPECT_NE(error_of(head).find("has no rows"), std::string::npos);
  EXPECT_EQ(error_of(head, "a.dot"),
            "--load: needs a picture with colours; expected -o FILE.svg\n");
}

TEST(TopologyShow, RefusesAPictureOfUnknownKind) {
  const Workspace workspace;
  write_study(workspace);
  const Ran ran = workspace.run({"topology", "show", "study.yaml", "-o", "a.png"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.err, "--output: \"a.png\" is no picture; expected .svg or .dot\n");
}

TEST(RunOnTopology, OnATorusGivesOneDigestInEveryMode) {
  const Workspace workspace;
  write_study(workspace);
  std::set<std::string> digests;
  for (const char* mode : {"sequential", "conservative", "optimistic"}) {
    const Ran ran = workspace.run(
        with({"run", "study.yaml", "--json", "--sync", mode, "--partitions", "4"}, kOnTorus));
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    digests.insert(Json::parse(ran.out)["digest"]);
  }
  EXPECT_EQ(digests.size(), 1u);
}

// The same network said in both ways: nodes on a fat tree, and a fat tree with a node.
TEST(RunOnTopology, AFatTreeNamedAsATopologyTakesAsLongAsTheUsualFabric) {
  const Workspace workspace;
  write_study(workspace);
  workspace.write("tree.yaml", R"(
node: {name: inside, devices: 4, bandwidth: 100 GB/s, latency: 1 us}
topology:
  kind: fat_tree
  devices_per_leaf: 4
  leaves_per_pod: 2
  spines_per_pod: 2
  link: {bandwidth: 100 Gb/s, latency: 10 ns}
  switch_latency: 100 ns
  endpoint_latency: 1 us
)");
  const auto time_of = [&](const std::vector<std::string>& more) {
    const Ran ran = workspace.run(with({"run", "study.yaml", "--json"}, more));
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return Json::parse(ran.out)["simulated_time_ps"].get<std::int64_t>();
  };
  EXPECT_EQ(time_of({}), time_of({"--set", "system.fabric=tree.yaml"}));
}

}  // namespace
}  // namespace exawarp::tests
