// Faults by name become a sorted list of (vertex, port, rule), both ends of each link, in which a
// search finds what concerns a port; the instants of failures stand beside it.
#include "model/network/faults/link_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/error.h"

namespace exawarp::model {
namespace {

using core::Time;

// Calls f(vertex, port, link) once for each link, from the end with the lower (vertex, port).
template <class F>
void for_each_link(const Topology& t, const F& f) {
  const std::uint32_t vertices = t.devices() + t.switches();
  for (std::uint32_t v = 0; v < vertices; ++v) {
    const std::uint32_t ports = t.ports({v});
    for (std::uint32_t p = 0; p < ports; ++p) {
      const Link link = t.link({v}, p);
      if (std::pair(v, p) < std::pair(link.peer.value, link.peer_port)) f(VertexId{v}, p, link);
    }
  }
}

}  // namespace

std::string vertex_name(const Topology& t, VertexId v) {
  return t.is_device(v) ? fmt::format("d{}", v.value) : fmt::format("s{}", v.value - t.devices());
}

// Turns the specs into entries.
class LinkFaults::Resolver {
 public:
  Resolver(const Topology& topology, LinkFaults& out) : topology_(topology), out_(out) {}

  void add(const LinkFaultSpec& spec) {
    EXAWARP_CHECK(spec.from < spec.until && spec.factor_ppm >= 0, spec.factor_ppm);
    spec_ = &spec;
    out_.rules_.push_back({spec.from, spec.until, spec.factor_ppm});
    for (const LinkName& name : spec.links) add(name);
    for (const std::uint32_t s : spec.switches) add_switch(s);
    if (spec.drawn_links) draw_links(*spec.drawn_links);
    if (spec.drawn_switches) draw_switches(*spec.drawn_switches);
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw core::InputError(spec_->place, fmt::format(format, std::forward<Args>(args)...));
  }

  [[nodiscard]] VertexId vertex(const VertexName& name) const {
    const std::uint32_t count = name.is_device ? topology_.devices() : topology_.switches();
    const char* what = name.is_device ? "device" : "switch";
    if (name.index >= count && count == 0)
      fail("no {} {}: this network has none", what, name.index);
    if (name.index >= count) fail("no {} {}; expected 0 to {}", what, name.index, count - 1);
    return name.is_device ? VertexId{name.index} : topology_.vertex_of_switch(name.index);
  }

  void add_port(VertexId v, std::uint32_t port) {
    const auto rule = static_cast<std::uint32_t>(out_.rules_.size() - 1);
    const Link link = topology_.link(v, port);
    EXAWARP_CHECK(topology_.link(link.peer, link.peer_port).peer == v, v.value, port);
    out_.entries_.push_back({v.value, port, rule});
    out_.entries_.push_back({link.peer.value, link.peer_port, rule});
  }

  void add(const LinkName& name) {
    const VertexId v = vertex(name.at);
    const std::uint32_t ports = topology_.ports(v);
    if (name.port) {
      if (*name.port >= ports) {
        fail("{} has no port {}; expected below {}", vertex_name(topology_, v), *name.port, ports);
      }
      return add_port(v, *name.port);
    }
    const VertexId to = vertex(name.to);
    bool found = false;
    for (std::uint32_t p = 0; p < ports; ++p) {
      if (topology_.link(v, p).peer != to) continue;
      add_port(v, p);
      found = true;
    }
    if (!found) {
      fail("no link between {} and {}; `exawarp topology show STUDY --links` lists all",
           vertex_name(topology_, v), vertex_name(topology_, to));
    }
  }

  void add_switch(std::uint32_t s) {
    const VertexId v = vertex({.is_device = false, .index = s});
    for (std::uint32_t p = 0; p < topology_.ports(v); ++p) add_port(v, p);
  }

  [[nodiscard]] std::optional<std::uint8_t> kind_of(const std::string& name) const {
    if (name.empty()) return std::nullopt;
    const auto kinds = topology_.link_kinds();
    std::string all;
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      if (kinds[k].name == name) return static_cast<std::uint8_t>(k);
      all += (k == 0 ? "" : ", ") + kinds[k].name;
    }
    fail("no links of kind \"{}\"; expected one of: {}", name, all);
  }

