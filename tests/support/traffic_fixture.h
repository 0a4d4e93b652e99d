// Small packet networks with round figures, and one call that runs traffic over them in any mode.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/network/packet/traffic_outcome.h"
#include "model/topology/clos.h"
#include "model/topology/graph.h"
#include "tests/support/run_matrix.h"

namespace exawarp::tests {

// 1 GB/s: a byte takes 1 ns. Links 100 ns, switches 10 ns, endpoints 0.
constexpr core::Time kHop{100'000};
constexpr core::Time kSwitch{10'000};
constexpr std::int64_t kLineBytesPerS = 1'000'000'000;
constexpr core::Time line_time(std::int64_t bytes) { return core::Time{bytes * 1'000}; }
model::LinkKind round_link(std::int64_t bytes_per_s = kLineBytesPerS);

// `left` devices on the first of `switches` switches in a row, `right` on the last, all links
// alike.
std::unique_ptr<model::Topology> chain(std::uint32_t switches, std::uint32_t left,
                                       std::uint32_t right,
                                       std::int64_t bytes_per_s = kLineBytesPerS);
// Leaves of `below` devices, each with one link to each of `spines` spines.
std::unique_ptr<model::Topology> leaf_spine(std::uint32_t devices, std::uint32_t below,
                                            std::uint32_t spines);

// 1,000-byte packets, store and forward, unbounded queues.
model::PacketOptions plain_packets();
// The same without loss: input buffers of 32 packets; pauses from 10 packets on.
model::PacketOptions packets_with_credits();
model::PacketOptions packets_with_pauses();

// A random one of the registered algorithms.
template <class Entry>
std::string drawn_name(std::span<const Entry> entries, Draws& draw) {
  return std::string(entries[draw.below(entries.size())].name);
}
// Of every congestion control that has a least rate.
void set_least_rates(model::PacketOptions& options, std::int64_t bytes_per_s);
bool keeps_to_first_port(const model::PacketOptions& options);

struct TrafficRun {
  std::string digest;
  model::TrafficTotals totals;
  std::vector<model::FlowTimes::Flow> flows;  // by time of finish
  std::vector<std::uint64_t> pauses;  // that came to the ports of each LP of this rank
  std::vector<model::PortState> ports;  // by LP, of this rank
  pdes::Statistics statistics;
};

TrafficRun run_traffic(const model::TrafficModel& traffic, const RunCase& run = {},
                       std::uint32_t atom_shift = 0);

// What had happened before time `end`, by the sequential run.
struct Snapshot {
  std::vector<double> sent_bytes;  // by device: given to its first line, headers included
  double marks = 0;                // packets
  core::Time queue{};              // the longest at a switch's port, as the line's time
};
Snapshot snapshot_at(const model::TrafficModel& traffic, core::Time end);

}  // namespace exawarp::tests
