#include "io/formats/pytorch/import.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "core/error.h"
#include "io/formats/chakra/source.h"
#include "io/study/text_file.h"

namespace exawarp::io {

model::WorkloadGraph import_pytorch(const std::string& pattern, const std::string& kineto,
                                    const ChakraImportOptions& options, ChakraImportReport& report,
                                    pytorch::JoinReport& links) {
  const RankFiles traces(pattern);
  std::optional<RankFiles> profiles;
  if (!kineto.empty()) profiles.emplace(kineto);
  if (profiles && profiles->count() != traces.count()) {
    throw core::InputError(kineto, fmt::format("names {} files; expected {}, as many as {}",
                                               profiles->count(), traces.count(), pattern));
  }
  const auto read = [&](std::uint32_t rank, const TraceVisitor& visitor) {
    const core::MappedFile file(traces.path(rank));
    const pytorch::ExecutionTrace trace =
        pytorch::read_execution_trace(text_of(file), traces.path(rank));
    std::uint64_t bytes = file.bytes().size();
    std::vector<pytorch::KinetoEvent> events;
    if (profiles) {
      const core::MappedFile profile(profiles->path(rank));
      events = pytorch::read_kineto(text_of(profile), profiles->path(rank));
      bytes += profile.bytes().size();
    }
    if (visitor.metadata) visitor.metadata(trace.metadata);
    for (const chakra::Node& node :
         pytorch::join_profile(trace, events, traces.path(rank), links)) {
      visitor.node(node);
    }
    return bytes;
  };
  const TraceSource source{.ranks = traces.count(),
                           .place = [&](std::uint32_t rank) { return traces.path(rank); },
                           .read = read};
  return import_traces(source, std::filesystem::path(pattern).stem().string(), options, report);
}

}  // namespace exawarp::io
