// What a batch holds, as far as its time depends on it.
#pragma once

#include <cstdint>

namespace exawarp::model::serving {

// Tokens before a prompt's, or those of a decode, as a profile knows them (profile_time.h).
constexpr std::uint64_t kContextStep = 64;
constexpr std::uint64_t context_up(std::uint64_t tokens) {
  return (tokens + kContextStep - 1) / kContextStep * kContextStep;
}

struct IterationWork {
  std::uint64_t tokens = 0;          // all: of prompts, and one a decode
  std::uint64_t outputs = 0;         // sequences that give a token
  std::uint64_t decodes = 0;         // decoding requests
  std::uint64_t decode_context = 0;  // tokens that these have so far, together
  std::uint64_t prompts = 0;         // requests with tokens of their prompts
  std::uint64_t prompt_tokens = 0;   // these tokens
  std::uint64_t prompt_squares = 0;  // of each prompt's, summed
  std::uint64_t prompt_past = 0;     // sum of context_up() of the tokens before each prompt's
  std::int64_t prompt_core_ps = 0;   // sum of IterationTime::prompt_core_ps() over prompts
};

}  // namespace exawarp::model::serving
