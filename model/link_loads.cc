// Programs as a list of who sends how much to whom, by kind of communication. All amounts are what
// an interface out of a node takes for them, in picoseconds, which is how tasks know sizes.
#include "model/link_loads.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <utility>

#include "model/collective/algorithm.h"
#include "model/device/device_model.h"
#include "model/network/faults/link_faults.h"
#include "model/topology/even_spread.h"

namespace exawarp::model {
namespace {

using core::DeviceId;

constexpr double kPsPerSecond = 1e12;
constexpr auto kAcross = static_cast<std::size_t>(Interface::scale_out);

// A task that a program has some times over.
struct Repeated {
  Task task;
  double times = 0;
};

// What makes two tasks of a program send the same to the same.
using What = std::tuple<TaskKind, TimeClass, std::uint8_t, std::uint32_t, std::int32_t,
                        decltype(Task::wire)>;
What what_of(const Task& task) {
  const bool is_send = task.kind == TaskKind::send;
  if (task.kind == TaskKind::stepped) {
    return {task.kind, task.time_class, task.channel, task.tag, 0, {}};
  }
  return {task.kind,
          task.time_class,
          task.channel,
          is_send ? task.peer_is_absolute : task.steps,
          is_send ? task.peer : 0,
          task.wire};
}

// Collectives and sends of a program, in the order of their first ones.
std::vector<Repeated> repeated(const ProgramTable& table) {
  std::map<What, std::size_t> known;
  std::vector<Repeated> out;
  for (const Task& task : table.tasks) {
    if (task.kind != TaskKind::send && task.kind != TaskKind::stepped &&
        task.kind != TaskKind::collective) {
      continue;
    }
    const auto [at, is_new] = known.try_emplace(what_of(task), out.size());
    if (is_new) out.push_back({task, 0});
    out[at->second].times += 1;
  }
  return out;
}

class Demands {
 public:
  explicit Demands(const Cluster& cluster) : network_(cluster.devices().network) {
    for (const PlacedJob& job : cluster.jobs()) {
      if (job.runs) add(job, std::span(cluster.devices().programs).subspan(job.first_program));
    }
  }

  [[nodiscard]] bool too_many() const { return messages_ > kLoadMessagesMax; }
  [[nodiscard]] const std::vector<Demand>& of(TimeClass kind) const {
    return by_kind_[index_of(kind)];
  }

 private:
  // A rank and its program. Tables of folded devices lead to their stand-ins, jobs to all devices.
  struct Place {
    const PlacedJob& job;
    const ProgramTable& table;
    DeviceId rank;

    [[nodiscard]] DeviceId device() const { return job.device_of(rank); }
    [[nodiscard]] DeviceId peer(const Task& task) const {
      return job.device_of(task.peer_rank(rank));
    }
    [[nodiscard]] Membership membership(const Task& task) const {
      return table.channels[task.channel].among.membership(*job.graph, rank);
    }
    [[nodiscard]] DeviceId member(const Task& task, std::uint32_t position) const {
      return job.device_of(table.channels[task.channel].among.member(*job.graph, rank, position));
    }
  };

