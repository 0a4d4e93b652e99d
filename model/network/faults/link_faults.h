// Links and switches that are slow or down for a while: trouble on purpose. What a study says is
// resolved once, against a topology, into a list as long as the faults; after that everything is a
// pure function of link and time, so it is the same in every mode and after every rollback.
//
// A link is slow or down in both directions. A switch that is slow or down is all its links.
// Names: a vertex is d12 (device) or s3 (switch); "s0 s4" is every link between two vertices,
// "s0:3" the link at port 3 of s0. `exawarp topology show STUDY --links` lists them.
//
// Thread safety: read-only after construction.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/time.h"
#include "model/fault_draw.h"
#include "model/pace.h"
#include "model/topology/topology.h"

namespace exawarp::model {

struct VertexName {
  bool is_device = false;
  std::uint32_t index = 0;
};

// One link by its port, or all between two vertices.
struct LinkName {
  VertexName at;
  std::optional<std::uint32_t> port{};
  VertexName to{};  // where there is no port
};

struct LinkFaultSpec {
  std::vector<LinkName> links{};
  std::vector<std::uint32_t> switches{};
  // Of all links of a kind, or of all switches.
  std::optional<FaultDraw> drawn_links{}, drawn_switches{};
  std::int64_t factor_ppm = 0;           // of the time a transfer takes; 0: down
  core::Time from{};                     // inclusive
  core::Time until = core::Time::max();  // exclusive
  std::string place{};                   // "file:line: key ...", what an error starts with
};

class LinkFaults {
 public:
  // Throws core::InputError, starting with a spec's place, where the topology has no such link,
  // switch or kind.
  LinkFaults(const Topology& topology, std::span<const LinkFaultSpec> specs);

  // Whether the link at this port is ever slow or down.
  [[nodiscard]] bool touches(VertexId v, std::uint32_t port) const {
    return touched_[v.value] && !of(v, port).empty();
  }
  [[nodiscard]] bool down(VertexId v, std::uint32_t port, core::Time at) const;
  // The first instant from `at` on at which it is down; Time::max(): there is none.
  [[nodiscard]] core::Time down_from(VertexId v, std::uint32_t port, core::Time at) const;
  // When a transfer that takes `wire` on the sound link ends if it starts at `start`; what is under
  // way when the link goes down goes on when it is back. Time::max(): never.
  [[nodiscard]] core::Time end_of(VertexId v, std::uint32_t port, core::Time start,
                                  core::Time wire) const;
  // The same as if the link were slow at times, but never down.
  [[nodiscard]] core::Time end_if_up(VertexId v, std::uint32_t port, core::Time start,
                                     core::Time wire) const;

  // Whether some link is down at `at`.
  [[nodiscard]] bool any_down(core::Time at) const;
  // The first instant after `at` at which some link goes down or comes back; Time::max(): none.
  [[nodiscard]] core::Time next_change(core::Time at) const;
  // Whether a link that works at time 0 fails later and stays down.
  [[nodiscard]] bool fails_for_ever_later() const;
  [[nodiscard]] bool any_failure() const { return !changes_.empty(); }
  [[nodiscard]] std::size_t links() const;  // ever slow or down

 private:
  struct Entry {  // one direction of a link under one rule
    std::uint32_t vertex, port, rule;
    friend constexpr auto operator<=>(const Entry&, const Entry&) = default;
  };
  struct Rule {
    core::Time from, until;
    std::int64_t factor_ppm;
  };
  class Resolver;

  [[nodiscard]] std::span<const Entry> of(VertexId v, std::uint32_t port) const;
  [[nodiscard]] Pace pace(VertexId v, std::uint32_t port, core::Time at, bool failures) const;

  std::vector<Entry> entries_;       // ascending
  std::vector<bool> touched_;        // by vertex: packets ask at each hop, and most meet no fault
  std::vector<Rule> rules_;          // by spec
  std::vector<core::Time> changes_;  // ascending: from and until of what is down
};

// "d12" or "s3".
std::string vertex_name(const Topology& topology, VertexId v);

}  // namespace exawarp::model
