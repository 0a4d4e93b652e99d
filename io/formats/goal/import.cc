// Operations of a rank are put into an order that keeps their dependencies, then written as nodes
// on streams by CPU and by peer; what a workload cannot express is refused before.
#include "io/formats/goal/import.h"

#include <fmt/core.h>

#include <functional>
#include <map>
#include <queue>

#include "core/error.h"
#include "model/workload/builder.h"
#include "model/workload/validate.h"

namespace exawarp::io {
namespace {

namespace schema = model::schema;
using model::goal::Dependents;
using model::goal::kAny;
using model::goal::Op;
using model::goal::OpType;
using model::goal::Schedule;

// Of a program's 32 streams: 8 compute, 12 for sends and 12 for receives.
constexpr std::uint32_t kComputeStreamsMax = 8;
constexpr std::uint32_t kPeerStreamsMax = 12;
constexpr std::int64_t kPsPerNs = 1'000;
constexpr std::size_t kCopiedMax = std::size_t{1} << 26;  // dependencies, of a rank

// The streams of one kind, made when first needed; beyond the limit they are shared.
class Streams {
 public:
  Streams(model::ProgramBuilder& program, std::string name, schema::StreamKind kind,
          std::uint32_t limit)
      : program_(program), name_(std::move(name)), kind_(kind), limit_(limit) {}

  std::uint8_t of(std::uint32_t key) {
    const auto known = by_key_.find(key);
    if (known != by_key_.end()) return known->second;
    if (made_.size() < limit_)
      made_.push_back(program_.add_stream(fmt::format("{} {}", name_, key), kind_));
    const std::uint8_t stream = made_[by_key_.size() % limit_];
    by_key_.emplace(key, stream);
    return stream;
  }

 private:
  model::ProgramBuilder& program_;
  std::string name_;
  schema::StreamKind kind_;
  std::uint32_t limit_;
  std::map<std::uint32_t, std::uint8_t> by_key_;
  std::vector<std::uint8_t> made_;
};

// Operations in an order in which each follows what it waits for; otherwise as in the schedule.
std::vector<std::uint32_t> issue_order(const Schedule& schedule, std::uint32_t rank) {
  std::vector<std::uint32_t> waits(schedule.op_count(rank)), order;
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t i = 0; i < waits.size(); ++i) {
    waits[i] = schedule.op(rank, i).dependences;
    if (waits[i] == 0) ready.push(i);
  }
  while (!ready.empty()) {
    const std::uint32_t op = ready.top();
    ready.pop();
    order.push_back(op);
    for (const Dependents& dependents :
         {schedule.after_start(rank, op), schedule.after_end(rank, op)})
      for (std::uint32_t i = 0; i < dependents.size(); ++i)
        if (--waits[dependents[i]] == 0) ready.push(dependents[i]);
  }
  return order;
}

// Who each operation waits for, by operation of the schedule.
std::vector<std::vector<std::uint32_t>> requirements(const Schedule& schedule, std::uint32_t rank,
                                                     const std::vector<std::uint32_t>& order) {
  std::vector<std::vector<std::uint32_t>> needs(schedule.op_count(rank));
  std::size_t copied = 0;
  for (const std::uint32_t op : order) {
    const Dependents ends = schedule.after_end(rank, op);
    for (std::uint32_t i = 0; i < ends.size(); ++i) needs[ends[i]].push_back(op);
    const Dependents starts = schedule.after_start(rank, op);
    for (std::uint32_t i = 0; i < starts.size(); ++i) {
      std::vector<std::uint32_t>& after = needs[starts[i]];
      after.insert(after.end(), needs[op].begin(), needs[op].end());
      copied += needs[op].size();
      if (copied > kCopiedMax)
        throw core::InputError(schedule.place(),
                               fmt::format("rank {}: irequires leads to more than {} dependencies",
                                           rank, kCopiedMax));
    }
  }
  return needs;
}

void check_expressible(const Schedule& schedule, std::uint32_t rank, std::uint32_t index) {
  const Op op = schedule.op(rank, index);
  if (op.type == OpType::calc) return;
  const auto refuse = [&](const char* what) {
    throw core::InputError(schedule.place(),
                           fmt::format("rank {}: operation {}: a workload cannot say {}; "
                                       "`exawarp goal` runs it",
                                       rank, index, what));
  };
  if (op.peer == kAny) refuse("\"from any rank\"");
  if (op.tag == kAny) refuse("\"with any tag\"");
  if (op.peer == rank) refuse("a message to oneself");
  if (op.size == 0) refuse("a message of no bytes");
}

void add_rank(const Schedule& schedule, std::uint32_t rank, model::WorkloadBuilder& workload) {
  model::ProgramBuilder& program = workload.add_program(fmt::format("rank {}", rank));
  Streams cpus(program, "cpu", schema::StreamKind::COMPUTE, kComputeStreamsMax);
  Streams sends(program, "to", schema::StreamKind::COMMUNICATION, kPeerStreamsMax);
  Streams receives(program, "from", schema::StreamKind::COMMUNICATION, kPeerStreamsMax);
  const std::vector<std::uint32_t> order = issue_order(schedule, rank);
  const auto needs = requirements(schedule, rank, order);
  std::vector<std::uint32_t> node_of(order.size());
  for (const std::uint32_t index : order) {
    check_expressible(schedule, rank, index);
    const Op op = schedule.op(rank, index);
    model::NodeFields fields;
    if (op.type == OpType::calc) {
      if (op.size >= model::kDurationMaxPs / kPsPerNs)
        throw core::InputError(schedule.place(),
                               fmt::format("rank {}: operation {}: {} ns are too long", rank,
                                           index, op.size));
      fields.kind = schema::NodeKind::COMPUTE;
      fields.stream = cpus.of(op.cpu);
      fields.duration_ps = op.size * kPsPerNs;
    } else {
      const bool is_send = op.type == OpType::send;
      fields.kind = is_send ? schema::NodeKind::SEND : schema::NodeKind::RECEIVE;
      fields.stream = (is_send ? sends : receives).of(op.peer);
      fields.peer = static_cast<std::int32_t>(op.peer);
      fields.tag = op.tag;
      fields.comm_bytes = op.size;
    }
    std::vector<std::uint32_t> dependencies;
    for (const std::uint32_t need : needs[index]) dependencies.push_back(node_of[need]);
    node_of[index] = program.add_node(fields, dependencies);
  }
  workload.bind_devices(program.index(), {rank});
}

}  // namespace

model::WorkloadGraph import_goal(const Schedule& schedule) {
  model::WorkloadBuilder workload("GOAL schedule");
  workload.add_axis("rank", schedule.ranks());
  for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) add_rank(schedule, rank, workload);
  model::WorkloadGraph graph = workload.build();
  model::validate(graph);
  return graph;
}

}  // namespace exawarp::io
