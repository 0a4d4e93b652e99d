#include "io/commands/astra.h"

#include <fmt/format.h>

#include <ostream>

#include "core/error.h"
#include "io/agreement.h"
#include "io/astra/config.h"
#include "io/astra/traces.h"
#include "io/chakra/reader.h"
#include "model/astra/simulation.h"

namespace exawarp::io {
namespace {

using model::astra::Finish;
using model::astra::Job;
using model::astra::Result;

Job read_job(const AstraArguments& a, Remarks& remarks) {
  Job job;
  job.network = read_astra_network(a.network);
  job.network.congestion_aware = a.congestion_aware;
  job.system = read_astra_system(a.system, job.network, a.injection_scale, remarks);
  job.system.queues_per_dimension = a.queues_per_dimension;
  job.system.rendezvous = a.rendezvous;
  job.memory = read_astra_memory(a.memory);
  const std::uint32_t ranks = job.network.npus();
  if (a.comm_groups.find("empty") == std::string::npos) {
    for (CommunicatorList& group : read_comm_groups(a.comm_groups)) {
      add_astra_group(group.id, std::move(group.ranks), ranks, a.comm_groups, job.groups);
    }
  }
  job.traces = read_astra_traces(a.workload, ranks, job.groups);
  check(job);
  return job;
}

std::string finished_line(const Finish& finish) {
  return fmt::format("sys[{}] finished, {} cycles, exposed communication {} cycles.\n",
                     finish.rank, finish.cycles,
                     static_cast<std::int64_t>(finish.cycles - finish.compute));
}

void report_deadlock(const Result& result, std::uint32_t ranks, const Console& console) {
  console.err << fmt::format("deadlock at {} ns: {} of {} ranks did not finish\n", result.end,
                             ranks - result.finished, ranks);
  for (const std::string& line : result.stuck) console.err << "  " << line << "\n";
  const std::size_t more = ranks - result.finished - result.stuck.size();
  if (more > 0) console.err << fmt::format("  and {} more\n", more);
  console.err << std::flush;
}

}  // namespace

int run_astra(const AstraArguments& a, const Console& console, pdes::Transport& transport) {
  Job job;
  Remarks remarks;
  agree(transport, [&] {
    if (transport.rank().value == 0) job = read_job(a, remarks);
  });
  if (transport.rank().value != 0) return kDone;
  for (const std::string& remark : remarks) console.err << remark << "\n";
  const Result result =
      simulate(job, [&](const Finish& finish) { console.out << finished_line(finish); });
  console.out << std::flush;
  if (result.finished == job.network.npus()) return kDone;
  report_deadlock(result, job.network.npus(), console);
  return kDeadlock;
}

}  // namespace exawarp::io
