// Hosts of several CPUs and NICs: random graphs against references, and every mode against the
// sequential one.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/guests/goal/schedule_writer.h"
#include "tests/support/goal_runs.h"
#include "tests/support/seeds.h"

namespace exawarp::tests {
namespace {

using model::goal::Op;
using model::goal::OpType;
using model::goal::Parameters;
using model::goal::Schedule;
using model::goal::ScheduleWriter;

// Calculations of a host, each with what it waits for: operations before it.
struct Calc {
  std::int64_t ns = 0;
  std::uint8_t cpu = 0;
  std::vector<std::uint32_t> ends, starts;
};
using Graph = std::vector<Calc>;

Graph random_graph(std::uint64_t seed, std::uint32_t operations, std::uint32_t cpus) {
  tests::Draws draw(seed, 0xc901);
  Graph graph(operations);
  for (std::uint32_t i = 0; i < operations; ++i) {
    // Zero and equal times are likely enough, so that ties are.
    graph[i].ns = draw.below(4) == 0 ? draw.below(3) * 50 : draw.below(1000);
    graph[i].cpu = static_cast<std::uint8_t>(cpus == 0 ? i : draw.below(cpus));
    for (std::uint32_t k = draw.below(4); k != 0 && i != 0; --k)
      (draw.below(3) == 0 ? graph[i].starts : graph[i].ends).push_back(draw.below(i));
  }
  return graph;
}

// Each is a rank: many cases in one run.
Schedule schedule_of(const std::vector<Graph>& graphs) {
  ScheduleWriter writer(static_cast<std::uint32_t>(graphs.size()));
  for (std::uint32_t rank = 0; rank < graphs.size(); ++rank) {
    for (const Calc& calc : graphs[rank]) {
      const auto size = static_cast<std::uint64_t>(calc.ns);
      const auto op = writer.add(rank, {.type = OpType::calc, .cpu = calc.cpu, .size = size});
      for (const std::uint32_t before : calc.ends) writer.requires_end(rank, op, before);
      for (const std::uint32_t before : calc.starts) writer.requires_start(rank, op, before);
    }
  }
  return Schedule::from_bytes(writer.bytes(), "graphs");
}

struct Shape {
  std::uint32_t operations_min, operations_span;
  std::uint32_t cpus;  // 0: one for each operation
};

std::vector<Graph> random_graphs(std::uint64_t seed, std::uint32_t count, const Shape& shape) {
  std::vector<Graph> graphs;
  for (std::uint32_t i = 0; i < count; ++i)
    graphs.push_back(random_graph(seed * 100'000 + i,
                                  shape.operations_min + i % shape.operations_span, shape.cpus));
  return graphs;
}

// When the last ends, where each has a CPU of its own: it starts when all it waits for allows it.
std::int64_t finish_without_contention(const Graph& graph) {
  std::vector<std::int64_t> start(graph.size(), 0);
  std::int64_t finish = 0;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (const std::uint32_t before : graph[i].ends)
      start[i] = std::max(start[i], start[before] + graph[before].ns);
    for (const std::uint32_t before : graph[i].starts) start[i] = std::max(start[i], start[before]);
    finish = std::max(finish, start[i] + graph[i].ns);
  }
  return finish;
}

TEST(SeveralCpus, AnOperationStartsWhenAllThatItWaitsForAllows) {
  for (const std::uint64_t seed : case_seeds(1, 10)) {
    const std::vector<Graph> graphs = random_graphs(seed, 1000, {3, 12, 0});
    const tests::GoalRun run = tests::run_goal(schedule_of(graphs), {});
    ASSERT_EQ(run.unended, 0u) << "seed " << seed;
    for (std::size_t i = 0; i < graphs.size(); ++i)
      ASSERT_EQ(run.finish[i], finish_without_contention(graphs[i]))
          << "seed " << seed << " graph " << i;
  }
}

// The same where CPUs are shared: a list of what may start, each with the time from when on and
// the number of those listed before it; what is first of these is begun, or put off.
class SharedCpus {
 public:
  SharedCpus(const Graph& graph, std::uint32_t cpus)
      : graph_(graph), clocks_(cpus, 0), earliest_(graph.size(), 0), waits_(graph.size()) {}

