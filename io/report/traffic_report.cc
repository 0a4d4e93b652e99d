// Completion times as quantiles over flows, and the ports' totals; packet-hops per second of
// processor time say how fast the network model itself was.
#include "io/report/traffic_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/units.h"
#include "io/report/engine_statistics.h"
#include "io/report/flow_facts.h"
#include "io/report/packet_counters.h"
#include "io/report/printed_json.h"
#include "io/report/skip_facts.h"
#include "io/study/study.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

using Json = nlohmann::ordered_json;

std::string traffic_line(const char* what, const std::string& text) {
  return fmt::format("  {:<20}{}\n", what, text);
}

struct CompletionTimes {
  core::Time least, median, p99, most;
  std::int64_t mean_bytes_per_s = 0;  // of a flow: its bytes over its time, averaged
};

CompletionTimes times_of(const TrafficReport& r) {
  CompletionTimes t;
  if (r.flows->flows().empty()) return t;
  t.least = r.flows->quantile(0);
  t.median = r.flows->quantile(0.5);
  t.p99 = r.flows->quantile(0.99);
  t.most = r.flows->quantile(1);
  double sum = 0;
  for (const model::FlowTimes::Flow& flow : r.flows->flows()) {
    sum += static_cast<double>(flow.bytes) / core::to_seconds(flow.took);
  }
  t.mean_bytes_per_s =
      static_cast<std::int64_t>(sum / static_cast<double>(r.flows->flows().size()));
  return t;
}

double per_cpu_s(const TrafficReport& r, std::uint64_t count) {
  return r.cpu_s > 0 ? static_cast<double>(count) / r.cpu_s : 0;
}

std::string of_packets(const TrafficReport& r) {
  const model::TrafficTotals& n = r.totals;
  std::string out = traffic_line(
      "packets", fmt::format("{} marked, {} dropped, {} sent again, {} without a way",
                             core::format_grouped(n.marks), core::format_grouped(n.drops),
                             core::format_grouped(n.repeated), core::format_grouped(n.lost)));
  out += traffic_line("pauses", core::format_grouped(n.pauses));
  out += traffic_line("deepest queue", core::format_time(n.deepest_queue) + " of the line");
  out += traffic_line("packet-hops",
                      fmt::format("{}, {}/s of processor time", core::format_grouped(n.packet_hops),
                                  core::format_count(per_cpu_s(r, n.packet_hops))));
  if (r.traffic->packet_network().skips()) {
    out += traffic_line("skipped", skips_text(n.skips, n.packet_hops + n.packets_sent));
  }
  return out;
}

std::string of_flows(const TrafficReport& r) {
  const std::string rate = core::format_count(per_cpu_s(r, r.totals.flows.ended));
  return traffic_line("flows", rate + "/s of processor time") +
         traffic_line("shares", shares_text(r.totals.flows));
}

}  // namespace

std::string traffic_json(const TrafficReport& r) {
  const CompletionTimes t = times_of(r);
  const model::TrafficTotals& n = r.totals;
  Json json{{"schema", "exawarp-traffic-1"},
              {"study", r.study->name},
              {"devices", r.topology->devices()},
              {"switches", r.topology->switches()},
              {"fidelity", core::name_of(r.study->fidelity)},
              {"messages", n.posted},
              {"received", n.received},
              {"completion_ps",
               {{"min", t.least.ps}, {"median", t.median.ps}, {"p99", t.p99.ps},
                {"max", t.most.ps}}},
              {"mean_flow_bytes_per_s", t.mean_bytes_per_s},
              {"simulated_time_ps", n.last_received.ps},
              {"committed_events", r.result.total.committed_events()},
              {"rolled_back_events", r.result.total.rolled_back_events},
              {"sync", core::name_of(r.sync)},
              {"ranks", r.ranks},
              {"threads", r.result.threads},
              {"partitions", r.result.partition_count},
              {"run_s", r.result.run_s},
              {"cpu_s", r.cpu_s},
              {"peak_rss_bytes", r.peak_rss_bytes},
              {"digest", core::to_hex(r.result.digest)},
              {"processed_events", r.result.total.processed_events},
              {"gvt_rounds", r.result.total.gvt_rounds},
              {"engine", engine_statistics(r.result)}};
  if (r.traffic->has_flows()) {
    json["flows"] = flows_json(n.flows);
    json["flows_per_cpu_s"] = per_cpu_s(r, n.flows.ended);
    return printed(json);
  }
  json["packet_hops_per_cpu_s"] = per_cpu_s(r, n.packet_hops);
  for (const auto& [key, value] : packet_counters(n)) json[key] = value;
  if (r.traffic->packet_network().skips()) json["fast_forward"] = skips_json(n.skips);
  return printed(json);
}

std::string traffic_text(const TrafficReport& r) {
  const CompletionTimes t = times_of(r);
  const model::TrafficTotals& n = r.totals;
  const auto rate = [](double bytes_per_s) { return core::format_count(bytes_per_s) + "B/s"; };
  std::string out = fmt::format("{} on {}\n", r.study->name, r.topology->name());
  const auto line = [&](const char* what, const std::string& text) {
    out += traffic_line(what, text);
  };
  line("messages", fmt::format("{} received of {}", core::format_grouped(n.received),
                               core::format_grouped(n.posted)));
  line("completion", fmt::format("min {}, median {}, p99 {}, max {}", core::format_time(t.least),
                                 core::format_time(t.median), core::format_time(t.p99),
                                 core::format_time(t.most)));
  line("rate of a flow", rate(static_cast<double>(t.mean_bytes_per_s)) + " on average");
  line("simulated time", core::format_time(n.last_received));
  out += r.traffic->has_flows() ? of_flows(r) : of_packets(r);
  line("events", fmt::format("{} committed, {} rolled back",
                             core::format_grouped(r.result.total.committed_events()),
                             core::format_grouped(r.result.total.rolled_back_events)));
  line("host", fmt::format("{:.3f} s, {:.3f} s of processor time, {}", r.result.run_s, r.cpu_s,
                           core::format_bytes(r.peak_rss_bytes)));
  line("digest", core::to_hex(r.result.digest));
  return out;
}

std::string unfinished_text(const TrafficReport& r) {
  return fmt::format(
      "{}: the simulated network cannot go on: {} of {} messages were "
      "received, and some wait for ever{}\n",
      one_line(r.study->file), r.totals.received, r.totals.posted,
      r.study->network.link_faults.empty() ? "" : "; faults left no way for them");
}

}  // namespace exawarp::io
