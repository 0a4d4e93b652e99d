// Both work by reductions of a word or two, so agreement costs nothing where all is well. Only
// where settings differ are texts gathered, and only the first that does.
#include "io/life/agreement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <utility>

#include "core/check.h"
#include "core/digest.h"
#include "core/error.h"
#include "core/mapped_file.h"
#include "io/life/failure.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

void add(core::Hasher& hash, const Setting& setting) {
  hash.bytes(setting.key.data(), setting.key.size());
  hash.bytes(setting.value.data(), setting.value.size());
}

std::uint64_t hash_of(std::span<const Setting> settings) {
  core::Hasher hash;
  hash.word(settings.size());
  for (const Setting& setting : settings) add(hash, setting);
  return hash.value();
}

// The first place where the settings of two ranks differ, the same on every rank. Requires that
// there is one. Collective.
std::size_t first_difference(pdes::Transport& transport, const Settings& settings) {
  std::array<std::uint64_t, 1> longest{settings.size()};
  transport.all_reduce_max(longest);
  std::vector<std::uint64_t> extremes;  // the least of x is the complement of the most of ~x
  for (std::size_t i = 0; i < longest[0]; ++i) {
    const std::uint64_t hash = i < settings.size() ? hash_of(std::span(settings).subspan(i, 1)) : 0;
    extremes.insert(extremes.end(), {hash, ~hash});
  }
  transport.all_reduce_max(extremes);
  std::size_t at = 0;
  while (at + 1 < longest[0] && extremes[2 * at] == ~extremes[2 * at + 1]) ++at;
  return at;
}

// What each rank has there, on rank 0.
Settings gathered(pdes::Transport& transport, const Setting& mine) {
  std::vector<std::byte> bytes;
  for (const std::string* text : {&mine.key, &mine.value}) {
    const std::size_t size = text->size();
    const auto* length = reinterpret_cast<const std::byte*>(&size);
    bytes.insert(bytes.end(), length, length + sizeof size);
    const auto* letters = reinterpret_cast<const std::byte*>(text->data());
    bytes.insert(bytes.end(), letters, letters + size);
  }
  const std::vector<std::byte> all = transport.gather(bytes);
  std::size_t at = 0;
  const auto take = [&] {
    std::size_t size = 0;
    EXAWARP_CHECK(at + sizeof size <= all.size(), at, all.size());
    std::memcpy(&size, &all[at], sizeof size);
    at += sizeof size;
    EXAWARP_CHECK(size <= all.size() - at, size, at, all.size());
    std::string text(reinterpret_cast<const char*>(all.data()) + at, size);
    at += size;
    return text;
  };
  Settings settings;
  while (at != all.size()) {
    std::string key = take();
    settings.push_back({std::move(key), take()});
  }
  return settings;
}

std::string text_of_ranks(const std::vector<std::size_t>& ranks) {
  constexpr std::size_t kNamedMax = 8;
  const std::span named = std::span(ranks).first(std::min(ranks.size(), kNamedMax));
  return fmt::format("{} {}{}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(named, ", "),
                     named.size() < ranks.size() ? ", ..." : "");
}

// "1" on ranks 0, 1, nothing on rank 2.
std::string text_of(const Settings& by_rank, const std::string& key) {
  constexpr std::size_t kShownMax = 4;
  std::vector<std::pair<std::string, std::vector<std::size_t>>> groups;
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    const auto& [its_key, value] = by_rank[rank];
    std::string text = value.empty() ? "nothing" : in_quotes(value);
    if (its_key.empty()) text = "nothing";
    if (!its_key.empty() && its_key != key) text = in_quotes(its_key + ": " + value);
    auto group = std::ranges::find(groups, text, [](const auto& g) { return g.first; });
    if (group == groups.end()) group = groups.insert(group, {text, {}});
    group->second.push_back(rank);
  }
  std::vector<std::string> parts;
  for (const auto& [text, ranks] : groups) {
    if (parts.size() == kShownMax) break;
    parts.push_back(fmt::format("{} on {}", text, text_of_ranks(ranks)));
  }
  return fmt::format("{}{}", fmt::join(parts, ", "), parts.size() < groups.size() ? ", ..." : "");
}

[[noreturn]] void fail_for_difference(const Settings& by_rank) {
  const auto named = std::ranges::find_if(by_rank, [](const auto& s) { return !s.key.empty(); });
  const std::string key = named == by_rank.end() ? "settings" : named->key;
  throw core::InputError(one_line(key), "differs between ranks: " + text_of(by_rank, key) +
                                            "; expected the same program, command and files on "
                                            "every rank");
}

}  // namespace

Setting content_of(const std::string& key, const std::string& path) {
  const core::MappedFile file(path);
  core::Hasher hash;
  hash.bytes(file.bytes().data(), file.bytes().size());
  return {key, fmt::format("{} bytes with hash {:016x}", file.bytes().size(), hash.value())};
}

void require_same(pdes::Transport& transport, const Settings& settings) {
  const std::uint64_t hash = hash_of(settings);
  std::array<std::uint64_t, 2> extremes{hash, ~hash};
  transport.all_reduce_max(extremes);
  if (extremes[0] == ~extremes[1]) return;
  const std::size_t at = first_difference(transport, settings);
  const Settings by_rank = gathered(transport, at < settings.size() ? settings[at] : Setting{});
  if (transport.rank().value == 0) fail_for_difference(by_rank);
  throw OtherRankFailed{kBadInput};
}

void agree(pdes::Transport& transport, const std::function<void()>& work) {
  std::exception_ptr error;
  try {
    work();
  } catch (...) {
    error = std::current_exception();
  }
  // The greatest word wins, and the lowest rank has the greatest; its exit code rides along.
  constexpr std::uint64_t kCodes = 256;
  const std::uint64_t precedence = transport.ranks() - transport.rank().value;
  const std::uint64_t mine =
      error ? precedence * kCodes + static_cast<std::uint64_t>(failure_of(error).exit_code) : 0;
  std::array<std::uint64_t, 1> worst{mine};
  transport.all_reduce_max(worst);
  if (worst[0] == 0) return;
  if (error && worst[0] == mine) std::rethrow_exception(error);
  throw OtherRankFailed{static_cast<int>(worst[0] % kCodes)};
}

}  // namespace exawarp::io
