#include "io/life/splits.h"

#include <fmt/format.h>

#include <optional>

#include "core/error.h"
#include "io/study/numbers.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

std::optional<std::uint32_t> layout_part(std::string_view text) {
  const std::optional<std::uint64_t> number = unsigned_from(text);
  if (!number || *number < 1 || *number > std::uint64_t{1} << 31) return {};
  return static_cast<std::uint32_t>(*number);
}

SplitLayout parsed_layout(const std::string& option, std::string_view text) {
  const std::size_t by = text.find('x'), colon = text.find(':');
  const auto tensor = layout_part(text.substr(0, by));
  const auto pipeline =
      by == std::string_view::npos
          ? std::nullopt
          : layout_part(
                text.substr(by + 1, colon == std::string_view::npos ? colon : colon - by - 1));
  const auto blocks = colon == std::string_view::npos ? std::optional<std::uint32_t>{0}
                                                      : layout_part(text.substr(colon + 1));
  if (!tensor || !pipeline || !blocks) {
    throw core::InputError(option, in_quotes(text) +
                                       " is no layout; expected TENSORxPIPELINE or "
                                       "TENSORxPIPELINE:BLOCKS, e.g. 4x2:30000");
  }
  return {.tensor = *tensor, .pipeline = *pipeline, .blocks = *blocks};
}

std::string pool_text_of(const SplitPool& pool) {
  return fmt::format("{} x {}x{}", pool.replicas, pool.layout.tensor, pool.layout.pipeline);
}

void add_layout(const SplitPool& pool, const std::string& path, std::vector<std::string>& out) {
  out.push_back(fmt::format("{}.tensor={}", path, pool.layout.tensor));
  out.push_back(fmt::format("{}.pipeline={}", path, pool.layout.pipeline));
  out.push_back(fmt::format("{}.replicas={}", path, pool.replicas));
  if (pool.layout.blocks != 0) {
    out.push_back(fmt::format("{}.scheduler.blocks={}", path, pool.layout.blocks));
  }
}

void add_splits(std::uint32_t devices, const SplitLayout& prompts, const SplitLayout& decodes,
                std::vector<Split>& out) {
  const auto decoding = [&](std::uint64_t prompt_replicas) -> std::uint64_t {
    const std::uint64_t taken = prompt_replicas * prompts.devices();
    return taken > devices ? 0 : (devices - taken) / decodes.devices();
  };
  for (std::uint64_t n = 1; decoding(n) > 0; ++n) {
    if (decoding(n + 1) == decoding(n)) continue;  // there is room for another
    if (out.size() == kSplitsMax) {
      throw core::InputError("--split", fmt::format("\"{}\" devices have more than {} splits; "
                                                    "expected fewer devices or larger layouts",
                                                    devices, kSplitsMax));
    }
    out.push_back({{prompts, static_cast<std::uint32_t>(n)},
                   {decodes, static_cast<std::uint32_t>(decoding(n))}});
  }
}

}  // namespace

std::string Split::name() const { return pool_text_of(prompts) + " + " + pool_text_of(decodes); }

std::vector<std::string> Split::overrides(std::size_t job) const {
  std::vector<std::string> out;
  const std::string path = fmt::format("jobs.{}.serving", job);
  add_layout(prompts, path, out);
  add_layout(decodes, path + ".decode", out);
  return out;
}

std::vector<SplitLayout> parse_layouts(const std::string& option, const std::string& text) {
  std::vector<SplitLayout> out;
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    out.push_back(parsed_layout(option, rest.substr(0, comma)));
    if (comma == std::string_view::npos) return out;
    rest.remove_prefix(comma + 1);
  }
}

std::vector<Split> splits_of(std::uint32_t devices, const std::vector<SplitLayout>& prompts,
                             const std::vector<SplitLayout>& decodes) {
  std::vector<Split> out;
  for (const SplitLayout& prompt : prompts) {
    for (const SplitLayout& decode : decodes) add_splits(devices, prompt, decode, out);
  }
  if (out.empty()) {
    throw core::InputError("--split", fmt::format("\"{}\" devices have no room for a replica of "
                                                  "each kind; expected more devices",
                                                  devices));
  }
  return out;
}

}  // namespace exawarp::io
