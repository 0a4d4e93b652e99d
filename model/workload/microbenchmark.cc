// The smallest workloads; see microbenchmark.h.
#include "model/workload/microbenchmark.h"

#include <fmt/format.h>

#include "model/workload/builder.h"
#include "model/workload/validate.h"

namespace exawarp::model {
namespace {

void in_range(const char* key, std::int64_t value, std::int64_t first, std::int64_t last) {
  if (value >= first && value <= last) return;
  throw SpecProblem(key, fmt::format("out of range: {}; expected {} to {}", value, first, last));
}

bool is_between_two(MicrobenchmarkKind kind) {
  return kind == MicrobenchmarkKind::kPingPong || kind == MicrobenchmarkKind::kSend;
}

const char* name_of(MicrobenchmarkKind kind) {
  switch (kind) {
    case MicrobenchmarkKind::kCollective:
      return "collective";
    case MicrobenchmarkKind::kPingPong:
      return "ping-pong";
    case MicrobenchmarkKind::kSend:
      return "send";
    case MicrobenchmarkKind::kCompute:
      return "compute";
    case MicrobenchmarkKind::kMemory:
      return "memory";
  }
  return "";
}

// The same program for every device: `repeats` nodes on one stream.
void add_uniform(const MicrobenchmarkSpec& spec, WorkloadBuilder& workload) {
  const std::uint16_t group = workload.add_group("all", {0});
  ProgramBuilder& program = workload.add_program(name_of(spec.kind));
  const bool is_memory = spec.kind == MicrobenchmarkKind::kMemory;
  const bool is_compute = spec.kind == MicrobenchmarkKind::kCompute || is_memory;
  NodeFields node;
  node.stream = is_compute ? program.add_stream("compute", schema::StreamKind::COMPUTE)
                           : program.add_stream("device", schema::StreamKind::COMMUNICATION);
  node.name = workload.name(name_of(spec.kind));
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
  }
  for (std::int64_t i = 0; i < spec.repeats; ++i) program.add_node(node);
  workload.bind_range(0,
                      {.axis = 0, .first = 0, .count = static_cast<std::uint32_t>(spec.devices)});
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
  constexpr auto kSumMax = static_cast<std::int64_t>(kSizeMax - 1);
  constexpr auto kBytesMax = static_cast<std::int64_t>(kCommBytesMax - 1);
  in_range("repeats", spec.repeats, 1, 1'000'000);
  in_range("bytes", spec.bytes, 0, kBytesMax);
  in_range("flops", spec.flops, 0, kSumMax / spec.repeats);
  in_range("bytes_read", spec.bytes_read, 0, kSumMax / spec.repeats);
  in_range("bytes_written", spec.bytes_written, 0, kSumMax / spec.repeats);
}

WorkloadGraph generate_microbenchmark(const MicrobenchmarkSpec& spec) {
  check(spec);
  WorkloadBuilder workload(spec.name.empty() ? name_of(spec.kind) : spec.name);
  workload.add_axis("device", static_cast<std::uint32_t>(spec.devices));
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
