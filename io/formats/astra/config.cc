// Network, system and memory are each read key by key through a small reader that remembers which
// keys were asked for, so that what nobody asked for can be remarked on.
#include "io/formats/astra/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "io/formats/astra/traces.h"
#include "io/formats/chakra/reader.h"
#include "io/study/suggest.h"
#include "io/study/text_file.h"
#include "io/study/yaml.h"

namespace exawarp::io {
namespace {

using core::InputError;
using Json = nlohmann::json;
using model::astra::Algorithm;
using model::astra::BusConfig;
using model::astra::CommGroup;
using model::astra::CustomCollective;
using model::astra::Dimension;
using model::astra::Implementation;
using model::astra::MemoryConfig;
using model::astra::MemoryKind;
using model::astra::NetworkConfig;
using model::astra::Ns;
using model::astra::Optimization;
using model::astra::Policy;
using model::astra::SystemConfig;
using model::astra::Topology;
using model::astra::kDimensionsMax;
using model::astra::kSimulatedCount;

constexpr RealRange kNumbers{.min = 0, .max = 1e15};

std::string unread(const std::string& path, const std::string& key,
                   const std::vector<std::string>& known) {
  return fmt::format("{}: key {} is not read, by ASTRA-sim neither{}", path, in_quotes(key),
                     did_you_mean(key, known));
}

// A JSON object, as a reader of keys that remembers which were asked for.
class JsonFile {
 public:
  explicit JsonFile(const std::string& path) : path_(path) {
    const core::MappedFile file(path);
    json_ = Json::parse(text_of(file), nullptr, false, true);
    if (!json_.is_object()) throw InputError(path, "is no JSON object");
  }
  [[nodiscard]] const Json* find(const std::string& key) {
    known_.push_back(key);
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }
  // A number in kNumbers, of at least `min`.
  double number(const std::string& key, std::optional<double> fallback, double min = 0) {
    const Json* const value = find(key);
    if (value == nullptr) {
      if (!fallback) fail(key, fmt::format("is missing; expected a number of at least {}", min));
      return *fallback;
    }
    const double number = value->is_boolean() ? (value->get<bool>() ? 1 : 0)
                          : value->is_number() ? value->get<double>()
                                               : -1;
    if (!RealRange{.min = min, .max = kNumbers.max}.contains(number)) {
      fail(key, fmt::format("{}; expected a number of at least {}", shown(*value), min));
    }
    return number;
  }
  std::uint64_t count(const std::string& key, std::optional<std::uint64_t> fallback,
                      std::uint64_t min, std::uint64_t max) {
    std::optional<double> real;
    if (fallback) real = static_cast<double>(*fallback);
    const double value = number(key, real, static_cast<double>(min));
    if (value > static_cast<double>(max) || value != std::floor(value)) {
      fail(key, fmt::format("{}; expected a whole number from {} to {}", value, min, max));
    }
    return static_cast<std::uint64_t>(value);
  }
  // A number other than 0. ASTRA-sim takes false for true: said, not followed.
  bool flag(const std::string& key, Warnings& warnings) {
    const Json* const value = find(key);
    if (value != nullptr && value->is_boolean() && !value->get<bool>()) {
      warnings.push_back(fmt::format("{}: key {}: false is off here; ASTRA-sim takes it for on, "
                                    "write 0", path_, in_quotes(key)));
    }
    return number(key, 0.0) != 0;
  }
  // "" where it is absent.
  std::string text(const std::string& key) {
    const Json* const value = find(key);
    if (value == nullptr) return "";
    if (!value->is_string()) fail(key, shown(*value) + "; expected text");
    return value->get<std::string>();
  }
  std::vector<std::string> texts(const std::string& key) {
    const Json* const value = find(key);
    if (value == nullptr) return {};
    std::vector<std::string> list;
    if (!value->is_array()) fail(key, shown(*value) + "; expected a list of texts");
    for (const Json& entry : *value) {
      if (!entry.is_string()) fail(key, shown(entry) + "; expected a list of texts");
      list.push_back(entry.get<std::string>());
    }
    return list;
  }
  void warn_of_unread(Warnings& warnings) const {
    for (const auto& [key, value] : json_.items()) {
      if (std::ranges::find(known_, key) != known_.end()) continue;
      warnings.push_back(unread(path_, key, known_));
    }
  }
  [[noreturn]] void fail(const std::string& key, const std::string& what) const {
    throw InputError(path_, fmt::format("key {}: {}", in_quotes(key), what));
  }

