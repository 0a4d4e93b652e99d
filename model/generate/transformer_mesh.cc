// Mesh axes and communicators; see transformer_mesh.h.
//
// The data axis is cut in up to three: ranks that share experts (expert), that share one copy of
// the parameters (data), and that hold copies (replica). The tensor axis is cut in two where an
// expert is split over fewer ranks than the rest: those that split it (tensor), and those that go
// with the expert-parallel ranks (tensor_outer).
#include "model/generate/transformer_mesh.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/check.h"

namespace exawarp::model {
namespace {

// How the logical sizes are cut.
struct Cuts {
  std::uint32_t tensor, tensor_outer, expert, data, replica;
  bool experts_beside_tensor;  // all of the tensor axis goes with the expert-parallel ranks
};

Cuts cuts_of(const ParallelSpec& p) {
  const auto narrow = [](std::int64_t v) { return static_cast<std::uint32_t>(v); };
  const std::int64_t within = expert_tensor_of(p);
  const std::int64_t outer = p.tensor / within;
  const std::int64_t expert = std::max<std::int64_t>(p.expert / outer, 1);
  const std::int64_t shard = p.shard_group != 0 ? p.shard_group : p.data;
  Cuts cuts{narrow(p.tensor),       1,    narrow(expert), narrow(shard / expert),
            narrow(p.data / shard), false};
  if (p.expert == 1) return cuts;
  cuts.experts_beside_tensor = within == 1 && p.tensor > 1;
  if (within > 1) {
    cuts.tensor = narrow(within);
    cuts.tensor_outer = narrow(outer);
  }
  return cuts;
}

// The names as in parallel.order, with those left out in their places.
std::vector<std::string> full_order(const ParallelSpec& parallel) {
  std::vector<std::string> order = parallel.order;
  const auto put = [&order](const char* name, const char* beside, std::ptrdiff_t offset) {
    if (std::find(order.begin(), order.end(), name) != order.end()) return;
    order.insert(std::find(order.begin(), order.end(), beside) + offset, name);
  };
  put("context", "tensor", 1);
  put("expert", "data", 0);
  put("replica", "data", 1);
  return order;
}

class Groups {
 public:
  Groups(const TransformerMesh& mesh, WorkloadBuilder& workload)
      : mesh_(mesh), workload_(workload) {}

  std::uint16_t add(const char* name, const std::vector<std::string>& axes) {
    return workload_.add_group(name, present(axes));
  }
  // As add(), where stage r of the pipeline is together with stage p - 1 - r. Requires an even p.
  std::uint16_t add_mirrored(const char* name, const std::vector<std::string>& axes) {
    const std::uint32_t stages = size({"pipeline"});
    std::map<std::uint32_t, std::vector<std::uint32_t>> lists;  // by the group's first device
    for (std::uint32_t device = 0; device < mesh_.devices; ++device) {
      const std::uint32_t stage = mesh_.stage_of(device, stages);
      std::uint32_t first = device;
      if (stage >= stages / 2) first -= (2 * stage + 1 - stages) * mesh_.pipeline_stride;
      for (const std::uint8_t index : present(axes)) {
        const TransformerMesh::Axis& axis = mesh_.axes[index];
        first -= device / axis.stride % axis.size * axis.stride;
      }
      lists[first].push_back(device);
    }
    std::vector<std::vector<std::uint32_t>> members;
    for (auto& [first, list] : lists) members.push_back(std::move(list));
    return workload_.add_group_lists(name, std::move(members));
  }
  // The mesh axes among `names`, in the mesh's order.
  [[nodiscard]] std::vector<std::uint8_t> present(const std::vector<std::string>& names) const {
    std::vector<std::uint8_t> result;
    for (std::size_t i = 0; i < mesh_.axes.size(); ++i) {
      if (std::find(names.begin(), names.end(), mesh_.axes[i].name) != names.end()) {
        result.push_back(static_cast<std::uint8_t>(i));
      }
    }
    return result;
  }
  [[nodiscard]] std::uint32_t size(const std::vector<std::string>& names) const {
    std::uint32_t product = 1;
    for (const std::uint8_t axis : present(names)) product *= mesh_.axes[axis].size;
    return product;
  }

