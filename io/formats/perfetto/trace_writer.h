// Writes a Perfetto trace (perfetto.proto), which ui.perfetto.dev opens: tracks, slices on them,
// arrows between slices, and counters.
//
//   TraceWriter trace(file);
//   const std::uint64_t device = trace.add_group("device 0");
//   const std::uint64_t stream = trace.add_track(device, "compute");
//   const std::uint64_t name = trace.add_name("forward"), category = trace.add_category("compute");
//   trace.add({.track = stream, .name = name, .category = category, .from = ..., .until = ...});
//   trace.finish();
//
// The format's time is a whole number of ns. Begin and end are rounded down, so that slices which
// touch still do; each slice says its exact begin and length in ps, as "start_ps" and
// "duration_ps".
//
// Cost: about 70 bytes a slice. Memory: a buffer of 1 MiB.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/output_file.h"
#include "core/time.h"

namespace exawarp::perfetto {
class Trace;
}  // namespace exawarp::perfetto

namespace exawarp::io {

struct TraceSlice {
  std::uint64_t track, name, category;
  core::Time from, until;
  bool ends = true;            // false: it is open at the end of the trace, whatever `until` says
  std::uint64_t flow_out = 0;  // an arrow sets out at its begin; 0: none
  std::uint64_t flow_in = 0;   // the arrow of that number comes in at its end; 0: none
};

// All functions throw core::SystemError where the file cannot be written.
class TraceWriter {
 public:
  // Does not commit the file, which outlives it.
  explicit TraceWriter(core::OutputFile& file);

  // A group shows its tracks in the order in which they are added, and groups are shown so, too.
  std::uint64_t add_group(std::string_view name);
  std::uint64_t add_track(std::uint64_t group, std::string_view name);
  // A track of numbers in `unit`, e.g. "%".
  std::uint64_t add_counter(std::uint64_t group, std::string_view name, const char* unit);
  // Each name once, please: nobody looks whether it is there.
  std::uint64_t add_name(std::string_view name);
  std::uint64_t add_category(std::string_view name);

  // Those of one track in turn, without overlap; tracks in any order, as viewers sort by time.
  void add(const TraceSlice& slice);

  // A counter has this value from then on; in order of time.
  void count(std::uint64_t counter, core::Time at, std::int64_t value);

  // Writes what has not been written yet.
  void finish();

 private:
  std::uint64_t describe(std::uint64_t parent, std::string_view name, const char* unit);
  void put(const perfetto::Trace& packet);
  void write_if_full();

  core::OutputFile& file_;
  std::string buffer_;
  std::uint64_t tracks_ = 0, names_ = 0, categories_ = 0;
};

}  // namespace exawarp::io
