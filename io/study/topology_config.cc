// One reader for each family of topologies, chosen by `kind`; a product is a list of such
// families. Whether the numbers make a network is for the topology itself to say.
#include "io/study/topology_config.h"

#include <fmt/format.h>

#include <span>

#include "io/study/graph_config.h"
#include "io/study/quantities.h"

namespace exawarp::io {
namespace {

using model::FamilySpec;
using model::LinkKind;
using model::NodeLatencies;

constexpr std::int64_t kBundleMax = 64;

constexpr core::Named<bool> kCrossRailNames[] = {{"spine", false}, {"nvlink", true}};
constexpr std::span<const core::Named<bool>> kCrossRail = kCrossRailNames;

enum class NetworkKind {
  single_switch, ring, fully_connected, torus, mesh, leaf_spine, fat_tree, rail_optimised,
  rail_only, dragonfly, hyperx, graph, product
};
constexpr core::Named<NetworkKind> kKindNames[] = {{"single_switch", NetworkKind::single_switch},
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

LinkKind link(const YamlSection& section, std::string_view key, const std::string& name) {
  return read_link(section.section(key), name);
}

// As the link below it where it is not given.
LinkKind link_or(const YamlSection& section, std::string_view key, const std::string& name,
                 const LinkKind& fallback) {
  if (section.has(key)) return link(section, key, name);
  LinkKind out = fallback;
  out.name = name;
  return out;
}

NodeLatencies switched(const YamlSection& section) {
  return {read_latency(section, "switch_latency", 0), read_latency(section, "endpoint_latency", 0)};
}

NodeLatencies direct(const YamlSection& section) {
  return {read_latency(section, "forwarding_latency", 0, 0),
          read_latency(section, "endpoint_latency", 0)};
}

std::vector<std::uint32_t> dimensions(const YamlSection& section) {
  std::vector<std::uint32_t> out =
      section.integers("dims", {.min = 1, .max = kDevicesMax});
  if (out.empty() || out.size() > model::Torus::kDimsMax) {
    section.fail("dims", fmt::format("has {} dimensions; expected 1 to {}", out.size(),
                                     model::Torus::kDimsMax));
  }
  return out;
}

// ---- Clos networks

// Up-links of a leaf over its bundle, from the ratio of what is below it to what is above.
std::uint32_t spines_for(const YamlSection& section, const model::ClosSpec& s) {
  const std::uint32_t ratio = read_count(section, "oversubscription", 1, kWidthMax);
  const std::uint32_t up = s.leaf_bundle * ratio;
  if (s.devices_per_leaf % up != 0) {
    section.fail("oversubscription",
                 fmt::format("{} devices below a leaf at {}:1 over bundles of {} make no whole "
                             "number of spines; expected a divisor",
                             s.devices_per_leaf, ratio, s.leaf_bundle));
  }
  return s.devices_per_leaf / up;
}

// What all Clos networks have; `spines` is the key of their number.
model::ClosSpec clos(const YamlSection& section, std::string_view spines) {
  model::ClosSpec s;
  s.host = link(section, "link", "host");
  s.leaf_spine = link_or(section, "leaf_link", "leaf-spine", s.host);
  s.latencies = switched(section);
  s.leaf_bundle = read_count(section, "leaf_bundle", 1, kBundleMax, 1);
  s.leaves_per_device = read_count(section, "leaves_per_device", 1, 8, 1);
  if (section.has("radix")) {
    const std::uint32_t radix = read_count(section, "radix", 2, kWidthMax);
    if (radix % 2 != 0) {
      section.fail("radix", fmt::format("{} is odd; expected an even number of ports, half of "
                                        "them down and half up",
                                        radix));
    }
    s.devices_per_leaf = s.spines_per_pod = s.groups_per_pod = radix / 2;
    return s;
  }
  s.devices_per_leaf = read_count(section, "devices_per_leaf", 1, kWidthMax);
  s.spines_per_pod = section.has("oversubscription") ? spines_for(section, s)
                                                     : read_count(section, spines, 0, kWidthMax);
  return s;
}

model::ClosSpec leaf_spine(const YamlSection& section) {
  model::ClosSpec s = clos(section, "spines");
  s.groups_per_pod = 0;
  return s;
}

model::ClosSpec fat_tree(const YamlSection& section) {
  model::ClosSpec s = clos(section, "spines_per_pod");
  s.spine_core = link_or(section, "core_link", "spine-core", s.leaf_spine);
  s.spine_bundle = read_count(section, "spine_bundle", 1, kBundleMax, 1);
  if (s.groups_per_pod == 0) s.groups_per_pod = read_count(section, "leaves_per_pod", 1, kWidthMax);
  s.cores = read_count(section, "cores", 0, kDevicesMax, 0);
  return s;
}

// As many rails as a node has devices; set where the node is known.
model::ClosSpec rails(const YamlSection& section, bool apart) {
  model::ClosSpec s = leaf_spine(section);
  s.rails_apart = apart;
  return s;
}

// ---- others

model::DragonflySpec dragonfly(const YamlSection& section) {
  model::DragonflySpec s;
  s.devices_per_router = read_count(section, "devices_per_router", 1, kWidthMax);
  s.routers = read_count(section, "routers_per_group", 1, kWidthMax);
  s.global_links = read_count(section, "global_links_per_router", 1, kWidthMax);
  s.groups = read_count(section, "groups", 1, kDevicesMax);
  s.arrangement = section.choice<model::GlobalLinks>("arrangement", names_of(model::GlobalLinks{}),
                                                     model::GlobalLinks::absolute);
  s.host = link(section, "link", "host");
  s.local = link_or(section, "local_link", "local", s.host);
  s.global = link_or(section, "global_link", "global", s.local);
  s.latencies = switched(section);
  return s;
}

model::HyperXSpec hyperx(const YamlSection& section) {
  model::HyperXSpec s;
  s.dims = dimensions(section);
  const std::vector<std::uint32_t> single(s.dims.size(), 1);
  s.width = section.integers("width", {.min = 1, .max = kBundleMax}, single);
  if (s.width.size() != s.dims.size()) {
    section.fail("width", fmt::format("has {} numbers; expected {}, one a dimension",
                                      s.width.size(), s.dims.size()));
  }
  s.hosts = read_count(section, "devices_per_switch", 1, kWidthMax);
  s.host = link(section, "link", "host");
  s.between = link_or(section, "switch_link", "switch", s.host);
  s.latencies = switched(section);
  return s;
}

model::GraphSpec graph(const YamlSection& section) {
  model::GraphSpec s = read_graph(section.section("graph"));
  s.latencies = switched(section);
  return s;
}

FamilySpec family(const YamlSection& section, NetworkKind kind) {
  FamilySpec out{.shape = {}, .planes = 1, .place = section.where("")};
  switch (kind) {
    case NetworkKind::single_switch:
      out.shape = model::SingleSwitchSpec{read_count(section, "planes", 1, kWidthMax, 1),
                                          link(section, "link", "host"), switched(section)};
      return out;
    case NetworkKind::fully_connected:
      out.shape = model::FullyConnectedSpec{link(section, "link", "direct"), direct(section)};
      return out;
    case NetworkKind::ring:
      out.shape = model::TorusSpec{{}, true, link(section, "link", "direct"), direct(section)};
      return out;
    case NetworkKind::torus:
    case NetworkKind::mesh:
      out.shape = model::TorusSpec{dimensions(section), kind == NetworkKind::torus,
                                   link(section, "link", "direct"), direct(section)};
      return out;
    case NetworkKind::leaf_spine: out.shape = leaf_spine(section); break;
    case NetworkKind::fat_tree: out.shape = fat_tree(section); break;
    case NetworkKind::rail_optimised: out.shape = rails(section, false); break;
    case NetworkKind::rail_only: out.shape = rails(section, true); break;
    case NetworkKind::dragonfly: out.shape = dragonfly(section); return out;
    case NetworkKind::hyperx: out.shape = hyperx(section); return out;
    case NetworkKind::graph: out.shape = graph(section); return out;
    case NetworkKind::product:
      section.fail("kind", "\"product\" is no dimension of a product; expected one network");
  }
  out.planes = read_count(section, "planes", 1, 8, 1);
  return out;
}

// Devices pass messages on between dimensions, and in those whose own devices do: alike.
void set_forwarding(FamilySpec& family, core::Time forwarding) {
  if (auto* torus = std::get_if<model::TorusSpec>(&family.shape)) {
    torus->latencies.forwarding = forwarding;
  } else if (auto* full = std::get_if<model::FullyConnectedSpec>(&family.shape)) {
    full->latencies.forwarding = forwarding;
  }
}

void read_product(const YamlSection& section, model::Fabric& out) {
  out.forwarding = read_latency(section, "forwarding_latency", 0, 0);
  const YamlSection dims = section.section("dimensions");
  const std::vector<std::string> names = dims.keys();
  constexpr std::size_t kDimensionsMax = 8;
  if (names.size() < 2 || names.size() > kDimensionsMax) {
    section.fail("dimensions", fmt::format("has {} networks; expected 2 to {}", names.size(),
                                           kDimensionsMax));
  }
  for (const std::string& name : names) {
    const YamlSection dim = dims.section(name);
    skip_documentation(dim);
    out.sizes.push_back(read_count(dim, "devices", 1, kDevicesMax));
    const NetworkKind kind = dim.choice<NetworkKind>("kind", names_of(NetworkKind{}));
    if (kind == NetworkKind::graph || kind == NetworkKind::rail_only) {
      dim.fail("kind", "cannot be a dimension of a product; expected another family");
    }
    out.networks.push_back(family(dim, kind));
    set_forwarding(out.networks.back(), out.forwarding);
  }
}

}  // namespace

std::vector<std::string> topology_kinds() { return core::names_in(names_of(NetworkKind{})); }

model::Fabric read_topology(const YamlSection& section, std::optional<model::NodesSpec> nodes) {
  skip_documentation(section);
  section.skip("name");
  model::Fabric out;
  out.place = section.where("");
  out.nodes = std::move(nodes);
  const NetworkKind kind = section.choice<NetworkKind>("kind", names_of(NetworkKind{}));
  if (kind == NetworkKind::product) {
    read_product(section, out);
    return out;
  }
  out.networks.push_back(family(section, kind));
  if (kind != NetworkKind::rail_optimised && kind != NetworkKind::rail_only) return out;
  if (!out.nodes) {
    section.fail("kind", "has a rail for each device of a node; expected a \"node\" beside "
                         "\"topology\"");
  }
  std::get<model::ClosSpec>(out.networks.front().shape).rails = out.nodes->devices;
  out.nodes->rails_cross_nvlink =
      kind == NetworkKind::rail_only || section.choice<bool>("cross_rail", kCrossRail, false);
  return out;
}

}  // namespace exawarp::io
