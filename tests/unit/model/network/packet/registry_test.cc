// What the folders of congestion controls and routing policies hold is what studies can name.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "core/error.h"
#include "model/network/packet/congestion_control.h"
#include "model/network/packet/packet_network.h"
#include "model/network/packet/routing_policy.h"
#include "tests/support/traffic_fixture.h"

namespace exawarp::tests {
namespace {

const std::filesystem::path kSource = EXAWARP_SOURCE_DIR;

std::set<std::string> files_in(const char* folder) {
  std::set<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(kSource / folder)) {
    if (file.path().extension() == ".cc") names.insert(file.path().stem());
  }
  return names;
}

template <class Entry>
std::vector<std::string> names_of(std::span<const Entry> entries) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) names.emplace_back(entry.name);
  return names;
}

template <class Entry>
std::set<std::string> set_of(std::span<const Entry> entries) {
  const std::vector<std::string> names = names_of(entries);
  return {names.begin(), names.end()};
}

TEST(Registry, HoldsWhatTheFoldersHold) {
  EXPECT_EQ(set_of(model::congestion_algorithms()), files_in("model/network/packet/congestion"));
  EXPECT_EQ(set_of(model::routing_algorithms()), files_in("model/network/packet/routing"));
}

TEST(Registry, ListsTheDefaultFirstAndTheRestInAFixedOrder) {
  const std::vector<std::string> transports = names_of(model::congestion_algorithms());
  EXPECT_EQ(transports.front(), "plain");
  EXPECT_TRUE(std::is_sorted(transports.begin() + 1, transports.end()));
  EXPECT_EQ(names_of(model::routing_algorithms()),
            (std::vector<std::string>{"deterministic", "destination", "ecmp", "spray", "adaptive",
                                      "valiant", "ugal"}));
}

TEST(Registry, EveryAlgorithmAndParameterStandsInTheReference) {
  std::ifstream in(kSource / "docs/reference/packet_network.md");
  std::stringstream page;
  page << in.rdbuf();
  const auto named = [&](std::string_view word) {
    return page.str().find("`" + std::string(word) + "`") != std::string::npos;
  };
  for (const model::CongestionAlgorithm& a : model::congestion_algorithms()) {
    EXPECT_TRUE(named(a.name)) << a.name;
    for (const model::Parameter& p : a.parameters) EXPECT_TRUE(named(p.key)) << p.key;
  }
  for (const model::RoutingAlgorithm& a : model::routing_algorithms()) {
    EXPECT_TRUE(named(a.name)) << a.name;
    for (const model::Parameter& p : a.parameters) EXPECT_TRUE(named(p.key)) << p.key;
  }
}

TEST(Registry, EveryParameterHasAMeaningAndADefaultWithinItsRange) {
  std::set<std::string> keys;
  const auto look = [&](std::span<const model::Parameter> table, std::string_view section) {
    for (const model::Parameter& p : table) {
      EXPECT_FALSE(p.meaning.empty()) << p.key;
      EXPECT_LE(p.least, p.usual) << p.key;
      EXPECT_LE(p.usual, p.most) << p.key;
      EXPECT_TRUE(keys.insert(model::parameter_key(section, p.key)).second) << p.key;
    }
  };
  for (const model::CongestionAlgorithm& a : model::congestion_algorithms()) {
    look(a.parameters, a.name);
  }
  for (const model::RoutingAlgorithm& a : model::routing_algorithms()) look(a.parameters, "");
}

TEST(Registry, AStateIsWhatItsFieldsSay) {
  const model::CongestionAlgorithm& window = model::congestion_algorithm("window");
  const auto control = model::make_congestion_control("window", {{"window.initial_packets", 7}});
  const model::CongestionState state =
      control->start({.bytes_per_s = 1'000'000'000, .packet_bytes = 1'000}, core::Time{5'000});
  EXPECT_EQ(model::field_of(window, state, "window"), 7 << 16);
  EXPECT_EQ(model::field_of(window, state, "decreased"), -1);
  EXPECT_EQ(model::field_of(window, state, "round_trip"), 5'000);
}

std::string error_of(const model::PacketOptions& options) {
  const auto topology = tests::chain(1, 1, 1);
  try {
    model::PacketNetwork network(*topology, options, 0);
  } catch (const core::InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Registry, RefusesNamesThatNobodyHas) {
  model::PacketOptions o = tests::plain_packets();
  o.routing.policy = "fastest";
  EXPECT_EQ(error_of(o),
            "packet network: routing: \"fastest\" is not known; expected one of: deterministic, "
            "destination, ecmp, spray, adaptive, valiant, ugal");
  o = tests::plain_packets();
  o.transport = "pigeon";
  EXPECT_TRUE(error_of(o).starts_with(
      "packet network: transport: \"pigeon\" is not known; expected one of: plain, dcqcn, "));
}

TEST(Registry, RefusesValuesOutsideTheirRangeOfWhateverAlgorithm) {
  model::PacketOptions o = tests::plain_packets();
  o.parameters["window.beta"] = 1'001;
  EXPECT_EQ(error_of(o), "packet network: window.beta: \"1001\"; expected 0 to 1000");
  o = tests::plain_packets();
  o.parameters["dcqcn.alpha_period"] = 0;
  EXPECT_EQ(error_of(o), "packet network: dcqcn: an interval of 0; expected 1 ps at least");
  o = tests::plain_packets();
  o.parameters["queue_pairs"] = 0;
  EXPECT_EQ(error_of(o), "packet network: queue_pairs: \"0\"; expected at least 1");
}

}  // namespace
}  // namespace exawarp::tests
