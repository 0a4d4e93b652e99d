#include "io/formats/chakra/source.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/error.h"
#include "core/input_file.h"
#include "core/mapped_file.h"
#include "io/formats/chakra/json_trace.h"
#include "io/study/suggest.h"
#include "io/study/text_file.h"

namespace exawarp::io {
namespace {

constexpr std::string_view kRankWord = "{rank}";

bool exists(const std::string& path) {
  std::error_code ignored;
  return path == core::kStandardInput || std::filesystem::exists(path, ignored);
}

}  // namespace

RankFiles::RankFiles(std::string pattern) : pattern_(std::move(pattern)) {
  const bool several = pattern_.find(kRankWord) != std::string::npos;
  while (exists(path(count_)) && (several || count_ == 0)) ++count_;
  if (count_ == 0) {
    throw core::InputError(path(0), "there is no such file" + did_you_mean_file(path(0)));
  }
}

std::string RankFiles::path(std::uint32_t rank) const {
  std::string name = pattern_;
  const std::size_t at = name.find(kRankWord);
  if (at != std::string::npos) name.replace(at, kRankWord.size(), std::to_string(rank));
  return name;
}

TraceSource trace_files(const std::string& prefix) {
  if (exists(trace_path(prefix, 0)) || !exists(prefix + ".0.json")) {
    return {.ranks = count_traces(prefix),
            .place = [prefix](std::uint32_t rank) { return trace_path(prefix, rank); },
            .read =
                [prefix](std::uint32_t rank, const TraceVisitor& visitor) {
                  return read_trace(trace_path(prefix, rank), visitor);
                }};
  }
  const RankFiles files(prefix + ".{rank}.json");
  return {.ranks = files.count(),
          .place = [files](std::uint32_t rank) { return files.path(rank); },
          .read =
              [files](std::uint32_t rank, const TraceVisitor& visitor) {
                const core::MappedFile file(files.path(rank));
                read_json_trace(text_of(file), files.path(rank), visitor);
                return std::uint64_t{file.bytes().size()};
              }};
}

}  // namespace exawarp::io
