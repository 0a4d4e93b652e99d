#include "io/life/report_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "core/build_info.h"
#include "core/digest.h"
#include "core/error.h"
#include "core/mapped_file.h"
#include "io/life/failure.h"
#include "io/life/simulate.h"
#include "io/life/sweep_database.h"
#include "io/report/page/pictures.h"
#include "io/report/summary_file.h"
#include "io/study/in_file.h"
#include "io/study/suggest.h"
#include "io/study/text_file.h"
#include "pdes/transport.h"

namespace exawarp::io {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kPicturesLimit_s = 60;  // host time of a simulation for pictures, at least
constexpr double kAgainFactor = 4;       // what a simulation may take longer than the first

// How a run is simulated for its pictures: as it was, or quickly.
struct Retake {
  std::vector<std::string> overrides{"memory.ignore=true"};
  bool as_it_was = true;
  bool without_faults = false;
};

Retake retake_of(const Json& summary, const ReportOptions& options) {
  Retake out;
  out.as_it_was = summary.value("run_s", 0.0) <= options.simulation_s;
  if (!out.as_it_was) {
    out.overrides.insert(out.overrides.end(), {"network.fidelity=analytical", "fold=auto"});
  }
  return out;
}

// Faults of links are not known at fidelity analytical: then the study without any.
Study study_of(const std::string& study_file, Retake& retake) {
  const auto read = [&] {
    return in_file(study_file, [&] { return read_study(study_file, retake.overrides); });
  };
  if (retake.as_it_was) return read();
  try {
    return read();
  } catch (const core::InputError&) {
    retake.without_faults = true;
    retake.overrides.emplace_back("faults={}");
    return read();
  }
}

RunReport simulate_again(const std::string& study_file, Retake& retake, double limit_s) {
  const Study study = study_of(study_file, retake);
  RunOptions run{.time_limit_s = limit_s};
  run.timeline.emplace();
  run.count_ports = study.network_fidelity == NetworkFidelity::packet;
  run.trace_power = study.system.accelerator.power.known();
  const auto transport = pdes::make_single_transport();
  return simulate(study, run, *transport);
}

std::string note_of(const Json& summary, const RunReport& taken, const Retake& retake) {
  if (!retake.as_it_was) {
    return fmt::format("Pictures are of the same study{} at network fidelity analytical, devices "
                       "that do the same folded: {:.6g} s in place of {:.6g} s.",
                       retake.without_faults ? " without its faults," : "",
                       core::to_seconds(taken.result.last_event),
                       summary.value("simulated_time_ps", 0.0) / 1e12);
  }
  if (core::to_hex(taken.result.digest) == summary.value("digest", "")) return "";
  return "This program simulates the study with another digest than the results have: they are of "
         "another version, and pictures may differ.";
}

// Sets pictures and note. What stands in the way of pictures is no reason to have no report.
void add_pictures(const std::string& study_file, const ReportOptions& options, Json& run) {
  const Json& summary = run["summary"];
  if (summary.value("status", "") != "finished") {
    run["note"] = "No pictures: the run did not come to its end.";
    return;
  }
  try {
    Retake retake = retake_of(summary, options);
    if (options.notify) {
      options.notify(fmt::format("{}: simulated again for pictures{}", study_file,
                                 retake.as_it_was ? "" : ", at fidelity analytical"));
    }
    const RunReport taken = simulate_again(
        study_file, retake, std::max(kPicturesLimit_s, kAgainFactor * options.simulation_s));
    if (taken.status != RunStatus::finished) {
      run["note"] = "No pictures: the simulation for them did not come to its end.";
      return;
    }
    std::string note = note_of(summary, taken, retake);
    run["pictures"] = pictures_of(taken);
    run["note"] = std::move(note);
  } catch (const core::InputError& error) {
    run["note"] = "No pictures: " + one_line(error.what());
  }
}

Json run_of(const std::string& path, const ReportOptions& options) {
  const std::string file = summary_path(path);
  Json run{{"name", ""}, {"path", path}, {"summary", read_summary(file)}, {"study", ""},
           {"note", ""}};
  run["name"] = run["summary"].value("study", "");
  const std::filesystem::path study =
      std::filesystem::path(file).parent_path() / kResolvedStudyFile;
  std::error_code ignored;
  if (!std::filesystem::exists(study, ignored)) {
    run["note"] = "No pictures: study.resolved.yaml is not beside the summary.";
    return run;
  }
  const core::MappedFile text(study.string());
  run["study"] = std::string(io::text_of(text));
  if (options.pictures) add_pictures(study.string(), options, run);
  return run;
}

Json sweep_of(const std::string& path) {
  const auto usual = usual_measures();
  const SweepResults results = read_sweep_results({path}, {usual.begin(), usual.end()});
  Json measures = Json::array(), points = Json::array();
  for (const Measure& measure : results.measures) {
    measures.push_back({{"name", measure.name},
                        {"unit", measure.unit},
                        {"more_is_better", measure.more_is_better}});
  }
  for (const SweepPoint& point : results.points) {
    Json figures = Json::array();
    for (const std::optional<double>& figure : point.figures) {
      figures.push_back(figure ? Json(*figure) : Json());
    }
    points.push_back({{"number", point.number},
                      {"state", core::name_of(point.state)},
                      {"values", point.values},
                      {"figures", std::move(figures)},
                      {"reason", point.outcome.reason}});
  }
  return {{"name", results.name},
          {"path", path},
          {"keys", results.keys},
          {"measures", std::move(measures)},
          {"points", std::move(points)}};
}

}  // namespace

Json report_data(const std::vector<std::string>& paths, const ReportOptions& options) {
  Json runs = Json::array(), sweeps = Json::array();
  std::string title;
  for (const std::string& path : paths) {
    const bool is_sweep = path.ends_with(".db");
    Json& all = is_sweep ? sweeps : runs;
    all.push_back(is_sweep ? sweep_of(path) : run_of(path, options));
    if (!title.empty()) title += ", ";
    title += all.back()["name"].get<std::string>();
  }
  return {{"title", "Exawarp: " + title},
          {"version", core::build_info().version},
          {"runs", std::move(runs)},
          {"sweeps", std::move(sweeps)}};
}

}  // namespace exawarp::io