  void add(const PlacedJob& job, std::span<const ProgramTable> tables) {
    std::vector<std::vector<Repeated>> all;
    for (std::uint32_t p = 0; p < job.graph->program_count(); ++p) {
      all.push_back(repeated(tables[p]));
    }
    for (DeviceId rank{0}; rank.value < job.graph->device_count(); ++rank.value) {
      const std::uint32_t p = job.graph->program_of(rank);
      for (const Repeated& each : all[p]) {
        if (too_many()) return;
        add_task({job, tables[p], rank}, each);
      }
    }
  }
  void add_task(const Place& place, const Repeated& each) {
    const Task& task = each.task;
    if (task.kind == TaskKind::send) {
      return add_message(place.device(), place.peer(task), each,
                         static_cast<double>(task.wire[kAcross].ps));
    }
    const Membership in = place.membership(task);
    if (in.size < 2) return;
    if (task.kind == TaskKind::stepped) return add_steps(place, each, in);
    core::Time chunk = task.wire[kAcross];
    std::uint32_t steps = task.steps;
    if (steps == kStepsVary) {
      const RingPlan plan =
          ring_plan(static_cast<schema::CollectiveType>(task.collective), task.wire[0].ps, in.size);
      steps = plan.steps;
      chunk = network_.wire_time(plan.chunk_bytes, Interface::scale_out);
    }
    add_message(place.device(), place.member(task, next_in_ring(in.position, in.size)), each,
                static_cast<double>(chunk.ps) * steps);
  }
  // A collective's messages, lane by lane.
  void add_steps(const Place& place, const Repeated& each, const Membership& in) {
    const SteppedTask& what = place.table.stepped[each.task.tag];
    Collective c = what.collective;
    c.members = in.size;
    const bool alike = phases_are_alike(c);
    for (std::uint32_t lane = 0; lane < c.lanes; ++lane) {
      const std::uint32_t phases = phase_count(c, in.position, lane);
      for (std::uint32_t phase = 0; phase < (alike ? std::min(1u, phases) : phases); ++phase) {
        const std::uint32_t sends = phase_of(c, in.position, lane, phase).sends;
        for (std::uint32_t i = 0; i < sends; ++i) {
          const Transfer t = transfer_of(c, in.position, lane, phase, i);
          if (t.peer == kNoMember || t.bytes == 0) continue;
          const core::Time wire = network_.wire_time(
              carried_bytes(what.choice.payload_ppm[kAcross], t.bytes), Interface::scale_out);
          add_message(place.device(), place.member(each.task, t.peer), each,
                      static_cast<double>(wire.ps) * (alike ? phases : 1));
        }
      }
    }
  }
  void add_message(DeviceId from, DeviceId to, const Repeated& each, double ps) {
    ++messages_;
    if (from == to || network_.layout().same_node(from, to)) return;
    std::vector<Demand>& all = by_kind_[index_of(each.task.time_class)];
    const double amount = ps * each.times;
    if (!all.empty() && all.back().from == from && all.back().to == to) {
      all.back().amount += amount;
    } else {
      all.push_back({from, to, amount});
    }
  }

  const Network& network_;
  std::uint64_t messages_ = 0;
  std::array<std::vector<Demand>, kTimeClassCount> by_kind_;
};

// Where messages may take any of several interfaces, each has the same part of them.
double busiest_interface(const Network& network, std::uint32_t devices,
                         const std::vector<Demand>& demands) {
  const std::uint32_t ports = network.ports(Interface::scale_out);
  std::vector<double> sent(std::size_t{devices} * ports), received(sent.size());
  for (const Demand& d : demands) {
    const auto count = [&](std::vector<double>& side, DeviceId device, Interface interface) {
      double* const first = &side[std::size_t{device.value} * ports];
      if (!network.has_rails()) {
        first[static_cast<std::size_t>(interface) - kAcross] += d.amount;
        return;
      }
      for (std::uint32_t p = 0; p < ports; ++p) first[p] += d.amount / ports;
    };
    const Ends ends = network.ends_of(Interface::scale_out, d.from, d.to, 0);
    count(sent, d.from, ends.out);
    count(received, d.to, ends.in);
  }
  return std::max(*std::ranges::max_element(sent), *std::ranges::max_element(received));
}

bool is_told(const Cluster& cluster) {
  if (cluster.has_packets() || cluster.has_flows() || !cluster.served().empty()) return false;
  const Network& network = cluster.devices().network;
  return network.tree() == nullptr && network.uses(Interface::scale_out);
}

}  // namespace

std::vector<LinkLoad> link_loads(const Cluster& cluster) {
  std::vector<LinkLoad> out;
  if (!is_told(cluster)) return out;
  const std::uint32_t devices = cluster.device_count();
  const std::unique_ptr<const Topology> topology = make_topology(cluster.fabric(), devices);
  if (topology->counts().links > kLoadLinksMax) return out;
  const Demands demands(cluster);
  if (demands.too_many()) return out;
  const Network& network = cluster.devices().network;
  EvenSpread spread(*topology);
  const double rate = static_cast<double>(network.bandwidth(Interface::scale_out)) /
                      static_cast<double>(cluster.options().faster.bandwidth);
  for (std::size_t k = 0; k < kTimeClassCount; ++k) {
    const auto kind = static_cast<TimeClass>(k);
    if (demands.of(kind).empty()) continue;
    spread.clear();
    spread.add(demands.of(kind));
    const EvenSpread::PortLoad most = spread.most([&](std::uint8_t link) {
      return rate / static_cast<double>(topology->link_kinds()[link].bandwidth_bytes_per_s);
    });
    out.push_back(
        {.kind = kind,
         .interface_s = busiest_interface(network, devices, demands.of(kind)) / kPsPerSecond,
         .link_s = most.load / kPsPerSecond,
         .link = fmt::format("{} to {}", vertex_name(*topology, most.at),
                             vertex_name(*topology, topology->link(most.at, most.port).peer))});
  }
  return out;
}

}  // namespace exawarp::model
