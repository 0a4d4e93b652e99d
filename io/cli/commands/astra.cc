#include "io/cli/commands/astra.h"

#include <fmt/format.h>

#include <filesystem>
#include <ostream>

#include "core/error.h"
#include "io/cli/time_limit.h"
#include "io/formats/astra/config.h"
#include "io/formats/astra/traces.h"
#include "io/formats/chakra/reader.h"
#include "io/life/agreement.h"
#include "io/study/suggest.h"
#include "model/guests/astra/simulation.h"

namespace exawarp::io {
namespace {

using model::astra::Finish;
using model::astra::Job;
using model::astra::Result;

Job read_job(const AstraArguments& a, const TimeLimit& limit, Remarks& remarks) {
  const auto done = [&](const char* step) { limit.check(a.system, step); };
  Job job;
  job.network = read_astra_network(a.network, remarks);
  job.network.congestion_aware = a.congestion_aware;
  job.system = read_astra_system(a.system, a.injection_scale, remarks);
  job.system.queues_per_dimension = a.queues_per_dimension;
  job.system.rendezvous = a.rendezvous;
  job.memory = read_astra_memory(a.memory, remarks);
  done("when the configuration was read");
  const std::uint32_t ranks = job.network.npus();
  if (a.comm_groups.find("empty") == std::string::npos) {
    job.groups_place = a.comm_groups;
    for (CommunicatorList& group : read_comm_groups(a.comm_groups)) {
      add_astra_group(group.id, std::move(group.ranks), ranks, a.comm_groups, job.groups);
    }
  }
  job.traces = read_astra_traces(a.workload, ranks, job.groups);
  done("when the traces were read");
  const std::string next = trace_path(a.workload, ranks);
  if (std::filesystem::exists(next)) {
    remarks.push_back(fmt::format("{} is not read: the network has {} ranks", next, ranks));
  }
  check(job);
  done("when the traces were checked");
  for (std::string& remark : model::astra::remarks(job)) remarks.push_back(std::move(remark));
  return job;
}

std::string roofline_lines(const Finish& finish) {
  const model::astra::RooflineSums& sums = finish.usage.roofline;
  const auto all = static_cast<double>(sums.compute_ns);
  return fmt::format(
      "sys[{0}], Compute bound percentage: {1:.3f}%\n"
      "sys[{0}], Average compute utilization: {2:.3f}%\n"
      "sys[{0}], Average memory utilization: {3:.3f}%\n"
      "sys[{0}], Average operation intensity: {4:.3f}\n",
      finish.rank, static_cast<double>(sums.compute_bound_ns) / all * 100,
      sums.compute_utilization / all * 100, sums.memory_utilization / all * 100,
      sums.intensity / all);
}

// What ASTRA-sim prints of a rank that finishes.
std::string finished_lines(const Finish& finish, bool roofline) {
  std::string lines = fmt::format(
      "sys[{0}] finished, {1} cycles, exposed communication {2} cycles.\n"
      "sys[{0}], Wall time: {1}\n", finish.rank, finish.cycles,
      static_cast<std::int64_t>(finish.cycles - finish.compute));
  const auto add = [&](const char* name, const model::astra::BusyTime& time) {
    if (time.any()) lines += fmt::format("sys[{}], {} time: {}\n", finish.rank, name,
                                         time.total_ns());
  };
  add("CPU", finish.usage.host);
  add("GPU", finish.usage.accelerator);
  add("Comm", finish.usage.communication);
  add("Remote mem", finish.usage.memory);
  lines += fmt::format("sys[{}], Total compute-communication overlap: {}\n", finish.rank,
                       finish.usage.overlap_ns());
  return roofline ? lines + roofline_lines(finish) : lines;
}

void report_deadlock(const Result& result, std::uint32_t ranks, const Console& console) {
  console.err << fmt::format("deadlock at {} ns: {} of {} ranks did not finish\n", result.end,
                             ranks - result.finished, ranks);
  for (const std::string& line : result.stuck) console.err << "  " << printable(line) << "\n";
  const std::size_t more = ranks - result.finished - result.stuck.size();
  if (more > 0) console.err << fmt::format("  and {} more\n", more);
  console.err << std::flush;
}

}  // namespace

int run_astra(const AstraArguments& a, const Console& console, pdes::Transport& transport) {
  const TimeLimit limit(a.time_limit_s, console.started);
  Job job;
  Remarks remarks;
  agree(transport, [&] {
    if (transport.rank().value == 0) job = read_job(a, limit, remarks);
  });
  if (transport.rank().value != 0) return kDone;
  for (const std::string& remark : remarks) console.err << printable(remark) << "\n";
  // Kept until the end is certain, as nothing is written where time runs out.
  std::string lines;
  const Result result = simulate(
      job, [&](const Finish& finish) { lines += finished_lines(finish, job.system.roofline); },
      [&] { return limit.is_over(); });
  if (!result.late.empty()) {
    throw core::InputError(a.workload, "simulated time passes 146 years: " + result.late +
                                           "; expected smaller amounts, or higher rates");
  }
  console.out << lines << std::flush;
  if (result.stopped) {
    const std::string reached = fmt::format("at {} ns: {} of {} ranks finished", result.end,
                                            result.finished, job.network.npus());
    console.err << limit.stopped_text(a.system, reached) << std::flush;
    return kOutOfResources;
  }
  if (result.finished == job.network.npus()) return kDone;
  report_deadlock(result, job.network.npus(), console);
  return kDeadlock;
}

}  // namespace exawarp::io
