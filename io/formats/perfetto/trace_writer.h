// Writes a Perfetto trace (perfetto.proto), which ui.perfetto.dev opens: tracks, slices on them,
// and arrows between slices.
//
//   TraceWriter trace(file);
//   const std::uint64_t device = trace.add_group("device 0");
//   const std::uint64_t stream = trace.add_track(device, "compute");
//   trace.begin(stream, {.name = "forward", .category = "compute", .from = ..., .until = ...});
//   trace.end(stream, ...);
//   trace.finish();
//
// The format's time is a whole number of ns. Begin and end are rounded down, so that slices which
// touch still do; each slice says its exact begin and length in ps, as "start_ps" and
// "duration_ps".
//
// Memory: names, each once, and a buffer of 1 MiB.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/output_file.h"
#include "core/time.h"

namespace exawarp::perfetto {
class Trace;
class TracePacket;
}  // namespace exawarp::perfetto

namespace exawarp::io {

struct TraceSlice {
  std::string_view name, category;
  core::Time from, until;
  std::uint64_t flow_out = 0;  // an arrow begins here; 0: none
};

class TraceWriter {
 public:
  // Does not commit the file, which outlives it.
  explicit TraceWriter(core::OutputFile& file);
  ~TraceWriter();

  // A group shows its tracks in the order in which they are added, and groups are shown so.
  std::uint64_t add_group(std::string_view name);
  std::uint64_t add_track(std::uint64_t group, std::string_view name);

  // In order of time, and of one track in turn.
  void begin(std::uint64_t track, const TraceSlice& slice);
  void end(std::uint64_t track, core::Time at, std::uint64_t flow_in = 0);

  // What has not been written yet. Throws core::SystemError, as all others do.
  void finish();

 private:
  enum class Interned : std::uint8_t { name, category, annotation };
  using Names = std::unordered_map<std::string, std::uint64_t>;

  std::uint64_t describe(std::uint64_t parent, std::string_view name);
  perfetto::TracePacket& packet();
  std::uint64_t intern(Names& names, Interned kind, std::string_view name);
  void annotate(std::string_view name, std::int64_t value);
  void put();

  core::OutputFile& file_;
  std::unique_ptr<perfetto::Trace> one_;  // packet after packet
  std::string buffer_;
  std::uint64_t tracks_ = 0;
  Names names_, categories_, annotations_;
};

}  // namespace exawarp::io
