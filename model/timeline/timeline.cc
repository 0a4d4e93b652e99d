// The bound. A partition's emissions come in order of time, so the ones to drop when there are too
// many are those that come from then on. Which instant that is must not depend on partitions: with
// t the instant of the slice that is one too many, in order of time, all of t is left out. Each
// partition keeps what lies before its own such instant, which is not before that of all; so
// counting once more over what all of them kept, and their least limit, finds t.
#include "model/timeline/timeline.h"

#include <algorithm>
#include <array>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/bytes.h"
#include "core/check.h"
#include "core/digest.h"
#include "core/error.h"
#include "model/cluster.h"
#include "model/device/device.h"
#include "model/workload/validate.h"
#include "pdes/transport.h"

namespace exawarp::model {
namespace {

constexpr std::int64_t kNoLimit = core::Time::max().ps;
static_assert(Timeline::kDevice == kStreamsMax);

}  // namespace

// The records of a device by stream, and of these in order of time.
//
// All that one LP emits at an instant is of one partition, and each step on the way here keeps the
// order. Only after a restart, where devices may be on other ranks, can later records come first.
class Timeline::Tracks {
 public:
  void read(const Part& part, std::uint32_t lp) {
    read_.clear();
    const auto& before = part.before;
    for (auto r = before.lower_bound({lp, 0}); r != before.end() && r->first.first == lp; ++r) {
      read_.push_back(r->second);
    }
    const auto place = part.places.find(lp);
    if (place != part.places.end()) part.devices[place->second].records.read(lp, read_);
    first_ = {};
    for (const Record& r : read_) ++first_[r.stream + 2u];
    for (std::size_t i = 2; i < first_.size(); ++i) first_[i] += first_[i - 1];
    sorted_.resize(read_.size());
    // Each moves from where its predecessor's records end to where its own do.
    for (const Record& r : read_) sorted_[first_[r.stream + 1u]++] = r;
  }

  [[nodiscard]] std::span<const Record> records(std::uint32_t stream) {
    const auto all =
        std::span(sorted_).subspan(first_[stream], first_[stream + 1] - first_[stream]);
    if (!std::ranges::is_sorted(all, {}, &Record::at_ps)) {
      std::ranges::stable_sort(all, {}, &Record::at_ps);
    }
    return all;
  }

 private:
  std::vector<Record> read_, sorted_;
  std::array<std::size_t, kDevice + 3> first_{};  // by stream
};

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
  if (of_device && options_.tasks_alone) return;
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
  log_of(part, record.lp).append(record);
  part.slices += record.is_slice();
}

TimelineRecords& Timeline::log_of(Part& part, std::uint32_t lp) {
  const auto [place, is_new] = part.places.try_emplace(lp, part.devices.size());
  if (is_new) part.devices.push_back({.lp = lp, .records = {}});
  return part.devices[place->second].records;
}

// Leaves out what is from `limit_ps` on.
void Timeline::end_at(Part& part, std::int64_t limit_ps) {
  if (limit_ps >= part.limit_ps) return;
  part.limit_ps = limit_ps;
  part.slices = 0;
  std::vector<Record> records;
  for (Device& device : part.devices) {
    records.clear();
    std::exchange(device.records, {}).read(device.lp, records);
    for (const Record& record : records) {
      if (record.at_ps >= limit_ps) continue;
      device.records.append(record);
      part.slices += record.is_slice();
    }
  }
}

// Leaves out what there is too much of.
void Timeline::trim(Part& part) const {
  if (part.slices <= options_.slices_max) return;
  std::vector<std::int64_t> times;
  times.reserve(part.slices);
  std::vector<Record> records;
  for (const Device& device : part.devices) {
    records.clear();
    device.records.read(device.lp, records);
    for (const Record& record : records) {
      if (record.is_slice()) times.push_back(record.at_ps);
    }
  }
  const auto excess = times.begin() + static_cast<std::ptrdiff_t>(options_.slices_max);
  std::ranges::nth_element(times, excess);
  end_at(part, *excess);
}

// Those before the timeline begins last.
std::vector<Timeline::Record> Timeline::records_of(const Part& part) {
  std::vector<Record> all;
  for (const Device& device : part.devices) device.records.read(device.lp, all);
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
    for (const Record& record : records_of(part)) core::append_bytes(bytes, record);
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
  end_at(part, theirs.limit_ps);
  while (!reader.is_at_end()) {
    const auto record = reader.next<Record>();
    const bool known = record.what() <= TimelineMark::spent && record.stream <= kDevice &&
                       record.time_class < kTimeClassCount && record.at_ps >= 0;
    if (!known) throw core::InputError("has a timeline of another form");
    add(part, record);
  }
  trim(part);
}

