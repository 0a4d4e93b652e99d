// summary.json section by section, each from the object that knows it; and the directory for it,
// which is tried out before a run so that an hour's work does not end at a missing permission.
#include "io/report/results.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/build_info.h"
#include "core/error.h"
#include "core/output_file.h"
#include "core/units.h"
#include "io/report/energy_report.h"
#include "io/report/engine_statistics.h"
#include "io/report/flow_facts.h"
#include "io/report/skip_facts.h"
#include "io/report/memory_report.h"
#include "io/report/packet_counters.h"
#include "io/report/printed_json.h"
#include "io/report/provenance.h"
#include "io/report/served_report.h"
#include "io/report/statements.h"
#include "io/report/step_path.h"
#include "model/compute_times.h"
#include "model/energy/power_figures.h"
#include "model/workload/names.h"
#include "pdes/event.h"
#include "pdes/phold.h"

namespace exawarp::io {

namespace {

using Json = nlohmann::ordered_json;
using model::ClassTotals;
using model::Outcome;
using model::TimeClass;

// Fractions of device time: the contract's four, which add up to 1, then exposed communication by
// kind.
template <class Fraction>  // double(TimeClass)
Json breakdown(const Fraction& fraction) {
  Json by_kind = Json::object();
  double exposed = 0;
  for (std::size_t i = 1; i <= model::kCommunicationKindCount; ++i) {
    const double share = fraction(static_cast<TimeClass>(i));
    exposed += share;
    by_kind[std::string(model::kTimeClassNames[i])] = share;
  }
  return {{"compute", fraction(TimeClass::compute)},
          {"exposed_communication", exposed},
          {"waiting", fraction(TimeClass::waiting)},
          {"idle", fraction(TimeClass::idle)},
          {"exposed_communication_by_kind", std::move(by_kind)}};
}
Json breakdown(const Outcome& outcome, const ClassTotals& totals) {
  return breakdown([&](TimeClass c) { return outcome.fraction(totals, c); });
}

// One entry a job, in the study's order.
Json jobs_json(const RunReport& r) {
  Json list = Json::array();
  const std::vector<model::JobTotals> all = r.outcome->jobs();
  for (std::size_t j = 0; j < all.size(); ++j) {
    const model::JobTotals& job = all[j];
    const model::TrainingFigures training = r.outcome->training_of(j);
    Json entry{{"name", job.name},
               {"devices", job.totals.devices},
               {"placement", core::name_of(r.study->jobs[j].placement.kind)},
               {"finished_devices", job.totals.finished},
               {"start_ps", job.totals.start.ps},
               {"finish_ps", job.totals.last_finish.ps},
               {"duration_ps", job.duration.ps},
               {"step_time_ps", job.step_time.ps},
               {"tokens_per_s", training.tokens_per_s},
               {"model_flops_utilisation", training.model_flops_utilisation},
               {"breakdown", breakdown([&](TimeClass c) { return Outcome::fraction(job, c); })}};
    if (j < r.alone.size()) {
      entry["alone_ps"] = r.alone[j].ps;
      entry["slowdown"] = slowdown_of(job, r.alone[j]);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

Json energy_json(const model::Energy& energy, const Outcome& outcome) {
  const EnergyFigures figures = figures_of(energy, outcome);
  Json out{{"total_j", energy.total_j()},
           {"step_j", figures.step_j},
           {"token_j", figures.token_j},
           {"kwh", energy.kwh()},
           {"device_w", energy.device_w()},
           {"node_w", energy.node_w()},
           {"by_part_j",
            {{"computing", energy.computing_j},
             {"communicating", energy.communicating_j},
             {"idle", energy.idle_j},
             {"nodes", energy.nodes_j},
             {"switches", energy.switches_j},
             {"links", energy.links_j}}}};
  Json known = Json::object();
  for (const auto& [how, provenance] : names_of(model::Provenance{})) {
    const double joules =
        energy.computing_by_provenance_j.at(static_cast<std::size_t>(provenance));
    known[std::string(how)] = energy.computing_j > 0 ? joules / energy.computing_j : 0;
  }
  out["computing_known_by"] = std::move(known);
  if (figures.carbon_g > 0) out["carbon_g"] = figures.carbon_g;
  if (figures.cost > 0) {
    out["cost"] = figures.cost;
    out["cost_per_hour"] = figures.cost_per_hour;
  }
  return out;
}

Json power_json(const model::PowerTrace& trace) {
  Json list = Json::array();
  for (const model::PowerTrace::Series& series : trace.series()) {
    const model::PowerSamples samples{series.watts, trace.width(), trace.end()};
    const model::PowerFigures f = model::figures_of(samples);
    Json lines = Json::array();
    for (const model::SpectralLine& line : model::spectrum_of(samples)) {
      lines.push_back({{"hz", line.hz}, {"amplitude_w", line.amplitude_w}});
    }
    list.push_back({{"name", series.name},
                    {"mean_w", f.mean_w},
                    {"peak_w", f.peak_w},
                    {"peak_at_ps", f.peak_at.ps},
                    {"least_w", f.least_w},
                    {"least_at_ps", f.least_at.ps},
                    {"rise_w_per_s", f.rise_w_per_s},
                    {"rise_at_ps", f.rise_at.ps},
                    {"fall_w_per_s", f.fall_w_per_s},
                    {"fall_at_ps", f.fall_at.ps},
                    {"spectrum", std::move(lines)}});
  }
  return {{"bin_ps", trace.width().ps}, {"end_ps", trace.end().ps}, {"series", std::move(list)}};
}

// Whether one device stands for several, and why not.
Json fold_json(const model::Cluster& cluster) {
  const bool folded = cluster.why_not_folded().empty();
  Json json{{"folded", folded},
            {"simulated_devices", cluster.device_lps()},
            {"devices", cluster.device_count()}};
  if (folded)
    json["exact"] = cluster.folds_exactly();
  else
    json["why_not"] = cluster.why_not_folded();
  return json;
}

// Whether some steps stand for all, and why not.
Json repetition_json(const Repetition& r) {
  Json json{{"repeated", r.why_not.empty()}};
  if (!r.why_not.empty()) {
    json["why_not"] = r.why_not;
    return json;
  }
  json.update(Json{{"steps", r.steps},
                   {"simulated_steps", r.simulated_steps},
                   {"simulated_steps_of_all_runs", r.steps_in_all},
                   {"period_ps", r.period.ps},
                   {"from_ps", r.from.ps}});
  return json;
}

// Of an average device and step.
Json compute_json(const RunReport& r) {
  Json list = Json::array();
  for (const model::ComputeTime& c : model::compute_times(*r.cluster, *r.outcome)) {
    list.push_back({{"phase", core::name_of(c.phase)},
                    {"operation", core::name_of(c.operation)},
                    {"nodes", c.nodes},
                    {"time_s", c.seconds},
                    {"flops", c.flops},
                    {"bytes", c.bytes}});
  }
  return list;
}

// Of an average device and step, where the schedule runs passes together.
Json passes_json(const Outcome& outcome) {
  Json json = Json::object();
  double bubble = core::to_seconds(outcome.iteration_time());
  for (const model::PassTime& p : model::pass_times(outcome)) {
    json[std::string(core::name_of(p.pass)) + "_s"] = p.seconds;
    bubble -= p.seconds;
  }
  if (!json.empty()) json["bubble_s"] = bubble;
  return json;
}

Json background_json(const model::BackgroundTotals& b) {
  return {{"sent_messages", b.sent_messages},
          {"sent_bytes", b.sent_bytes},
          {"received_messages", b.received_messages},
          {"received_bytes", b.received_bytes}};
}

Json classes(const Outcome& outcome) {
  Json list = Json::array();
  for (const ClassTotals& totals : outcome.classes()) {
    list.push_back({{"name", totals.name},
                    {"devices", totals.devices},
                    {"finished_devices", totals.finished},
                    {"last_finish_ps", totals.last_finish.ps},
                    {"breakdown", breakdown(outcome, totals)}});
  }
  return list;
}

// Traffic between partitions as model::Traffic weighs it, parts in events expected.
Json placement_quality(const partition::Quality& quality) {
  return {{"cut", quality.cut},
          {"rank_cut", quality.rank_cut},
          {"heaviest_part", quality.heaviest_part},
          {"lightest_part", quality.lightest_part}};
}

// What the network did at packet fidelity.
Json packets_json(const RunReport& r) {
  Json json;
  for (const auto& [key, value] : packet_counters(r.outcome->packets())) json[key] = value;
  const double run_s = r.result.run_s;
  const auto hops = static_cast<double>(r.outcome->packets().packet_hops);
  json["packet_hops_per_s"] = run_s > 0 ? hops / run_s : 0;
  if (r.cluster->packet_network().skips()) json["fast_forward"] = skips_json(r.outcome->skips());
  return json;
}

// Shares of the compute time of all devices.
Json pedigree_json(const Outcome& outcome) {
  const model::Pedigree pedigree = outcome.pedigree();
  const double all = pedigree.total_ps();
  const auto share = [all](double ps) { return all > 0 ? ps / all : 0; };
  Json operations = Json::array();
  for (const auto& [name, operation] : names_of(model::schema::Operation{})) {
    if (pedigree.total_ps(operation) == 0) continue;
    Json entry{{"operation", std::string(name)}, {"share", share(pedigree.total_ps(operation))}};
    for (const auto& [how, provenance] : names_of(model::Provenance{})) {
      entry[std::string(how)] = share(pedigree.ps.at(static_cast<std::size_t>(operation))
                                          .at(static_cast<std::size_t>(provenance)));
    }
    operations.push_back(std::move(entry));
  }
  Json json{{"compute_time_error", pedigree.relative_error()},
            {"step_time_error", outcome.step_time_error()}};
  for (const auto& [how, provenance] : names_of(model::Provenance{})) {
    json[std::string(how)] = share(pedigree.total_ps(provenance));
  }
  json["operations"] = std::move(operations);
  return json;
}

// What devices' idle time makes of their clock.
Json clock_json(const RunReport& r) {
  const model::Accelerator& accelerator = r.study->system.accelerator;
  return {{"sustained_slowdown", accelerator.sustained_slowdown()},
          {"idle_share_assumed", accelerator.idle_share},
          {"idle_share", r.outcome->idle_share()}};
}

void add_waiting(const Outcome& outcome, Json& summary) {
  if (outcome.unfinished() == 0) return;
  Json waiting = Json::array();
  for (const model::WaitingDevice& device : outcome.waiting()) waiting.push_back(device.text);
  summary["unfinished_devices"] = outcome.unfinished();
  summary["waiting_devices"] = std::move(waiting);
}

void add_run(const RunReport& r, Json& summary) {
  const pdes::RunResult& result = r.result;
  summary["committed_events"] = result.total.committed_events();
  summary["processed_events"] = result.total.processed_events;
  summary["rolled_back_events"] = result.total.rolled_back_events;
  summary["rollbacks"] = result.total.rollbacks();
  summary["gvt_rounds"] = result.total.gvt_rounds;
  summary["events_per_s"] = events_per_s(result);
  summary["setup_s"] = r.setup_s;
  summary["run_s"] = result.run_s;
  summary["peak_rss_bytes"] = r.peak_rss_bytes;
  summary["digest"] = core::to_hex(result.digest);
}

}  // namespace

double events_per_s(const pdes::RunResult& result) {
  return result.run_s > 0
             ? static_cast<double>(result.total.committed_events()) / result.run_s
             : 0;
}

double slowdown_of(const model::JobTotals& job, core::Time alone) {
  return alone.ps == 0 ? 0 : static_cast<double>(job.duration.ps) / static_cast<double>(alone.ps);
}

std::string summary_json(const RunReport& r) {
  const Study& study = *r.study;
  const Outcome& outcome = *r.outcome;
  const model::TrainingFigures training = outcome.training();
  Json summary{{"schema", "exawarp-summary-1"},
               {"exawarp_version", core::build_info().version},
               {"study", study.name},
               {"study_file", study.file},
               {"status", core::name_of(r.status)},
               {"devices", r.cluster->device_count()},
               {"switches", r.cluster->switch_count()},
               {"system", study.system.name},
               {"accelerator", study.system.accelerator.name},
               {"network_fidelity", core::name_of(study.network_fidelity)},
               {"compute_fidelity", core::name_of(study.compute.fidelity)},
               {"compute_jitter", study.compute_jitter.deviation},
               {"rank_noise", study.system.rank_noise.deviation},
               {"sync", core::name_of(r.sync)},
               {"ranks", r.ranks},
               {"threads", r.threads},
               {"partitions", r.result.partition_count},
               {"placement", core::name_of(study.placement)},
               {"seed", study.engine.seed},
               {"simulated_time_ps", outcome.simulated_time().ps},
               {"iteration_time_ps", outcome.iteration_time().ps},
               {"tokens_per_s", training.tokens_per_s},
               {"model_flops_utilisation", training.model_flops_utilisation},
               {"tflops_per_device", training.tflops_per_device}};
  add_run(r, summary);
  add_waiting(outcome, summary);
  summary["breakdown"] = breakdown(outcome, outcome.total());
  if (const auto stated = statements_of(r)) summary["statements"] = statements_json(*stated);
  if (const auto energy = energy_of(r)) {
    summary["energy"] = energy_json(*energy, outcome);
    const double token_j = answered_token_j(r, *energy);
    if (token_j > 0) summary["energy"]["answered_token_j"] = token_j;
  }
  if (r.power != nullptr) summary["power"] = power_json(*r.power);
  if (r.path) summary["critical_path"] = Json::parse(path_json(r));
  if (r.steady_step) summary["steady_step_ps"] = r.steady_step->ps;
  summary["memory"] = memory_json(study, *r.jobs);
  summary["compute"] = compute_json(r);
  if (Json passes = passes_json(outcome); !passes.empty()) summary["passes"] = std::move(passes);
  summary["pedigree"] = pedigree_json(outcome);
  summary["clock"] = clock_json(r);
  summary["classes"] = classes(outcome);
  summary["jobs"] = jobs_json(r);
  if (Json served = served_json(r); !served.empty()) summary["serving"] = std::move(served);
  if (study.folding != model::Folding::off) summary["fold"] = fold_json(*r.cluster);
  if (r.repetition) summary["repetition"] = repetition_json(*r.repetition);
  if (!study.backgrounds.empty()) summary["background"] = background_json(outcome.background());
  if (r.cluster->has_packets()) summary["packets"] = packets_json(r);
  if (r.cluster->has_flows()) summary["flows"] = flows_json(outcome.flows());
  summary["engine"] = engine_statistics(r.result);
  summary["provenance"] = provenance_json(r);
  if (r.quality) summary["placement_quality"] = placement_quality(*r.quality);
  return printed(summary);
}

std::string phold_json(const PholdReport& r) {
  const pdes::RunResult& result = r.result;
  return printed(Json{{"committed_events", result.total.committed_events()},
                      {"run_s", result.run_s},
                      {"events_per_s", events_per_s(result)},
                      {"rolled_back_events", result.total.rolled_back_events},
                      {"digest", core::to_hex(result.digest)},
                      {"peak_rss_bytes", r.peak_rss_bytes},
                      {"processed_events", result.total.processed_events},
                      {"rollbacks", result.total.rollbacks()},
                      {"gvt_rounds", result.total.gvt_rounds},
                      {"setup_s", result.setup_s},
                      {"lp_state_bytes", pdes::kPholdStateBytes},
                      {"event_payload_bytes", pdes::kPayloadBytes},
                      {"sync", core::name_of(r.sync)},
                      {"ranks", r.ranks},
                      {"threads", result.threads},
                      {"partitions", result.partition_count},
                      {"engine", engine_statistics(result)}});
}

void prepare_directory(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    throw core::SystemError(fmt::format("{}: cannot create the directory of the results: {}",
                                        directory, error.message()));
  }
  if (access(directory.c_str(), W_OK | X_OK) != 0) {
    throw core::SystemError(
        fmt::format("{}: cannot write results there: {}", directory, std::strerror(errno)));
  }
  for (const char* name : kSummaryFiles) {
    const std::string path = directory + "/" + name;
    const std::filesystem::file_status status = std::filesystem::status(path, error);
    // A pipe is opened once, when there is something for its reader.
    if (!std::filesystem::is_fifo(status)) const core::OutputFile trial(path);
  }
}

void write_and_print(const std::function<void()>& write, const std::function<void()>& print) {
  std::exception_ptr problem;
  try {
    write();
  } catch (...) {
    problem = std::current_exception();
  }
  print();
  if (problem) std::rethrow_exception(problem);
}

}  // namespace exawarp::io
