// Draws what one device does, from the ideal schedule: as text, SVG or Chrome's trace format.
#include "io/report/workload_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "core/names.h"
#include "io/report/append.h"
#include "io/report/svg.h"
#include "model/workload/inspect.h"
#include "model/workload/names.h"

namespace exawarp::io {
namespace {

using Json = nlohmann::ordered_json;
using Unit = TimedWorkload::Unit;
namespace schema = model::schema;

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
    append(out, "{:>16} {:>16}  {:<16.16} {:<12} {}\n", amount_of(bar.times.start, unit),
           amount_of(bar.times.end, unit), model::printable(program.stream_name(bar.stream)),
           core::name_of(node.getKind()), name_of_work(graph, node));
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
                      {"name", name_of_work(graph, node)},
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

// ---- picture

struct Colour {
  const char* fill;
  const char* says;
};

// Of what a node is for; the order of the legend.
constexpr std::array<Colour, 8> kPaint{{{"#4878a8", "forward, or no pass"},
                                        {"#2f6f5e", "backward"},
                                        {"#7fae6a", "recomputation"},
                                        {"#8858a0", "optimizer, gradients summed"},
                                        {"#c06030", "collective"},
                                        {"#d8a43a", "send, receive"},
                                        {"#707070", "memory, host"},
                                        {"#d0d0d0", "marker"}}};

std::size_t paint_of(const schema::Node::Reader& node) {
  switch (node.getKind()) {
    case schema::NodeKind::COLLECTIVE:
      return 4;
    case schema::NodeKind::SEND:
    case schema::NodeKind::RECEIVE:
      return 5;
    case schema::NodeKind::MEMORY:
      return 6;
    case schema::NodeKind::MARKER:
      return 7;
    case schema::NodeKind::COMPUTE:
      break;
  }
  switch (node.getPhase()) {
    case schema::Phase::BACKWARD:
    case schema::Phase::WEIGHTS:
      return 1;
    case schema::Phase::RECOMPUTE:
      return 2;
    case schema::Phase::OPTIMIZER:
    case schema::Phase::ACCUMULATE:
      return 3;
    default:
      return 0;
  }
}

// Between ticks: 1, 2 or 5 times a power of ten, for 5 to 13 of them.
std::uint64_t tick_of(std::uint64_t length) {
  std::uint64_t power = 1;
  while (length / power >= 50) power *= 10;
  for (const std::uint64_t step : {1u, 2u, 5u}) {
    if (length / (step * power) <= 12) return step * power;
  }
  return 10 * power;
}

struct Frame {
  static constexpr double kLeft = 160, kWidth = 1'200, kRow = 26, kTop = 40;
  std::uint64_t length = 1;  // > 0
  double bottom = 0;         // of the streams
  [[nodiscard]] double x(std::uint64_t at) const {
    return kLeft + kWidth * static_cast<double>(at) / static_cast<double>(length);
  }
};

void draw_axis(Svg& svg, const Frame& frame, Unit unit) {
  const std::uint64_t tick = tick_of(frame.length);
  for (std::uint64_t at = 0; at <= frame.length; at += tick) {
    const double x = frame.x(at);
    svg.line({x, Frame::kTop - 4}, {x, frame.bottom + 4}, {.colour = "#d8d8d8"});
    svg.text({x, frame.bottom + 18}, at == 0 ? "0" : amount_of(at, unit), "middle");
    if (frame.length - at < tick) break;
  }
}

// Returns where it ends.
double draw_legend(Svg& svg, const std::array<bool, kPaint.size()>& used, double y) {
  constexpr double kLegendStep = 210;
  double x = Frame::kLeft;
  for (std::size_t i = 0; i < kPaint.size(); ++i) {
    if (!used[i]) continue;
    svg.bar({x, y}, 14, 12, kPaint[i].fill, "");
    svg.text({x + 20, y + 11}, kPaint[i].says);
    x += kLegendStep;
    if (x + kLegendStep > Frame::kLeft + Frame::kWidth) x = Frame::kLeft, y += 20;
  }
  return y + 20;
}

std::string svg_timeline(const model::WorkloadGraph& graph, const model::Program& program,
                         const std::vector<Bar>& bars, std::uint32_t device,
                         const TimedWorkload& workload) {
  Frame frame;
  frame.length = std::max<std::uint64_t>(1, workload.schedule->length);
  frame.bottom = Frame::kTop + Frame::kRow * program.stream_count();
  Svg svg;
  svg.text({8, 20}, fmt::format("{}, device {}: {} without a network",
                                model::printable(graph.name()), device,
                                amount_of(workload.schedule->length, workload.unit)));
  draw_axis(svg, frame, workload.unit);
  for (std::uint32_t s = 0; s < program.stream_count(); ++s) {
    svg.text({8, Frame::kTop + Frame::kRow * s + 16}, model::printable(program.stream_name(s)));
  }
  std::array<bool, kPaint.size()> used{};
  for (const Bar& bar : bars) {
    const auto node = program.node(bar.node);
    const std::size_t paint = paint_of(node);
    used[paint] = true;
    const double x = frame.x(bar.times.start);
    svg.bar({x, Frame::kTop + Frame::kRow * bar.stream},
            std::max(0.3, frame.x(bar.times.end) - x), Frame::kRow - 6, kPaint[paint].fill,
            fmt::format("{}: {} to {}", name_of_work(graph, node),
                        amount_of(bar.times.start, workload.unit),
                        amount_of(bar.times.end, workload.unit)));
  }
  const double bottom = draw_legend(svg, used, frame.bottom + 34);
  return svg.document(Frame::kLeft + Frame::kWidth + 60, bottom + 10);
}

}  // namespace

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