// What is in both goes to the end of what is there.
void Timeline::move_all(Part from, Part& to) const {
  std::vector<Record> records;
  for (Device& device : from.devices) {
    const auto [place, is_new] = to.places.try_emplace(device.lp, to.devices.size());
    if (is_new) {
      to.devices.push_back(std::move(device));
      continue;
    }
    records.clear();
    device.records.read(device.lp, records);
    for (const Record& record : records) to.devices[place->second].records.append(record);
  }
  to.slices += from.slices;
  for (const auto& [track, record] : from.before) add(to, record);
}

// Of this rank; the parts are empty afterwards.
Timeline::Part Timeline::sum_of_parts() {
  Part sum = std::move(parts_.front());
  for (const Part& part : parts_) end_at(sum, part.limit_ps);
  for (Part& part : std::span(parts_).subspan(1)) {
    end_at(part, sum.limit_ps);
    move_all(std::exchange(part, {}), sum);
  }
  trim(sum);
  return sum;
}

void Timeline::combine(pdes::Transport& transport) {
  Part mine = sum_of_parts();
  if (transport.ranks() == 1) {
    all_ = std::move(mine);
    return;
  }
  std::array<std::uint64_t, 1> limit{~static_cast<std::uint64_t>(mine.limit_ps)};
  transport.all_reduce_max(limit);
  all_.limit_ps = static_cast<std::int64_t>(~limit[0]);
  static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) == 32);
  std::vector<Record> records = records_of(mine);
  mine = {};
  const std::vector<std::byte> bytes = transport.gather(std::as_bytes(std::span(records)));
  records = {};
  core::ByteReader reader(bytes);
  while (!reader.is_at_end()) add(all_, reader.next<Record>());
  trim(all_);
}

std::optional<core::Time> Timeline::cut() const {
  if (all_.limit_ps == kNoLimit) return {};
  return core::Time{all_.limit_ps};
}

void Timeline::finish(const Cluster& cluster, const End& end) {
  cluster_ = &cluster;
  end_ = {.at = std::min({end.at, options_.until, core::Time{all_.limit_ps}}),
          .all_finished = end.all_finished && !cut()};
}

void Timeline::visit(const std::function<void(std::span<const Slice>)>& of_device) const {
  EXAWARP_CHECK(cluster_ != nullptr);
  const DeviceModel& devices = cluster_->devices();
  Tracks tracks;
  std::vector<Slice> slices;
  for (std::uint32_t lp = 0; lp < devices.timeline.size(); ++lp) {
    if (devices.timeline[lp] == 0) continue;
    tracks.read(all_, lp);
    slices.clear();
    const std::uint32_t program = place_of(devices, {lp}).program;
    const ProgramTable& table = devices.programs[program];
    for (std::uint32_t stream = 0; stream < table.streams(); ++stream) {
      add_slices(tracks.records(stream), {program, table.tasks.size()}, slices);
    }
    if (!options_.tasks_alone) add_slices({lp}, tracks.records(kDevice), slices);
    of_device(slices);
  }
}

std::vector<Timeline::Slice> Timeline::slices() const {
  std::vector<Slice> all;
  visit([&](std::span<const Slice> some) { all.insert(all.end(), some.begin(), some.end()); });
  return all;
}

// Of one stream. The record before the timeline begins, if there is one, is the first. What no
// device of the program can have emitted, from a checkpoint that was tampered with, is left out.
void Timeline::add_slices(std::span<const Record> of_stream, const Tasks& of,
                          std::vector<Slice>& out) const {
  for (std::size_t i = 0; i < of_stream.size(); ++i) {
    const Record& r = of_stream[i];
    if (r.what() != TimelineMark::begins) continue;
    const auto program = static_cast<std::uint32_t>(r.b >> 32);
    const auto task = static_cast<std::uint32_t>(r.b);
    const core::Time at{r.at_ps};
    core::Time until = r.until(), last_entry = at;
    if (until == core::Time::max() && i + 1 < of_stream.size()) {
      const Record& its_end = of_stream[i + 1];
      until = core::Time{its_end.at_ps};
      if (at < its_end.until() && its_end.until() <= until) last_entry = its_end.until();
    }
    if (program != of.program || task >= of.count || until < at || end_.at < at) continue;
    if (at < options_.from && until <= options_.from) continue;
    out.push_back({.lp = {r.lp},
                   .stream = r.stream,
                   .program = program,
                   .task = task,
                   .from = std::max(options_.from, at),
                   .until = std::min(until, end_.at),
                   .ends = until <= end_.at,
                   .last_entry = options_.tasks_alone ? last_entry : core::Time{}});
  }
}

// The time of a device is in one class after the other from the start of its job until it is done;
// before and after it is idle.
void Timeline::add_slices(core::LpId lp, std::span<const Record> of_device,
                          std::vector<Slice>& out) const {
  core::Time filled = options_.from;
  const auto add = [&](TimeClass spent_in, core::Time until) {
    if (filled < until) {
      out.push_back({.lp = lp,
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
  if (end_.all_finished) add(TimeClass::idle, end_.at);
}

}  // namespace exawarp::model
