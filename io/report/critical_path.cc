// The ideal schedule (model/workload) gives times and the longest chain; this file says them as
// text and as JSON.
#include "io/report/critical_path.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/units.h"
#include "io/report/workload_facts.h"
#include "model/compute/roofline.h"
#include "model/workload/inspect.h"

namespace exawarp::io {
namespace {

using Json = nlohmann::ordered_json;
using Unit = TimedWorkload::Unit;
namespace schema = model::schema;

// Of what devices compute: those of a host are always recorded.
bool has_durations(const model::WorkloadGraph& graph) {
  for (std::uint32_t p = 0; p < graph.program_count(); ++p) {
    const model::Program program = graph.program(p);
    for (std::uint32_t i = 0; i < program.node_count(); ++i) {
      const schema::Node::Reader node = program.node(i);
      if (node.getDurationPs() == schema::NO_DURATION) continue;
      if (program.stream(node.getStream()).getKind() != schema::StreamKind::HOST) return true;
    }
  }
  return false;
}

const char* unit_name(Unit unit) {
  switch (unit) {
    case Unit::roofline_ps:
      return "roofline_ps";
    case Unit::recorded_ps:
      return "recorded_ps";
    case Unit::flops:
      break;
  }
  return "flops";
}

struct PathTotals {
  std::map<std::string, std::uint64_t> by_kind;
  double flops = 0;
  std::uint64_t devices = 0;  // changes of device, and the first
};
PathTotals totals_of(const model::WorkloadGraph& graph, const model::IdealSchedule& schedule) {
  PathTotals totals;
  std::uint32_t last = 0xffffffff;
  for (const model::PathStep& step : schedule.path) {
    const auto node = graph.program(graph.program_of(core::DeviceId{step.device})).node(step.node);
    ++totals.by_kind[std::string(core::name_of(node.getKind()))];
    totals.flops += static_cast<double>(node.getFlops());
    if (step.device != last) ++totals.devices;
    last = step.device;
  }
  return totals;
}

}  // namespace

std::string amount_of(std::uint64_t value, Unit unit) {
  if (unit == Unit::flops) return with_unit(static_cast<double>(value), "FLOP");
  const core::Time time{static_cast<std::int64_t>(value)};
  return (time < core::kEndOfTime ? "" : "more than ") + core::format_time(time);
}

std::string name_of_work(const model::WorkloadGraph& graph, const schema::Node::Reader& node) {
  const std::string name = graph.node_name(node);
  if (!name.empty()) return model::printable(name);
  return std::string(node.getKind() == schema::NodeKind::COLLECTIVE
                         ? core::name_of(node.getCollective())
                         : core::name_of(node.getKind()));
}

TimedWorkload timed(const model::WorkloadGraph& graph, const model::Accelerator* accelerator) {
  TimedWorkload workload;
  workload.unit = accelerator != nullptr ? Unit::roofline_ps
                  : has_durations(graph) ? Unit::recorded_ps
                                         : Unit::flops;
  const auto cost = [&](const model::Program& program, std::uint32_t index) -> std::uint64_t {
    const schema::Node::Reader node = program.node(index);
    switch (workload.unit) {
      case Unit::roofline_ps:
        try {
          return static_cast<std::uint64_t>(
              model::Roofline(*accelerator).duration(model::operation_of(node, {})).ps);
        } catch (const core::InputError& error) {
          throw core::InputError(graph.place(), error.what());
        }
      case Unit::recorded_ps:
        return node.getDurationPs() == schema::NO_DURATION ? 0 : node.getDurationPs();
      case Unit::flops:
        break;
    }
    return node.getFlops();
  };
  workload.schedule = model::ideal_schedule(graph, cost);
  return workload;
}

std::string critical_path_text(const model::WorkloadGraph& graph, const TimedWorkload& workload) {
  if (!workload.schedule) return "\nCritical path  not computed: too many devices differ\n";
  const model::IdealSchedule& schedule = *workload.schedule;
  if (!schedule.finishes)
    return "\nCritical path  none, it cannot finish: " + schedule.waiting + "\n";
  const PathTotals totals = totals_of(graph, schedule);
  std::string kinds;
  for (const auto& [kind, count] : totals.by_kind) {
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", core::format_grouped(count), kind);
  }
  return fmt::format(
      "\nCritical path  {} without a network ({}): {} nodes ({}), {}, {} "
      "stretches on one device\n",
      amount_of(schedule.length, workload.unit), unit_name(workload.unit),
      core::format_grouped(schedule.path.size()), kinds, with_unit(totals.flops, "FLOP"),
      core::format_grouped(totals.devices));
}

std::string critical_path_json(const model::WorkloadGraph& graph, const TimedWorkload& workload) {
  if (!workload.schedule) return "null";
  const model::IdealSchedule& schedule = *workload.schedule;
  if (!schedule.finishes) {
    return Json{{"finishes", false}, {"waiting", schedule.waiting}}.dump();
  }
  const PathTotals totals = totals_of(graph, schedule);
  Json steps = Json::array();
  for (const model::PathStep& step : schedule.path) {
    const auto node = graph.program(graph.program_of(core::DeviceId{step.device})).node(step.node);
    steps.push_back({{"device", step.device},
                     {"node", step.node},
                     {"name", name_of_work(graph, node)},
                     {"kind", core::name_of(node.getKind())},
                     {"start", step.times.start},
                     {"end", step.times.end}});
  }
  const Json json{{"finishes", true},          {"unit", unit_name(workload.unit)},
                  {"length", schedule.length}, {"flops", totals.flops},
                  {"nodes", totals.by_kind},   {"steps", std::move(steps)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace exawarp::io
