// The mesh of a workload that an export wrote: its axes and the communicators along them, which
// communicators as lists of ranks do not tell.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "io/chakra.pb.h"
#include "model/workload/builder.h"
#include "model/workload/graph.h"

namespace exawarp::io {

// Whether all of the graph's messages go along axes, and no communicator has a number of its own: a
// graph that was imported is recognised by its traces.
[[nodiscard]] bool has_mesh(const model::WorkloadGraph& graph);
// As the texts SIZE:NAME, an axis each, and AXIS,AXIS:NAME or lists:NAME, a group each.
void add_mesh(const model::WorkloadGraph& graph, chakra::GlobalMetadata& metadata);

class Mesh {
 public:
  // Nothing where the texts are not as above, or their product is not `ranks`.
  [[nodiscard]] static std::optional<Mesh> parse(const std::vector<std::string>& axes,
                                                 const std::vector<std::string>& groups,
                                                 std::uint32_t ranks);

  using Lists = std::set<std::vector<std::uint32_t>>;
  // `lists`: by group, the communicators of those that are lists.
  void write(model::WorkloadBuilder& workload, const std::map<std::size_t, Lists>& lists) const;
  [[nodiscard]] bool is_lists(std::size_t group) const { return groups_[group].by_lists; }
  [[nodiscard]] std::size_t axis_count() const { return axes_.size(); }
  [[nodiscard]] std::size_t group_count() const { return groups_.size(); }
  [[nodiscard]] std::uint32_t axis_size(std::size_t axis) const { return axes_[axis].size; }
  [[nodiscard]] std::uint32_t stride(std::size_t axis) const { return axes_[axis].stride; }
  // The members of `rank`'s communicator of `group`, in order; requires !is_lists().
  [[nodiscard]] std::vector<std::uint32_t> members(std::size_t group, std::uint32_t rank) const;

 private:
  struct Axis {
    std::string name;
    std::uint32_t size, stride;
  };
  struct Group {
    std::string name;
    bool by_lists;
    std::vector<std::uint8_t> axes;
  };
  std::vector<Axis> axes_;
  std::vector<Group> groups_;
};

}  // namespace exawarp::io
