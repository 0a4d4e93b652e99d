// What the cluster draws over time, and its racks, nodes, kinds of devices and single devices: the
// engine's sink for what devices emit (power_emission.h) where ClusterOptions::trace_power is set.
// Draws count when their event commits, so rollback leaves no trace, and sums are whole numbers: a
// trace is the same in every mode, on any number of ranks, threads and partitions.
//
//   PowerTrace trace(cluster, system, partitions, options);  // the engine's sink
//   trace.combine(transport);                                // after the run; collective
//   trace.finish(outcome);                                   // on rank 0
//   for (const PowerTrace::Series& series : trace.series()) ...
//
// Memory: 16 bytes for each series and bin, of which there are at most `bins_max`; of a partition
// those that its devices count in. Where a run gets longer, bins double and pairs of them become
// one. Nodes and racks are all there where they are few (kPowerGroupsAll), else those asked for;
// single devices are those asked for. So the trace of a large cluster is as large as that of a
// small one.
//
// Where devices are folded (device/fold.h), each stand-in counts for its class, and there are no
// nodes, racks and single devices.
//
// Thread safety: deliver() as EmissionSink says; everything else after the run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/time.h"
#include "model/cluster.h"
#include "model/energy/power.h"
#include "model/outcome.h"
#include "pdes/emission.h"

namespace exawarp::pdes {
class Transport;
}  // namespace exawarp::pdes

namespace exawarp::model {

constexpr std::uint32_t kPowerGroupsAll = 64;     // of nodes, or racks, without being asked for
constexpr std::uint32_t kPowerGroupsMax = 1'024;  // that may be asked for, of each kind

struct PowerTraceOptions {
  core::Time bin{1'000'000'000};  // width at first
  std::uint32_t bins_max = 8'192;  // a power of two
  std::vector<std::uint32_t> racks = {}, nodes = {}, devices = {};  // by number
};

class PowerTrace final : public pdes::EmissionSink {
 public:
  // Whose power a series is. Nodes and racks: their devices and what is beside those in a node;
  // the cluster: switches and links as well.
  enum class Kind : std::uint8_t { cluster, device_class, rack, node, device };
  struct Series {
    Kind kind = Kind::cluster;
    std::uint32_t number = 0;    // of its kind
    std::string name;            // "cluster", "class stage 0", "rack 3", "node 12", "device 5"
    double constant_w = 0;       // of `watts`: idle power, and what is beside devices
    std::vector<double> watts;   // means, by bin; the last bin ends with the simulation
  };

  // Throws core::InputError where a rack, node or device is asked for that the cluster does not
  // have, or that folding leaves out. Requires the accelerator's power to be known; the cluster
  // outlives it.
  PowerTrace(const Cluster& cluster, const SystemPower& system, std::uint32_t partitions,
             const PowerTraceOptions& options);

  void deliver(core::PartitionId partition, const pdes::Emission& emission) override;
  [[nodiscard]] std::vector<std::byte> saved() const override;
  void restore(std::span<const std::byte> saved) override;

  // Gathers what all ranks have on rank 0; collective.
  void combine(pdes::Transport& transport);
  // On rank 0, after combine(), of the same run's outcome.
  void finish(const Outcome& outcome);

  // After finish(): the cluster first.
  [[nodiscard]] const std::vector<Series>& series() const { return series_; }
  [[nodiscard]] core::Time width() const { return core::Time{width_ps_}; }
  [[nodiscard]] core::Time end() const { return end_; }

 private:
  // mW times ps: 64 bits would do for 2,600 devices and 10 s.
  __extension__ typedef __int128 Sum;
  __extension__ typedef unsigned __int128 Bits;
  using Bins = std::vector<Sum>;
  struct Saved {  // a bin of a series; the sum in two words
    std::int64_t width_ps;
    std::uint64_t series, bin, low, high;
  };
  struct alignas(64) Part {  // of a partition
    std::int64_t width_ps = 0;
    std::vector<Bins> bins;  // by series
  };

  void add_series(Kind kind, std::uint32_t number, const char* name);
  void add_groups(Kind kind, const char* name, std::uint32_t count,
                  const std::vector<std::uint32_t>& asked);
  [[nodiscard]] double constant_w(const Series& series, const Outcome& outcome) const;
  [[nodiscard]] std::uint32_t devices_in(std::uint32_t group, std::uint32_t group_devices) const;
  void fit(Part& part, std::int64_t last_ps) const;
  static void coarsen(Part& part);
  void add(Part& part, std::uint32_t series, std::int64_t mw, core::Time from,
           core::Time until) const;
  [[nodiscard]] std::vector<Bins> sum_of_parts();

  const Cluster& cluster_;
  SystemPower system_;
  std::int64_t width_ps_;
  std::uint32_t bins_max_;
  std::uint32_t node_devices_, rack_devices_;
  std::vector<Series> series_;
  // By number, 0 where there is no such series.
  std::vector<std::uint32_t> rack_series_, node_series_, device_series_;
  std::vector<Part> parts_;
  std::vector<Bins> all_;  // on rank 0
  core::Time end_;
};

}  // namespace exawarp::model
