// Times between tokens, what only some replicas have (a prefix cache, swap, drafts), and requests
// by class: in reports of serving studies and of jobs that serve.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/report/answers.h"
#include "model/serving/replica.h"
#include "model/serving/token_gaps.h"

namespace exawarp::pdes {
class Transport;
}  // namespace exawarp::pdes

namespace exawarp::io {

// Adds up each of them over all ranks; collective.
void sum_over_ranks(std::span<std::uint64_t* const> fields, pdes::Transport& transport);

// Over some replicas.
struct EngineTotals {
  std::uint64_t prompt_tokens = 0, found_tokens = 0;  // of prompts; of these in the prefix cache
  std::uint64_t forgotten = 0;              // cached blocks
  std::uint64_t swaps = 0;                  // of requests, to the host
  std::uint64_t drafted = 0, accepted = 0;  // tokens
  std::uint64_t beyond_profile = 0;         // batches larger than what was profiled
  model::serving::TokenGaps gaps;

  void add(const model::serving::Replica::State& replica);
  // Over all ranks; collective.
  void combine(pdes::Transport& transport);
};

Spread spread_of(const model::serving::TokenGaps& gaps);

// What a line is about, and its text.
using ReportLines = std::vector<std::pair<std::string, std::string>>;

void add_engine(const model::serving::Spec& spec, const EngineTotals& totals,
                nlohmann::ordered_json& json);
ReportLines engine_lines(const model::serving::Spec& spec, const EngineTotals& totals);

// Adds `classes`, where there are some.
void add_classes(const Asked& asked, nlohmann::ordered_json& json);
ReportLines class_lines(const Asked& asked);

}  // namespace exawarp::io
