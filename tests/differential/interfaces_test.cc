// Devices with several interfaces at message fidelity: one digest in every mode.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using core::Time;
using model::Algorithm;
using model::Cluster;
using model::Fabric;
using model::FamilySpec;
using model::WorkloadGraph;
using model::schema::CollectiveType;

Fabric on(std::vector<FamilySpec> networks, std::vector<std::uint32_t> sizes = {}) {
  return {.networks = std::move(networks),
          .sizes = std::move(sizes),
          .forwarding = Time{400'000},
          .place = "test"};
}

FamilySpec family(decltype(FamilySpec::shape) shape) {
  return {.shape = std::move(shape), .place = "test"};
}

// The digest of `cluster`, which every mode and an audited run give, too.
void expect_one_digest(const Cluster& cluster, const ClusterRun& expected) {
  for (const RunCase& run : differential_cases(Time{500'000})) {
    EXPECT_EQ(to_hex(run_cluster(cluster, run).result.digest), to_hex(expected.result.digest))
        << run.text();
  }
  const ClusterRun audited = run_cluster(cluster, audited_case(Time{50'000'000}, 0.5));
  EXPECT_EQ(to_hex(audited.result.digest), to_hex(expected.result.digest));
}

TEST(Rails, ARingOfFourChannelsUsesFourInterfacesInEveryMode) {
  // Of 8 members' chunks of 100,000 bytes each channel carries a quarter, on an interface of its
  // own: 2 (n - 1) steps of two latencies and 25 us.
  const model::LinkKind link{"link", 1'000'000'000, Time{1'000'000}};
  const Fabric planes{.networks = {family(model::SingleSwitchSpec{4, link, {}})}, .place = "test"};
  const WorkloadGraph graph = collectives(CollectiveType::ALL_REDUCE, 8, 800'000);
  const Cluster cluster(
      graph, round_accelerator(), planes,
      {.collectives = {{.choice = {.algorithm = Algorithm::ring, .channels = 4}}}});
  const ClusterRun expected = run_cluster(cluster);
  EXPECT_EQ(expected.outcome.simulated_time(), 14 * Time{2'000'000 + 25'000'000});
  expect_one_digest(cluster, expected);
}

TEST(Fidelities, ManyPortsGiveOneDigestInEveryMode) {
  const model::LinkKind link{"link", 10'000'000'000, Time{500'000}};
  const model::NodeLatencies latencies{.forwarding = Time{300'000}, .endpoint = Time{1'000'000}};
  const FamilySpec full = family(model::FullyConnectedSpec{link, latencies});
  const auto torus = [&](std::vector<std::uint32_t> dims) {
    return family(model::TorusSpec{.dims = std::move(dims), .link = link, .latencies = latencies});
  };
  const std::vector<std::pair<std::string, Fabric>> networks{
      {"fully connected", on({full})},
      {"torus", on({torus({4, 6})})},
      {"product", on({full, torus({6})}, {4, 6})}};
  const WorkloadGraph graph = collectives(CollectiveType::ALL_TO_ALL, 24, 240'000, 3);
  for (const auto& [name, fabric] : networks) {
    SCOPED_TRACE(name);
    const Cluster cluster(graph, round_accelerator(), fabric,
                          {.collectives = {{.choice = {.algorithm = Algorithm::direct}}}});
    expect_one_digest(cluster, run_cluster(cluster));
  }
}

}  // namespace
}  // namespace exawarp::tests
