// The keys of a study that replays a traffic pattern, each described once: the reader, the schema
// and the reference page follow from the tables here.
#include "io/study/traffic_study.h"

#include "io/study/counters_config.h"
#include "io/study/faults_config.h"
#include "io/study/file_kinds.h"
#include "io/study/packet_config.h"
#include "io/study/quantities.h"
#include "io/study/schema_sections.h"
#include "io/study/system_config.h"

namespace exawarp::io {
namespace {

using core::Dimension;
using model::TrafficPattern;

constexpr QuantityRange kSize{Dimension::size, 0};

const Keys<model::TrafficOptions>& traffic_keys() {
  using S = model::TrafficOptions;
  using K = Keys<S>;
  static const K keys(
      "traffic.traffic", "Who sends what to whom.",
      {K::choice("pattern", &S::pattern,
                 "`permutation`; `incast` (to device 0); `outcast` (from it); `all_to_all`; "
                 "`uniform` (random, at a load); `hotspot` (the same, a share to device 0); "
                 "`shift` (d to d + `shift`); `pairs` (the first `senders` devices to the last); "
                 "`flows` (as a file lists)")
           .required(),
       K::quantity("size", &S::message_bytes, kSize, "of a message"),
       K::integer("messages", &S::messages, {0, 1 << 20},
                  "of a sender to each destination; of `uniform` and `hotspot`: in all"),
       K::integer("senders", &S::senders, {0, kDevicesMax},
                  "of `incast` and `pairs`; receivers of `outcast`")
           .otherwise("as many as there can be"),
       K::integer("shift", &S::shift, {0, kDevicesMax}, "of `shift`"),
       K::integer("concurrent", &S::concurrent, {0, 1 << 20},
                  "messages of a device on their way to its line at once"),
       K::flag("one_by_one", &S::one_by_one,
               "messages of a device by one port follow each other, to whomever; else those to "
               "different devices share it"),
       K::real("load", &S::load, {.min = 0, .max = 1, .min_excluded = true},
               "of `uniform` and `hotspot`: share of a device's first line"),
       K::real("hot_share", &S::hot_share, {.min = 0, .max = 1}, "of `hotspot`"),
       K::quantity("start_spread", &S::start_spread, {Dimension::time, 0},
                   "devices start at random within it"),
       K::custom("flows", {ValueShape::text()},
                 "of `flows`: a CSV file with the columns source, destination, bytes, start",
                 [](const YamlSection& section, S& out, const KeySchema& key) {
                   if (section.has(key.name)) out.flows_file = section.path(key.name);
                 })
           .otherwise("none")});
  return keys;
}

void read_traffic_packets(const YamlSection& root, TrafficStudy& out, const KeySchema& key) {
  if (const auto packet = root.optional_section(key.name)) {
    out.network = read_packet_options(*packet);
  }
}

constexpr const char* kOfPackets =
    "meets packets on their way, and flows have none of it; expected fidelity: packet";

void read_traffic_faults(const YamlSection& root, TrafficStudy& out, const KeySchema& key) {
  if (const auto faults = root.optional_section(key.name)) {
    out.network.link_faults = read_link_faults(*faults);
  }
  const bool by_flows = out.fidelity == model::TrafficFidelity::flow;
  if (by_flows && !out.network.link_faults.empty()) root.fail(key.name, kOfPackets);
}

}  // namespace

bool is_traffic_study(const std::string& path, const std::vector<std::string>& overrides) {
  YamlDocument document(path, overrides);
  return document.root().has("traffic");
}

const Keys<TrafficStudy>& traffic_study_keys() {
  using S = TrafficStudy;
  using K = Keys<S>;
  static const K keys(
      "traffic", "What `exawarp traffic` simulates: synthetic traffic by packets or by flows.",
      {K::text("study", &S::name, "its name").required(), K::note("description"), K::note("source"),
       K::integer("devices", &S::devices, {2, kDevicesMax}, "of the network").required(),
       K::custom("fabric", {ValueShape::mapping(fabric_schema())}, "the network",
                 [](const YamlSection& root, S& out, const KeySchema& key) {
                   out.fabric = read_fabric(root.section(key.name));
                 })
           .required(),
       K::choice("fidelity", &S::fidelity,
                 "`packet`: each packet at each hop; `flow`: each message at its fair share of "
                 "the links of its way"),
       K::custom("packet", {ValueShape::mapping(packet_schema())},
                 "packets at every hop; at fidelity `flow` the routing counts",
                 read_traffic_packets),
       K::custom("faults", {ValueShape::mapping(link_faults_schema())},
                 "links and switches that are slow or down: docs/guide/faults.md",
                 read_traffic_faults)
           .otherwise("none"),
       K::section(
           "latency_jitter", [](S & s) -> auto& { return s.network.latency_jitter; },
           latency_jitter_keys(), "added to each packet's latency")
           .otherwise("none"),
       K::section("counters", &S::counters, counters_keys(), "of `--counters`"),
       K::section("traffic", &S::traffic, traffic_keys(), "who sends what to whom").required(),
       K::integer("seed", &S::seed, {}, "of every random number")});
  return keys;
}

TrafficStudy read_traffic_study(const std::string& path,
                                const std::vector<std::string>& overrides) {
  YamlDocument document(path, overrides);
  const YamlSection root = document.root();
  expect_kind(FileKind::traffic_study, root, path);
  TrafficStudy out;
  out.file = path;
  out = traffic_study_keys().read(root, std::move(out));
  const bool by_flows = out.fidelity == model::TrafficFidelity::flow;
  if (by_flows && out.network.latency_jitter.mean.ps != 0) root.fail("latency_jitter", kOfPackets);
  document.finish();
  out.settings = document.settings();
  out.resolved = document.resolved();
  return out;
}

}  // namespace exawarp::io