 private:
  const TransformerMesh& mesh_;
  WorkloadBuilder& workload_;
};

// One communicator for the devices with one place in each of the stages that share an embedding.
std::uint16_t add_embedding_group(const TransformerMesh& mesh, std::uint32_t stages,
                                  const std::vector<std::uint32_t>& sharing,
                                  WorkloadBuilder& workload) {
  std::vector<std::vector<std::uint32_t>> lists;
  for (std::uint32_t device = 0; device < mesh.devices; ++device) {
    if (mesh.stage_of(device, stages) != 0) continue;
    std::vector<std::uint32_t>& list = lists.emplace_back();
    for (const std::uint32_t stage : sharing) {
      list.push_back(device + stage * mesh.pipeline_stride);
    }
  }
  EXAWARP_CHECK(lists.size() == mesh.devices / stages, lists.size(), mesh.devices, stages);
  return workload.add_group_lists("embedding", std::move(lists));
}

// Whether stages r and p - 1 - r hold the same parameters (schedule.h).
bool is_mirrored(const TransformerSpec& spec) {
  return spec.schedule.kind == ScheduleKind::kDualPipe;
}

// The ranks that hold the same parameters: those along axes `names`, and as many at the mirror
// image of their stage.
std::uint16_t add_sharded(const TransformerSpec& spec, const char* name,
                          const std::vector<std::string>& names, Groups& groups) {
  return is_mirrored(spec) ? groups.add_mirrored(name, names) : groups.add(name, names);
}

// `sharded` and `copies`: the axes over which the parameters are the same.
void add_parameter_groups(const TransformerSpec& spec, const std::string& name,
                          const std::vector<std::string>& sharded, Groups& groups,
                          ParameterGroup& out) {
  out.shards = groups.size(sharded) * (is_mirrored(spec) ? 2 : 1);
  out.replicas = groups.size({"replica"});
  if (out.reduce == 0) out.reduce = add_sharded(spec, name.c_str(), sharded, groups);
  out.gather = out.reduce;
  const bool apart = spec.parallel.gather_communicator || is_mirrored(spec);
  if (spec.parallel.sharding == Sharding::kZero3 && out.shards > 1 && apart) {
    out.gather = groups.add((name + "_gather").c_str(), sharded);
  }
  if (out.replicas > 1) out.replica = groups.add((name + "_replica").c_str(), {"replica"});
}

}  // namespace

std::vector<TransformerMesh::Axis> mesh_axes(const ParallelSpec& parallel) {
  const Cuts cuts = cuts_of(parallel);
  std::vector<TransformerMesh::Axis> axes;
  std::uint32_t stride = 1;
  const auto add = [&](const std::string& name, std::uint32_t size, bool always) {
    if (size == 1 && !always) return;
    axes.push_back({name, size, stride});
    stride *= size;
  };
  for (const std::string& name : full_order(parallel)) {
    if (name == "tensor") {
      add(name, cuts.tensor, true);
      add("tensor_outer", cuts.tensor_outer, false);
    } else if (name == "context") {
      add(name, static_cast<std::uint32_t>(parallel.context), false);
    } else if (name == "expert") {
      add(name, cuts.expert, false);
    } else if (name == "data") {
      add(name, cuts.data, true);
    } else if (name == "replica") {
      add(name, cuts.replica, false);
    } else {
      add(name, static_cast<std::uint32_t>(parallel.pipeline), true);
    }
  }
  return axes;
}

namespace {

// The axis along which expert-parallel ranks go through the data axis, and how many of its ranks
// share a node: 0 where nodes have different numbers.
struct ExpertAxis {
  std::size_t index = 0;  // the number of axes: there is none
  std::uint32_t of_node = 1;
};

ExpertAxis expert_axis(const std::vector<TransformerMesh::Axis>& axes, std::int64_t node_devices) {
  const auto axis = std::ranges::find(axes, "expert", &TransformerMesh::Axis::name);
  ExpertAxis result{.index = static_cast<std::size_t>(axis - axes.begin())};
  if (axis == axes.end()) return result;
  const auto node = static_cast<std::uint32_t>(node_devices);
  if (axis->stride >= node) {
    result.of_node = axis->stride % node == 0 ? 1 : 0;
    return result;
  }
  result.of_node = std::min(axis->size, node / axis->stride);
  const bool even = node % (axis->stride * result.of_node) == 0;
  if (!even || axis->size % result.of_node != 0) result.of_node = 0;
  return result;
}

// Cuts the expert axis at the edge of a node.
void cut_at_nodes(std::vector<TransformerMesh::Axis>& axes, std::int64_t node_devices) {
  const ExpertAxis found = expert_axis(axes, node_devices);
  if (found.index == axes.size()) return;
  TransformerMesh::Axis& inner = axes[found.index];
  const TransformerMesh::Axis outer{"expert_nodes", inner.size / found.of_node,
                                    inner.stride * found.of_node};
  if (outer.size == 1) return;
  inner.size = found.of_node;
  axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(found.index) + 1, outer);
}

}  // namespace