  void draw_links(const FaultDraw& draw) {
    const std::optional<std::uint8_t> kind = kind_of(draw.kind);
    const auto wanted = [&](const Link& link) { return !kind || link.kind == *kind; };
    std::uint64_t links = 0;
    for_each_link(topology_, [&](VertexId, std::uint32_t, const Link& l) { links += wanted(l); });
    DrawnKeys drawn(draw, links);
    for_each_link(topology_, [&](VertexId v, std::uint32_t port, const Link& link) {
      if (wanted(link)) drawn.offer(std::uint64_t{v.value} << 32 | port);
    });
    for (const std::uint64_t key : drawn.keys()) {
      add_port({static_cast<std::uint32_t>(key >> 32)}, static_cast<std::uint32_t>(key));
    }
  }

  void draw_switches(const FaultDraw& draw) {
    DrawnKeys drawn(draw, topology_.switches());
    for (std::uint32_t s = 0; s < topology_.switches(); ++s) drawn.offer(s);
    for (const std::uint64_t s : drawn.keys()) add_switch(static_cast<std::uint32_t>(s));
  }

  const Topology& topology_;
  LinkFaults& out_;
  const LinkFaultSpec* spec_ = nullptr;
};

LinkFaults::LinkFaults(const Topology& topology, std::span<const LinkFaultSpec> specs) {
  Resolver resolver(topology, *this);
  for (const LinkFaultSpec& spec : specs) resolver.add(spec);
  std::ranges::sort(entries_);
  entries_.erase(std::unique(entries_.begin(), entries_.end()), entries_.end());
  EXAWARP_CHECK(entries_.size() % 2 == 0, entries_.size());  // both ends of each link
  touched_.resize(topology.devices() + topology.switches());
  for (const Entry& entry : entries_) touched_[entry.vertex] = true;
  for (const Rule& rule : rules_) {
    if (rule.factor_ppm != 0) continue;
    changes_.push_back(rule.from);
    if (rule.until != Time::max()) changes_.push_back(rule.until);
  }
  std::ranges::sort(changes_);
  changes_.erase(std::unique(changes_.begin(), changes_.end()), changes_.end());
}

std::span<const LinkFaults::Entry> LinkFaults::of(VertexId v, std::uint32_t port) const {
  const auto first = std::ranges::lower_bound(entries_, Entry{v.value, port, 0});
  auto last = first;
  while (last != entries_.end() && last->vertex == v.value && last->port == port) ++last;
  return {first, last};
}

bool LinkFaults::down(VertexId v, std::uint32_t port, Time at) const {
  return down_from(v, port, at) == at;
}

Time LinkFaults::down_from(VertexId v, std::uint32_t port, Time at) const {
  Time first = Time::max();
  for (const Entry& entry : of(v, port)) {
    const Rule& rule = rules_[entry.rule];
    if (rule.factor_ppm == 0 && at < rule.until) first = std::min(first, std::max(at, rule.from));
  }
  EXAWARP_DCHECK(first >= at, first.ps, at.ps);
  return first;
}

Pace LinkFaults::pace(VertexId v, std::uint32_t port, Time at, bool failures) const {
  Pace pace;
  for (const Entry& entry : of(v, port)) {
    const Rule& rule = rules_[entry.rule];
    if (at >= rule.until || (rule.factor_ppm == 0 && !failures)) continue;
    if (at < rule.from) {
      pace.until = std::min(pace.until, rule.from);
    } else {
      pace.also(rule.factor_ppm, rule.until);
    }
  }
  return pace;
}

Time LinkFaults::end_of(VertexId v, std::uint32_t port, Time start, Time wire) const {
  return end_at_pace([&](Time at) { return pace(v, port, at, true); }, start, wire);
}

Time LinkFaults::end_if_up(VertexId v, std::uint32_t port, Time start, Time wire) const {
  return end_at_pace([&](Time at) { return pace(v, port, at, false); }, start, wire);
}

bool LinkFaults::any_down(Time at) const {
  return std::ranges::any_of(rules_, [at](const Rule& rule) {
    return rule.factor_ppm == 0 && at >= rule.from && at < rule.until;
  });
}

Time LinkFaults::next_change(Time at) const {
  const auto next = std::ranges::upper_bound(changes_, at);
  return next == changes_.end() ? Time::max() : *next;
}

bool LinkFaults::fails_for_ever_later() const {
  return std::ranges::any_of(rules_, [](const Rule& rule) {
    return rule.factor_ppm == 0 && rule.from > Time{0} && rule.until == Time::max();
  });
}

std::size_t LinkFaults::links() const {
  std::size_t ends = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    ends += i == 0 || entries_[i].vertex != entries_[i - 1].vertex ||
            entries_[i].port != entries_[i - 1].port;
  }
  return ends / 2;
}

}  // namespace exawarp::model
