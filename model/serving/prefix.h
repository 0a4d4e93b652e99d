// What the tokens of requests have in common, without the tokens: a name for the content of every
// block, equal for two requests where all tokens up to the block's end are.
//
// A request's content is that of up to `shared_tokens` tokens of a common beginning, then that of
// its recorded hash ids, then its own or its session's. A session's requests continue each other:
// what one asked and was answered is the beginning of the next one's prompt.
#pragma once

#include <cstdint>
#include <vector>

namespace exawarp::model::serving {

struct Prefix {
  std::uint32_t session = 0;    // requests of one have one content, as far as each goes
  std::uint32_t parent = 0;     // request before with most of its beginning, plus 1; 0: none
  std::uint64_t ids_begin = 0;  // of Prefixes::ids
  std::uint32_t ids = 0;
  std::uint32_t ids_tokens = 0;  // that they name: those of the prompt
};

// Invariant: `of` is empty (nothing is shared) or has an element a request.
struct Prefixes {
  std::vector<Prefix> of;
  std::uint32_t shared_tokens = 0;  // that all requests begin with
  std::uint32_t id_tokens = 512;    // of a hash id, >= 1
  std::vector<std::uint64_t> ids;   // each names the content up to its end

  // Of the block of `block_tokens` tokens with this number, of request `request`. Below 2^63.
  // Blocks of two requests have one key where their contents up to the block's end are one, and
  // (but for a collision in 63 bits) nowhere else.
  [[nodiscard]] std::uint64_t block_key(std::uint32_t request, std::uint32_t block,
                                        std::uint32_t block_tokens) const;
};

// Sets Prefix::parent by the recorded ids: the request before with the longest common beginning.
void find_parents(Prefixes& prefixes);

}  // namespace exawarp::model::serving
