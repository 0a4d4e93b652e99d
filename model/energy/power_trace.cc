// Power over time: each draw is split at the borders of bins and added to all series that its
// device counts in, as whole milliwatts times picoseconds. Bins that are too many are added in
// pairs, so a bin's sum does not depend on how often that was.
#include "model/energy/power_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "core/bytes.h"
#include "core/check.h"
#include "core/error.h"
#include "model/device/device_model.h"
#include "model/energy/energy.h"
#include "model/energy/power_emission.h"
#include "pdes/transport.h"

namespace exawarp::model {
namespace {

std::uint32_t groups_of(std::uint32_t devices, std::uint32_t group_devices) {
  return (devices + group_devices - 1) / group_devices;
}

// A bin of a series as it travels: the sum in two words.
struct Row {
  std::uint32_t series, bin;
  std::uint64_t low, high;
};
static_assert(std::is_trivially_copyable_v<Row>);

}  // namespace

PowerTrace::PowerTrace(const Cluster& cluster, const SystemPower& system,
                       std::uint32_t partitions, const PowerTraceOptions& options)
    : cluster_(cluster),
      system_(system),
      width_ps_(options.bin.ps),
      bins_max_(options.bins_max),
      node_devices_(std::max(1u, cluster.fabric().devices_per_node())),
      rack_devices_(node_devices_ * std::max(1u, system.nodes_per_rack)) {
  EXAWARP_CHECK(width_ps_ > 0 && std::has_single_bit(bins_max_), width_ps_, bins_max_);
  const std::uint32_t devices = cluster.device_count();
  add_series(Kind::cluster, 0, "cluster");
  const auto classes = static_cast<std::uint32_t>(cluster.devices().programs.size());
  for (std::uint32_t c = 0; c < classes; ++c) add_series(Kind::device_class, c, "class");
  rack_series_.resize(groups_of(devices, rack_devices_));
  node_series_.resize(groups_of(devices, node_devices_));
  device_series_.resize(devices);
  add_groups(Kind::rack, "rack", groups_of(devices, rack_devices_), options.racks);
  add_groups(Kind::node, "node", groups_of(devices, node_devices_), options.nodes);
  add_groups(Kind::device, "device", devices, options.devices);
  parts_.resize(partitions);
  for (Part& part : parts_) {
    part.width_ps = width_ps_;
    part.bins.resize(series_.size());
  }
}

void PowerTrace::add_series(Kind kind, std::uint32_t number, const char* name) {
  series_.push_back({.kind = kind, .number = number, .name = name, .constant_w = 0, .watts = {}});
}

void PowerTrace::add_groups(Kind kind, const char* name, std::uint32_t count,
                            const std::vector<std::uint32_t>& asked) {
  if (cluster_.devices().fold != nullptr) {
    if (asked.empty()) return;
    throw core::InputError(fmt::format("power: {}s are asked for, of which one simulated device "
                                       "stands for several; expected fold: none",
                                       name));
  }
  if (asked.size() > kPowerGroupsMax) {
    throw core::InputError(fmt::format("power: {} {}s; expected at most {}", asked.size(), name,
                                       kPowerGroupsMax));
  }
  std::vector<std::uint32_t> numbers = asked;
  if (asked.empty() && kind != Kind::device && count <= kPowerGroupsAll) {
    for (std::uint32_t i = 0; i < count; ++i) numbers.push_back(i);
  }
  auto& by_number = kind == Kind::rack   ? rack_series_
                    : kind == Kind::node ? node_series_
                                         : device_series_;
  for (const std::uint32_t number : numbers) {
    if (number >= count) {
      throw core::InputError(
          fmt::format("power: no such {}: {}; expected 0 to {}", name, number, count - 1));
    }
    if (by_number[number] != 0) continue;
    by_number[number] = static_cast<std::uint32_t>(series_.size());
    add_series(kind, number, name);
    series_.back().name = fmt::format("{} {}", name, number);
  }
}

void PowerTrace::deliver(core::PartitionId partition, const pdes::Emission& e) {
  if (e.channel != kPowerChannel) return;
  Part& part = parts_[partition.value];
  const auto mw = static_cast<std::int32_t>(static_cast<std::uint32_t>(e.a));
  const core::Time from{static_cast<std::int64_t>(e.b)}, until{static_cast<std::int64_t>(e.c)};
  const std::uint32_t of_class = 1 + static_cast<std::uint32_t>(e.a >> 32);
  const std::uint32_t device = e.lp.value;
  fit(part, until.ps - 1);
  if (const Fold* fold = cluster_.devices().fold.get(); fold != nullptr) {
    // At most 2^31 mW and 2^24 devices.
    const std::int64_t all = mw * static_cast<std::int64_t>(fold->stand_ins()[device].count);
    add(part, 0, all, from, until);
    return add(part, of_class, all, from, until);
  }
  add(part, 0, mw, from, until);
  add(part, of_class, mw, from, until);
  for (const std::uint32_t series :
       {rack_series_[device / rack_devices_], node_series_[device / node_devices_],
        device_series_[device]}) {
    if (series != 0) add(part, series, mw, from, until);
  }
}

void PowerTrace::add(Part& part, std::uint32_t series, std::int64_t mw, core::Time from,
                     core::Time until) const {
  if (until <= from) return;
  Bins& bins = part.bins[series];
  const auto last = static_cast<std::size_t>((until.ps - 1) / part.width_ps);
  if (bins.size() <= last) bins.resize(last + 1);
  for (std::int64_t t = from.ps; t < until.ps;) {
    const std::int64_t bin = t / part.width_ps;
    const std::int64_t end = std::min(until.ps, (bin + 1) * part.width_ps);
    bins[static_cast<std::size_t>(bin)] += static_cast<Sum>(mw) * (end - t);
    t = end;
  }
}

// Doubles the bins until `last_ps` is in one of them.
void PowerTrace::fit(Part& part, std::int64_t last_ps) const {
  while (last_ps / part.width_ps >= bins_max_) coarsen(part);
}

void PowerTrace::coarsen(Part& part) {
  part.width_ps *= 2;
  for (Bins& bins : part.bins) {
    for (std::size_t i = 0; i < bins.size(); ++i) {
      const Sum sum = std::exchange(bins[i], 0);
      bins[i / 2] += sum;
    }
    bins.resize((bins.size() + 1) / 2);
  }
}

std::vector<std::byte> PowerTrace::saved() const {
  std::vector<std::byte> bytes;
  for (const Part& part : parts_) {
    for (std::size_t s = 0; s < part.bins.size(); ++s) {
      for (std::size_t i = 0; i < part.bins[s].size(); ++i) {
        const auto bits = static_cast<Bits>(part.bins[s][i]);
        core::append_bytes(bytes, Saved{part.width_ps, s, i, static_cast<std::uint64_t>(bits),
                                        static_cast<std::uint64_t>(bits >> 64)});
      }
    }
  }
  return bytes;
}

void PowerTrace::restore(std::span<const std::byte> saved) {
  Part& part = parts_.front();
  core::ByteReader reader(saved);
  while (!reader.is_at_end()) {
    const auto from = reader.next<Saved>();
    const auto time = static_cast<std::int64_t>(from.bin) * from.width_ps;
    if (from.series >= part.bins.size() || from.width_ps < width_ps_ || time < 0) {
      throw core::InputError("has power of other series");
    }
    while (part.width_ps < from.width_ps) coarsen(part);
    fit(part, time);
    Bins& bins = part.bins[from.series];
    const auto bin = static_cast<std::size_t>(time / part.width_ps);
    if (bins.size() <= bin) bins.resize(bin + 1);
    bins[bin] += static_cast<Sum>(static_cast<Bits>(from.high) << 64 | from.low);
  }
}

// Of this rank, all of one width; the parts are empty afterwards.
std::vector<PowerTrace::Bins> PowerTrace::sum_of_parts() {
  std::vector<Bins> out(series_.size());
  for (Part& part : parts_) {
    while (part.width_ps < width_ps_) coarsen(part);
    for (std::size_t s = 0; s < out.size(); ++s) {
      const Bins& bins = part.bins[s];
      if (out[s].size() < bins.size()) out[s].resize(bins.size());
      for (std::size_t i = 0; i < bins.size(); ++i) out[s][i] += bins[i];
    }
    part.bins.clear();
  }
  return out;
}

void PowerTrace::combine(pdes::Transport& transport) {
  for (const Part& part : parts_) width_ps_ = std::max(width_ps_, part.width_ps);
  std::array<std::uint64_t, 1> width{static_cast<std::uint64_t>(width_ps_)};
  transport.all_reduce_max(width);
  width_ps_ = static_cast<std::int64_t>(width[0]);
  const std::vector<Bins> mine = sum_of_parts();
  std::vector<Row> rows;
  for (std::uint32_t s = 0; s < mine.size(); ++s) {
    for (std::uint32_t i = 0; i < mine[s].size(); ++i) {
      const auto bits = static_cast<Bits>(mine[s][i]);
      rows.push_back(
          {s, i, static_cast<std::uint64_t>(bits), static_cast<std::uint64_t>(bits >> 64)});
    }
  }
  const std::vector<std::byte> all = transport.gather(std::as_bytes(std::span(rows)));
  EXAWARP_CHECK(all.size() % sizeof(Row) == 0, all.size());
  rows.resize(all.size() / sizeof(Row));
  if (!all.empty()) std::memcpy(rows.data(), all.data(), all.size());
  all_.assign(series_.size(), {});
  for (const Row& row : rows) {
    Bins& bins = all_[row.series];
    if (bins.size() <= row.bin) bins.resize(row.bin + 1);
    bins[row.bin] += static_cast<Sum>(static_cast<Bits>(row.high) << 64 | row.low);
  }
}

std::uint32_t PowerTrace::devices_in(std::uint32_t group, std::uint32_t group_devices) const {
  return std::min(group_devices, cluster_.device_count() - group * group_devices);
}

// What a series draws all the time.
double PowerTrace::constant_w(const Series& series, const Outcome& outcome) const {
  const double idle = cluster_.accelerator().power.idle_w();
  const double node = static_cast<double>(system_.node_mw) / 1e3;
  switch (series.kind) {
    case Kind::cluster: return constant_power_of(cluster_, system_).total_w();
    case Kind::device_class:
      return idle * static_cast<double>(outcome.classes()[series.number].devices);
    case Kind::rack: {
      const std::uint32_t devices = devices_in(series.number, rack_devices_);
      return idle * devices + node * devices / node_devices_;
    }
    case Kind::node: {
      const std::uint32_t devices = devices_in(series.number, node_devices_);
      return idle * devices + node * devices / node_devices_;
    }
    case Kind::device: return idle;
  }
  return 0;
}

void PowerTrace::finish(const Outcome& outcome) {
  end_ = outcome.simulated_time();
  const auto bins = static_cast<std::size_t>((end_.ps + width_ps_ - 1) / width_ps_);
  for (std::size_t s = 0; s < series_.size(); ++s) {
    Series& series = series_[s];
    if (series.kind == Kind::device_class) {
      series.name = "class " + outcome.classes()[series.number].name;
    }
    series.constant_w = constant_w(series, outcome);
    all_[s].resize(std::max(bins, all_[s].size()));
    series.watts.resize(bins);
    for (std::size_t i = 0; i < bins; ++i) {
      const std::int64_t from = static_cast<std::int64_t>(i) * width_ps_;
      const auto width = static_cast<double>(std::min(end_.ps, from + width_ps_) - from);
      series.watts[i] = series.constant_w + static_cast<double>(all_[s][i]) / width / 1e3;
    }
  }
  all_.clear();
}

}  // namespace exawarp::model