std::int64_t expert_ranks_of_node(const TransformerSpec& spec) {
  const ParallelSpec& parallel = spec.parallel;
  const std::int64_t outer = parallel.tensor / expert_tensor_of(parallel);
  const auto axes = mesh_axes(parallel);
  for (const TransformerMesh::Axis& axis : axes) {
    const bool tensor = axis.name == "tensor" || axis.name == "tensor_outer";
    if (!tensor || outer == 1 || parallel.expert == 1) continue;
    if (spec.routing.node_devices % (axis.stride * axis.size) != 0) return 0;
  }
  return outer * expert_axis(axes, spec.routing.node_devices).of_node;
}

TransformerMesh add_mesh(const TransformerSpec& spec,
                         const std::vector<std::uint32_t>& embedding_stages,
                         WorkloadBuilder& workload) {
  const Cuts cuts = cuts_of(spec.parallel);
  TransformerMesh mesh;
  mesh.axes = mesh_axes(spec.parallel);
  if (spec.routing.node_devices != 0) cut_at_nodes(mesh.axes, spec.routing.node_devices);
  for (std::size_t i = 0; i < mesh.axes.size(); ++i) {
    const TransformerMesh::Axis& axis = mesh.axes[i];
    workload.add_axis(axis.name, axis.size);
    mesh.devices *= axis.size;
    if (axis.name == "pipeline") {
      mesh.pipeline_axis = static_cast<std::uint8_t>(i);
      mesh.pipeline_stride = axis.stride;
    }
    if (axis.name == "expert") mesh.expert_inner = axis;
    if (axis.name == (cuts.experts_beside_tensor ? "tensor" : "tensor_outer")) {
      mesh.expert_outer = axis;
    }
  }
  Groups groups(mesh, workload);
  mesh.tensor = groups.add("tensor", {"tensor", "tensor_outer"});
  const std::vector<std::string> dense{"context", "expert", "expert_nodes", "data"};
  mesh.dense.reduce = add_sharded(spec, "data", dense, groups);
  mesh.pipeline = groups.add("pipeline", {"pipeline"});
  if (embedding_stages.size() > 1) {
    mesh.embedding = add_embedding_group(mesh, static_cast<std::uint32_t>(spec.parallel.pipeline),
                                         embedding_stages, workload);
  }
  if (spec.parallel.context > 1) mesh.context = groups.add("context", {"context"});
  add_parameter_groups(spec, "data", dense, groups, mesh.dense);
  if (spec.model.moe.experts == 0) return mesh;
  const char* const outer = cuts.experts_beside_tensor ? "tensor" : "tensor_outer";
  if (spec.parallel.expert > 1) mesh.expert = groups.add("expert", {outer, "expert"});
  if (groups.size({"expert_nodes"}) > 1) {
    mesh.expert_nodes = groups.add("expert_nodes", {"expert_nodes"});
  }
  mesh.expert_tensor = mesh.tensor;
  if (cuts.tensor_outer > 1) mesh.expert_tensor = groups.add("expert_tensor", {"tensor"});
  add_parameter_groups(spec, "expert_data", {"context", "data"}, groups, mesh.experts);
  return mesh;
}

}  // namespace exawarp::model
