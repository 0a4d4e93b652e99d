// Sampled graphs: the graph of a program, costs that are smoothed, distances by hand, and that a
// sample is closer to what it is like than something else is.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/error.h"
#include "model/generate/transformer.h"
#include "model/sample/dag.h"
#include "model/sample/draw.h"
#include "model/sample/fidelity.h"
#include "model/sample/fit.h"
#include "model/workload/validate.h"
#include "tests/support/seeds.h"
#include "tests/support/workload_builders.h"

namespace exawarp::tests {
namespace {

using namespace model;
using schema::NodeKind;

WorkloadGraph sample_of(const WorkloadGraph& graph, const SampleRequest& request,
                        std::uint32_t index = 0) {
  return draw_sample(fit_sample(std::span(&graph, 1)), request, index);
}

// Two streams: 0 -> 1 -> 3 in order on the first, 2 on the second after 0, 3 after 2.
WorkloadGraph diamond() {
  WorkloadBuilder workload("secret workload");
  const auto axis = workload.add_axis("secret axis", 1);
  ProgramBuilder& program = workload.add_program("secret program");
  const auto a = program.add_stream("secret a", schema::StreamKind::COMPUTE);
  const auto b = program.add_stream("secret b", schema::StreamKind::COMPUTE);
  const std::uint64_t flops[] = {500'000, 1'000'000, 2'000'000, 500'000};  // 1, 2, 4, 1 ns
  program.add_node({.stream = a, .flops = flops[0]});
  program.add_node({.stream = a, .flops = flops[1]});
  program.add_node({.stream = b, .flops = flops[2]}, {0});
  program.add_node({.stream = a, .flops = flops[3]}, {0, 2});
  workload.bind_range(program.index(), {.axis = axis, .first = 0, .count = 1});
  WorkloadGraph graph = workload.build();
  validate(graph);
  return graph;
}

double only_value(const GraphMeasures& measures, Measure measure) {
  const Histogram& values = measures[static_cast<std::size_t>(measure)];
  EXPECT_EQ(values.weight.size(), 1u);
  return values.weight.begin()->first;
}

TEST(SampleDag, OrderOfStreamsAndDependenciesMakeTheLevels) {
  const WorkloadGraph graph = diamond();
  const ProgramDag dag = program_dag(graph.program(0));
  EXPECT_EQ(dag.order, (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(dag.level, (std::vector<std::uint32_t>{1, 2, 2, 3}));
  EXPECT_EQ(dag.depth, 3u);
  EXPECT_EQ(dag.before[3], (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST(SampleFidelity, TheCriticalPathOfADiamondIsItsLongerSide) {
  const GraphMeasures measures = measure_graph(diamond());
  EXPECT_DOUBLE_EQ(only_value(measures, Measure::path_share), 6.0 / 8.0);
  EXPECT_DOUBLE_EQ(only_value(measures, Measure::parallelism), 8.0 / 6.0);
  const Histogram& widths = measures[static_cast<std::size_t>(Measure::width)];
  EXPECT_NEAR(widths.weight.at(1), 2.0 / 3, 1e-12);
  EXPECT_NEAR(widths.weight.at(2), 1.0 / 3, 1e-12);
}

GraphMeasures of_values(Measure measure, std::initializer_list<double> values) {
  GraphMeasures out;
  for (const double value : values) out[static_cast<std::size_t>(measure)].add(value, 1);
  return out;
}

TEST(SampleFidelity, DistancesAreThoseReckonedByHand) {
  const GraphMeasures a = of_values(Measure::width, {1, 2, 3, 4});
  const GraphMeasures b = of_values(Measure::width, {2, 3, 4, 4});
  const auto d = distances(Measure::width, {&a, 1}, {&b, 1});
  ASSERT_TRUE(d && d->w1);
  EXPECT_DOUBLE_EQ(d->ks, 0.25);
  EXPECT_DOUBLE_EQ(*d->w1, 0.75 / 3);  // three quarters of the way by 1, over a range of 3
  const GraphMeasures far = of_values(Measure::width, {11});
  const auto apart = distances(Measure::width, {&far, 1}, {&a, 1});
  EXPECT_DOUBLE_EQ(apart.value().w1.value_or(0), 8.5 / 10);  // of the range of both
  const GraphMeasures gemms = of_values(Measure::kinds, {1, 1, 1, 2});
  const GraphMeasures mixed = of_values(Measure::kinds, {1, 2, 2, 3});
  const auto shares = distances(Measure::kinds, {&gemms, 1}, {&mixed, 1});
  ASSERT_TRUE(shares);
  EXPECT_DOUBLE_EQ(shares->ks, 0.5);
  EXPECT_FALSE(shares->w1);
}

TEST(SampleFidelity, ValuesThatOneSetLacksAreAsFarAsCanBe) {
  const GraphMeasures some = of_values(Measure::message_bytes, {8});
  const GraphMeasures none = {};
  EXPECT_FALSE(distances(Measure::message_bytes, {&none, 1}, {&none, 1}));
  EXPECT_EQ(distances(Measure::message_bytes, {&some, 1}, {&none, 1})->ks, 1);
}

TEST(SampleFidelity, OneGraphHasNoHalves) {
  const GraphMeasures graph = measure_graph(diamond());
  const GraphMeasures two[] = {graph, graph};
  for (const FidelityRow& row : fidelity({&graph, 1}, {&graph, 1}, 1)) {
    EXPECT_FALSE(row.halves);
    EXPECT_EQ(row.sampled->ks, 0);
  }
  for (const FidelityRow& row : fidelity(two, {&graph, 1}, 1)) EXPECT_EQ(row.halves->ks, 0);
}

TEST(SampleCosts, ASliceKeepsItsValuesToWithinFivePerCent) {
  std::vector<std::uint64_t> values;
  for (std::uint64_t i = 0; i < 160; ++i) values.push_back(i < 80 ? 0 : 123'456'789);
  const Costs costs(values);
  std::set<std::uint64_t> drawn;
  for (int i = 0; i < 1'000; ++i) {
    const double place = i / 1'000.0;
    EXPECT_EQ(costs.draw(0.25, place), 0u);
    const std::uint64_t value = costs.draw(0.75, place);
    EXPECT_NEAR(static_cast<double>(value), 123'456'789.0, 0.05 * 123'456'789.0);
    drawn.insert(value);
  }
  EXPECT_GT(drawn.size(), 900u);
  EXPECT_FALSE(drawn.contains(123'456'789));
}

TEST(SampleDraw, IsAPureFunctionOfItsSeed) {
  const WorkloadGraph given = generate_transformer(random_transformer(3));
  const WorkloadGraph a = sample_of(given, {.seed = 5}), b = sample_of(given, {.seed = 5});
  const WorkloadGraph c = sample_of(given, {.seed = 6});
  EXPECT_EQ(a.root().toString().flatten(), b.root().toString().flatten());
  EXPECT_NE(a.root().toString().flatten(), c.root().toString().flatten());
}

TEST(SampleDraw, HasTheNodesAndDevicesAskedFor) {
  const WorkloadGraph given = generate_transformer(random_transformer(4));
  for (const std::uint32_t ranks : {1u, 6u, 7u, 24u}) {
    const WorkloadGraph graph = sample_of(given, {.nodes = 77, .ranks = ranks});
    EXPECT_EQ(graph.device_count(), ranks);
    EXPECT_EQ(graph.program(0).node_count(), 77u);
    EXPECT_TRUE(find_unmatched(graph).empty());
  }
}

// Of two given graphs, an even number of samples has each one's kind half of the time.
TEST(SampleDraw, SharesSamplesOutEvenly) {
  std::vector<WorkloadGraph> given;
  given.push_back(diamond());
  given.push_back(generate_transformer(tiny_llama()));
  const SampleModel model = fit_sample(given);
  for (const std::uint64_t seed : case_seeds(1, 20)) {
    int small = 0;
    for (std::uint32_t i = 0; i < 10; ++i) {
      small += draw_sample(model, {.seed = seed, .count = 10}, i).program(0).node_count() < 10;
    }
    EXPECT_EQ(small, 5);
  }
}

TEST(SampleDraw, NoTextAndNoLargeCostOfTheSourceOccurs) {
  const WorkloadGraph given = generate_transformer(tiny_llama());
  const WorkloadGraph secret = diamond();
  const WorkloadGraph graph = sample_of(given, {.seed = 2});
  EXPECT_EQ(graph.name_count(), 0u);
  EXPECT_TRUE(graph.records().empty());
  EXPECT_FALSE(graph.program(0).has_origins());
  const std::string text = sample_of(secret, {.seed = 2}).root().toString().flatten().cStr();
  EXPECT_EQ(text.find("secret"), std::string::npos);
  std::set<std::uint64_t> costs;
  const auto each_cost = [](const WorkloadGraph& of, const auto& visit) {
    for (std::uint32_t i = 0; i < of.program(0).node_count(); ++i) {
      const schema::Node::Reader node = of.program(0).node(i);
      for (const std::uint64_t cost : {node.getFlops(), node.getBytesRead(),
                                       node.getBytesWritten(), node.getCommBytes()}) {
        if (cost >= 1u << 16) visit(cost);  // smaller ones meet by chance
      }
    }
  };
  each_cost(given, [&](std::uint64_t cost) { costs.insert(cost); });
  ASSERT_FALSE(costs.empty());
  std::size_t drawn = 0, equal = 0;
  each_cost(graph, [&](std::uint64_t cost) { ++drawn, equal += costs.contains(cost) ? 1 : 0; });
  EXPECT_GT(drawn, 20u);
  EXPECT_LE(equal * 50, drawn);  // by chance, within 5 % of a number of 16 bits
}

// What the sampler is for: each distribution is near, and nearer than half of the given is to the
// other half.
TEST(SampleFidelity, ASampledSetIsAsCloseAsHalvesOfTheGivenAre) {
  std::vector<WorkloadGraph> given, sampled;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    given.push_back(generate_transformer(random_transformer(seed)));
  }
  const SampleModel model = fit_sample(given);
  const SampleRequest request{.seed = 9, .count = 24};
  for (std::uint32_t i = 0; i < request.count; ++i) {
    sampled.push_back(draw_sample(model, request, i));
  }
  std::vector<GraphMeasures> of_given, of_sampled;
  for (const WorkloadGraph& graph : given) of_given.push_back(measure_graph(graph));
  for (const WorkloadGraph& graph : sampled) of_sampled.push_back(measure_graph(graph));
  const std::vector<FidelityRow> rows = fidelity(of_given, of_sampled, 1);
  EXPECT_GE(rows.size(), 11u);
  for (const FidelityRow& row : rows) {
    SCOPED_TRACE(facts_of(row.measure).name);
    EXPECT_LE(row.sampled->ks, row.halves->ks);
    EXPECT_LE(row.sampled->w1.value_or(0), 0.08);
  }
}

TEST(SampleFit, AGraphWithoutNodesIsRefused) {
  WorkloadBuilder workload("empty");
  const auto axis = workload.add_axis("device", 1);
  workload.add_program("nothing");
  workload.bind_range(0, {.axis = axis, .first = 0, .count = 1});
  WorkloadGraph graph = workload.build();
  validate(graph);
  try {
    fit_sample(std::span(&graph, 1));
    FAIL() << "accepted";
  } catch (const core::InputError& error) {
    EXPECT_STREQ(error.what(),
                 "generated workload: no node; expected a graph with at least one");
  }
}

}  // namespace
}  // namespace exawarp::tests