  std::int64_t finish() {
    for (std::uint32_t i = 0; i < graph_.size(); ++i) {
      waits_[i] = graph_[i].ends.size() + graph_[i].starts.size();
      if (waits_[i] == 0) list_.push_back({0, listed_++, i});
    }
    while (!list_.empty()) {
      const auto first = std::ranges::min_element(list_);
      const Free free = *first;
      const std::int64_t clock = clocks_[graph_[free.op].cpu];
      if (clock > free.due) {
        first->due = clock;
        continue;
      }
      list_.erase(first);
      run(free);
    }
    return std::ranges::max(clocks_);
  }

 private:
  struct Free {
    std::int64_t due;
    std::uint32_t number, op;
    auto operator<=>(const Free&) const = default;
  };

  void run(const Free& free) {
    const std::int64_t end = free.due + graph_[free.op].ns;
    clocks_[graph_[free.op].cpu] = end;
    std::vector<std::uint32_t> met_by_start, met_by_end;
    for (std::uint32_t i = 0; i < graph_.size(); ++i) {
      const Calc& calc = graph_[i];
      for (const std::uint32_t before : calc.starts)
        if (before == free.op && meet(i, free.due)) met_by_start.push_back(i);
    }
    for (std::uint32_t i = 0; i < graph_.size(); ++i) {
      const Calc& calc = graph_[i];
      for (const std::uint32_t before : calc.ends)
        if (before == free.op && meet(i, end)) met_by_end.push_back(i);
    }
    for (const auto* met : {&met_by_start, &met_by_end})
      for (const std::uint32_t i : *met)
        list_.push_back({std::max({free.due, earliest_[i], clocks_[graph_[i].cpu]}), listed_++, i});
  }
  bool meet(std::uint32_t op, std::int64_t time) {
    earliest_[op] = std::max(earliest_[op], time);
    return --waits_[op] == 0;
  }

