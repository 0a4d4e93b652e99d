// Vidur's schedules of 128 requests (serving/README.md): the same batches, the same restarts, and
// each request's first token and end within a microsecond.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "model/serving/outcome.h"
#include "partition/block.h"
#include "pdes/engine.h"
#include "pdes/transport.h"

namespace exawarp::tests {
namespace {

using namespace model::serving;
using Row = std::map<std::string, std::string>;

constexpr double kMicrosecond = 1e-6;

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, ',');) fields.push_back(field);
  return fields;
}

std::vector<Row> rows_of(const std::string& name) {
  const std::string path = EXAWARP_SOURCE_DIR "/tests/golden/serving/" + name;
  std::ifstream file(path);
  EXPECT_TRUE(file) << "no " << path;
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> names = fields_of(line);
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = fields_of(line);
    EXPECT_EQ(fields.size(), names.size()) << line;
    for (Row& row = rows.emplace_back(); const std::string& field : fields)
      row[names[row.size()]] = field;
  }
  return rows;
}

std::uint32_t number(const Row& row, const char* name) {
  return static_cast<std::uint32_t>(std::stoul(row.at(name)));
}

// Of a request of more than 4096 tokens Vidur cuts the prompt.
std::vector<Request> trace(double scale) {
  constexpr std::uint32_t kTokensMax = 4096;
  std::vector<Request> requests;
  for (const Row& row : rows_of("trace.csv")) {
    const double arrival_s = std::stod(row.at("arrived_at")) * scale;
    const std::uint32_t decode = number(row, "num_decode_tokens");
    requests.push_back({.arrival = core::Time{std::llround(arrival_s * 1e12)},
                        .prefill = std::min(number(row, "num_prefill_tokens"), kTokensMax - decode),
                        .decode = decode});
  }
  return requests;
}

Spec spec_of(const Row& row) {
  Spec spec;
  spec.requests = trace(std::stod(row.at("scale")));
  spec.replicas = number(row, "replicas");
  spec.latency = core::Time{1};
  for (const auto& named : kPolicyNames)
    if (named.name == row.at("policy")) spec.policy = named.value;
  spec.stages = number(row, "stages");
  spec.blocks = number(row, "blocks");
  spec.block_tokens = spec.policy == Policy::lightllm ? 1 : 16;
  spec.chunk_tokens = number(row, "chunk");
  spec.reserved_requests_max = number(row, "reserved");
  return spec;
}

struct Totals {
  std::uint32_t batches = 0;
  std::uint32_t restarts = 0;
  std::uint32_t held = 0;
};

Totals run(const Serving& serving, Outcome& outcome) {
  const auto transport = pdes::make_single_transport();
  const core::Placement placement =
      partition::place_in_blocks({.atoms = serving.processes(), .partitions_per_rank = 1});
  pdes::Engine engine(serving, placement, {.sync = pdes::Sync::sequential}, *transport, &outcome);
  engine.run();
  Totals totals;
  engine.visit([&](core::LpId lp, const void* state) {
    if (lp.value == serving.spec().replicas) return;
    const auto& replica = *static_cast<const Replica::State*>(state);
    totals.batches += replica.batches;
    totals.restarts += replica.restarts;
    totals.held += replica.held;
  });
  return totals;
}

class ServingSchedule : public testing::TestWithParam<const char*> {};

TEST_P(ServingSchedule, IsVidurs) {
  const std::string name = GetParam();
  std::uint32_t compared = 0;
  for (const Row& row : rows_of("cases.csv")) {
    if (row.at("case") != name) continue;
    const Serving serving(spec_of(row));
    Outcome outcome(serving.spec());
    const Totals totals = run(serving, outcome);
    EXPECT_EQ(totals.batches, number(row, "batches"));
    EXPECT_EQ(totals.restarts, number(row, "restarts"));
    EXPECT_EQ(totals.held, 0u) << "blocks that nobody freed";
    for (const Row& time : rows_of("times.csv")) {
      if (time.at("case") != name) continue;
      const std::uint32_t request = number(time, "request");
      ASSERT_TRUE(outcome.is_done(request)) << request;
      EXPECT_NEAR(core::to_seconds(outcome.first_token(request)),
                  std::stod(time.at("first_token_s")), kMicrosecond)
          << request;
      EXPECT_NEAR(core::to_seconds(outcome.end(request)), std::stod(time.at("end_s")), kMicrosecond)
          << request;
      EXPECT_EQ(outcome.restarts_of(request), number(time, "restarts")) << request;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 128u);
}

INSTANTIATE_TEST_SUITE_P(Vidur, ServingSchedule,
                         testing::Values("vllm", "sarathi512", "orca", "lightllm", "vllm_smallkv",
                                         "sarathi_pp2", "vllm_2rep"),
                         [](const auto& named) { return std::string(named.param); });

}  // namespace
}  // namespace exawarp::tests
