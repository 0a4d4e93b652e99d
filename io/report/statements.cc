// Each statement is worked out from the study, the shares of device time and the phases' compute
// times; text and JSON say the same.
#include "io/report/statements.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>
#include <vector>

#include "io/report/append.h"
#include "io/report/results.h"
#include "model/compute_times.h"

namespace exawarp::io {
namespace {

using Json = nlohmann::ordered_json;
using model::TimeClass;
using model::TransformerSpec;

constexpr double kShareLeast = 0.0005;  // 0.1 % when rounded
constexpr double kTimesLeast = 1.05;    // that a link is asked for more than interfaces

std::string name_of_loss(TimeClass c) {
  if (c == TimeClass::waiting) return "bubble";
  return std::string(model::kTimeClassNames[model::index_of(c)]);
}

std::string bubble_setting(const TransformerSpec& spec) {
  if (spec.parallel.pipeline == 1) return "";
  const std::int64_t chunks = 2 * spec.parallel.pipeline * spec.schedule.virtual_stages;
  const std::int64_t places = model::layers_of(spec.model) + (spec.schedule.count_ends ? 2 : 0);
  const bool may_split = spec.schedule.kind == model::ScheduleKind::k1F1B && chunks <= places;
  return may_split ? "schedule.virtual_stages, global_batch_sequences" : "global_batch_sequences";
}

std::string data_setting(const TransformerSpec& spec) {
  if (reduces_each_micro_batch(spec)) return "gradient_reduction";
  if (!spec.overlap.gradients) return "overlap.gradients";
  if (!spec.overlap.parameters && spec.parallel.sharding != model::Sharding::kZero3 &&
      spec.parallel.sharding != model::Sharding::kNone) {
    return "overlap.parameters";
  }
  return "global_batch_sequences";
}

// The key that there is still something to gain from, or else the one that sizes the axis.
std::string setting_of(TimeClass c, const TransformerSpec& spec) {
  switch (c) {
    case TimeClass::tensor:
      return spec.overlap.tensor == model::TensorOverlap::kPipelined ? "parallel.tensor"
                                                                     : "overlap.tensor";
    case TimeClass::context:
      return "parallel.context";
    case TimeClass::expert:
      return spec.overlap.experts ? "parallel.expert" : "overlap.experts";
    case TimeClass::data:
      return data_setting(spec);
    case TimeClass::pipeline:
      return spec.overlap.pipeline ? "parallel.pipeline" : "overlap.pipeline";
    case TimeClass::waiting:
      return bubble_setting(spec);
    case TimeClass::compute:
    case TimeClass::other:
    case TimeClass::idle:
      break;
  }
  return "";
}

const TransformerSpec* transformer_of(const Study& study) {
  const auto* spec = std::get_if<WorkloadSpec>(&study.jobs[0].workload);
  return spec == nullptr ? nullptr : std::get_if<TransformerSpec>(spec);
}

PassTimes passes_of(const RunReport& r) {
  PassTimes passes;
  for (const model::ComputeTime& c : model::compute_times(*r.cluster, *r.outcome)) {
    if (c.phase == model::schema::Phase::FORWARD) passes.forward += c.seconds;
    if (c.phase == model::schema::Phase::BACKWARD) passes.inputs += c.seconds;
    if (c.phase == model::schema::Phase::WEIGHTS) passes.weights += c.seconds;
  }
  return passes;
}

// Exposed communication, the largest first.
std::vector<std::pair<std::string, double>> exposed(const TimeShares& shares) {
  std::vector<std::pair<std::string, double>> list;
  for (std::size_t i = 1; i <= model::kCommunicationKindCount; ++i) {
    if (shares[i] >= kShareLeast) list.emplace_back(model::kTimeClassNames[i], shares[i]);
  }
  std::ranges::stable_sort(list, std::greater{}, [](const auto& each) { return each.second; });
  return list;
}

// Where the busiest link is asked for more than the busiest interface.
std::string fabric_text(const std::vector<model::LinkLoad>& fabric) {
  std::string list;
  for (const model::LinkLoad& load : fabric) {
    if (load.times() < kTimesLeast) continue;
    append(list, "{}{} {:.1f} times ({})", list.empty() ? "" : ", ",
           model::kTimeClassNames[model::index_of(load.kind)], load.times(), load.link);
  }
  if (list.empty()) return "";
  return fmt::format(
      "Fabric      busiest link against busiest interface: {};\n"
      "            analytical and message count interfaces alone, flow and packet links, too\n",
      list);
}

}  // namespace

std::optional<double> ideal_bubble(const TransformerSpec& spec, const PassTimes& passes) {
  const auto stages = static_cast<double>(spec.parallel.pipeline);
  if (spec.parallel.pipeline == 1 || spec.overlap.experts) return std::nullopt;
  double idle = stages - 1, work = static_cast<double>(micro_batches_of(spec));
  switch (spec.schedule.kind) {
    case model::ScheduleKind::kGpipe:
      break;
    case model::ScheduleKind::k1F1B:
      work *= static_cast<double>(spec.schedule.virtual_stages);
      break;
    case model::ScheduleKind::kZeroH1:
      idle *= passes.forward + passes.inputs - passes.weights;
      work *= passes.forward + passes.inputs + passes.weights;
      break;
    case model::ScheduleKind::kDualPipe:
      return std::nullopt;
  }
  return idle + work > 0 ? std::optional(idle / (idle + work)) : std::nullopt;
}

std::optional<Loss> largest_loss(const TimeShares& shares, const TransformerSpec* spec) {
  const auto most = std::max_element(shares.begin() + 1, shares.end());  // but for compute
  if (*most < kShareLeast) return std::nullopt;
  const auto c = static_cast<TimeClass>(most - shares.begin());
  return Loss{name_of_loss(c), *most, spec == nullptr ? "" : setting_of(c, *spec)};
}

std::optional<Statements> statements_of(const RunReport& r) {
  if (r.status != RunStatus::finished || r.study->jobs.size() != 1) return std::nullopt;
  Statements s;
  const model::ClassTotals total = r.outcome->total();
  for (std::size_t i = 0; i < s.shares.size(); ++i) {
    s.shares[i] = r.outcome->fraction(total, static_cast<TimeClass>(i));
  }
  const TransformerSpec* spec = transformer_of(*r.study);
  if (spec != nullptr) {
    s.layout = *spec;
    s.ideal_bubble = ideal_bubble(*spec, passes_of(r));
  }
  s.loss = largest_loss(s.shares, spec);
  s.fabric = r.link_loads;
  s.host_s = model::host_seconds(*r.cluster, *r.outcome);
  s.step_s = core::to_seconds(r.outcome->iteration_time());
  return s;
}

std::string statements_text(const Statements& s) {
  std::string out;
  if (s.layout) {
    const model::ParallelSpec& p = s.layout->parallel;
    append(out,
           "Layout      TP {}, PP {}, DP {}, CP {}, EP {}; chunks a stage {}, micro-batches {}\n",
           p.tensor, p.pipeline, p.data, p.context, p.expert, s.layout->schedule.virtual_stages,
           micro_batches_of(*s.layout));
  }
  if (s.ideal_bubble) {
    append(out, "Bubble      {:.1f} % of device time; the schedule's own {:.1f} %\n",
           100 * s.shares[model::index_of(TimeClass::waiting)], 100 * *s.ideal_bubble);
  }
  std::string list;
  for (const auto& [name, share] : exposed(s.shares)) {
    append(list, "{}{} {:.1f} %", list.empty() ? "" : ", ", name, 100 * share);
  }
  if (!list.empty()) append(out, "Exposed     {}\n", list);
  if (s.loss) {
    append(out, "Loss        most: {}, {:.1f} %", s.loss->name, 100 * s.loss->share);
    if (!s.loss->setting.empty()) append(out, "; moved by {}", s.loss->setting);
    out += "\n";
  }
  if (s.host_s > 0 && s.step_s > 0) {
    append(out, "Launches    take {:.1f} % of the step, where a device's host has most to do\n",
           100 * s.host_s / s.step_s);
  }
  out += fabric_text(s.fabric);
  return out;
}

Json statements_json(const Statements& s) {
  Json json = Json::object();
  if (s.layout) {
    const model::ParallelSpec& p = s.layout->parallel;
    json["layout"] = {{"tensor", p.tensor},
                      {"pipeline", p.pipeline},
                      {"data", p.data},
                      {"context", p.context},
                      {"expert", p.expert},
                      {"chunks", s.layout->schedule.virtual_stages},
                      {"micro_batches", micro_batches_of(*s.layout)}};
  }
  if (s.ideal_bubble) {
    json["bubble"] = {{"ideal", *s.ideal_bubble},
                      {"measured", s.shares[model::index_of(TimeClass::waiting)]}};
  }
  if (s.loss) {
    json["largest_loss"] = {
        {"name", s.loss->name}, {"share", s.loss->share}, {"setting", s.loss->setting}};
  }
  if (s.host_s > 0 && s.step_s > 0) {
    json["launches"] = {{"host_s", s.host_s}, {"share", s.host_s / s.step_s}};
  }
  for (const model::LinkLoad& load : s.fabric) {
    json["fabric"].push_back({{"kind", model::kTimeClassNames[model::index_of(load.kind)]},
                              {"times", load.times()},
                              {"interface_s", load.interface_s},
                              {"link_s", load.link_s},
                              {"link", load.link}});
  }
  return json;
}

}  // namespace exawarp::io
