// What model::inspect() counted, as tables that fit a screen, and without loss as JSON.
#include "io/report/workload_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/units.h"
#include "io/report/append.h"
#include "io/report/memory_report.h"
#include "io/report/printed_json.h"

namespace exawarp::io {
namespace {

using core::format_count;
using core::format_grouped;
using Json = nlohmann::ordered_json;

std::string bytes_text(double bytes) { return with_unit(bytes, "B"); }

double node_count(const model::WorkTotals& totals) {
  double sum = 0;
  for (const double n : totals.nodes) sum += n;
  return sum;
}

Json totals_json(const model::WorkTotals& t) {
  Json nodes = Json::object();
  for (std::size_t k = 0; k < t.nodes.size(); ++k) {
    nodes[core::name_of(static_cast<model::schema::NodeKind>(k))] = t.nodes[k];
  }
  return {{"flops", t.flops},
          {"bytes_read", t.bytes_read},
          {"bytes_written", t.bytes_written},
          {"communication_bytes", t.comm_bytes},
          {"nodes", std::move(nodes)}};
}

// Bytes a device of one program holds, over its nodes.
Json memory_json(const model::ProgramMemory& memory) {
  Json timeline = Json::array();
  for (const model::ProgramMemory::Point& point : memory.timeline) {
    timeline.push_back({{"node", point.node}, {"bytes", point.bytes}});
  }
  return {{"weights", memory.weights},      {"gradients", memory.gradients},
          {"optimizer", memory.optimizer},  {"activations_peak", memory.largest().bytes},
          {"peak", memory.peak()},          {"peak_node", memory.largest().node},
          {"timeline", std::move(timeline)}};
}

void add_head(const model::WorkloadFacts& f, std::string& out) {
  append(out, "{}\nDevices     {}", f.name, format_grouped(f.devices));
  const char* separator = " = ";
  for (const model::AxisFacts& axis : f.axes) {
    append(out, "{}{} {}", separator, axis.name, axis.size);
    separator = " x ";
  }
  out += "\n";
  if (f.steps > 0) {
    append(out,
           "Training    {} parameters; {} step{} of {} sequences, {} tokens, "
           "{} micro-batches a pipeline, {}\n",
           format_count(static_cast<double>(f.parameters)), f.steps, f.steps == 1 ? "" : "s",
           format_grouped(f.sequences_per_step), format_grouped(f.tokens_per_step), f.micro_batches,
           with_unit(f.model_flops_per_step, "FLOP"));
  }
  append(out, "Work        {} nodes on all devices, {}, {} communicated\n",
         format_count(node_count(f.total)), with_unit(f.total.flops, "FLOP"),
         bytes_text(f.total.comm_bytes));
}

// The traffic matrix of messages, as far as a screen holds it.
void add_messages(const model::WorkloadFacts& f, std::string& out) {
  constexpr std::size_t kLinesMax = 40;
  if (f.messages.empty()) return;
  append(out, "\n  {:<22} {:>8} {:>8} {:>12} {:>12}\n", "messages along", "from", "to",
         "operations", "bytes");
  for (std::size_t i = 0; i < std::min(f.messages.size(), kLinesMax); ++i) {
    const model::MessageFacts& m = f.messages[i];
    append(out, "  {:<22.22} {:>8} {:>8} {:>12} {:>12}\n", m.over, m.from, m.to,
           format_count(m.operations), bytes_text(m.bytes));
  }
  if (f.messages.size() > kLinesMax) {
    append(out, "  ... and {} more; --json has all\n", f.messages.size() - kLinesMax);
  }
}

}  // namespace

std::string with_unit(double count, const char* unit) {
  const std::string text = format_count(count);
  return text + (text.find(' ') == std::string::npos ? " " : "") + unit;
}

std::string facts_text(const model::WorkloadFacts& f, const std::string& critical_path) {
  std::string out;
  add_head(f, out);
  out += "\n";
  append(out, "  {:<22} {:>8} {:>10} {:>12} {:>10} {:>12}\n", "program", "devices", "nodes",
         "parameters", "FLOP", "communicated");
  for (const model::ProgramFacts& p : f.programs) {
    append(out, "  {:<22.22} {:>8} {:>10} {:>12} {:>10} {:>12}\n", p.name,
           format_grouped(p.devices), format_count(node_count(p.per_device)),
           format_count(static_cast<double>(p.parameters)), format_count(p.per_device.flops),
           bytes_text(p.per_device.comm_bytes));
  }
  out += "\n";
  append(out, "  {:<22} {:<16} {:>8} {:>12} {:>12} {:>12}\n", "communication over", "type",
         "members", "operations", "bytes", "sent");
  for (const model::CommunicationFacts& c : f.communication) {
    append(out, "  {:<22.22} {:<16} {:>8} {:>12} {:>12} {:>12}\n", c.over, c.type, c.members_max,
           format_count(c.operations), bytes_text(c.bytes), bytes_text(c.wire_bytes));
  }
  add_messages(f, out);
  out += memory_text(f);
  out += critical_path;
  return out;
}

std::string facts_json(const model::WorkloadFacts& f, const std::string& critical_path) {
  Json axes = Json::array(), programs = Json::array(), communication = Json::array();
  for (const model::AxisFacts& a : f.axes) axes.push_back({{"name", a.name}, {"size", a.size}});
  for (const model::ProgramFacts& p : f.programs) {
    programs.push_back({{"name", p.name},
                        {"devices", p.devices},
                        {"parameters_per_device", p.parameters},
                        {"streams", p.streams},
                        {"per_device", totals_json(p.per_device)}});
    if (p.memory) programs.back()["memory"] = memory_json(*p.memory);
  }
  for (const model::CommunicationFacts& c : f.communication) {
    communication.push_back({{"over", c.over},
                             {"type", c.type},
                             {"members_max", c.members_max},
                             {"operations", c.operations},
                             {"bytes", c.bytes},
                             {"wire_bytes", c.wire_bytes}});
  }
  Json messages = Json::array();
  for (const model::MessageFacts& m : f.messages) {
    messages.push_back({{"over", m.over},
                        {"from", m.from},
                        {"to", m.to},
                        {"operations", m.operations},
                        {"bytes", m.bytes}});
  }
  const Json json{{"schema", "exawarp-workload-facts-1"},
                  {"name", f.name},
                  {"devices", f.devices},
                  {"axes", std::move(axes)},
                  {"steps", f.steps},
                  {"micro_batches", f.micro_batches},
                  {"tokens_per_step", f.tokens_per_step},
                  {"sequences_per_step", f.sequences_per_step},
                  {"parameters", f.parameters},
                  {"model_flops_per_step", f.model_flops_per_step},
                  {"total", totals_json(f.total)},
                  {"programs", std::move(programs)},
                  {"communication", std::move(communication)},
                  {"messages_complete", f.messages_complete},
                  {"messages", std::move(messages)},
                  {"critical_path", Json::parse(critical_path)}};
  return printed(json);
}

}  // namespace exawarp::io
