#include "io/life/kept_loads.h"

#include <array>
#include <bit>
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "io/life/agreement.h"

namespace exawarp::io {
namespace {

using KeptJson = nlohmann::ordered_json;

constexpr const char* kFigures = "load";  // of a summary: what the search wants of it
constexpr int kHexBase = 16;

KeptJson figures_json(const LoadRun& run) {
  const CapacityPoint& p = run.point;
  return {{"rate", p.rate},
          {"requests", run.requests},
          {"kept_share", p.kept_share},
          {"is_kept", p.is_kept},
          {"requests_per_s", p.requests_per_s},
          {"output_tokens_per_s", p.output_tokens_per_s},
          {"first_token_p99_ps", p.first_token_p99.ps},
          {"per_token_mean_ps", p.per_token_mean.ps},
          {"digest", p.digest}};
}

// Throws where somebody else wrote the summary.
LoadRun run_of(const std::string& summary) {
  const KeptJson figures = KeptJson::parse(summary).at(kFigures);
  const auto real = [&](const char* key) { return figures.at(key).get<double>(); };
  const auto time = [&](const char* key) {
    return core::Time{figures.at(key).get<std::int64_t>()};
  };
  return {.point = {.rate = real("rate"),
                    .kept_share = real("kept_share"),
                    .is_kept = figures.at("is_kept").get<bool>(),
                    .requests_per_s = real("requests_per_s"),
                    .output_tokens_per_s = real("output_tokens_per_s"),
                    .first_token_p99 = time("first_token_p99_ps"),
                    .per_token_mean = time("per_token_mean_ps"),
                    .digest = figures.at("digest").get<std::string>()},
          .requests = figures.at("requests").get<std::uint64_t>()};
}

std::string with_figures(const LoadRun& run) {
  KeptJson summary = KeptJson::parse(run.summary);
  summary[kFigures] = figures_json(run);
  return summary.dump(2, ' ', false, KeptJson::error_handler_t::replace) + '\n';
}

// For ranks without a file.
using Words = std::array<std::uint64_t, 10>;
Words words_of(const LoadRun& run) {
  const CapacityPoint& p = run.point;
  std::uint64_t digest = 0;
  std::from_chars(p.digest.data(), p.digest.data() + p.digest.size(), digest, kHexBase);
  return {1,
          std::bit_cast<std::uint64_t>(p.rate),
          run.requests,
          std::bit_cast<std::uint64_t>(p.kept_share),
          p.is_kept ? 1u : 0u,
          std::bit_cast<std::uint64_t>(p.requests_per_s),
          std::bit_cast<std::uint64_t>(p.output_tokens_per_s),
          static_cast<std::uint64_t>(p.first_token_p99.ps),
          static_cast<std::uint64_t>(p.per_token_mean.ps),
          digest};
}
LoadRun run_of(const Words& words) {
  const auto real = [&](std::size_t i) { return std::bit_cast<double>(words[i]); };
  const auto time = [&](std::size_t i) { return core::Time{static_cast<std::int64_t>(words[i])}; };
  return {.point = {.rate = real(1),
                    .kept_share = real(3),
                    .is_kept = words[4] != 0,
                    .requests_per_s = real(5),
                    .output_tokens_per_s = real(6),
                    .first_token_p99 = time(7),
                    .per_token_mean = time(8),
                    .digest = core::to_hex(core::Digest{words[9]})},
          .requests = words[2]};
}

}  // namespace

KeptLoads::KeptLoads(const std::string& path, const LoadsOf& of, pdes::Transport& transport)
    : transport_(transport) {
  agree(transport_, [&] {
    if (transport_.rank().value == 0) database_.emplace(path, of);
  });
}

std::optional<LoadRun> KeptLoads::find(const std::string& study) {
  Words words{};
  agree(transport_, [&] {
    if (!database_) return;
    const std::optional<std::string> summary = database_->find(study);
    if (!summary) return;
    try {
      words = words_of(run_of(*summary));
    } catch (const KeptJson::exception&) {
      throw core::InputError("-o", "has a load without figures of it; expected another file");
    }
  });
  transport_.all_reduce_sum(words);
  if (words[0] == 0) return {};
  return run_of(words);
}

void KeptLoads::begin(const LoadKeys& keys, const std::string& study) {
  agree(transport_, [&] {
    if (!database_) return;
    running_ = {.number = database_->row_of(keys, study), .study = study};
    database_->begin(running_.number);
  });
}

void KeptLoads::end(const std::optional<LoadRun>& run, double wall_s) {
  agree(transport_, [&] {
    if (!database_) return;
    if (!run) return database_->put_back(running_.number);
    database_->finish(running_.number, {.wall_s = wall_s,
                                        .digest = run->point.digest,
                                        .study = running_.study,
                                        .summary = with_figures(*run)});
  });
}

}  // namespace exawarp::io
