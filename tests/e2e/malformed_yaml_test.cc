// MalformedFile studies and workload specifications: each ends with exit code 2, one line that
// names file and place, and nothing written.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "core/error.h"
#include "io/study/study.h"
#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

struct MalformedFile {
  std::string name;
  std::string file;  // in which `from` becomes `to`
  std::string from, to;
  std::string place;                   // what the line starts with
  std::string text;                    // what it contains
  std::vector<std::string> arguments;  // behind `run study.yaml`
};
void PrintTo(const MalformedFile& m, std::ostream* out) { *out << m.name; }

class MalformedYaml : public testing::TestWithParam<MalformedFile> {};

TEST_P(MalformedYaml, EndsWithOneLineThatNamesFileAndPlace) {
  const MalformedFile& m = GetParam();
  const Workspace workspace;
  const bool in_workload = m.file == "workload.yaml";
  const auto changed = [&](const std::string& text) {
    return m.from.empty() ? text : replaced(text, m.from, m.to);
  };
  workspace.write("study.yaml", in_workload ? small_study() : changed(small_study()));
  workspace.write("workload.yaml", in_workload ? changed(small_workload()) : small_workload());
  std::vector<std::string> arguments{"run", "study.yaml"};
  arguments.insert(arguments.end(), m.arguments.begin(), m.arguments.end());

  const Ran ran = workspace.run(arguments);

  EXPECT_EQ(ran.exit_code, 2) << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
  EXPECT_TRUE(ran.err.starts_with(m.place)) << ran.err;
  EXPECT_NE(ran.err.find(m.text), std::string::npos) << ran.err;
  EXPECT_FALSE(workspace.has("results"));
  EXPECT_FALSE(workspace.has("out"));
}

const std::string kStudy = "study.yaml";
const std::string kWorkload = "workload.yaml";

