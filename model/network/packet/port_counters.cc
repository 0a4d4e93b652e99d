// Counters of ports over time: what ports emit as they go is added up, once it is committed, by
// port and bucket of time.
#include "model/network/packet/port_counters.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <tuple>
#include <type_traits>

#include "core/bytes.h"
#include "core/check.h"
#include "core/error.h"
#include "pdes/context.h"
#include "pdes/transport.h"

namespace exawarp::model {
namespace {

void merge(PortCounters::Bucket& into, const PortCounters::Bucket& b) {
  into.bytes += b.bytes;
  into.busy_ps += b.busy_ps;
  into.queue_peak_ps = std::max(into.queue_peak_ps, b.queue_peak_ps);
  into.packets += b.packets;
  into.marks += b.marks;
  into.drops += b.drops;
  into.pauses += b.pauses;
}

bool is_empty(const PortCounters::Bucket& b) {
  return b.bytes == 0 && b.busy_ps == 0 && b.queue_peak_ps == 0 && b.packets == 0 && b.marks == 0 &&
         b.drops == 0 && b.pauses == 0;
}

}  // namespace

PortCounters::PortCounters(std::uint32_t partitions, const PortCountersOptions& options,
                           pdes::EmissionSink* next)
    : width_ps_(options.bucket.ps), buckets_max_(options.buckets_max), next_(next) {
  EXAWARP_CHECK(width_ps_ > 0 && std::has_single_bit(buckets_max_), width_ps_, buckets_max_);
  parts_.resize(partitions);
  for (Part& part : parts_) part.width_ps = width_ps_;
}

void PortCounters::emit(pdes::Context& ctx, PortRecord record, std::uint32_t port,
                        std::uint64_t bytes, core::Time from, core::Time until) {
  const std::uint64_t what =
      bytes << 32 | std::uint64_t{port} << 8 | static_cast<std::uint64_t>(record);
  ctx.emit(kPortChannel, what, static_cast<std::uint64_t>(from.ps),
           static_cast<std::uint64_t>(until.ps));
}

void PortCounters::deliver(core::PartitionId partition, const pdes::Emission& e) {
  if (e.channel != kPortChannel) {
    if (next_ != nullptr) next_->deliver(partition, e);
    return;
  }
  Part& part = parts_[partition.value];
  const std::uint64_t port = std::uint64_t{e.lp.value} << 32 | (e.a >> 8 & 0xffffff);
  const std::int64_t now = e.key.time.ps;
  switch (static_cast<PortRecord>(e.a & 0xff)) {
    case PortRecord::sent:
      return add_sent(part, port, e.a >> 32, static_cast<std::int64_t>(e.b),
                      static_cast<std::int64_t>(e.c));
    case PortRecord::queued: {
      const auto when = static_cast<std::int64_t>(e.c);
      Bucket& b = at(part, port, when != 0 ? when : now);
      b.queue_peak_ps = std::max(b.queue_peak_ps, static_cast<std::int64_t>(e.b));
      return;
    }
    case PortRecord::marked:
      ++at(part, port, now).marks;
      return;
    case PortRecord::dropped:
      ++at(part, port, now).drops;
      return;
    case PortRecord::paused:
      ++at(part, port, now).pauses;
      return;
  }
}

// Bytes count where a packet starts, the line's time where it passes.
void PortCounters::add_sent(Part& part, std::uint64_t port, std::uint64_t bytes, std::int64_t from,
                            std::int64_t until) const {
  fit(part, std::max(from, until - 1));
  Bucket& first = at(part, port, from);
  first.bytes += bytes;
  ++first.packets;
  for (std::int64_t t = from; t < until;) {
    const std::int64_t end = std::min(until, (t / part.width_ps + 1) * part.width_ps);
    at(part, port, t).busy_ps += end - t;
    t = end;
  }
}

// Doubles the buckets until `last_ps` is in one of them.
void PortCounters::fit(Part& part, std::int64_t last_ps) const {
  while (last_ps / part.width_ps >= buckets_max_) {
    part.width_ps *= 2;
    for (auto& [port, series] : part.ports) coarsen(series);
  }
}

void PortCounters::coarsen(Series& series) {
  for (std::size_t i = 0; i < series.size(); ++i) {
    const Bucket b = series[i];
    if (i != 0) series[i] = {};
    if (i != 0) merge(series[i / 2], b);
  }
  series.resize((series.size() + 1) / 2);
}

PortCounters::Bucket& PortCounters::at(Part& part, std::uint64_t port, std::int64_t time) const {
  fit(part, time);
  Series& series = part.ports[port];
  const auto index = static_cast<std::size_t>(time / part.width_ps);
  if (series.size() <= index) series.resize(index + 1);
  return series[index];
}

std::vector<std::byte> PortCounters::saved() const {
  std::vector<std::byte> bytes;
  for (const Part& part : parts_) {
    for (const auto& [port, series] : part.ports) {
      for (std::size_t i = 0; i < series.size(); ++i) {
        if (!is_empty(series[i])) {
          core::append_bytes(bytes, Saved{part.width_ps, port, i, series[i]});
        }
      }
    }
  }
  return bytes;
}

// Widths are the first one times powers of two, so a bucket never spans two of the wider ones.
void PortCounters::restore(std::span<const std::byte> saved) {
  Part& part = parts_.front();
  core::ByteReader reader(saved);
  while (!reader.is_at_end()) {
    const auto from = reader.next<Saved>();
    const auto time = static_cast<std::int64_t>(from.index) * from.width_ps;
    if (from.width_ps < width_ps_ || time < 0) {
      throw core::InputError("has counters of other widths");
    }
    fit(part, std::max(time, from.width_ps * buckets_max_ / 2));
    merge(at(part, from.port, time), from.bucket);
  }
}

void PortCounters::combine(pdes::Transport& transport) {
  for (const Part& part : parts_) width_ps_ = std::max(width_ps_, part.width_ps);
  std::array<std::uint64_t, 1> width{static_cast<std::uint64_t>(width_ps_)};
  transport.all_reduce_max(width);
  width_ps_ = static_cast<std::int64_t>(width[0]);
  static_assert(std::is_trivially_copyable_v<Row>);
  std::vector<Row> mine;
  for (Part& part : parts_) {
    for (; part.width_ps < width_ps_; part.width_ps *= 2) {
      for (auto& [port, series] : part.ports) coarsen(series);
    }
    for (const auto& [port, series] : part.ports) {
      for (std::uint32_t i = 0; i < series.size(); ++i) {
        if (is_empty(series[i])) continue;
        mine.push_back({{static_cast<std::uint32_t>(port >> 32)},
                        static_cast<std::uint32_t>(port),
                        i,
                        series[i]});
      }
    }
    part.ports.clear();
  }
  const std::vector<std::byte> all = transport.gather(std::as_bytes(std::span(mine)));
  EXAWARP_CHECK(all.size() % sizeof(Row) == 0, all.size());
  rows_.resize(all.size() / sizeof(Row));
  if (!all.empty()) std::memcpy(rows_.data(), all.data(), all.size());
  std::ranges::sort(rows_, [](const Row& a, const Row& b) {
    return std::tuple(a.lp.value, a.port, a.index) < std::tuple(b.lp.value, b.port, b.index);
  });
}

}  // namespace exawarp::model
