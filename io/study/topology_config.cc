// One table of keys for all families of topologies, whose `kind` says which of them a network has;
// a product is a list of such networks. Whether the numbers make a network is for the topology
// itself to say.
#include "io/study/topology_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "io/study/graph_config.h"
#include "io/study/link_keys.h"

namespace exawarp::io {
namespace {

using model::FamilySpec;
using model::LinkKind;
using model::NodeLatencies;

constexpr std::int64_t kBundleMax = 64;

constexpr core::Named<bool> kCrossRailNames[] = {{"spine", false}, {"nvlink", true}};
constexpr std::span<const core::Named<bool>> kCrossRail = kCrossRailNames;

enum class NetworkKind {
  single_switch,
  ring,
  fully_connected,
  torus,
  mesh,
  leaf_spine,
  fat_tree,
  rail_optimised,
  rail_only,
  dragonfly,
  hyperx,
  graph,
  product
};
constexpr core::Named<NetworkKind> kKindNames[] = {
    {"single_switch", NetworkKind::single_switch},
    {"ring", NetworkKind::ring},
    {"fully_connected", NetworkKind::fully_connected},
    {"torus", NetworkKind::torus},
    {"mesh", NetworkKind::mesh},
    {"leaf_spine", NetworkKind::leaf_spine},
    {"fat_tree", NetworkKind::fat_tree},
    {"rail_optimised", NetworkKind::rail_optimised},
    {"rail_only", NetworkKind::rail_only},
    {"dragonfly", NetworkKind::dragonfly},
    {"hyperx", NetworkKind::hyperx},
    {"graph", NetworkKind::graph},
    {"product", NetworkKind::product}};
constexpr std::span<const core::Named<NetworkKind>> names_of(NetworkKind) { return kKindNames; }
static_assert(core::names_each(kKindNames));

// What a network's keys say, whatever its family.
struct NetworkSpec {
  NetworkKind kind = NetworkKind::single_switch;
  std::string place{};        // "file:line: key ..."
  std::uint32_t devices = 0;  // of a dimension
  LinkKind link{};            // of a device
  NodeLatencies latencies{};
  std::uint32_t planes = 1;
  std::vector<std::uint32_t> dims{};
  std::uint32_t radix = 0;             // 0: by the widths
  std::uint32_t oversubscription = 0;  // 0: not given
  bool cross_rail = false;
  model::ClosSpec clos{};
  model::DragonflySpec dragonfly{};
  model::HyperXSpec hyperx{};
  model::GraphSpec graph{};
  std::vector<NetworkSpec> dimensions{};  // of a product
};

using NetworkKeys = Keys<NetworkSpec>;
using Kinds = std::vector<std::string>;

const Kinds kRailed{"leaf_spine", "rail_optimised", "rail_only"};
const Kinds kClos{"leaf_spine", "fat_tree", "rail_optimised", "rail_only"};
const Kinds kPlanes{"single_switch", "leaf_spine", "fat_tree", "rail_optimised", "rail_only"};
const Kinds kSwitched{"single_switch", "leaf_spine", "fat_tree", "rail_optimised",
                      "rail_only",     "dragonfly",  "hyperx",   "graph"};
const Kinds kForwarding{"ring", "fully_connected", "torus", "mesh", "product"};
const Kinds kSized{"torus", "mesh", "hyperx"};

Kinds all_but(const Kinds& some) {
  Kinds kinds = core::names_in(names_of(NetworkKind{}));
  std::erase_if(
      kinds, [&](const std::string& kind) { return std::ranges::find(some, kind) != some.end(); });
  return kinds;
}

NetworkKeys::Key of(const Kinds& kinds, NetworkKeys::Key key) {
  return std::move(key).only_if("kind", kinds);
}

// ---- keys that are more than a number

// A link, which without the key is as the one that `fallback` gives; both have a name of their own.
template <class Ref, class Fallback>
NetworkKeys::Key link_key(std::string name, std::string of_link, Ref at, Fallback fallback,
                          std::string meaning) {
  return NetworkKeys::custom(
      std::move(name), {ValueShape::mapping(link_kind_keys().schema())}, std::move(meaning),
      [=](const YamlSection& section, NetworkSpec& spec, const KeySchema& key) {
        LinkKind& out = std::invoke(at, spec);
        out = section.has(key.name) ? link_kind_keys().read(section.section(key.name))
                                    : std::invoke(fallback, spec);
        out.name = of_link;
      });
}

void read_planes(const YamlSection& section, NetworkSpec& spec, const KeySchema& key) {
  const std::int64_t most = spec.kind == NetworkKind::single_switch ? kWidthMax : 8;
  spec.planes = read_count(section, key.name, 1, most, 1);
}

void read_dims(const YamlSection& section, NetworkSpec& spec, const KeySchema& key) {
  spec.dims = section.integers(key.name, {.min = 1, .max = kDevicesMax});
  if (!spec.dims.empty() && spec.dims.size() <= model::Torus::kDimsMax) return;
  section.fail(key.name, fmt::format("has {} dimensions; expected 1 to {}", spec.dims.size(),
                                     model::Torus::kDimsMax));
}

void read_radix(const YamlSection& section, NetworkSpec& spec, const KeySchema& key) {
  if (!section.has(key.name)) return;
  spec.radix = read_count(section, key.name, 2, kWidthMax);
  if (spec.radix % 2 == 0) return;
  section.fail(key.name, fmt::format("{} is odd; expected an even number of ports, half of them "
                                     "down and half up",
                                     spec.radix));
}

// Up-links of a leaf over its bundle, from the ratio of what is below it to what is above.
void read_oversubscription(const YamlSection& section, NetworkSpec& spec, const KeySchema& key) {
  if (!section.has(key.name)) return;
  model::ClosSpec& s = spec.clos;
  const std::uint32_t ratio = read_count(section, key.name, 1, kWidthMax);
  const std::uint32_t up = s.leaf_bundle * ratio;
  if (s.devices_per_leaf % up != 0) {
    section.fail(key.name, fmt::format("{} devices below a leaf at {}:1 over bundles of {} make no "
                                       "whole number of spines; expected a divisor",
                                       s.devices_per_leaf, ratio, s.leaf_bundle));
  }
  spec.oversubscription = ratio;
  s.spines_per_pod = s.devices_per_leaf / up;
}

void read_widths(const YamlSection& section, NetworkSpec& spec, const KeySchema& key) {
  std::vector<std::uint32_t>& width = spec.hyperx.width;
  const std::vector<std::uint32_t> single(spec.dims.size(), 1);
  width = section.integers(key.name, {.min = 1, .max = kBundleMax}, single);
  if (width.size() == spec.dims.size()) return;
  section.fail(key.name, fmt::format("has {} numbers; expected {}, one a dimension", width.size(),
                                     spec.dims.size()));
}

// ---- the table

bool has_widths(const NetworkSpec& spec) { return spec.radix == 0; }
bool has_spines(const NetworkSpec& spec) { return spec.radix == 0 && spec.oversubscription == 0; }
constexpr const char* kWithoutRadix = "without `radix`";
constexpr const char* kWithoutRatio = "without `oversubscription` and `radix`";

std::vector<NetworkKeys::Key> shared_keys() {
  using S = NetworkSpec;
  using K = NetworkKeys;
  const auto forwarding = [](S & s) -> auto& { return s.latencies.forwarding; };
  const auto endpoint = [](S & s) -> auto& { return s.latencies.endpoint; };
  return {of(all_but({"graph", "product"}),
             K::section("link", &S::link, link_kind_keys(), "of a device").required()),
          of(all_but({"product"}),
             K::latency("endpoint_latency", endpoint, 0, "both ends together").required()),
          of(kSwitched,
             K::latency("switch_latency", forwarding, 0, "of each switch passed").required()),
          of(kForwarding, K::latency("forwarding_latency", forwarding, 0,
                                     "of each device that passes a message on"))};
}

std::vector<NetworkKeys::Key> clos_keys() {
  using S = NetworkSpec;
  using K = NetworkKeys;
  const Kinds fat_tree{"fat_tree"};
  const auto at = [](auto member) {
    return [member](S & s) -> auto& { return s.clos.*member; };
  };
  const auto leaf_link = at(&model::ClosSpec::leaf_spine);
  const auto spines = at(&model::ClosSpec::spines_per_pod);
  constexpr IntegerRange kWidth{1, kWidthMax}, kSpines{0, kWidthMax}, kBundle{1, kBundleMax};
  return {
      of(kClos, K::custom("radix", {ValueShape::integer({2, kWidthMax})},
                          "ports of a switch, in place of the widths", read_radix)
                    .otherwise("by the widths")),
      of(kClos, K::integer("devices_per_leaf", at(&model::ClosSpec::devices_per_leaf), kWidth,
                           "below a leaf switch")
                    .required()
                    .when(has_widths, kWithoutRadix)),
      of(kClos, K::integer("leaf_bundle", at(&model::ClosSpec::leaf_bundle), kBundle,
                           "links between a leaf and a spine")),
      of(kClos, K::custom("oversubscription", {ValueShape::integer(kWidth)},
                          "devices below a leaf to its up-links", read_oversubscription)
                    .otherwise("by the widths")
                    .when(has_widths, kWithoutRadix)),
      of(kRailed,
         K::integer("spines", spines, kSpines, "spine switches, of `rail_only` those of a rail")
             .required()
             .when(has_spines, kWithoutRatio)),
      of(fat_tree, K::integer("spines_per_pod", spines, kSpines, "spine switches")
                       .required()
                       .when(has_spines, kWithoutRatio)),
      of(kClos, link_key("leaf_link", "leaf-spine", leaf_link, &S::link, "of a leaf and a spine")
                    .otherwise("`link`")),
      of(kClos, K::integer("leaves_per_device", at(&model::ClosSpec::leaves_per_device), {1, 8},
                           "2: dual top-of-rack")),
      of(fat_tree,
         K::integer("leaves_per_pod", at(&model::ClosSpec::groups_per_pod), kWidth, "leaf switches")
             .required()
             .when(has_widths, kWithoutRadix)),
      of(fat_tree, link_key("core_link", "spine-core", at(&model::ClosSpec::spine_core), leaf_link,
                            "of a spine and a core")
                       .otherwise("`leaf_link`")),
      of(fat_tree, K::integer("spine_bundle", at(&model::ClosSpec::spine_bundle), kBundle,
                              "links between spine and core")),
      of(fat_tree, K::integer("cores", at(&model::ClosSpec::cores), {0, kDevicesMax},
                              "core switches; 0: as many as needed")),
      of({"rail_optimised"}, K::choice("cross_rail", &S::cross_rail, kCrossRail,
                                       "way between devices of different rails")),
      of(kPlanes, K::custom("planes", {ValueShape::integer(kWidth)},
                            "parallel networks; 8 at most but for `single_switch`", read_planes)
                      .usually("1"))};
}

std::vector<NetworkKeys::Key> other_keys() {
  using S = NetworkSpec;
  using K = NetworkKeys;
  using D = model::DragonflySpec;
  const Kinds dragonfly{"dragonfly"}, hyperx{"hyperx"};
  constexpr IntegerRange kWidth{1, kWidthMax};
  const auto at = [](auto member) {
    return [member](S & s) -> auto& { return s.dragonfly.*member; };
  };
  const auto between = [](S & s) -> auto& { return s.hyperx.between; };
  return {
      of(kSized, K::custom("dims", {ValueShape::list_of(ValueShape::integer({1, kDevicesMax}))},
                           "along each dimension; of `torus` and `mesh`: their product is the "
                           "number of devices",
                           read_dims)
                     .required()),
      of(dragonfly,
         K::integer("devices_per_router", at(&D::devices_per_router), kWidth, "below a router")
             .required()),
      of(dragonfly,
         K::integer("routers_per_group", at(&D::routers), kWidth, "all linked to each other")
             .required()),
      of(dragonfly,
         K::integer("global_links_per_router", at(&D::global_links), kWidth, "to other groups")
             .required()),
      of(dragonfly,
         K::integer("groups", at(&D::groups), {1, kDevicesMax}, "of the network").required()),
      of(dragonfly, K::choice("arrangement", at(&D::arrangement), "of the global links")),
      of(dragonfly, link_key("local_link", "local", at(&D::local), &S::link, "inside a group")
                        .otherwise("`link`")),
      of(dragonfly, link_key("global_link", "global", at(&D::global), at(&D::local), "of groups")
                        .otherwise("`local_link`")),
      of(hyperx, K::custom("width", {ValueShape::list_of(ValueShape::integer({1, kBundleMax}))},
                           "links between two switches, along each dimension", read_widths)
                     .otherwise("1 each")),
      of(hyperx, K::integer(
                     "devices_per_switch", [](S & s) -> auto& { return s.hyperx.hosts; }, kWidth,
                     "below a switch")
                     .required()),
      of(hyperx, link_key("switch_link", "switch", between, &S::link, "of two switches")
                     .otherwise("`link`")),
      of({"graph"}, K::section("graph", &S::graph, graph_keys(), "its links").required())};
}

// The keys of networks that are of one of `kinds`; of others than those, `refuse` says what is
// wrong.
std::vector<NetworkKeys::Key> network_keys(const Kinds& kinds,
                                           void (*refuse)(const YamlSection&, NetworkKind)) {
  using K = NetworkKeys;
  std::vector<K::Key> out{
      K::note("source"), K::note("description"), K::note("name"),
      K::then([](const YamlSection& section, NetworkSpec& s) { s.place = section.where(""); }),
      K::custom("kind", {ValueShape::choice(kinds)}, "the family of networks",
                [refuse](const YamlSection& section, NetworkSpec& s, const KeySchema& key) {
                  s.kind = section.choice<NetworkKind>(key.name, names_of(NetworkKind{}));
                  refuse(section, s.kind);
                })
          .required()};
  for (std::vector<K::Key> part : {shared_keys(), clos_keys(), other_keys()}) {
    for (K::Key& key : part) {
      std::erase_if(key.schema.only.values, [&](const std::string& kind) {
        return std::ranges::find(kinds, kind) == kinds.end();
      });
      if (!key.schema.only.values.empty()) out.push_back(std::move(key));
    }
  }
  return out;
}

// ---- products

void refuse_dimension(const YamlSection& section, NetworkKind kind) {
  if (kind == NetworkKind::graph || kind == NetworkKind::rail_only) {
    section.fail("kind", "cannot be a dimension of a product; expected another family");
  }
  if (kind == NetworkKind::product) {
    section.fail("kind", "\"product\" is no dimension of a product; expected one network");
  }
}

std::vector<NetworkKeys::Key> keys_of_dimensions() {
  using K = NetworkKeys;
  std::vector<K::Key> all =
      network_keys(all_but({"graph", "product", "rail_only"}), refuse_dimension);
  // Which rail a device is of, is for nodes to say.
  std::erase_if(all, [](const K::Key& key) { return key.schema.name == "cross_rail"; });
  all.insert(all.begin(),
             K::integer("devices", &NetworkSpec::devices, {1, kDevicesMax}, "along it").required());
  return all;
}

const NetworkKeys& dimension_keys() {
  static const NetworkKeys keys("topology.dimension", "A network along one dimension of a product.",
                                keys_of_dimensions());
  return keys;
}

const SectionSchema& dimensions_schema() {
  static const SectionSchema schema{.name = "topology.dimensions",
                                    .meaning = "Networks by names of the writer's choice.",
                                    .keys = {},
                                    .others = {ValueShape::mapping(dimension_keys().schema())}};
  return schema;
}

void read_dimensions(const YamlSection& section, NetworkSpec& spec, const KeySchema& key) {
  const YamlSection dims = section.section(key.name);
  const std::vector<std::string> names = dims.keys();
  constexpr std::size_t kDimensionsMax = 8;
  if (names.size() < 2 || names.size() > kDimensionsMax) {
    section.fail(key.name,
                 fmt::format("has {} networks; expected 2 to {}", names.size(), kDimensionsMax));
  }
  for (const std::string& name : names) {
    spec.dimensions.push_back(dimension_keys().read(dims.section(name)));
  }
}

std::vector<NetworkKeys::Key> keys_of_topologies() {
  using K = NetworkKeys;
  std::vector<K::Key> all = network_keys(all_but({}), [](const YamlSection&, NetworkKind) {});
  all.push_back(of({"product"}, K::custom("dimensions", {ValueShape::mapping(dimensions_schema())},
                                          "name to network, the first fastest", read_dimensions)
                                    .required()));
  return all;
}

const NetworkKeys& topology_keys() {
  static const NetworkKeys keys(
      "topology", "docs/reference/topologies.md says what the families are.", keys_of_topologies());
  return keys;
}

// ---- what they come to

model::ClosSpec clos_of(NetworkSpec& spec) {
  model::ClosSpec out = std::move(spec.clos);
  out.host = spec.link;
  out.latencies = spec.latencies;
  out.rails_apart = spec.kind == NetworkKind::rail_only;
  if (spec.radix != 0) {
    out.devices_per_leaf = out.spines_per_pod = spec.radix / 2;
    if (spec.kind == NetworkKind::fat_tree) out.groups_per_pod = spec.radix / 2;
  }
  return out;
}

// Whether devices have links to devices.
bool is_direct(NetworkKind kind) {
  return kind == NetworkKind::ring || kind == NetworkKind::fully_connected ||
         kind == NetworkKind::torus || kind == NetworkKind::mesh;
}

// Of a network that is no product.
FamilySpec family_of(NetworkSpec spec) {
  FamilySpec out{.shape = {}, .planes = 1, .place = spec.place};
  spec.link.name = is_direct(spec.kind) ? "direct" : "host";
  switch (spec.kind) {
    case NetworkKind::single_switch:
      out.shape = model::SingleSwitchSpec{spec.planes, spec.link, spec.latencies};
      return out;
    case NetworkKind::fully_connected:
      out.shape = model::FullyConnectedSpec{spec.link, spec.latencies};
      return out;
    case NetworkKind::ring:
    case NetworkKind::torus:
    case NetworkKind::mesh:
      out.shape =
          model::TorusSpec{spec.dims, spec.kind != NetworkKind::mesh, spec.link, spec.latencies};
      return out;
    case NetworkKind::leaf_spine:
    case NetworkKind::fat_tree:
    case NetworkKind::rail_optimised:
    case NetworkKind::rail_only:
      out.shape = clos_of(spec);
      out.planes = spec.planes;
      return out;
    case NetworkKind::dragonfly:
      spec.dragonfly.host = spec.link;
      spec.dragonfly.latencies = spec.latencies;
      out.shape = std::move(spec.dragonfly);
      return out;
    case NetworkKind::hyperx:
      spec.hyperx.dims = spec.dims;
      spec.hyperx.host = spec.link;
      spec.hyperx.latencies = spec.latencies;
      out.shape = std::move(spec.hyperx);
      return out;
    case NetworkKind::graph:
      spec.graph.latencies = spec.latencies;
      out.shape = std::move(spec.graph);
      return out;
    case NetworkKind::product:
      break;
  }
  EXAWARP_CHECK(false, spec.place);
  return out;
}

// Devices pass messages on between dimensions, and in those whose own devices do: alike.
void add_dimensions(NetworkSpec& spec, model::Fabric& out) {
  out.forwarding = spec.latencies.forwarding;
  for (NetworkSpec& dimension : spec.dimensions) {
    out.sizes.push_back(dimension.devices);
    if (is_direct(dimension.kind)) dimension.latencies.forwarding = out.forwarding;
    out.networks.push_back(family_of(std::move(dimension)));
  }
}

}  // namespace

const SectionSchema& topology_schema() { return topology_keys().schema(); }

model::Fabric read_topology(const YamlSection& section, std::optional<model::NodesSpec> nodes) {
  NetworkSpec spec = topology_keys().read(section);
  model::Fabric out;
  out.place = spec.place;
  out.nodes = std::move(nodes);
  const NetworkKind kind = spec.kind;
  if (kind == NetworkKind::product) {
    add_dimensions(spec, out);
    return out;
  }
  const bool cross_rail = spec.cross_rail;
  out.networks.push_back(family_of(std::move(spec)));
  if (kind != NetworkKind::rail_optimised && kind != NetworkKind::rail_only) return out;
  if (!out.nodes) {
    section.fail("kind",
                 "has a rail for each device of a node; expected a \"node\" beside "
                 "\"topology\"");
  }
  std::get<model::ClosSpec>(out.networks.front().shape).rails = out.nodes->devices;
  out.nodes->rails_cross_nvlink = kind == NetworkKind::rail_only || cross_rail;
  return out;
}

}  // namespace exawarp::io
