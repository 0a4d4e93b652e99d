#include "model/serving/prefix.h"

#include <unordered_map>

#include "core/random.h"

namespace exawarp::model::serving {
namespace {

enum class Content : std::uint64_t { shared, recorded, session, own };

std::uint64_t key_of(Content content, std::uint64_t name, std::uint32_t block) {
  constexpr std::uint64_t kPrefix = 0x707265666978;
  const std::uint64_t stream =
      core::stream_of(kPrefix, static_cast<std::uint64_t>(content), name);
  return core::random_bits(stream, block) >> 1;
}

}  // namespace

std::uint64_t Prefixes::block_key(std::uint32_t request, std::uint32_t block,
                                  std::uint32_t block_tokens) const {
  const std::uint64_t end = (std::uint64_t{block} + 1) * block_tokens;
  if (end <= shared_tokens) return key_of(Content::shared, 0, block);
  if (of.empty()) return key_of(Content::own, request, block);
  const Prefix& prefix = of[request];
  const std::uint64_t id = (end - 1) / id_tokens;
  if (id < prefix.ids && end <= prefix.ids_tokens)
    return key_of(Content::recorded, ids[prefix.ids_begin + id], block);
  // What follows recorded ids is an answer, which no other request is known to have.
  if (prefix.ids != 0) return key_of(Content::own, request, block);
  return key_of(Content::session, prefix.session, block);
}

void find_parents(Prefixes& prefixes) {
  std::unordered_map<std::uint64_t, std::uint32_t> last;  // request + 1, by id; looked up only
  for (std::uint32_t r = 0; r < prefixes.of.size(); ++r) {
    Prefix& prefix = prefixes.of[r];
    for (std::uint32_t i = prefix.ids; i-- > 0 && prefix.parent == 0;) {
      const auto found = last.find(prefixes.ids[prefix.ids_begin + i]);
      if (found != last.end()) prefix.parent = found->second;
    }
    for (std::uint32_t i = 0; i < prefix.ids; ++i) {
      last[prefixes.ids[prefix.ids_begin + i]] = r + 1;
    }
  }
}

}  // namespace exawarp::model::serving
