// Programs have their sums by phase and type; each counts as often as devices run it.
#include "model/compute_times.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "model/device/device_model.h"

namespace exawarp::model {
namespace {

using Kind = std::pair<schema::Phase, schema::Operation>;

void add_program(const ProgramTable& table, double weight, std::map<Kind, ComputeTime>& sums) {
  for (const ComputeWork& work : table.work) {
    ComputeTime& sum = sums[{work.phase, work.operation}];
    sum.nodes += weight * static_cast<double>(work.nodes);
    sum.seconds += weight * work.ps * 1e-12;
    sum.flops += weight * work.flops;
    sum.bytes += weight * work.bytes;
  }
}

// Calls see(program, devices that run it, steps that it has) for each of the jobs that run.
template <class See>
void for_each_program(const Cluster& cluster, const Outcome& outcome, const See& see) {
  for (const PlacedJob& job : cluster.jobs()) {
    if (!job.runs) continue;
    const double steps = std::max<double>(1, job.graph->training().getSteps());
    for (std::uint32_t p = 0; p < job.graph->program_count(); ++p) {
      const std::uint32_t index = job.first_program + p;
      const auto count = static_cast<double>(outcome.classes()[index].devices);
      see(cluster.devices().programs[index], count, steps);
    }
  }
}

// Of all steps.
double host_seconds_of(const ProgramTable& table) {
  std::int64_t ps = 0;
  for (const Task& task : table.tasks) ps += task.is_of_host() ? task.wire[0].ps : 0;
  return core::to_seconds(core::Time{ps});
}

}  // namespace

double host_seconds(const Cluster& cluster, const Outcome& outcome) {
  double most = 0;
  const auto see = [&](const ProgramTable& table, double devices, double steps) {
    if (devices > 0) most = std::max(most, host_seconds_of(table) / steps);
  };
  for_each_program(cluster, outcome, see);
  return most;
}

std::vector<ComputeTime> compute_times(const Cluster& cluster, const Outcome& outcome) {
  std::map<Kind, ComputeTime> sums;
  double devices = 0;
  const auto see = [&](const ProgramTable& table, double count, double steps) {
    devices += count;
    add_program(table, count / steps, sums);
  };
  for_each_program(cluster, outcome, see);
  std::vector<ComputeTime> result;
  for (auto& [kind, sum] : sums) {
    for (double* part : {&sum.nodes, &sum.seconds, &sum.flops, &sum.bytes}) {
      if (devices > 0) *part /= devices;
    }
    sum.phase = kind.first;
    sum.operation = kind.second;
    result.push_back(sum);
  }
  return result;
}

std::vector<PassTime> pass_times(const Outcome& outcome) {
  const ClassTotals all = outcome.total();
  const double whole = core::to_seconds(outcome.simulated_time());
  if (all.devices == 0 || whole == 0) return {};
  const double steps = whole / core::to_seconds(outcome.iteration_time());
  std::vector<PassTime> result;
  for (std::size_t p = 0; p < kPassCount; ++p) {
    if (all.pass_ps[p] == 0) continue;
    const double ps = static_cast<double>(all.pass_ps[p]) / static_cast<double>(all.devices);
    result.push_back({static_cast<schema::Phase>(p), ps * 1e-12 / steps});
  }
  return result;
}

schema::DataType products_type(const Cluster& cluster, const PlacedJob& job) {
  std::array<double, kDataTypeCount> flops{};
  for (std::uint32_t p = 0; job.runs && p < job.graph->program_count(); ++p) {
    for (const ComputeWork& work : cluster.devices().programs[job.first_program + p].work) {
      if (work.operation != schema::Operation::GEMM) continue;
      flops.at(static_cast<std::size_t>(work.data_type)) += work.flops;
    }
  }
  const auto most = std::max_element(flops.begin(), flops.end());
  if (*most == 0) return schema::DataType::NONE;
  return static_cast<schema::DataType>(most - flops.begin());
}

}  // namespace exawarp::model