 private:
  static std::string shown(const Json& value) {
    return in_quotes(value.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  std::string path_;
  Json json_;
  std::vector<std::string> known_;
};

// The number of packets after "direct", 0 where there is none; nullopt where it is no number.
std::optional<std::uint32_t> window_of(std::string_view text) {
  if (text.empty()) return 0;
  std::uint32_t window = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), window);
  if (error != std::errc() || end != text.data() + text.size() || window == 0) return std::nullopt;
  return window;
}

std::optional<Implementation> parse_implementation(std::string name) {
  Implementation implementation;
  if (name.starts_with("one") && name.size() > 3) {
    implementation.over_all_ranks = true;
    name = name.substr(3);
    name[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(name[0])));
  }
  if (name == "ring") return implementation;
  if (name == "halvingDoubling") {
    implementation.algorithm = Algorithm::halving_doubling;
    return implementation;
  }
  if (name == "doubleBinaryTree" && !implementation.over_all_ranks) {
    implementation.algorithm = Algorithm::double_binary_tree;
    return implementation;
  }
  if (!name.starts_with("direct")) return std::nullopt;
  const std::optional<std::uint32_t> window = window_of(std::string_view(name).substr(6));
  if (!window) return std::nullopt;
  implementation.algorithm = Algorithm::direct;
  implementation.window = *window;
  return implementation;
}

std::vector<Implementation> read_implementations(JsonFile& file, const std::string& key) {
  std::vector<Implementation> list;
  for (const std::string& name : file.texts(key)) {
    const std::optional<Implementation> implementation = parse_implementation(name);
    if (!implementation) {
      file.fail(key, fmt::format("{} is not known; expected ring, direct, halvingDoubling, "
                                 "doubleBinaryTree, oneRing, oneDirect or oneHalvingDoubling",
                                 in_quotes(name)));
    }
    list.push_back(*implementation);
  }
  return list;
}

std::shared_ptr<const CustomCollective> read_custom(const std::string& prefix) {
  auto custom = std::make_shared<CustomCollective>();
  std::map<std::uint32_t, CommGroup> none;
  custom->positions = read_astra_traces(prefix, count_traces(prefix), none);
  return custom;
}

void read_collectives(JsonFile& file, SystemConfig& system) {
  constexpr std::array<const char*, kSimulatedCount> names{"all-reduce", "all-gather",
                                                           "reduce-scatter", "all-to-all"};
  for (std::size_t i = 0; i < kSimulatedCount; ++i) {
    const std::string key = fmt::format("{}-implementation", names[i]);
    system.implementations[i] = read_implementations(file, key);
    const std::vector<std::string> custom = file.texts(key + "-custom");
    if (custom.size() > 1) file.fail(key + "-custom", "expected one prefix");
    if (!custom.empty()) system.custom[i] = read_custom(custom[0]);
  }
  const std::string per_node = file.text("per-node-custom-implementation");
  if (per_node.empty()) return;
  YamlDocument document(per_node);
  const YamlSection root = document.root();
  for (const std::string& node : root.keys()) {
    std::uint64_t id = 0;
    const auto [end, error] = std::from_chars(node.data(), node.data() + node.size(), id);
    if (error != std::errc() || end != node.data() + node.size()) {
      root.fail(node, "expected the id of a node");
    }
    system.custom_of_node[id] = read_custom(root.text(node));
  }
}

void read_engine(JsonFile& file, SystemConfig& system, Warnings& warnings) {
  const std::string policy = file.text("scheduling-policy");
  if (policy == "LIFO") system.policy = Policy::lifo;
  else if (policy == "FIFO") system.policy = Policy::fifo;
  else if (policy == "EXPLICIT") system.policy = Policy::explicit_priority;
  else file.fail("scheduling-policy", in_quotes(policy) + "; expected LIFO, FIFO or EXPLICIT");
  const std::string optimization = file.text("collective-optimization");
  if (optimization == "localBWAware") {
    system.optimization = Optimization::local_bandwidth_aware;
  } else if (optimization == "baseline") {
    system.optimization = Optimization::baseline;
  } else if (file.find("collective-optimization") != nullptr) {
    file.fail("collective-optimization",
              in_quotes(optimization) + "; expected baseline or localBWAware");
  }
  system.splits = file.count("preferred-dataset-splits", 0, 0, 1u << 30);
  system.active_chunks =
      static_cast<std::uint32_t>(file.count("active-chunks-per-dimension", 1, 1, 1u << 30));
  system.local_memory_gb_per_s = file.number("local-mem-bw", 0.0);
  system.roofline = file.flag("roofline-enabled", warnings);
  system.peak_tflops = file.number("peak-perf", 0.0);
  if (system.roofline && system.peak_tflops <= 0) {
    file.fail("peak-perf", "is 0 or missing; expected TFLOPS, as roofline-enabled is set");
  }
  if (system.roofline && system.local_memory_gb_per_s <= 0) {
    file.fail("local-mem-bw", "is 0 or missing; expected GB/s, as roofline-enabled is set");
  }
  system.replay_only = file.flag("replay-only", warnings);
}

// model-shared-bus is on at 1 alone; L, o, g are cut to whole nanoseconds.
void read_shared_bus(JsonFile& file, SystemConfig& system) {
  const bool on = file.number("model-shared-bus", 0.0) == 1;
  // ASTRA-sim holds them in single precision.
  const auto parameter = [&](const char* key) {
    return static_cast<double>(static_cast<float>(file.number(key, 0.0)));
  };
  BusConfig bus;
  bus.latency_ns = static_cast<Ns>(parameter("L"));
  bus.overhead_ns = static_cast<Ns>(parameter("o"));
  bus.gap_ns = static_cast<Ns>(parameter("g"));
  bus.gap_per_byte_ns = parameter("G");
  bus.reduction_delay_ns = file.count("local-reduction-delay", 1, 0, 1u << 30);
  if (on) system.shared_bus = bus;
}

}  // namespace

