#include "io/study/traffic_study.h"

#include "io/study/counters_config.h"
#include "io/study/faults_config.h"
#include "io/study/file_kinds.h"
#include "io/study/packet_config.h"
#include "io/study/system_config.h"

namespace exawarp::io {
namespace {

using core::Dimension;
using model::TrafficPattern;

const std::vector<Choice<TrafficPattern>> kPatterns{{"permutation", TrafficPattern::permutation},
                                                    {"incast", TrafficPattern::incast},
                                                    {"outcast", TrafficPattern::outcast},
                                                    {"all_to_all", TrafficPattern::all_to_all},
                                                    {"uniform", TrafficPattern::uniform},
                                                    {"hotspot", TrafficPattern::hotspot},
                                                    {"shift", TrafficPattern::shift},
                                                    {"pairs", TrafficPattern::pairs}};
constexpr std::int64_t kDevicesMax = 1 << 24;

model::TrafficOptions read_traffic(const YamlSection& section) {
  model::TrafficOptions o;
  o.pattern = section.choice<TrafficPattern>("pattern", kPatterns);
  o.message_bytes = section.quantity("size", Dimension::size, 0, o.message_bytes);
  const auto count = [&](const char* key, std::uint32_t& value, std::int64_t most) {
    value = static_cast<std::uint32_t>(section.integer(key, {0, most}, value));
  };
  count("messages", o.messages, 1 << 20);
  count("senders", o.senders, kDevicesMax);
  count("shift", o.shift, kDevicesMax);
  count("concurrent", o.concurrent, 1 << 20);
  o.load = section.real("load", {.min = 0, .max = 1, .min_excluded = true}, o.load);
  o.hot_share = section.real("hot_share", {.min = 0, .max = 1}, o.hot_share);
  o.start_spread = core::Time{section.quantity("start_spread", Dimension::time, 0, 0)};
  return o;
}

}  // namespace

bool is_traffic_study(const std::string& path, const std::vector<std::string>& overrides) {
  YamlDocument document(path, overrides);
  return document.root().has("traffic");
}

TrafficStudy read_traffic_study(const std::string& path,
                                const std::vector<std::string>& overrides) {
  YamlDocument document(path, overrides);
  const YamlSection root = document.root();
  expect_kind(FileKind::traffic_study, root, path);
  TrafficStudy out;
  out.file = path;
  out.name = root.text("study");
  root.skip("description");
  root.skip("source");
  out.devices = static_cast<std::uint32_t>(root.integer("devices", {2, kDevicesMax}));
  out.fabric = read_fabric(root.section("fabric"));
  if (const auto packet = root.optional_section("packet")) {
    out.network = read_packet_options(*packet);
  }
  if (const auto faults = root.optional_section("faults")) {
    out.network.link_faults = read_link_faults(*faults);
  }
  if (const auto jitter = root.optional_section("latency_jitter")) {
    out.network.latency_jitter = read_latency_jitter(*jitter);
  }
  if (const auto counters = root.optional_section("counters")) {
    out.counters = read_port_counters(*counters);
  }
  out.traffic = read_traffic(root.section("traffic"));
  out.seed = static_cast<std::uint64_t>(root.integer("seed", {}, 1));
  document.finish();
  out.settings = document.settings();
  return out;
}

}  // namespace exawarp::io
