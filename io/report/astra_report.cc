#include "io/report/astra_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "io/report/printed_json.h"
#include "io/study/suggest.h"

namespace exawarp::io {

using Json = nlohmann::ordered_json;
using model::astra::Finish;

namespace {

std::string roofline_lines(const Finish& finish) {
  const model::astra::RooflineSums& sums = finish.usage.roofline;
  const auto all = static_cast<double>(sums.compute_ns);
  return fmt::format(
      "sys[{0}], Compute bound percentage: {1:.3f}%\n"
      "sys[{0}], Average compute utilization: {2:.3f}%\n"
      "sys[{0}], Average memory utilization: {3:.3f}%\n"
      "sys[{0}], Average operation intensity: {4:.3f}\n",
      finish.rank, static_cast<double>(sums.compute_bound_ns) / all * 100,
      sums.compute_utilization / all * 100, sums.memory_utilization / all * 100,
      sums.intensity / all);
}

}  // namespace

std::string finished_lines(const Finish& finish, bool roofline) {
  std::string lines = fmt::format(
      "sys[{0}] finished, {1} cycles, exposed communication {2} cycles.\n"
      "sys[{0}], Wall time: {1}\n", finish.rank, finish.cycles,
      static_cast<std::int64_t>(finish.cycles - finish.compute));
  const auto add = [&](const char* name, const model::astra::BusyTime& time) {
    if (time.any()) lines += fmt::format("sys[{}], {} time: {}\n", finish.rank, name,
                                         time.total_ns());
  };
  add("CPU", finish.usage.host);
  add("GPU", finish.usage.accelerator);
  add("Comm", finish.usage.communication);
  add("Remote mem", finish.usage.memory);
  lines += fmt::format("sys[{}], Total compute-communication overlap: {}\n", finish.rank,
                       finish.usage.overlap_ns());
  return roofline ? lines + roofline_lines(finish) : lines;
}

std::string finished_json(const Finish& finish, bool roofline) {
  const model::astra::Usage& usage = finish.usage;
  Json json{{"rank", finish.rank},
            {"cycles", finish.cycles},
            {"exposed_communication_cycles",
             static_cast<std::int64_t>(finish.cycles - finish.compute)},
            {"cpu_cycles", usage.host.total_ns()},
            {"gpu_cycles", usage.accelerator.total_ns()},
            {"communication_cycles", usage.communication.total_ns()},
            {"remote_memory_cycles", usage.memory.total_ns()},
            {"overlap_cycles", usage.overlap_ns()}};
  if (roofline) {
    const model::astra::RooflineSums& sums = usage.roofline;
    const auto all = static_cast<double>(std::max<std::uint64_t>(1, sums.compute_ns));
    json["roofline"] = {{"compute_bound", static_cast<double>(sums.compute_bound_ns) / all},
                        {"compute_utilisation", sums.compute_utilization / all},
                        {"memory_utilisation", sums.memory_utilization / all},
                        {"operation_intensity", sums.intensity / all}};
  }
  return json.dump();
}

std::string astra_json(const AstraReport& report) {
  const model::astra::Result& result = report.result;
  Json json{{"schema", "exawarp-astra-1"},
            {"status", core::name_of(report.status)},
            {"ranks", report.npus},
            {"finished", result.finished},
            {"end_cycles", result.end},
            {"events", result.events},
            {"messages", result.messages},
            {"unfinished", result.unfinished},
            {"finishes", Json::parse("[" + report.finishes + "]")}};
  return printed(json);
}

std::string deadlock_text(const AstraReport& report) {
  const model::astra::Result& result = report.result;
  const std::uint32_t waiting = report.npus - result.finished;
  std::string text = fmt::format("deadlock at {} ns: {} of {} ranks did not finish\n", result.end,
                                 waiting, report.npus);
  for (const std::string& line : result.unfinished) text += "  " + printable(line) + "\n";
  const std::size_t more = waiting - result.unfinished.size();
  if (more > 0) text += fmt::format("  and {} more\n", more);
  return text;
}

}  // namespace exawarp::io