NetworkConfig read_astra_network(const std::string& path, Warnings& warnings) {
  YamlDocument document(path);
  const YamlSection root = document.root();
  const std::vector<std::string> known{"topology", "npus_count", "bandwidth", "latency"};
  for (const std::string& key : root.keys()) {
    if (std::ranges::find(known, key) == known.end()) warnings.push_back(unread(path, key, known));
  }
  NetworkConfig network;
  const std::vector<std::string> topology = root.texts("topology");
  const auto numbers = [&](const std::string& key) {
    std::vector<double> values;
    for (const std::string& text : root.texts(key)) {
      const std::optional<double> value = number_from<double>(text);
      if (!value || !kNumbers.contains(*value)) {
        root.fail(key, in_quotes(text) + "; expected a number of at least 0");
      }
      values.push_back(*value);
    }
    if (values.size() != topology.size()) {
      root.fail(key, fmt::format("{} entries, topology has {}; expected one a dimension",
                                 values.size(), topology.size()));
    }
    return values;
  };
  const std::vector<double> npus = numbers("npus_count"), bandwidth = numbers("bandwidth"),
                            latency = numbers("latency");
  if (topology.empty() || topology.size() > kDimensionsMax) {
    root.fail("topology", fmt::format("expected 1 to {} dimensions", kDimensionsMax));
  }
  double product = 1;
  for (std::size_t d = 0; d < topology.size(); ++d) {
    Dimension dimension{.bandwidth = bandwidth[d], .latency_ns = latency[d]};
    if (topology[d] == "Ring") dimension.topology = Topology::ring;
    else if (topology[d] == "FullyConnected") dimension.topology = Topology::fully_connected;
    else if (topology[d] == "Switch") dimension.topology = Topology::switched;
    else root.fail("topology", in_quotes(topology[d]) +
                   "; expected Ring, FullyConnected or Switch");
    product *= npus[d];
    if (npus[d] < 2 || npus[d] != std::floor(npus[d]) || product > 1 << 28) {
      root.fail("npus_count", "expected whole numbers above 1, of at most 2^28 ranks");
    }
    dimension.npus = static_cast<std::uint32_t>(npus[d]);
    if (bandwidth[d] <= 0) root.fail("bandwidth", "expected numbers above 0");
    network.dimensions.push_back(dimension);
  }
  return network;
}