  const Graph& graph_;
  std::vector<std::int64_t> clocks_, earliest_;
  std::vector<std::size_t> waits_;
  std::vector<Free> list_;
  std::uint32_t listed_ = 0;
};

TEST(SeveralCpus, SharedOnesAreTakenInTheOrderOfCreation) {
  for (std::uint32_t cpus = 1; cpus <= 4; ++cpus) {
    const std::vector<Graph> graphs = random_graphs(cpus, 500, {10, 30, cpus});
    const tests::GoalRun run = tests::run_goal(schedule_of(graphs), {});
    ASSERT_EQ(run.unended, 0u) << "seed " << cpus;
    for (std::size_t i = 0; i < graphs.size(); ++i)
      ASSERT_EQ(run.finish[i], SharedCpus(graphs[i], cpus).finish())
          << "seed " << cpus << " graph " << i;
  }
}

TEST(SeveralCpus, WithOneCpuTheAnswerIsLogGopsims) {
  for (const std::uint64_t seed : case_seeds(1, 5)) {
    const Schedule schedule = schedule_of(random_graphs(seed, 100, {25, 10, 1}));
    const tests::GoalRun run = tests::run_goal(schedule, {});
    ASSERT_EQ(run.finish, tests::goal_oracle(schedule, {})) << "seed " << seed;
    const tests::GoalRun as_it = tests::run_goal(schedule, {.as_loggopsim = true});
    ASSERT_EQ(as_it.digest, run.digest) << "seed " << seed;
  }
}

TEST(SeveralCpus, AsLogGopsimTheAnswerIsItsOwn) {
  for (const std::uint64_t seed : case_seeds(1, 10)) {
    const Schedule schedule = schedule_of(random_graphs(seed, 100, {20, 10, 3}));
    const tests::GoalRun run = tests::run_goal(schedule, {.as_loggopsim = true});
    ASSERT_EQ(run.finish, tests::goal_oracle(schedule, {})) << "seed " << seed;
    ASSERT_NE(run.finish, tests::run_goal(schedule, {}).finish) << "seed " << seed;
  }
}

// Rounds of messages between ranks of `cpus` CPUs and NICs, with calculations; an operation
// follows ones of earlier rounds.
Schedule random_messages(std::uint64_t seed, std::uint32_t ranks, std::uint32_t cpus) {
  tests::Draws draw(seed, 0xc902);
  ScheduleWriter writer(ranks);
  std::vector<std::uint32_t> earlier(ranks, 0);  // operations of the rounds before
  const auto add = [&](std::uint32_t rank, Op op) {
    op.cpu = static_cast<std::uint8_t>(draw.below(cpus));
    op.nic =
        op.type == OpType::calc ? std::uint8_t{0} : static_cast<std::uint8_t>(draw.below(cpus));
    const std::uint32_t index = writer.add(rank, op);
    for (std::uint32_t k = 0; k < 3 && earlier[rank] != 0; ++k) {
      if (draw.below(3) == 0) continue;
      const std::uint32_t on = draw.below(earlier[rank]);
      draw.below(4) == 0 ? writer.requires_start(rank, index, on)
                         : writer.requires_end(rank, index, on);
    }
    return index + 1;
  };
  for (std::uint32_t round = 0; round < 6; ++round) {
    std::vector<std::uint32_t> ops = earlier;
    for (std::uint32_t k = 0; k < 2 * ranks; ++k) {
      const std::uint32_t from = draw.below(ranks);
      const std::uint32_t to = (from + 1 + draw.below(ranks - 1)) % ranks;
      const std::uint64_t bytes = 1 + draw.below(3000);
      const std::uint32_t tag = 100 * round + k;
      ops[to] = add(to, {.type = OpType::receive, .peer = from, .tag = tag, .size = bytes});
      ops[from] = add(from, {.type = OpType::send, .peer = to, .tag = tag, .size = bytes});
      ops[from] = add(from, {.type = OpType::calc, .size = draw.below(2000)});
    }
    earlier = ops;
  }
  return Schedule::from_bytes(writer.bytes(), "messages");
}

// But for hosts that act on each other in their past, where the order at one instant may be
// another (docs/guide/goal.md).
TEST(SeveralCpus, WithMessagesTooTheAnswerIsLogGopsimsWhereAsked) {
  std::uint32_t equal = 0;
  for (const std::uint64_t seed : case_seeds(1, 100)) {
    const Schedule schedule = random_messages(seed, 3 + static_cast<std::uint32_t>(seed % 4), 3);
    Parameters p = tests::random_parameters(seed, seed % 2 == 0 ? 10'000 : 1500);
    p.as_loggopsim = true;
    const tests::GoalRun run = tests::run_goal(schedule, p);
    ASSERT_EQ(run.unended, 0u) << "seed " << seed;
    if (run.finish == tests::goal_oracle(schedule, p)) ++equal;
  }
  EXPECT_GE(equal, 95u);
}

TEST(SeveralCpus, EveryModeGivesTheSequentialDigestUnderAudit) {
  std::uint64_t rolled_back = 0, audited = 0;
  for (const std::uint64_t seed : case_seeds(1, 6)) {
    const Schedule schedule = random_messages(seed, 8, 3);
    for (const bool as_loggopsim : {false, true}) {
      Parameters p = tests::random_parameters(seed, seed % 2 == 0 ? 1500 : 10'000);
      p.as_loggopsim = as_loggopsim;
      const auto [expected, careful, bold] = tests::run_goal_in_every_mode(schedule, p);
      EXPECT_EQ(careful.digest, expected.digest) << "seed " << seed;
      EXPECT_EQ(bold.digest, expected.digest) << "seed " << seed;
      EXPECT_EQ(bold.finish, expected.finish) << "seed " << seed;
      rolled_back += bold.rolled_back;
      audited += bold.audited;
    }
  }
  EXPECT_GT(rolled_back, 100u);
  EXPECT_GT(audited, 1000u);
}

}  // namespace
}  // namespace exawarp::tests
