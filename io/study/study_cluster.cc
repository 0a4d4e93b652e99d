#include "io/study/study_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/error.h"
#include "io/study/served_job_config.h"
#include "io/study/serving_memory.h"
#include "model/serving/iteration_time.h"

namespace exawarp::io {
namespace {

std::shared_ptr<const model::WorkloadGraph> graph_of(
    const JobConfig& job,
    std::map<std::string, std::shared_ptr<const model::WorkloadGraph>>& mapped) {
  const auto* path = std::get_if<std::string>(&job.workload);
  if (path == nullptr) {
    return std::make_shared<const model::WorkloadGraph>(
        generate(std::get<WorkloadSpec>(job.workload)));
  }
  auto& graph = mapped[*path];
  if (graph == nullptr) {
    graph = std::make_shared<const model::WorkloadGraph>(open_workload(*path));
  }
  return graph;
}

// Null of a job that serves nobody.
std::shared_ptr<model::serving::Pool> pool_of(const JobConfig& job, const Study& study) {
  if (job.serving == nullptr) return nullptr;
  const ServedJobConfig& serving = *job.serving;
  const PoolConfig& config = job.decodes ? *serving.decode : serving.pool;
  auto pool = std::make_shared<model::serving::Pool>();
  pool->spec = config.spec;
  pool->spec.latency = serving.pool.spec.latency;
  const model::serving::IterationSpec iteration = iteration_of(serving, config);
  if (config.spec.blocks == 0) {
    pool->spec.blocks = blocks_that_fit(fmt::format("{}: jobs: \"{}\"", study.file, job.name),
                                        iteration, study.system.accelerator, config.spec);
  }
  if (!config.by_formula) {
    pool->spec.iteration =
        std::make_shared<const model::serving::IterationTime>(iteration,
                                                              study.system.accelerator);
  }
  pool->layout = config.layout;
  pool->model = serving.model;
  pool->all_reduces = serving.all_reduces;
  pool->exchange = serving.exchange;
  pool->cache_precision = serving.cache_precision;
  pool->continues = job.decodes;
  if (serving.decode && !job.decodes) {
    pool->layers_per_message = serving.decode->layers_of_message();
  }
  return pool;
}

std::vector<model::BackgroundSpec> backgrounds_of(const Study& study) {
  std::vector<model::BackgroundSpec> all;
  for (const BackgroundConfig& config : study.backgrounds) {
    all.push_back(config.spec);
    // Generators that say nothing of it differ all the same.
    if (!config.seed_given) all.back().seed = study.engine.seed + all.size();
  }
  return all;
}

}  // namespace

LoadedJobs load_jobs(const Study& study) {
  LoadedJobs out;
  std::map<std::string, std::shared_ptr<const model::WorkloadGraph>> mapped;
  for (const JobConfig& job : study.jobs) {
    out.pools.push_back(pool_of(job, study));
    const model::serving::Pool* const pool = out.pools.back().get();
    out.graphs.push_back(pool == nullptr ? graph_of(job, mapped)
                                         : std::make_shared<const model::WorkloadGraph>(
                                               model::serving::pool_graph(*pool)));
    out.jobs.push_back({.name = job.name,
                        .graph = out.graphs.back().get(),
                        .placement = job.placement,
                        .start = job.start,
                        .place = job.place,
                        .pool = pool});
    if (!job.seed_given) out.jobs.back().placement.seed = study.engine.seed;
  }
  return out;
}

std::uint32_t devices_of(const Study& study, const LoadedJobs& loaded) {
  if (study.devices != 0) return study.devices;
  std::vector<model::PlacementRequest> requests;
  for (const model::Job& job : loaded.jobs) {
    requests.push_back({job.place, job.name, job.graph->device_count(), job.placement});
  }
  return model::devices_needed(requests, std::max(1u, study.system.fabric.devices_per_node()));
}

std::unique_ptr<model::Cluster> cluster_of(const Study& study, const LoadedJobs& loaded,
                                           std::optional<std::uint32_t> only_job) {
  model::ClusterOptions options{
      .compute = study.compute,
      .analytical_network = study.network_fidelity == NetworkFidelity::analytical,
      .shares_interfaces = study.shares_interfaces &&
                           study.network_fidelity == NetworkFidelity::analytical,
      .packets_inside_nodes = study.packets_inside_nodes,
      .collectives = study.collectives,
      .eager_max_bytes = study.eager_max_bytes,
      .compute_jitter = study.compute_jitter,
      .rank_noise = study.system.rank_noise,
      .seed = study.engine.seed,
      .slow_devices = study.slow_devices,
      .link_faults = study.link_faults,
      .latency_jitter = study.latency_jitter,
      .devices = devices_of(study, loaded),
      .only_job = only_job,
      .folding = study.folding,
      .trace_power = study.trace_power,
      .trace_messages = study.trace_messages,
      .timeline = study.timeline_devices,
      .faster = study.faster,
      .timeline_of_all = study.traces_all};
  if (study.network_fidelity == NetworkFidelity::packet) {
    options.packets = study.packets;
    options.packets->routing.seed = study.engine.seed;
    // A train is a promise about packets to come, which a change would have to break.
    if (!study.changes.empty()) options.packets->trains = false;
  }
  if (study.network_fidelity == NetworkFidelity::flow) {
    options.flows = study.packets;
    options.flows->routing.seed = study.engine.seed;
  }
  if (!only_job) options.backgrounds = backgrounds_of(study);
  model::Accelerator accelerator = study.system.accelerator;
  if (study.launches_graphs) accelerator.launch_latency = accelerator.graph_launch_latency;
  return std::make_unique<model::Cluster>(loaded.jobs, accelerator, study.system.fabric, options);
}

std::unique_ptr<const ChangedClusters> changed_clusters_of(const Study& study,
                                                           const LoadedJobs& loaded,
                                                           const model::Cluster& first,
                                                           std::optional<std::uint32_t> only_job) {
  if (study.changes.empty()) return nullptr;
  auto out = std::make_unique<ChangedClusters>();
  std::vector<pdes::ChangingModel::Change> changes;
  try {
    for (const StudyChange& change : study.changes) {
      out->later.push_back(cluster_of(*change.study, loaded, only_job));
      changes.push_back({change.at, out->later.back().get()});
    }
    out->model = std::make_unique<const pdes::ChangingModel>(first, std::move(changes));
  } catch (const core::InputError& error) {
    throw core::InputError(study.file, fmt::format("key \"changes\": {}", error.what()));
  }
  return out;
}

}  // namespace exawarp::io
