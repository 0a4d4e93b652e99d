// When devices and their streams do what: the engine's sink for what devices emit
// (timeline_emission.h) where ClusterOptions::timeline is set. An emission counts when its event
// commits, so rollback leaves no trace; a timeline is the same in every mode, on any number of
// ranks, threads and partitions.
//
//   Timeline timeline(partitions, options, &next);  // the engine's sink
//   timeline.combine(transport);                    // after the run; collective
//   timeline.finish(cluster, end);                  // on rank 0
//   timeline.visit([](std::span<const Timeline::Slice> of_a_device) { ... });
//
// Size: where there are more than `slices_max` slices, the timeline ends before the instant at
// which that is so (cut()). Memory: about 15 bytes a slice, of which each partition keeps at most
// `slices_max`, and each rank when they are gathered (32 bytes a record, on several ranks).
//
// Thread safety: deliver() as EmissionSink says; everything else after the run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/time.h"
#include "model/device/time_class.h"
#include "model/timeline/timeline_records.h"
#include "pdes/emission.h"

namespace exawarp::pdes {
class Transport;
}  // namespace exawarp::pdes

namespace exawarp::model {

class Cluster;

constexpr std::uint64_t kTimelineSlicesMax = 10'000'000;  // that may be asked for

struct TimelineOptions {
  std::vector<std::uint32_t> devices = {};       // by number; empty: the default of timeline_lps()
  core::Time from{0}, until = core::kEndOfTime;  // what is before and after is left out
  std::uint64_t slices_max = 1'000'000;          // those of idle devices apart
  bool tasks_alone = false;  // leaves out what devices as a whole are at
};

class Timeline final : public pdes::EmissionSink {
 public:
  // Something that a stream, or the device as a whole, is at; what lies outside the options' times
  // is cut off. May take no time.
  struct Slice {
    core::LpId lp;
    std::uint32_t stream = 0;   // kDevice: the device as a whole
    std::uint32_t program = 0;  // of a stream's: of all jobs
    std::uint32_t task = 0;     // of a stream's: index into ProgramTable::tasks; else the TimeClass
    core::Time from, until;
    bool ends = true;  // until then; false: it had not when the timeline ended
    // With TimelineOptions::tasks_alone. Of a collective that took time and ended: when its last
    // member came, as far as this device has heard; else the same as `from`.
    core::Time last_entry = {};
    friend bool operator==(const Slice&, const Slice&) = default;
  };
  static constexpr std::uint32_t kDevice = 32;  // after all streams

  // When the simulation ended, and whether each device was done by then.
  struct End {
    core::Time at;
    bool all_finished = false;
  };

  // What is not a timeline's goes to `next`, if there is one.
  Timeline(std::uint32_t partitions, const TimelineOptions& options, pdes::EmissionSink* next);

  void deliver(core::PartitionId partition, const pdes::Emission& emission) override;
  // Without what `next` has.
  [[nodiscard]] std::vector<std::byte> saved() const override;
  void restore(std::span<const std::byte> saved) override;

  // Gathers what all ranks have on rank 0; collective.
  void combine(pdes::Transport& transport);
  // On rank 0, after combine(). The cluster outlives the timeline. Where each device was done, the
  // slices of a device as a whole fill all of its time.
  void finish(const Cluster& cluster, const End& end);

  [[nodiscard]] const TimelineOptions& options() const { return options_; }
  // After finish(): hands over the slices of one device after the other, each device's by stream
  // (the device as a whole last) and time. They are gone when `of_device` returns.
  void visit(const std::function<void(std::span<const Slice> of_device)>& of_device) const;
  // All of them, in that order: 48 bytes each.
  [[nodiscard]] std::vector<Slice> slices() const;
  // Where there were too many slices: when the timeline ends for that reason.
  [[nodiscard]] std::optional<core::Time> cut() const;

 private:
  using Record = TimelineRecord;
  struct Header {  // of what is saved
    std::int64_t limit_ps, from_ps, until_ps;
    std::uint64_t slices_max, devices;
  };
  struct Tasks {  // of a program
    std::uint32_t program;
    std::size_t count;
  };
  using Track = std::pair<std::uint32_t, std::uint16_t>;  // LP, stream
  struct Device {
    std::uint32_t lp = 0;
    TimelineRecords records;
  };
  class Tracks;
  struct alignas(64) Part {       // of a partition
    std::vector<Device> devices;  // in the order in which they were first heard of
    std::unordered_map<std::uint32_t, std::size_t> places;  // in `devices`, by LP; looked up only
    std::map<Track, Record> before;  // the last one of each stream before the timeline begins
    std::uint64_t slices = 0;        // that the records stand for
    std::int64_t limit_ps = core::Time::max().ps;  // what is from then on is left out
  };

  [[nodiscard]] Header header() const;
  [[nodiscard]] static TimelineRecords& log_of(Part& part, std::uint32_t lp);
  void add(Part& part, const Record& record) const;
  static void end_at(Part& part, std::int64_t limit_ps);
  void trim(Part& part) const;
  [[nodiscard]] static std::vector<Record> records_of(const Part& part);
  void move_all(Part from, Part& to) const;
  [[nodiscard]] Part sum_of_parts();
  void add_slices(std::span<const Record> of_stream, const Tasks& of,
                  std::vector<Slice>& out) const;
  void add_slices(core::LpId lp, std::span<const Record> of_device, std::vector<Slice>& out) const;

  TimelineOptions options_;
  pdes::EmissionSink* next_;
  std::vector<Part> parts_;
  // On rank 0: all there is, and since finish() whose it is, and when it ended.
  Part all_;
  const Cluster* cluster_ = nullptr;
  End end_;
};

}  // namespace exawarp::model
