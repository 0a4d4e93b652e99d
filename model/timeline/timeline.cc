// The bound. A partition's emissions come in order of time, so the ones to drop when there are too
// many are those that come from then on. Which instant that is must not depend on partitions: with
// t the instant of the slice that is one too many, in order of time, all of t is left out. Each
// partition keeps what lies before its own such instant, which is not before that of all; so
// counting once more over what all of them kept, and their least limit, finds t.
#include "model/timeline/timeline.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <tuple>
#include <type_traits>

#include "core/bytes.h"
#include "core/check.h"
#include "core/digest.h"
#include "core/error.h"
#include "model/cluster.h"
#include "model/device/device_model.h"
#include "pdes/transport.h"

namespace exawarp::model {
namespace {

constexpr std::int64_t kNoLimit = core::Time::max().ps;

}  // namespace

Timeline::Timeline(std::uint32_t partitions, const TimelineOptions& options,
                   pdes::EmissionSink* next)
    : options_(options), next_(next) {
  EXAWARP_CHECK(options.from < options.until, options.from.ps, options.until.ps);
  parts_.resize(partitions);
}

void Timeline::deliver(core::PartitionId partition, const pdes::Emission& e) {
  if (e.channel != kTimelineChannel) {
    if (next_ != nullptr) next_->deliver(partition, e);
    return;
  }
  Part& part = parts_[partition.value];
  const auto mark = static_cast<std::uint8_t>(e.a);
  const bool of_device = mark == static_cast<std::uint8_t>(TimelineMark::spent);
  add(part, {.at_ps = e.key.time.ps,
             .b = e.b,
             .c = e.c,
             .lp = e.lp.value,
             .stream = static_cast<std::uint16_t>(of_device ? kDevice : e.a >> 16),
             .time_class = static_cast<std::uint8_t>(e.a >> 8),
             .mark = mark});
  if (part.slices > options_.slices_max) trim(part);
}

void Timeline::add(Part& part, const Record& record) const {
  if (record.at_ps >= part.limit_ps) return;
  if (record.what() == TimelineMark::spent) {
    if (record.until() <= options_.from || record.from() >= options_.until) return;
  } else {
    if (record.at_ps >= options_.until.ps) return;
    if (record.at_ps < options_.from.ps) {
      Record& last = part.before.try_emplace({record.lp, record.stream}, record).first->second;
      if (last.at_ps <= record.at_ps) last = record;
      return;
    }
  }
  part.records.push_back(record);
  part.slices += is_slice(record);
}

// Leaves out what there is too much of.
void Timeline::trim(Part& part) const {
  if (part.slices > options_.slices_max) {
    std::vector<std::int64_t> times;
    times.reserve(part.slices);
    for (const Record& record : part.records) {
      if (is_slice(record)) times.push_back(record.at_ps);
    }
    const auto excess = times.begin() + static_cast<std::ptrdiff_t>(options_.slices_max);
    std::ranges::nth_element(times, excess);
    part.limit_ps = std::min(part.limit_ps, *excess);
  }
  std::erase_if(part.records, [&](const Record& r) { return r.at_ps >= part.limit_ps; });
  part.slices = static_cast<std::uint64_t>(std::ranges::count_if(part.records, is_slice));
}

std::vector<Timeline::Record> Timeline::all_of(const Part& part) {
  std::vector<Record> all = part.records;
  for (const auto& [track, record] : part.before) all.push_back(record);
  return all;
}

// What a timeline that goes on with this one has in common with it, and when it was cut.
Timeline::Header Timeline::header() const {
  core::Hasher devices;
  for (const std::uint32_t device : options_.devices) devices.word(device);
  std::int64_t limit = kNoLimit;
  for (const Part& part : parts_) limit = std::min(limit, part.limit_ps);
  return {limit, options_.from.ps, options_.until.ps, options_.slices_max, devices.value()};
}

std::vector<std::byte> Timeline::saved() const {
  std::vector<std::byte> bytes;
  core::append_bytes(bytes, header());
  for (const Part& part : parts_) {
    for (const Record& record : all_of(part)) core::append_bytes(bytes, record);
  }
  return bytes;
}

void Timeline::restore(std::span<const std::byte> saved) {
  core::ByteReader reader(saved);
  const auto theirs = reader.next<Header>();
  const Header mine = header();
  if (std::tie(theirs.from_ps, theirs.until_ps, theirs.slices_max, theirs.devices) !=
      std::tie(mine.from_ps, mine.until_ps, mine.slices_max, mine.devices)) {
    throw core::InputError("has the timeline of other devices or times");
  }
  Part& part = parts_.front();
  part.limit_ps = std::min(part.limit_ps, theirs.limit_ps);
  while (!reader.is_at_end()) {
    const auto record = reader.next<Record>();
    const bool known = record.what() <= TimelineMark::spent && record.stream <= kDevice &&
                       record.time_class < kTimeClassCount && record.at_ps >= 0;
    if (!known) throw core::InputError("has a timeline of another form");
    add(part, record);
  }
  trim(part);
}

// Of this rank; the parts are empty afterwards.
Timeline::Part Timeline::sum_of_parts() {
  Part sum;
  for (Part& part : parts_) {
    sum.limit_ps = std::min(sum.limit_ps, part.limit_ps);
    for (const Record& record : all_of(part)) add(sum, record);
    part = {};
  }
  trim(sum);
  return sum;
}

void Timeline::combine(pdes::Transport& transport) {
  const Part mine = sum_of_parts();
  std::array<std::uint64_t, 1> limit{~static_cast<std::uint64_t>(mine.limit_ps)};
  transport.all_reduce_max(limit);
  static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) == 32);
  std::vector<Record> records = all_of(mine);
  const std::vector<std::byte> bytes = transport.gather(std::as_bytes(std::span(records)));
  EXAWARP_CHECK(bytes.size() % sizeof(Record) == 0, bytes.size());
  records.resize(bytes.size() / sizeof(Record));
  if (!bytes.empty()) std::memcpy(records.data(), bytes.data(), bytes.size());
  all_ = {};
  all_.limit_ps = static_cast<std::int64_t>(~limit[0]);
  for (const Record& record : records) add(all_, record);
  trim(all_);
}

