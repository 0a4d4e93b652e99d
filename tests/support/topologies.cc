// The list of cases, family by family; then searches over their links, which know no formula.
#include "tests/support/topologies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <queue>

#include "model/topology/planes.h"
#include "model/topology/product.h"

namespace exawarp::tests {

using namespace model;

LinkKind link_kind(const char* name, std::int64_t gigabytes_per_s, std::int64_t nanoseconds) {
  return {name, gigabytes_per_s * 1'000'000'000, core::Time{nanoseconds * 1'000}};
}

namespace {

const LinkKind kHost = link_kind("host", 50, 10);
const LinkKind kUp = link_kind("up", 50, 20);
const LinkKind kTop = link_kind("top", 100, 70);
const LinkKind kNvlink = link_kind("nvlink", 400, 5);
constexpr std::uint64_t kGlobalWeight = 1'000;

std::function<bool(std::uint32_t)> below(std::uint32_t end) {
  return [end](std::uint32_t d) { return d < end; };
}

TopologyCase torus(const std::vector<std::uint32_t>& dims, bool wraps) {
  std::uint32_t longest = 0, stride = 1, stride_of_longest = 1;
  for (const std::uint32_t k : dims) {
    if (k > longest) {
      longest = k;
      stride_of_longest = stride;
    }
    stride *= k;
  }
  return {.name = fmt::format("{}_{}", wraps ? "torus" : "mesh", fmt::join(dims, "_")),
          .make = [=] {
            return std::make_unique<Torus>(TorusSpec{dims, wraps, kHost, kLatencies});
          },
          .devices_forward = true,
          .first_half =
              [=](std::uint32_t d) { return d / stride_of_longest % longest < longest / 2; },
          .weight_of_kind = {},
          .cut_is_least = false};
}

ClosSpec clos_spec(std::uint32_t per_leaf, std::uint32_t spines, std::uint32_t per_pod = 0,
                   std::uint32_t cores = 0) {
  ClosSpec s{.devices_per_leaf = per_leaf, .groups_per_pod = per_pod, .spines_per_pod = spines,
             .cores = cores};
  s.host = kHost;
  s.leaf_spine = kUp;
  s.spine_core = kTop;
  s.latencies = kLatencies;
  return s;
}

TopologyCase clos(const std::string& name, const ClosSpec& s, std::uint32_t devices,
                  std::function<bool(std::uint32_t)> first_half) {
  return {.name = "clos_" + name,
          .make = [=] { return std::make_unique<Clos>(s, devices); },
          .first_half = std::move(first_half),
          .weight_of_kind = {}};
}

void add_clos(std::vector<TopologyCase>& out) {
  const auto unit_half = [](std::uint32_t rails, std::uint32_t units) {
    return [=](std::uint32_t d) { return d / rails < units; };
  };
  out.push_back(clos("one_leaf", clos_spec(8, 0), 7, below(3)));
  out.push_back(clos("leaf_spine", clos_spec(4, 4), 16, below(8)));
  out.push_back(clos("oversubscribed", clos_spec(8, 2), 32, below(16)));
  out.push_back(clos("last_leaf_partly_filled", clos_spec(4, 3), 18, below(8)));
  out.push_back(clos("fat_tree", clos_spec(2, 2, 2), 16, below(8)));
  out.push_back(clos("last_pod_partly_filled", clos_spec(3, 2, 2), 20, below(12)));
  out.push_back(clos("one_leaf_a_pod", clos_spec(3, 2, 1), 9, below(3)));
  out.push_back(clos("few_cores", clos_spec(4, 4, 2, 2), 24, below(8)));
  out.push_back(clos("uneven_cores", clos_spec(4, 2, 2, 7), 40, below(16)));
  ClosSpec bundles = clos_spec(6, 2, 2, 2);
  bundles.leaf_bundle = 3;
  bundles.spine_bundle = 2;
  out.push_back(clos("bundles", bundles, 48, below(24)));
  ClosSpec dual_tor = clos_spec(4, 3);
  dual_tor.leaves_per_device = 2;
  out.push_back(clos("dual_tor", dual_tor, 14, below(8)));
  ClosSpec rails = clos_spec(2, 2);
  rails.rails = 4;
  out.push_back(clos("rails", rails, 20, unit_half(4, 2)));
  rails.groups_per_pod = 4;
  rails.devices_per_leaf = 1;
  out.push_back(clos("rails_in_pods", rails, 16, unit_half(4, 2)));
  rails.groups_per_pod = 0;
  rails.devices_per_leaf = 8;
  out.push_back(clos("rails_of_one_leaf", rails, 12, unit_half(4, 1)));
}

TopologyCase nodes(const std::string& name, const NodesSpec& n,
                   std::function<std::unique_ptr<Topology>()> across,
                   std::function<bool(std::uint32_t)> first_half) {
  NodesSpec filled = n;
  filled.bandwidth_bytes_per_s = filled.planes * kNvlink.bandwidth_bytes_per_s;
  filled.latency = 2 * kNvlink.latency + core::Time{200'001};  // of which an NVSwitch the odd one
  return {.name = "nodes_" + name,
          .make = [=] { return std::make_unique<Nodes>(filled, across()); },
          .devices_forward = n.rails_cross_nvlink,
          .finds_all_shortest = false,
          .first_half = std::move(first_half),
          .weight_of_kind = {},
          .cut_is_least = false};
}

void add_nodes(std::vector<TopologyCase>& out) {
  const auto clos_of = [](const ClosSpec& s, std::uint32_t devices) {
    return [=] { return std::make_unique<Clos>(s, devices); };
  };
  out.push_back(nodes("of_4", {.devices = 4}, clos_of(clos_spec(8, 4), 32), nullptr));
  out.push_back(nodes("of_4_last_partly_filled", {.devices = 4, .planes = 2},
                      clos_of(clos_spec(8, 4, 2), 30), nullptr));
  out.push_back(nodes("of_1", {.devices = 1}, clos_of(clos_spec(4, 2), 8), nullptr));
  out.push_back(
      nodes("alone", {.devices = 72, .planes = 3}, clos_of(clos_spec(72, 0), 72), nullptr));
  ClosSpec rails = clos_spec(2, 2);
  rails.rails = 4;
  out.push_back(nodes("rail_optimised", {.devices = 4}, clos_of(rails, 16), nullptr));
  rails.rails_apart = true;
  out.push_back(nodes("rail_only", {.devices = 4, .planes = 2, .rails_cross_nvlink = true},
                      clos_of(rails, 16), nullptr));
  out.push_back(nodes("pxn_with_spine", {.devices = 2, .rails_cross_nvlink = true},
                      [] {
                        ClosSpec s = clos_spec(2, 2);
                        s.rails = 2;
                        return std::make_unique<Clos>(s, 12);
                      },
                      nullptr));
  out.push_back(nodes("on_dragonfly", {.devices = 2},
                      [] {
                        return std::make_unique<Dragonfly>(
                            DragonflySpec{2, 2, 1, 3, GlobalLinks::relative, kHost, kUp, kTop,
                                          kLatencies});
                      },
                      nullptr));
  out.back().weight_of_kind = {1, 1, 1, kGlobalWeight};
}

// On networks, of not too many, whose devices pass messages on: of other nodes, past NVSwitch.
void add_nodes_that_forward(std::vector<TopologyCase>& out) {
  for (std::size_t i = 0, cases = out.size(); i < cases; ++i) {
    const auto across = out[i].make();
    const bool fits = across->devices_forward() && across->devices() <= 50;
    if (!fits || out[i].name.starts_with("nodes_")) continue;
    const std::uint32_t n = i % 2 == 0 ? 2 : 4;
    out.push_back(nodes("on_" + out[i].name, {.devices = n}, out[i].make, nullptr));
    out.back().devices_forward = true;
  }
}

TopologyCase dragonfly(std::uint32_t p, std::uint32_t a, std::uint32_t h, std::uint32_t g,
                       GlobalLinks arrangement) {
  const std::uint32_t group = p * a;
  const std::uint32_t half = g > 1 ? g / 2 * group : a > 1 ? a / 2 * p : p / 2;
  return {.name = fmt::format("dragonfly_p{}_a{}_h{}_g{}_{}", p, a, h, g,
                              arrangement == GlobalLinks::absolute ? "absolute" : "relative"),
          .make = [=] {
            return std::make_unique<Dragonfly>(
                DragonflySpec{p, a, h, g, arrangement, kHost, kUp, kTop, kLatencies});
          },
          .first_half = below(half),
          .weight_of_kind = {1, 1, kGlobalWeight},
          .cut_is_least = false};
}

TopologyCase hyperx(const std::vector<std::uint32_t>& dims, const std::vector<std::uint32_t>& width,
                    std::uint32_t hosts) {
  std::uint32_t stride = hosts, best_stride = 1, best_size = hosts;
  double least = 1e30;
  double switches = 1;
  for (const std::uint32_t k : dims) switches *= k;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const double half = dims[i] / 2;
    const double cut = switches / dims[i] * half * (dims[i] - half) * width[i];
    if (dims[i] > 1 && cut < least) {
      least = cut;
      best_stride = stride;
      best_size = dims[i];
    }
    stride *= dims[i];
  }
  return {.name = fmt::format("hyperx_{}_t{}", fmt::join(dims, "_"), hosts),
          .make = [=] {
            return std::make_unique<HyperX>(HyperXSpec{dims, width, hosts, kHost, kUp, kLatencies});
          },
          .first_half =
              [=](std::uint32_t d) { return d / best_stride % best_size < best_size / 2; },
          .weight_of_kind = {},
          .cut_is_least = false};
}

void add_direct(std::vector<TopologyCase>& out) {
  for (const std::uint32_t n : {1u, 2u, 3u, 4u, 7u, 16u}) out.push_back(torus({n}, true));
  for (const bool wraps : {true, false}) {
    out.push_back(torus({4, 4}, wraps));
    out.push_back(torus({2, 5}, wraps));
    out.push_back(torus({1, 6, 2}, wraps));
    out.push_back(torus({3, 4, 5}, wraps));
    out.push_back(torus({2, 3, 2, 3}, wraps));
  }
  for (const std::uint32_t n : {1u, 2u, 5u, 8u}) {
    out.push_back({.name = fmt::format("fully_connected_{}", n),
                   .make = [=] {
                     return std::make_unique<FullyConnected>(FullyConnectedSpec{kHost, kLatencies},
                                                             n);
                   },
                   .devices_forward = true,
                   .first_half = below(n / 2),
                   .weight_of_kind = {},
                   .cut_is_least = false});
    out.push_back({.name = fmt::format("single_switch_{}", n),
                   .make = [=] {
                     return std::make_unique<SingleSwitch>(
                         SingleSwitchSpec{(n + 1) / 2, kHost, kLatencies}, n);
                   },
                   .first_half = below(n / 2),
                   .weight_of_kind = {}});
  }
}

using Dims = std::vector<std::unique_ptr<Topology>>;

TopologyCase product(const std::string& name, std::function<Dims()> dims) {
  return {.name = "product_" + name,
          .make = [=] { return std::make_unique<Product>(dims(), core::Time{300'000}); },
          .devices_forward = true,
          .first_half = nullptr,
          .weight_of_kind = {}};
}

void add_products(std::vector<TopologyCase>& out) {
  const auto ring = [](std::uint32_t n) {
    return std::make_unique<Torus>(TorusSpec{{n}, true, kHost, kLatencies});
  };
  const auto switched = [](std::uint32_t n, std::uint32_t planes) {
    return std::make_unique<SingleSwitch>(SingleSwitchSpec{planes, kNvlink, kLatencies}, n);
  };
  out.push_back(product("switch_by_torus", [=] {
    Dims dims;
    dims.push_back(switched(4, 1));
    dims.push_back(std::make_unique<Torus>(TorusSpec{{3, 4}, true, kHost, kLatencies}));
    return dims;
  }));
  out.push_back(product("ring_by_ring_by_clos", [=] {
    Dims dims;
    dims.push_back(ring(3));
    dims.push_back(ring(4));
    dims.push_back(std::make_unique<Clos>(clos_spec(2, 2), 6));
    return dims;
  }));
  out.push_back(product("switch_by_switch", [=] {
    Dims dims;
    dims.push_back(switched(5, 2));
    dims.push_back(switched(3, 1));
    return dims;
  }));
  out.push_back(product("mesh_by_full", [=] {
    Dims dims;
    dims.push_back(std::make_unique<Torus>(TorusSpec{{3, 2}, false, kHost, kLatencies}));
    dims.push_back(std::make_unique<FullyConnected>(FullyConnectedSpec{kUp, kLatencies}, 4));
    return dims;
  }));
}

GraphSpec two_leaves() {
  GraphSpec s{.devices = 5, .switches = 4, .kinds = {kHost, kUp}, .wires = {}};
  const auto wire = [&](std::uint32_t a, std::uint32_t b, std::uint8_t kind) {
    s.wires.push_back({{a}, {b}, kind});
  };
  for (std::uint32_t d = 0; d < 5; ++d) wire(d, d < 3 ? 5 : 6, 0);
  for (const std::uint32_t leaf : {5u, 6u}) {
    for (const std::uint32_t spine : {7u, 8u}) wire(spine, leaf, 1);
  }
  wire(5, 7, 1);  // a second link beside the first
  s.latencies = kLatencies;
  return s;
}

}  // namespace

std::vector<TopologyCase> topology_cases() {
  std::vector<TopologyCase> out;
  add_direct(out);
  add_clos(out);
  add_nodes(out);
  for (const GlobalLinks arrangement : {GlobalLinks::absolute, GlobalLinks::relative}) {
    out.push_back(dragonfly(2, 4, 2, 9, arrangement));
    out.push_back(dragonfly(1, 3, 1, 4, arrangement));
    out.push_back(dragonfly(2, 4, 2, 5, arrangement));
    out.push_back(dragonfly(1, 4, 3, 5, arrangement));
    out.push_back(dragonfly(3, 4, 2, 3, arrangement));
    out.push_back(dragonfly(2, 3, 2, 2, arrangement));
    out.push_back(dragonfly(2, 1, 4, 5, arrangement));
  }
  out.push_back(dragonfly(3, 5, 1, 1, GlobalLinks::absolute));
  out.push_back(dragonfly(5, 1, 1, 1, GlobalLinks::absolute));
  out.push_back(hyperx({4}, {1}, 3));
  out.push_back(hyperx({3, 4}, {1, 1}, 2));
  out.push_back(hyperx({2, 3, 4}, {2, 1, 1}, 1));
  out.push_back(hyperx({3, 3}, {1, 3}, 2));
  out.push_back(hyperx({1}, {1}, 5));
  add_products(out);
  out.push_back({.name = "planes_of_leaf_spine",
                 .make = [] {
                   return std::make_unique<Planes>(2, std::make_unique<Clos>(clos_spec(4, 2), 14));
                 },
                 .first_half = below(8),
                 .weight_of_kind = {}});
  out.push_back({.name = "graph_of_two_leaves",
                 .make = [] { return std::make_unique<Graph>(two_leaves(), "graph"); },
                 .first_half = below(2),
                 .weight_of_kind = {}});
  add_nodes_that_forward(out);
  return out;
}

std::vector<std::uint64_t> lengths_to(const Topology& topology, VertexId to,
                                      const TopologyCase& c) {
  constexpr std::uint64_t kFar = std::numeric_limits<std::uint64_t>::max();
  std::vector<std::uint64_t> length(topology.devices() + topology.switches(), kFar);
  using Entry = std::pair<std::uint64_t, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  length[to.value] = 0;
  queue.push({0, to.value});
  while (!queue.empty()) {
    const auto [at_length, v] = queue.top();
    queue.pop();
    const VertexId at{v};
    if (at_length != length[v]) continue;
    if (at != to && topology.is_device(at) && !c.devices_forward) continue;
    for (std::uint32_t p = 0; p < topology.ports(at); ++p) {
      const Link link = topology.link(at, p);
      const std::uint64_t weight = c.weight_of_kind.empty() ? 1 : c.weight_of_kind[link.kind];
      if (at_length + weight >= length[link.peer.value]) continue;
      length[link.peer.value] = at_length + weight;
      queue.push({at_length + weight, link.peer.value});
    }
  }
  return length;
}

bool devices_are_connected(const Topology& t, const LinkFaults& faults) {
  for (std::uint32_t from = 0; from < t.devices(); ++from) {
    std::vector<bool> reached(t.devices() + t.switches());
    std::vector<VertexId> todo{{from}};
    reached[from] = true;
    while (!todo.empty()) {
      const VertexId at = todo.back();
      todo.pop_back();
      if (at.value != from && t.is_device(at) && !t.devices_forward()) continue;
      for (std::uint32_t p = 0; p < t.ports(at); ++p) {
        const VertexId peer = t.link(at, p).peer;
        const bool fails = faults.down_from(at, p, core::Time{0}) != core::Time::max();
        if (fails || reached[peer.value]) continue;
        reached[peer.value] = true;
        todo.push_back(peer);
      }
    }
    if (!std::all_of(reached.begin(), reached.begin() + t.devices(), [](bool r) { return r; })) {
      return false;
    }
  }
  return true;
}

bool has_cycle(const Waits& waits) {
  std::map<std::uint64_t, int> colour;
  const std::function<bool(std::uint64_t)> visit = [&](std::uint64_t channel) {
    colour[channel] = 1;
    const auto next = waits.find(channel);
    if (next != waits.end()) {
      for (const std::uint64_t other : next->second) {
        if (colour[other] == 1 || (colour[other] == 0 && visit(other))) return true;
      }
    }
    colour[channel] = 2;
    return false;
  };
  return std::ranges::any_of(
      waits, [&](const auto& entry) { return colour[entry.first] == 0 && visit(entry.first); });
}

}  // namespace exawarp::tests
