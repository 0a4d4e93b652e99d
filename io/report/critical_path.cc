// The ideal schedule (model/workload) gives times and the longest chain; this file says them as
// text, as JSON, and draws one device's streams as text, SVG or Chrome's trace format.
#include "io/report/critical_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "core/units.h"
#include "io/report/workload_drawing.h"
#include "io/report/workload_facts.h"
#include "model/compute/roofline.h"
#include "model/workload/inspect.h"

namespace exawarp::io {
namespace {

using Json = nlohmann::ordered_json;
using Unit = TimedWorkload::Unit;
namespace schema = model::schema;

bool has_durations(const model::WorkloadGraph& graph) {
  for (std::uint32_t p = 0; p < graph.program_count(); ++p) {
    for (std::uint32_t i = 0; i < graph.program(p).node_count(); ++i) {
      if (graph.program(p).node(i).getDurationPs() != schema::NO_DURATION) return true;
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

std::string amount(std::uint64_t value, Unit unit) {
  if (unit == Unit::flops) return with_unit(static_cast<double>(value), "FLOP");
  const core::Time time{static_cast<std::int64_t>(value)};
  return (time < core::kEndOfTime ? "" : "more than ") + core::format_time(time);
}

std::string what(const model::WorkloadGraph& graph, const schema::Node::Reader& node) {
  const std::string name = graph.node_name(node);
  if (!name.empty()) return model::printable(name);
  return std::string(node.getKind() == schema::NodeKind::COLLECTIVE
                         ? core::name_of(node.getCollective())
                         : core::name_of(node.getKind()));
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

// One bar of a timeline.
struct Bar {
  std::uint32_t stream;
  std::uint32_t node;
  model::NodeTimes times;
};

std::vector<Bar> bars_of(const model::Program& program,
                         const std::vector<model::NodeTimes>& times) {
  std::vector<Bar> bars;
  for (std::uint32_t i = 0; i < program.node_count(); ++i) {
    bars.push_back({program.node(i).getStream(), i, times[i]});
  }
  std::ranges::sort(bars, {}, [&](const Bar& b) {
    return std::tuple{b.times.start, b.times.end, b.stream, program.node(b.node).getPosition()};
  });
  return bars;
}

std::string text_timeline(const model::WorkloadGraph& graph, const model::Program& program,
                          const std::vector<Bar>& bars, Unit unit) {
  std::string out =
      fmt::format("{:>16} {:>16}  {:<16} {:<12} {}\n", "start", "end", "stream", "kind", "node");
  for (const Bar& bar : bars) {
    const auto node = program.node(bar.node);
    out +=
        fmt::format("{:>16} {:>16}  {:<16.16} {:<12} {}\n", amount(bar.times.start, unit),
                    amount(bar.times.end, unit), model::printable(program.stream_name(bar.stream)),
                    core::name_of(node.getKind()), what(graph, node));
  }
  return out;
}

std::string chrome_timeline(const model::WorkloadGraph& graph, const model::Program& program,
                            const std::vector<Bar>& bars, std::uint32_t device) {
  Json events = Json::array();
  events.push_back({{"ph", "M"},
                    {"pid", device},
                    {"name", "process_name"},
                    {"args", {{"name", fmt::format("device {}", device)}}}});
  for (std::uint32_t s = 0; s < program.stream_count(); ++s) {
    events.push_back({{"ph", "M"},
                      {"pid", device},
                      {"tid", s},
                      {"name", "thread_name"},
                      {"args", {{"name", model::printable(program.stream_name(s))}}}});
  }
  constexpr double kPsPerUs = 1e6;
  for (const Bar& bar : bars) {
    const auto node = program.node(bar.node);
    events.push_back({{"ph", "X"},
                      {"pid", device},
                      {"tid", bar.stream},
                      {"name", what(graph, node)},
                      {"cat", core::name_of(node.getKind())},
                      {"ts", static_cast<double>(bar.times.start) / kPsPerUs},
                      {"dur", static_cast<double>(bar.times.end - bar.times.start) / kPsPerUs},
                      {"args",
                       {{"node", bar.node},
                        {"flops", node.getFlops()},
                        {"bytes", node.getBytesRead() + node.getBytesWritten()},
                        {"communication_bytes", node.getCommBytes()}}}});
  }
  const Json document{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ns"}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string svg_timeline(const model::WorkloadGraph& graph, const model::Program& program,
                         const std::vector<Bar>& bars, std::uint32_t device,
                         const TimedWorkload& workload) {
  constexpr double kLeft = 160, kWidth = 1'200, kRow = 26, kTop = 40;
  const auto length = static_cast<double>(std::max<std::uint64_t>(1, workload.schedule->length));
  const double height = kTop + kRow * program.stream_count() + 30;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<text x=\"8\" y=\"20\">{}, device {}: {} "
      "without a network</text>\n",
      kLeft + kWidth + 20, height, xml_text(model::printable(graph.name())), device,
      amount(workload.schedule->length, workload.unit));
  for (std::uint32_t s = 0; s < program.stream_count(); ++s) {
    out += fmt::format("<text x=\"8\" y=\"{:.0f}\">{}</text>\n", kTop + kRow * s + 16,
                       xml_text(model::printable(program.stream_name(s))));
  }
  for (const Bar& bar : bars) {
    const auto node = program.node(bar.node);
    const bool computes = node.getKind() == schema::NodeKind::COMPUTE;
    const double x = kLeft + kWidth * static_cast<double>(bar.times.start) / length;
    const double end = kLeft + kWidth * static_cast<double>(bar.times.end) / length;
    out += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{:.0f}\" fill=\"{}\" "
        "stroke=\"#ffffff\" stroke-width=\"0.2\"><title>{}: {} to {}</title></rect>\n",
        x, kTop + kRow * bar.stream, std::max(0.3, end - x), kRow - 6,
        computes ? "#4878a8" : "#c06030", xml_text(what(graph, node)),
        amount(bar.times.start, workload.unit), amount(bar.times.end, workload.unit));
  }
  return out + "</svg>\n";
}

}  // namespace

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
      amount(schedule.length, workload.unit), unit_name(workload.unit),
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
                     {"name", what(graph, node)},
                     {"kind", core::name_of(node.getKind())},
                     {"start", step.times.start},
                     {"end", step.times.end}});
  }
  const Json json{{"finishes", true},          {"unit", unit_name(workload.unit)},
                  {"length", schedule.length}, {"flops", totals.flops},
                  {"nodes", totals.by_kind},   {"steps", std::move(steps)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string timeline(const model::WorkloadGraph& graph, const TimedWorkload& workload,
                     std::uint32_t device, TimelineForm form) {
  if (!workload.schedule || !workload.schedule->finishes) {
    throw core::InputError(graph.place(), workload.schedule
                                              ? "has no timeline: " + workload.schedule->waiting
                                              : "has no timeline: too many devices differ");
  }
  const model::Program& program = graph.program(graph.program_of(core::DeviceId{device}));
  const std::vector<Bar> bars =
      bars_of(program, workload.schedule->times[workload.schedule->class_of[device]]);
  switch (form) {
    case TimelineForm::text:
      return text_timeline(graph, program, bars, workload.unit);
    case TimelineForm::svg:
      return svg_timeline(graph, program, bars, device, workload);
    case TimelineForm::chrome:
      break;
  }
  return chrome_timeline(graph, program, bars, device);
}

}  // namespace exawarp::io