std::optional<core::Time> Timeline::cut() const {
  if (all_.limit_ps == kNoLimit) return {};
  return core::Time{all_.limit_ps};
}

// Those of one LP and stream come in the order in which they were emitted: all that one LP emits at
// an instant is of one partition, and each step on the way here keeps the order.
void Timeline::finish(const Cluster& cluster, const End& end) {
  const bool whole = end.all_finished && !cut();
  const core::Time last = std::min({end.at, options_.until, core::Time{all_.limit_ps}});
  std::vector<Record> records = all_of(all_);
  all_.records.clear();
  std::ranges::stable_sort(records, {},
                           [](const Record& r) { return std::tuple(r.lp, r.stream, r.at_ps); });
  const std::vector<bool>& lps = cluster.devices().timeline;
  auto next = records.begin();
  const auto take = [&](auto is_wanted) {
    const auto from = next;
    next = std::find_if_not(from, records.end(), is_wanted);
    return std::span<const Record>(from, next);
  };
  for (std::uint32_t lp = 0; lp < lps.size(); ++lp) {
    if (!lps[lp]) continue;
    while (next != records.end() && next->lp == lp && next->stream != kDevice) {
      const std::uint16_t stream = next->stream;
      add_slices(take([&](const Record& r) { return r.lp == lp && r.stream == stream; }), last);
    }
    add_slices({lp}, take([&](const Record& r) { return r.lp == lp; }), {last, whole});
  }
}

// Of one stream, where an end belongs to the beginning before it. The record before the timeline
// begins, if there is one, is the first.
void Timeline::add_slices(std::span<const Record> of_stream, core::Time end) {
  const Record* open = nullptr;
  const auto add_open = [&](core::Time until, bool ends) {
    slices_.push_back({.lp = {open->lp},
                       .stream = open->stream,
                       .program = static_cast<std::uint32_t>(open->b >> 32),
                       .task = static_cast<std::uint32_t>(open->b),
                       .from = std::max(options_.from, core::Time{open->at_ps}),
                       .until = until,
                       .ends = ends});
    open = nullptr;
  };
  for (const Record& r : of_stream) {
    const core::Time at{r.at_ps};
    if (r.what() == TimelineMark::ends) {
      const bool begins_before = open != nullptr && open->at_ps < options_.from.ps;
      if (open != nullptr && !(begins_before && at == options_.from)) add_open(at, true);
      open = nullptr;
      continue;
    }
    open = &r;
    if (r.what() == TimelineMark::at_once) {
      if (options_.from <= at) add_open(at, true);
      open = nullptr;
    }
  }
  if (open != nullptr) add_open(end, false);
}

// The time of a device is in one class after the other from the start of its job until it is done;
// before and after it is idle.
void Timeline::add_slices(core::LpId lp, std::span<const Record> of_device, const End& end) {
  core::Time filled = options_.from;
  const auto add = [&](TimeClass spent_in, core::Time until) {
    if (filled < until) {
      slices_.push_back({.lp = lp,
                         .stream = kDevice,
                         .task = static_cast<std::uint32_t>(index_of(spent_in)),
                         .from = filled,
                         .until = until});
    }
    filled = std::max(filled, until);
  };
  for (const Record& r : of_device) {
    add(TimeClass::idle, r.from());
    add(static_cast<TimeClass>(r.time_class), std::min(options_.until, r.until()));
  }
  if (end.all_finished) add(TimeClass::idle, end.at);
}

}  // namespace exawarp::model
