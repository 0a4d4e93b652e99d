// Finishing times of LogGOPSim, and the closed form of the ring.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "io/formats/goal/text_reader.h"
#include "model/guests/goal/schedule_writer.h"
#include "tests/support/goal_runs.h"

namespace exawarp::tests {
namespace {

using model::goal::Op;
using model::goal::OpType;
using model::goal::Parameters;
using model::goal::Schedule;
using model::goal::ScheduleWriter;

const std::string kFolder = EXAWARP_SOURCE_DIR "/tests/golden/goal/";

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Parameters parameters_of(const nlohmann::json& j) {
  return {.L = j["L"], .o = j["o"], .g = j["g"], .G = j["G"], .O = j["O"], .S = j["S"]};
}

TEST(GoalGolden, FinishesWhenLogGopsimDoes) {
  const auto expected = nlohmann::json::parse(bytes_of(kFolder + "expected.json"));
  std::uint32_t checked = 0;
  for (const auto& item : expected["cases"]) {
    const std::string file = item["file"];
    if (!std::ifstream(kFolder + file)) continue;  // large ones are not here
    const Schedule schedule = io::open_goal(kFolder + file);
    for (const auto& [name, values] : expected["parameters"].items()) {
      const tests::GoalRun run = tests::run_goal(schedule, parameters_of(values));
      EXPECT_EQ(*std::ranges::max_element(run.finish), item["finish_ns"][name]) << file << name;
      EXPECT_EQ(schedule.operation_count() + run.messages, item["events"]) << file;
      EXPECT_EQ(run.unended, 0u) << file;
      ++checked;
    }
  }
  EXPECT_EQ(checked, 18u);
}

TEST(GoalGolden, ATextBecomesTheBytesThatTxt2binWrites) {
  const std::string text = bytes_of(kFolder + "dissemination.64.goal");
  const std::vector<std::byte> bytes = io::read_goal_text(text, "text");
  const std::string expected = bytes_of(kFolder + "dissemination.64.bin");
  ASSERT_EQ(bytes.size(), expected.size());
  EXPECT_EQ(std::memcmp(bytes.data(), expected.data(), bytes.size()), 0);
}

// 2(N-1) steps; in each a rank sends to the next, and what it sends on it received before.
Schedule ring(std::uint32_t ranks, std::uint64_t bytes, bool chained) {
  ScheduleWriter writer(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    std::uint32_t received = 0;
    for (std::uint32_t step = 0; step < 2 * (ranks - 1); ++step) {
      const std::uint32_t tag = chained ? step : 0;
      const std::uint32_t send =
          writer.add(r, {.type = OpType::send, .peer = (r + 1) % ranks, .tag = tag, .size = bytes});
      const std::uint32_t receive = writer.add(
          r, {.type = OpType::receive, .peer = (r + ranks - 1) % ranks, .tag = tag, .size = bytes});
      if (step > 0) writer.requires_end(r, send, received);
      if (step > 0 && chained) writer.requires_end(r, receive, received);
      received = receive;
    }
  }
  return Schedule::from_bytes(writer.bytes(), "ring");
}

TEST(GoalGolden, TheRingHasItsClosedForm) {
  const Parameters kinds[] = {{},
                              {.L = 3700, .o = 200, .g = 5, .G = 1, .O = 0, .S = 0},
                              {.L = 1000, .o = 500, .g = 100, .G = 2, .O = 1, .S = 1'000'000},
                              // 0.04 ns a byte: the unit is 10 ps
                              {.L = 370'000, .o = 20'000, .g = 500, .G = 4, .S = 0,
                               .units_per_ns = 100}};
  for (const std::uint32_t ranks : {8u, 16u, 64u}) {
    for (const bool chained : {false, true}) {
      const std::int64_t s = 1 << 20;
      const Schedule schedule = ring(ranks, s, chained);
      for (const Parameters& p : kinds) {
        const std::int64_t through = p.L + 2 * p.o + (s - 1) * std::max(p.G, p.O);
        const std::int64_t busy = 2 * p.o + (s - 1) * (p.O + std::max(p.G, p.O));
        const std::int64_t expected = 2 * (ranks - 1) * std::max(through, busy);
        const tests::GoalRun run = tests::run_goal(schedule, p);
        for (const std::int64_t finish : run.finish) ASSERT_EQ(finish, expected) << ranks;
      }
    }
  }
}

}  // namespace
}  // namespace exawarp::tests