INSTANTIATE_TEST_SUITE_P(
    Studies, MalformedYaml,
    testing::Values(
        MalformedFile{"UnknownKey",
                      kStudy,
                      "study: tiny",
                      "study: tiny\nnetwrk: {}",
                      "study.yaml:2: key \"netwrk\": ",
                      "did you mean \"network\"?",
                      {}},
        MalformedFile{"UnknownNestedKey",
                      kStudy,
                      "latency: 1 us\n    scale",
                      "latncy: 1 us\n    scale",
                      "study.yaml:20: key \"system.fabric.node.latncy\": ",
                      "did you mean \"latency\"?",
                      {}},
        MalformedFile{"MissingStudyName",
                      kStudy,
                      "study: tiny\n",
                      "",
                      "study.yaml:1: key \"study\": ",
                      "is missing",
                      {}},
        MalformedFile{"StudyNameIsAPath",
                      kStudy,
                      "study: tiny",
                      "study: ../tiny",
                      "study.yaml:1: key \"study\": ",
                      "is no name",
                      {}},
        MalformedFile{"BandwidthWithoutTime",
                      kStudy,
                      "100 Gb/s",
                      "100 Gb",
                      "study.yaml:23: key \"system.fabric.scale_out.bandwidth\": ",
                      "has no time unit; expected e.g. \"400 Gb/s\"",
                      {}},
        MalformedFile{"BandwidthZero",
                      kStudy,
                      "100 GB/s",
                      "0 GB/s",
                      "study.yaml:19: key \"system.fabric.node.bandwidth\": ",
                      "out of range",
                      {}},
        MalformedFile{"LatencyNegative",
                      kStudy,
                      "endpoint_latency: 1 us",
                      "endpoint_latency: -1 us",
                      "study.yaml:24: key \"system.fabric.scale_out.endpoint_latency\": ",
                      "is negative",
                      {}},
        MalformedFile{"LatencyIsASize",
                      kStudy,
                      "launch_latency: 1 us",
                      "launch_latency: 1 MB",
                      "study.yaml:12: key \"system.accelerator.launch_latency\": ",
                      "is a size, not a time",
                      {}},
        MalformedFile{"LatencyOfAnHour",
                      kStudy,
                      "launch_latency: 1 us",
                      "launch_latency: 1 h",
                      "study.yaml:12: key \"system.accelerator.launch_latency\": ",
                      "too long",
                      {}},
        MalformedFile{"EfficiencyAboveOne",
                      kStudy,
                      "compute: 0.5",
                      "compute: 1.5",
                      "study.yaml:14: key \"system.accelerator.efficiency.other.compute\": ",
                      "1.5 is out of range",
                      {}},
        MalformedFile{"UnknownOperation",
                      kStudy,
                      "other: {",
                      "gem: {compute: 1}\n      other: {",
                      "study.yaml:14: key \"system.accelerator.efficiency.gem\": ",
                      "did you mean \"gemm\"?",
                      {}},
        MalformedFile{"NodeWithoutDevices",
                      kStudy,
                      "devices: 4\n",
                      "devices: 0\n",
                      "study.yaml:18: key \"system.fabric.node.devices\": ",
                      "0 is out of range",
                      {}},
        MalformedFile{"LeafSplitsNodes",
                      kStudy,
                      "per_leaf: 4",
                      "per_leaf: 6",
                      "study.yaml:27: key \"system.fabric.scale_out.devices_per_leaf\": ",
                      "no multiple",
                      {}},
        MalformedFile{"WorkloadFileMissing",
                      kStudy,
                      "workload.yaml",
                      "workloud.yaml",
                      "study.yaml:2: key \"workload\": ",
                      "did you mean \"workload.yaml\"?",
                      {}},
        MalformedFile{"DuplicateKey",
                      kStudy,
                      "study: tiny",
                      "study: tiny\nstudy: tiny",
                      "study.yaml:2: ",
                      "given twice; the first is on line 1",
                      {}},
        MalformedFile{
            "BrokenYaml", kStudy, "other: {compute", "other: {{compute", "study.yaml:", "", {}},
        MalformedFile{"JitterOfOne",
                      kStudy,
                      "study: tiny",
                      "study: tiny\ncompute: {jitter: 1.0}",
                      "study.yaml:2: key \"compute.jitter\": ",
                      "expected a number in [0, 0.25]",
                      {}},
        MalformedFile{"UnknownFidelity",
                      kStudy,
                      "study: tiny",
                      "study: tiny\nnetwork: {fidelity: mesage}",
                      "study.yaml:2: key \"network.fidelity\": ",
                      "did you mean \"message\"?",
                      {}},
        MalformedFile{"PacketRoutingUnknown",
                      kStudy,
                      "study: tiny",
                      "study: tiny\nnetwork: {fidelity: packet, packet: {routing: ecpm}}",
                      "study.yaml:2: key \"network.packet.routing\": ",
                      "did you mean \"ecmp\"?",
                      {}},
        MalformedFile{"PacketsInsideWhat",
                      kStudy,
                      "study: tiny",
                      "study: tiny\nnetwork: {inside_nodes: fast}",
                      "study.yaml:2: key \"network.inside_nodes\": ",
                      "message, packet",
                      {}},
        MalformedFile{
            "MeshWithoutAlong",
            kStudy,
            "workload: workload.yaml",
            "workload: {microbenchmark: {kind: collective, collective: barrier, bytes: 8 B, "
            "mesh: {a: 2}}}",
            "study.yaml:2: key \"workload.microbenchmark.along\"",
            "expected axes of the mesh",
            {}},
        MalformedFile{
            "AlongNoAxis",
            kStudy,
            "workload: workload.yaml",
            "workload: {microbenchmark: {kind: collective, collective: barrier, bytes: 8 B, "
            "mesh: {a: 2}, along: [b]}}",
            "study.yaml:2: key \"workload.microbenchmark.along\"",
            "is no axis of the mesh",
            {}},
        MalformedFile{
            "MeshAndOtherDevices",
            kStudy,
            "workload: workload.yaml",
            "workload: {microbenchmark: {kind: collective, collective: barrier, bytes: 8 B, "
            "devices: 3, mesh: {a: 2}, along: [a]}}",
            "study.yaml:2: key \"workload.microbenchmark.devices\"",
            "expected the same",
            {}},
        MalformedFile{"RuleWithUnknownKey",
                      kStudy,
                      "study: tiny",
                      "study: tiny\ncollectives:\n  rules:\n    - {algorithm: ring, chanels: 2}",
                      "study.yaml:4: key \"collectives.rules[0].chanels\": ",
                      "did you mean \"channels\"?",
                      {}},
        MalformedFile{"RuleForTheWrongType",
                      kStudy,
                      "study: tiny",
                      "study: tiny\ncollectives:\n  rules: [{type: all_to_all, algorithm: ring}]",
                      "study.yaml:3: key \"collectives.rules[0].algorithm\": ",
                      "expected one of: direct, bruck, pairwise",
                      {}},
        MalformedFile{"ByDimensionsForTheWrongType",
                      kStudy,
                      "study: tiny",
                      "study: tiny\ncollectives:\n  rules: "
                      "[{type: all_to_all, algorithm: direct, hierarchical: true}]",
                      "study.yaml:3: key \"collectives.rules[0].hierarchical\": ",
                      "expected one of: all_reduce, reduce_scatter, all_gather, barrier",
                      {}},
        MalformedFile{"ByDimensionsByTheWrongAlgorithm",
                      kStudy,
                      "study: tiny",
                      "study: tiny\ncollectives:\n  rules: "
                      "[{type: all_gather, algorithm: tree, hierarchical: true}]",
                      "study.yaml:3: key \"collectives.rules[0].hierarchical\": ",
                      "expected one of: ring, halving, direct, bruck, in_network, pat",
                      {}},
        MalformedFile{"RuleThatFitsNothing",
                      kStudy,
                      "study: tiny",
                      "study: tiny\n"
                      "collectives:\n  rules: [{algorithm: ring, min_group: 9, max_group: 8}]",
                      "study.yaml:3: key \"collectives.rules[0].max_group\": ",
                      "fits nothing",
                      {}},
        MalformedFile{"ChannelsOfATree",
                      kStudy,
                      "study: tiny",
                      "study: tiny\ncollectives:\n  rules: [{algorithm: tree, channels: 2}]",
                      "study.yaml:3: key \"collectives.rules[0].channels\": ",
                      "expected algorithm ring or double_tree",
                      {}},
        MalformedFile{"FirstRulesAreMissing",
                      kStudy,
                      "study: tiny",
                      "study: tiny\ncollectives: {first: {name: none}, rules: []}",
                      "study.yaml:2: key \"collectives.first.rules\": ",
                      "is missing",
                      {}},
        MalformedFile{"RulesAreAMapping",
                      kStudy,
                      "study: tiny",
                      "study: tiny\ncollectives: {rules: {algorithm: ring}}",
                      "study.yaml:2: key \"collectives.rules\": ",
                      "expected a list of mappings",
                      {}},
        MalformedFile{"SlowForNoTime",
                      kStudy,
                      "study: tiny",
                      "study: tiny\n"
                      "faults: {slow_devices: [{devices: [1], factor: 2, from: 2 s, until: 1 s}]}",
                      "study.yaml:2: key \"faults.slow_devices[0].until\": ",
                      "is not after from",
                      {}},
        MalformedFile{"SlowTooMany",
                      kStudy,
                      "study: tiny",
                      "study: tiny\nfaults: {slow_devices: [{devices: [0-9999999], factor: 2}, "
                      "{devices: [0-9999999], factor: 2}]}",
                      "study.yaml:2: key \"faults.slow_devices[1].devices\": ",
                      "more than 16,777,216 devices",
                      {}},
        MalformedFile{"SlowNobody",
                      kStudy,
                      "study: tiny",
                      "study: tiny\nfaults: {slow_devices: [{devices: [7-3], factor: 2}]}",
                      "study.yaml:2: key \"faults.slow_devices[0].devices\": ",
                      "expected e.g. [7, 16-23]",
                      {}},
        MalformedFile{"SeedNegative",
                      kStudy,
                      "study: tiny",
                      "study: tiny\nseed: -1",
                      "study.yaml:2: key \"seed\": ",
                      "-1 is out of range",
                      {}},
        MalformedFile{"SystemIsAList",
                      kStudy,
                      "system:\n",
                      "system: [1]\nother:\n",
                      "study.yaml:3: key \"system\": ",
                      "is a list",
                      {}}),
    [](const auto& param) { return param.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Workloads, MalformedYaml,
    testing::Values(MalformedFile{"TensorDoesNotDivideHeads",
                                  kWorkload,
                                  "tensor: 2",
                                  "tensor: 3",
                                  "workload.yaml:10: key \"transformer.parallel.tensor\": ",
                                  "3",
                                  {}},
                    MalformedFile{"LayersBelowStages",
                                  kWorkload,
                                  "layers: 4",
                                  "layers: 1",
                                  "workload.yaml:4: key \"transformer.model.layers\": ",
                                  "",
                                  {}},
                    MalformedFile{"HiddenNegative",
                                  kWorkload,
                                  "hidden: 256",
                                  "hidden: -256",
                                  "workload.yaml:5: key \"transformer.model.hidden\": ",
                                  "-256",
                                  {}},
                    MalformedFile{"FfnMissing",
                                  kWorkload,
                                  "    ffn: 512\n",
                                  "",
                                  "workload.yaml:2: key \"transformer.model.ffn\": ",
                                  "is missing",
                                  {}},
                    MalformedFile{"HeadsNotWhole",
                                  kWorkload,
                                  "heads: 8",
                                  "heads: 8.5",
                                  "workload.yaml:7: key \"transformer.model.heads\": ",
                                  "no whole number",
                                  {}},
                    MalformedFile{"DataZero",
                                  kWorkload,
                                  "data: 2",
                                  "data: 0",
                                  "workload.yaml:12: key \"transformer.parallel.data\": ",
                                  "0",
                                  {}},
                    MalformedFile{"BatchNotDivisible",
                                  kWorkload,
                                  "sequences: 8",
                                  "sequences: 7",
                                  "workload.yaml:14: key \"transformer.global_batch_sequences\": ",
                                  "7",
                                  {}},
                    MalformedFile{"SequenceLengthHuge",
                                  kWorkload,
                                  "length: 128",
                                  "length: 99999999999999999999",
                                  "workload.yaml:13: key \"transformer.sequence_length\": ",
                                  "",
                                  {}},
                    MalformedFile{"UnknownSchedule",
                                  kWorkload,
                                  "  gradient_buckets: 1",
                                  "  schedule: {kind: 2f2b}",
                                  "workload.yaml:15: key \"transformer.schedule.kind\": ",
                                  "1f1b",
                                  {}},
                    MalformedFile{"UnknownPrecision",
                                  kWorkload,
                                  "  gradient_buckets: 1",
                                  "  precision: bf17",
                                  "workload.yaml:15: key \"transformer.precision\": ",
                                  "bf16",
                                  {}},
                    MalformedFile{"OrderNamesNoAxis",
                                  kWorkload,
                                  "    tensor: 2",
                                  "    order: [tensor, data, pipe]",
                                  "workload.yaml:10: key \"transformer.parallel.order\": ",
                                  "",
                                  {}},
                    MalformedFile{"UnknownParallelAxis",
                                  kWorkload,
                                  "    tensor: 2",
                                  "    tensors: 2",
                                  "workload.yaml:10: key \"transformer.parallel.tensors\": ",
                                  "did you mean \"tensor\"?",
                                  {}},
                    MalformedFile{"TwoKinds",
                                  kWorkload,
                                  "transformer:\n",
                                  "microbenchmark: {kind: send}\ntransformer:\n",
                                  "workload.yaml:1: key \"microbenchmark\": ",
                                  "expected one of them",
                                  {}},
                    MalformedFile{"NeitherKind",
                                  kWorkload,
                                  "transformer:\n",
                                  "transfomer:\n",
                                  "workload.yaml:1: key \"transfomer\": ",
                                  "did you mean \"transformer\"?",
                                  {}}),
    [](const auto& param) { return param.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Arguments, MalformedYaml,
    testing::Values(
        MalformedFile{"UnknownOption",
                      kStudy,
                      "",
                      "",
                      "exawarp run: ",
                      "did you mean \"--threads\"?",
                      {"--threds", "2"}},
        MalformedFile{
            "NoThreads", kStudy, "", "", "exawarp run: ", "--threads", {"--threads", "0"}},
        MalformedFile{"UnknownSync",
                      kStudy,
                      "",
                      "",
                      "--sync: ",
                      "did you mean \"optimistic\"?",
                      {"--sync", "optimistc"}},
        MalformedFile{
            "WindowWithoutUnit", kStudy, "", "", "--window: ", "has no unit", {"--window", "5"}},
        MalformedFile{
            "AuditAboveOne", kStudy, "", "", "exawarp run: ", "--audit", {"--audit", "2"}},
        MalformedFile{"OverrideWithoutValue",
                      kStudy,
                      "",
                      "",
                      "--set seed: ",
                      "has no \"=\"",
                      {"--set", "seed"}},
        MalformedFile{"OverrideOfNothing",
                      kStudy,
                      "",
                      "",
                      "--set workload.transformer.modle.layers: ",
                      "unknown key",
                      {"--set", "workload.transformer.modle.layers=8"}},
        MalformedFile{"OverrideOutOfRange",
                      kStudy,
                      "",
                      "",
                      "--set workload.transformer.parallel.tensor: ",
                      "",
                      {"--set", "workload.transformer.parallel.tensor=3", "--out", "out"}},
        MalformedFile{"OverrideBelowAValue",
                      kStudy,
                      "",
                      "",
                      "--set study.name: ",
                      "is no mapping",
                      {"--set", "study.name=x"}}),
    [](const auto& param) { return param.param.name; });

TEST(YamlMutations, OfAStudyAreReadOrRefusedAndNeverCrash) {
  const Workspace workspace;
  workspace.write("workload.yaml", small_workload());
  const std::string sound = small_study();
  const std::string replacements = "x0:-{[\"'&*!|>%@\n\t \x01\xff";
  std::size_t refused = 0;
  for (std::size_t at = 0; at < sound.size(); ++at) {
    std::string text = sound;
    text[at] = replacements[at * 7 % replacements.size()];
    workspace.write("study.yaml", text);
    try {
      static_cast<void>(io::read_study("study.yaml", {}));
    } catch (const core::InputError& error) {
      ++refused;
      EXPECT_NE(std::string(error.what()).find("yaml"), std::string::npos) << error.what();
    }
  }
  EXPECT_GT(refused, sound.size() / 2);
}

}  // namespace
}  // namespace exawarp::tests
