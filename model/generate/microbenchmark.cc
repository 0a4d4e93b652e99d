// The smallest workloads; see microbenchmark.h.
#include "model/generate/microbenchmark.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "model/generate/spec_range.h"
#include "model/workload/builder.h"
#include "model/workload/validate.h"

namespace exawarp::model {
namespace {

bool is_between_two(MicrobenchmarkKind kind) {
  return kind == MicrobenchmarkKind::kPingPong || kind == MicrobenchmarkKind::kSend;
}

// Place of an axis of the mesh, or as many as there are.
std::size_t axis_named(const MicrobenchmarkSpec& spec, const std::string& name) {
  std::size_t i = 0;
  while (i < spec.mesh.size() && spec.mesh[i].name != name) ++i;
  return i;
}

void check_mesh(const MicrobenchmarkSpec& spec) {
  if (spec.mesh.empty()) {
    if (!spec.along.empty()) throw SpecProblem("along", "names axes of no mesh; expected \"mesh\"");
    return;
  }
  if (spec.kind != MicrobenchmarkKind::kCollective) {
    throw SpecProblem("mesh", "is for kind collective");
  }
  std::int64_t devices = 1;
  for (std::size_t i = 0; i < spec.mesh.size(); ++i) {
    const MeshAxis& axis = spec.mesh[i];
    if (axis_named(spec, axis.name) != i) {
      throw SpecProblem("mesh", fmt::format("has two axes \"{}\"", axis.name));
    }
    in_range("mesh", axis.size, 1, kDevicesMax / devices);
    devices *= axis.size;
  }
  if (devices != spec.devices) {
    throw SpecProblem("devices", fmt::format("{}, and a mesh of {}; expected the same, or no "
                                             "number of devices",
                                             spec.devices, devices));
  }
  if (spec.along.empty()) throw SpecProblem("along", "is missing; expected axes of the mesh");
  for (std::size_t i = 0; i < spec.along.size(); ++i) {
    const auto before = spec.along.begin() + static_cast<std::ptrdiff_t>(i);
    if (axis_named(spec, spec.along[i]) == spec.mesh.size() ||
        std::find(spec.along.begin(), before, spec.along[i]) != before) {
      throw SpecProblem("along", fmt::format("\"{}\" is no axis of the mesh, or named twice",
                                             spec.along[i]));
    }
  }
}

void add_axes(const MicrobenchmarkSpec& spec, WorkloadBuilder& workload) {
  if (spec.mesh.empty()) workload.add_axis("device", static_cast<std::uint32_t>(spec.devices));
  for (const MeshAxis& axis : spec.mesh) {
    workload.add_axis(axis.name, static_cast<std::uint32_t>(axis.size));
  }
}

// Of the group that a collective runs in.
std::int64_t members_of(const MicrobenchmarkSpec& spec) {
  if (spec.mesh.empty()) return spec.devices;
  std::int64_t members = 1;
  for (const std::string& axis : spec.along) members *= spec.mesh[axis_named(spec, axis)].size;
  return members;
}

// The group is named for its axis, by which exposed communication is classified.
std::uint16_t add_group(const MicrobenchmarkSpec& spec, WorkloadBuilder& workload) {
  if (spec.mesh.empty()) return workload.add_group("all", {0});
  std::vector<std::uint8_t> axes;
  for (std::size_t i = 0; i < spec.mesh.size(); ++i) {
    if (std::find(spec.along.begin(), spec.along.end(), spec.mesh[i].name) != spec.along.end()) {
      axes.push_back(static_cast<std::uint8_t>(i));
    }
  }
  return workload.add_group(fmt::format("{}", fmt::join(spec.along, "_")), axes);
}

// The same program for every device: `repeats` nodes on one stream.
void add_uniform(const MicrobenchmarkSpec& spec, WorkloadBuilder& workload) {
  const std::uint16_t group = add_group(spec, workload);
  ProgramBuilder& program = workload.add_program(std::string(core::name_of(spec.kind)));
  const bool is_memory = spec.kind == MicrobenchmarkKind::kMemory;
  const bool is_compute = spec.kind == MicrobenchmarkKind::kCompute || is_memory;
  NodeFields node;
  node.stream = is_compute ? program.add_stream("compute", schema::StreamKind::COMPUTE)
                           : program.add_stream("device", schema::StreamKind::COMMUNICATION);
  node.name = workload.name(std::string(core::name_of(spec.kind)));
  if (is_compute) {
    node.kind = is_memory ? schema::NodeKind::MEMORY : schema::NodeKind::COMPUTE;
    if (is_memory) {
      node.place = spec.place;
    } else {
      node.data_type = schema::DataType::BF16;
      node.operation = schema::Operation::GEMM;
      node.flops = static_cast<std::uint64_t>(spec.flops);
    }
    node.bytes_read = static_cast<std::uint64_t>(spec.bytes_read);
    node.bytes_written = static_cast<std::uint64_t>(spec.bytes_written);
  } else {
    node.kind = schema::NodeKind::COLLECTIVE;
    node.collective = spec.collective;
    node.group = group;
    node.comm_bytes = static_cast<std::uint64_t>(spec.bytes);
    const bool permutes = spec.collective == schema::CollectiveType::PERMUTE;
    node.root = permutes && members_of(spec) > 1 ? 1 : 0;  // to the next member
  }
  for (std::int64_t i = 0; i < spec.repeats; ++i) program.add_node(node);
  const std::int64_t first_axis = spec.mesh.empty() ? spec.devices : spec.mesh[0].size;
  workload.bind_range(0,
                      {.axis = 0, .first = 0, .count = static_cast<std::uint32_t>(first_axis)});
}

// Device 0 sends to device 1, which in a ping-pong answers; each waits for what came before.
void add_pair(const MicrobenchmarkSpec& spec, WorkloadBuilder& workload) {
  const bool answers = spec.kind == MicrobenchmarkKind::kPingPong;
  for (const std::int32_t device : {0, 1}) {
    ProgramBuilder& program = workload.add_program(device == 0 ? "first" : "second");
    NodeFields send{.kind = schema::NodeKind::SEND, .peer_axis = 0};
    send.peer = device == 0 ? 1 : -1;
    send.comm_bytes = static_cast<std::uint64_t>(spec.bytes);
    NodeFields receive = send;
    receive.kind = schema::NodeKind::RECEIVE;
    send.stream = program.add_stream("send", schema::StreamKind::COMMUNICATION);
    receive.stream = program.add_stream("receive", schema::StreamKind::COMMUNICATION);
    for (std::int64_t i = 0; i < spec.repeats; ++i) {
      const bool waits = answers && i > 0;
      const std::uint32_t last = program.node_count() - 1;
      if (device == 1) {
        const std::uint32_t arrived = program.add_node(receive);
        if (answers) program.add_node(send, {arrived});
        continue;
      }
      if (waits) {
        program.add_node(send, {last});
      } else {
        program.add_node(send);
      }
      if (answers) program.add_node(receive);
    }
    const auto first = static_cast<std::uint32_t>(device);
    workload.bind_range(program.index(), {.axis = 0, .first = first, .count = 1});
  }
}

}  // namespace

void check(const MicrobenchmarkSpec& spec) {
  if (is_between_two(spec.kind)) {
    in_range("devices", spec.devices, 2, 2);
  } else {
    in_range("devices", spec.devices, 1, kDevicesMax);
  }
  check_mesh(spec);
  constexpr auto kSumMax = static_cast<std::int64_t>(kSizeMax - 1);
  constexpr auto kBytesMax = static_cast<std::int64_t>(kCommBytesMax - 1);
  in_range("repeats", spec.repeats, 1, 1'000'000);
  in_range("bytes", spec.bytes, 0, kBytesMax);
  in_range("flops", spec.flops, 0, kSumMax / spec.repeats);
  in_range("bytes_read", spec.bytes_read, 0, kSumMax / spec.repeats);
  in_range("bytes_written", spec.bytes_written, 0, kSumMax / spec.repeats);
}

WorkloadGraph generate_microbenchmark(const MicrobenchmarkSpec& spec, std::uint64_t bytes_max) {
  check(spec);
  WorkloadBuilder workload(
      spec.name.empty() ? std::string(core::name_of(spec.kind)) : spec.name, bytes_max);
  add_axes(spec, workload);
  if (is_between_two(spec.kind)) {
    add_pair(spec, workload);
  } else {
    add_uniform(spec, workload);
  }
  WorkloadGraph graph = workload.build();
  validate(graph);
  return graph;
}

}  // namespace exawarp::model
