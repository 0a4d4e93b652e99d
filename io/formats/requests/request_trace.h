// Requests that somebody recorded: when they came, how long their prompts were, and their answers.
//
//   vidur      CSV: arrived_at (s), num_prefill_tokens, num_decode_tokens; a list of lengths where
//              there is no arrived_at
//   azure      CSV of Azure's public LLM traces: TIMESTAMP ("2023-11-16 18:15:46.6805900"),
//              ContextTokens, GeneratedTokens
//   mooncake   a JSON object a line: timestamp (ms), input_length, output_length, hash_ids (which
//              name the prompt's content, up to the end of each block of 512 tokens); other members
//              are passed over
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/time.h"
#include "io/study/serving_study.h"

namespace exawarp::io {

struct RecordedRequest {
  core::Time arrival;        // since the file's first; 0 where the file has no times
  std::uint32_t prompt = 1;  // tokens, >= 1
  std::uint32_t output = 1;  // >= 1
  std::uint64_t ids_begin = 0;  // of RequestTrace::ids
  std::uint32_t ids = 0;
};

struct RequestTrace {
  std::vector<RecordedRequest> requests;  // as the file has them
  bool has_arrivals = true;
  std::vector<std::uint64_t> ids;  // at most kHashIdMax
};

constexpr std::uint64_t kHashIdMax = std::uint64_t{1} << 32;

// Throws core::InputError at the file and line: a number that is none, no or too many tokens, a
// time that goes back, more than kRecordedRequestsMax requests.
RequestTrace read_request_trace(const std::string& path, RequestFormat format);

}  // namespace exawarp::io
