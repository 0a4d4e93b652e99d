// A record is a byte of mark and stream; the time since the record before; and its two words: of a
// task, what differs from the task that began or ended before, and from its own time; of time that
// was spent, from where the time before ended, and how long. Differences wrap and are numbers of as
// many bytes as they need, small ones of either sign in few (zigzag and varint, as in protobuf).
#include "model/timeline/timeline_records.h"

#include <algorithm>

#include "core/check.h"
#include "core/varint.h"

namespace exawarp::model {
namespace {

constexpr std::uint8_t kOpen = 3;  // in place of TimelineMark::begins: until when is not known
constexpr std::uint64_t kNotKnown = static_cast<std::uint64_t>(core::Time::max().ps);
constexpr int kMarkBits = 2;
static_assert(static_cast<std::uint8_t>(TimelineMark::spent) < kOpen);

constexpr std::uint64_t zigzag(std::uint64_t difference) {
  return difference << 1 ^ (difference >> 63 != 0 ? ~std::uint64_t{0} : 0);
}
constexpr std::uint64_t unzigzag(std::uint64_t number) {
  return number >> 1 ^ ((number & 1) != 0 ? ~std::uint64_t{0} : 0);
}

}  // namespace

class TimelineRecords::Writer {
 public:
  explicit Writer(std::byte* at) : at_(at) {}
  void byte(std::uint8_t value) { *at_++ = std::byte{value}; }
  void difference(std::uint64_t value, std::uint64_t base) {
    at_ = core::write_varint(zigzag(value - base), at_);
  }
  [[nodiscard]] const std::byte* at() const { return at_; }

 private:
  std::byte* at_;
};

class TimelineRecords::Reader {
 public:
  explicit Reader(const Piece& piece) : at_(piece.bytes.get()), end_(at_ + piece.used) {}
  [[nodiscard]] bool is_at_end() const { return at_ == end_; }
  std::uint8_t byte() { return static_cast<std::uint8_t>(*at_++); }
  std::uint64_t value(std::uint64_t base) {
    std::uint64_t number = 0;
    for (int bit = 0;; bit += 7) {
      const std::uint8_t next = byte();
      number |= std::uint64_t{next & 0x7fu} << bit;
      if (next < 0x80) return base + unzigzag(number);
    }
  }

 private:
  const std::byte *at_, *end_;
};

TimelineRecords::Piece& TimelineRecords::with_room() {
  constexpr std::uint32_t kFirstBytes = 256, kMostBytes = 4096;
  if (pieces_.empty() || pieces_.back().size - pieces_.back().used < kRecordBytes) {
    const std::uint32_t size =
        pieces_.empty() ? kFirstBytes : std::min(kMostBytes, 2 * pieces_.back().size);
    // Not make_unique: it would fill the piece with zeros.
    pieces_.push_back({std::unique_ptr<std::byte[]>(new std::byte[size]), 0, size});
  }
  return pieces_.back();
}

void TimelineRecords::append(const TimelineRecord& r) {
  EXAWARP_DCHECK(r.stream < kStreamsMax && r.mark < kOpen, r.stream, r.mark);
  Piece& piece = with_room();
  std::byte* const begin = piece.bytes.get() + piece.used;
  Writer out(begin);
  const auto at = static_cast<std::uint64_t>(r.at_ps);
  const bool is_open = r.what() == TimelineMark::begins && r.c == kNotKnown;
  out.byte(static_cast<std::uint8_t>(r.stream << kMarkBits | (is_open ? kOpen : r.mark)));
  out.difference(at, last_.at_ps);
  if (r.what() == TimelineMark::spent) {
    out.byte(r.time_class);
    out.difference(r.b, last_.until);
    out.difference(r.c, r.b);
    last_.until = r.c;
  } else {
    out.difference(r.b, last_.task);
    if (!is_open) out.difference(r.c, at);
    last_.task = r.b;
  }
  last_.at_ps = at;
  piece.used += static_cast<std::uint32_t>(out.at() - begin);
}

void TimelineRecords::read(std::uint32_t lp, std::vector<TimelineRecord>& out) const {
  Last last;
  for (const Piece& piece : pieces_) {
    for (Reader in(piece); !in.is_at_end();) {
      const std::uint8_t head = in.byte();
      const auto mark = static_cast<std::uint8_t>(head & ((1 << kMarkBits) - 1));
      TimelineRecord r{
          .at_ps = 0,
          .b = 0,
          .c = kNotKnown,
          .lp = lp,
          .stream = static_cast<std::uint16_t>(head >> kMarkBits),
          .time_class = 0,
          .mark = mark == kOpen ? static_cast<std::uint8_t>(TimelineMark::begins) : mark};
      last.at_ps = in.value(last.at_ps);
      r.at_ps = static_cast<std::int64_t>(last.at_ps);
      if (r.what() == TimelineMark::spent) {
        r.time_class = in.byte();
        r.b = in.value(last.until);
        r.c = last.until = in.value(r.b);
      } else {
        r.b = last.task = in.value(last.task);
        if (mark != kOpen) r.c = in.value(last.at_ps);
      }
      out.push_back(r);
    }
  }
}

}  // namespace exawarp::model
