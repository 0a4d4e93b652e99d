// Counts links by kind and looks at the paths from some devices to all others, so that it takes
// seconds at any size; the figures are then printed as text or as JSON.
#include "io/report/topology_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/units.h"
#include "io/report/printed_json.h"

namespace exawarp::io {
namespace {

using Json = nlohmann::ordered_json;

std::vector<TopologyFacts::Links> links_of(const model::Topology& topology,
                                           std::uint64_t all_links) {
  std::vector<TopologyFacts::Links> out;
  for (const model::LinkKind& kind : topology.link_kinds()) out.push_back({kind, 0});
  if (out.size() == 1) {
    out[0].count = all_links;
    return out;
  }
  const std::uint32_t vertices = topology.devices() + topology.switches();
  for (std::uint32_t v = 0; v < vertices; ++v) {
    const std::uint32_t ports = topology.ports({v});
    for (std::uint32_t p = 0; p < ports; ++p) {
      const model::Link link = topology.link({v}, p);
      if (link.peer.value > v) ++out[link.kind].count;
    }
  }
  return out;
}

void look_at_paths(const model::Topology& topology, TopologyFacts& facts) {
  const std::uint32_t n = topology.devices();
  facts.sources = std::min(n, kSourcesMax);
  std::vector<std::uint64_t> pairs(topology.distances().size(), 0);
  std::uint64_t total = 0;
  for (std::uint32_t i = 0; i < facts.sources; ++i) {
    const auto a = static_cast<std::uint32_t>(std::uint64_t{n} * i / facts.sources);
    for (std::uint32_t b = 0; b < n; ++b) {
      if (a == b) continue;
      ++pairs[topology.message_route({a}, {b}).distance];
      ++total;
    }
  }
  for (std::size_t d = 0; d < pairs.size(); ++d) {
    if (pairs[d] == 0) continue;
    facts.paths.push_back({topology.distances()[d],
                           static_cast<double>(pairs[d]) / static_cast<double>(total)});
  }
  std::ranges::stable_sort(facts.paths, {}, [](const TopologyFacts::Paths& p) {
    return p.distance.latency + p.distance.endpoint;
  });
}

std::string format_bandwidth(model::WideRate bytes_per_s) {
  return core::format_count(static_cast<double>(bytes_per_s)) + "B/s";
}

// A whole number where JSON's readers have one; else the nearest real number.
Json json_of(model::WideRate bytes_per_s) {
  if (bytes_per_s > std::numeric_limits<std::int64_t>::max()) {
    return static_cast<double>(bytes_per_s);
  }
  return static_cast<std::int64_t>(bytes_per_s);
}

}  // namespace

TopologyFacts facts_of(const model::Topology& topology) {
  TopologyFacts out{.name = topology.name(),
                    .devices = topology.devices(),
                    .counts = topology.counts(),
                    .links = {},
                    .paths = {}};
  out.links = links_of(topology, out.counts.links);
  look_at_paths(topology, out);
  return out;
}

std::string topology_text(const TopologyFacts& facts) {
  std::string out = facts.name + "\n";
  const auto line = [&out](const char* name, const std::string& value) {
    out += fmt::format("  {:<12}{}\n", name, value);
  };
  line("devices", core::format_grouped(facts.devices));
  line("switches", core::format_grouped(facts.counts.switches));
  line("links", core::format_grouped(facts.counts.links));
  for (const auto& [kind, count] : facts.links) {
    out += fmt::format("    {:<14} {:>12}  {}, {}\n", kind.name, core::format_grouped(count),
                       format_bandwidth(kind.bandwidth_bytes_per_s),
                       core::format_time(kind.latency));
  }
  line("diameter", fmt::format("{} links", facts.counts.diameter_links));
  line("bisection", format_bandwidth(facts.counts.bisection_bytes_per_s));
  out += facts.sources == facts.devices
             ? "  paths\n"
             : fmt::format("  paths, from {} of the devices\n", facts.sources);
  for (const auto& [d, share] : facts.paths) {
    out += fmt::format("    {:>2} links, {:>2} passed  {:>9} + {} at the ends  {}  {:.2f} % of "
                       "pairs\n",
                       d.links, d.switches, core::format_time(d.latency),
                       core::format_time(d.endpoint), format_bandwidth(d.bandwidth_bytes_per_s),
                       100 * share);
  }
  return out;
}

std::string topology_json(const TopologyFacts& facts) {
  Json links = Json::array(), paths = Json::array();
  for (const auto& [kind, count] : facts.links) {
    links.push_back({{"kind", kind.name},
                     {"count", count},
                     {"bandwidth_bytes_per_s", kind.bandwidth_bytes_per_s},
                     {"latency_ps", kind.latency.ps}});
  }
  for (const auto& [d, share] : facts.paths) {
    paths.push_back({{"links", d.links},
                     {"switches", d.switches},
                     {"latency_ps", d.latency.ps},
                     {"endpoint_ps", d.endpoint.ps},
                     {"bandwidth_bytes_per_s", d.bandwidth_bytes_per_s},
                     {"share_of_pairs", share}});
  }
  return printed({{"schema", "exawarp-topology-1"},
                  {"name", facts.name},
                  {"devices", facts.devices},
                  {"switches", facts.counts.switches},
                  {"links", facts.counts.links},
                  {"links_by_kind", links},
                  {"diameter_links", facts.counts.diameter_links},
                  {"bisection_bytes_per_s", json_of(facts.counts.bisection_bytes_per_s)},
                  {"sources_looked_at", facts.sources},
                  {"paths", paths}});
}

}  // namespace exawarp::io
