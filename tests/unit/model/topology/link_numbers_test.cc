#include "model/topology/link_numbers.h"

#include <gtest/gtest.h>

#include "tests/support/topologies.h"

namespace exawarp::tests {
namespace {

TEST(LinkNumbers, CountAllPortsOfAllVerticesAndFindThemAgain) {
  for (const TopologyCase& c : topology_cases()) {
    const auto topology = c.make();
    const model::LinkNumbers links(*topology);
    std::uint64_t next = 0;
    for (std::uint32_t v = 0; v < topology->devices() + topology->switches(); ++v) {
      for (std::uint32_t port = 0; port < topology->ports({v}); ++port) {
        ASSERT_EQ(links.of({v}, port), next) << c.name;
        ASSERT_EQ(links.port_of(next), std::pair(model::VertexId{v}, port)) << c.name;
        ++next;
      }
    }
    EXPECT_EQ(links.count(), next) << c.name;
  }
}

}  // namespace
}  // namespace exawarp::tests
