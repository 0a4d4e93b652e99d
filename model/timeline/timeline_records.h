// What one device emitted for a timeline, in few bytes: each record is kept as its difference from
// the one before, about 13 bytes in place of 32. A run keeps hundreds of thousands of records, and
// fresh memory costs more than packing them.
//
//   TimelineRecords records;
//   records.append(record);
//   std::vector<TimelineRecord> all;
//   records.read(lp, all);
//
// Memory: pieces of 256 bytes to 4 KiB that are never moved. Thread safety: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/time.h"
#include "model/timeline/timeline_emission.h"

namespace exawarp::model {

// An emission, as it is read, saved and sent.
struct TimelineRecord {
  std::int64_t at_ps;  // when it was emitted
  std::uint64_t b, c;  // its words: program and task, TimelineTask::until; or from, until
  std::uint32_t lp;
  std::uint16_t stream;
  std::uint8_t time_class;  // of what is spent
  std::uint8_t mark;
  [[nodiscard]] TimelineMark what() const { return static_cast<TimelineMark>(mark); }
  [[nodiscard]] bool is_slice() const { return what() != TimelineMark::ends; }
  [[nodiscard]] core::Time from() const { return core::Time{static_cast<std::int64_t>(b)}; }
  [[nodiscard]] core::Time until() const { return core::Time{static_cast<std::int64_t>(c)}; }
  friend bool operator==(const TimelineRecord&, const TimelineRecord&) = default;
};

class TimelineRecords {
 public:
  static constexpr std::uint16_t kStreamsMax = 64;  // a record's stream is one of these

  // Of any times and words; the LP is not kept.
  void append(const TimelineRecord& record);
  // Adds all, in the order in which they came, to the end of `out`.
  void read(std::uint32_t lp, std::vector<TimelineRecord>& out) const;

 private:
  static constexpr std::size_t kRecordBytes = 32;  // at most: head, class, and three numbers
  struct Piece {
    std::unique_ptr<std::byte[]> bytes;
    std::uint32_t used = 0, size = 0;
  };
  // What the next record is told from.
  struct Last {
    std::uint64_t at_ps = 0, task = 0, until = 0;
  };
  class Writer;
  class Reader;

  [[nodiscard]] Piece& with_room();

  std::vector<Piece> pieces_;
  Last last_;
};

}  // namespace exawarp::model
