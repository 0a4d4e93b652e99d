#include "io/formats/astra/set_up.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "io/formats/astra/traces.h"
#include "io/formats/chakra/reader.h"
#include "model/guests/astra/simulation.h"

namespace exawarp::io {

model::astra::Job read_astra_job(const AstraSetUp& s, const std::function<void(const char*)>& done,
                                 Warnings& warnings) {
  model::astra::Job job;
  job.network = read_astra_network(s.network, warnings);
  job.network.congestion_aware = s.congestion_aware;
  job.system = read_astra_system(s.system, s.injection_scale, warnings);
  job.system.queues_per_dimension = s.queues_per_dimension;
  job.system.rendezvous = s.rendezvous;
  job.memory = read_astra_memory(s.memory, warnings);
  done("when the configuration was read");
  const std::uint32_t ranks = job.network.npus();
  if (s.comm_groups.find("empty") == std::string::npos) {
    job.groups_place = s.comm_groups;
    for (CommunicatorList& group : read_comm_groups(s.comm_groups)) {
      add_astra_group(group.id, std::move(group.ranks), ranks, s.comm_groups, job.groups);
    }
  }
  job.traces = read_astra_traces(s.workload, ranks, job.groups);
  done("when the traces were read");
  const std::string next = trace_path(s.workload, ranks);
  if (std::filesystem::exists(next)) {
    warnings.push_back(fmt::format("{} is not read: the network has {} ranks", next, ranks));
  }
  check(job);
  done("when the traces were checked");
  for (std::string& warning : model::astra::warnings(job)) warnings.push_back(std::move(warning));
  return job;
}

}  // namespace exawarp::io
