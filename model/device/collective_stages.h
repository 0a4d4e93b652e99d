// What a collective of a program becomes on the devices: one stage, or several one after the other,
// each in the communicators of the group, along one of its axes, or inside its nodes and across
// them.
//
//   plain            one stage with all members
//   axis by axis     the default of all-reduce and barrier where it is faster (collective/ring.h):
//                    each axis with the whole buffer
//   hierarchical     by rule: dimensions are the group's axes or, where it has one, the node and
//                    the rest. All-reduce: reduce-scatter along each dimension but the last,
//                    all-reduce along that, all-gather back. Reduce-scatter and all-gather: the
//                    way up and the way down alone. Barrier: along each.
//
// What shares a node is asked of the job's placement, not of rank numbers. Where that scatters
// ranks, no dimension lies inside nodes: a hierarchical collective over one axis then runs as one
// stage, and the lanes of a ring follow positions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/collective/choice.h"
#include "model/job/job.h"
#include "model/network/message/network.h"
#include "model/workload/graph.h"

namespace exawarp::model {

constexpr std::uint32_t kWholeGroup = 0xffffffff;

// The members that a stage's collective is among: those of a group, or fewer. Devices are ranks of
// the job, as in its graph.
struct Among {
  std::uint32_t group = 0;
  std::uint32_t axis = kWholeGroup;  // kWholeGroup: all of the group's
  std::uint32_t width = 0;           // 0: all; else positions are taken in runs of so many:
  bool across = false;               // the members of a run, or those at one place of every run
  friend constexpr auto operator<=>(const Among&, const Among&) = default;

  [[nodiscard]] Membership membership(const WorkloadGraph& graph, core::DeviceId device) const;
  // The member at `position`. Requires that `device` is one.
  [[nodiscard]] core::DeviceId member(const WorkloadGraph& graph, core::DeviceId device,
                                      std::uint32_t position) const;
  // All of them, by position; of a device that is none, itself.
  [[nodiscard]] std::vector<core::DeviceId> members(const WorkloadGraph& graph,
                                                    core::DeviceId device) const;
};

struct CollectiveStage {
  Among among;
  schema::CollectiveType type = schema::CollectiveType::ALL_REDUCE;
  std::int64_t bytes = 0;                 // as commBytes
  std::optional<std::uint32_t> members;   // none: they differ between communicators
  std::uint32_t members_max = 1;
  std::uint32_t node_members = 1;         // as Collective::node_members
  Choice choice;
};

class CollectiveStages {
 public:
  CollectiveStages(const PlacedJob& job, const Network& network, const CollectiveRules& rules);

  // The stages of a collective node; at least one.
  [[nodiscard]] std::vector<CollectiveStage> of(const schema::Node::Reader& node) const;

 private:
  [[nodiscard]] std::vector<CollectiveStage> unsettled(const schema::Node::Reader& node) const;
  struct Group {
    std::vector<std::uint32_t> axes;      // of more than one member; empty: given by lists
    std::optional<std::uint32_t> size;    // of every communicator; none: they differ
    std::uint32_t most = 1;               // members of the largest
    std::uint32_t in_node = 1;            // consecutive positions that share a node
    bool across_nodes = false;            // members are in several nodes
  };
  // As Group::in_node, of the communicators along one axis.
  [[nodiscard]] std::uint32_t in_node_along(std::uint32_t axis) const;
  [[nodiscard]] std::vector<CollectiveStage> axis_by_axis_or_whole(
      const CollectiveStage& whole) const;
  [[nodiscard]] std::vector<CollectiveStage> by_dimension(const CollectiveStage& whole) const;
  [[nodiscard]] std::vector<CollectiveStage> dimensions(const CollectiveStage& whole) const;

  const WorkloadGraph& graph_;
  const Network& network_;
  const CollectiveRules& rules_;
  std::uint32_t ranks_in_node_;
  std::vector<Group> groups_;
};

}  // namespace exawarp::model