MemoryConfig read_astra_memory(const std::string& path, Warnings& warnings) {
  JsonFile file(path);
  MemoryConfig memory;
  for (const char* const key : {"remote-mem-latency", "remote-mem-bw", "num-nodes",
                                "num-npus-per-node"}) {
    static_cast<void>(file.find(key));  // of some kinds of memory
  }
  const std::string kind = file.text("memory-type");
  if (kind == "NO_MEMORY_EXPANSION") memory.kind = MemoryKind::none;
  else if (kind == "PER_NPU_MEMORY_EXPANSION") memory.kind = MemoryKind::per_npu;
  else if (kind == "PER_NODE_MEMORY_EXPANSION") memory.kind = MemoryKind::per_node;
  else if (kind == "MEMORY_POOL") memory.kind = MemoryKind::pool;
  else file.fail("memory-type", in_quotes(kind) + "; expected NO_MEMORY_EXPANSION, "
                 "PER_NPU_MEMORY_EXPANSION, PER_NODE_MEMORY_EXPANSION or MEMORY_POOL");
  file.warn_of_unread(warnings);
  if (memory.kind == MemoryKind::none) return memory;
  memory.latency_ns = file.count("remote-mem-latency", 0, 0, std::uint64_t{1} << 50);
  memory.bandwidth_gb_per_s = file.number("remote-mem-bw", 0.0);
  if (memory.kind == MemoryKind::per_node) {
    memory.nodes = static_cast<std::uint32_t>(file.count("num-nodes", {}, 1, 1u << 28));
    memory.npus_per_node =
        static_cast<std::uint32_t>(file.count("num-npus-per-node", {}, 1, 1u << 28));
  }
  return memory;
}

SystemConfig read_astra_system(const std::string& path, double injection_scale,
                               Warnings& warnings) {
  JsonFile file(path);
  SystemConfig system;
  system.place = path;
  read_engine(file, system, warnings);
  if (file.find("endpoint-delay") != nullptr) {  // the default is not scaled
    const double endpoint_delay = std::floor(file.number("endpoint-delay", {})) * injection_scale;
    system.endpoint_delay_ns = static_cast<Ns>(endpoint_delay);
  }
  read_collectives(file, system);
  read_shared_bus(file, system);
  if (file.flag("track-local-mem", warnings)) {
    warnings.push_back(path + ": key \"track-local-mem\": memory is not tracked; the run is the "
                             "same otherwise");
  }
  for (const char* const key : {"trace-enabled", "local-mem-trace-filename"}) {
    static_cast<void>(file.find(key));  // of the log
  }
  file.warn_of_unread(warnings);
  return system;
}

}  // namespace exawarp::io
