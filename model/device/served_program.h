// Devices whose tasks come from a scheduler: those of serving replicas (serving/pool.h).
//
// Stream 0 runs iterations, one after the other, each as its scheduler told it:
//
//   receive, (compute, all-reduce) x pieces, gather, send       of a stage of a pipeline;
//                                                               what a stage lacks is left out
//   then, on the first device of the last stage, the scheduler hears
//
// Stream 1 sends keys and values to the devices of another pool's replica, whose schedulers hear of
// each message that comes.
//
// Positions of a stream count on. Tasks that are messages stand in the program's table, by size
// class; what differs from iteration to iteration (a duration, a peer) is put together when it is
// asked for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/device/device_frame.h"
#include "model/device/program_table.h"
#include "model/device/task_source.h"
#include "model/serving/pool.h"
#include "model/serving/replica.h"

namespace exawarp::model {

// Tasks of a table, by size class: index of the first of each class, and of what comes behind the
// last. Empty: there are none.
struct TasksBySize {
  std::vector<std::uint32_t> first;

  [[nodiscard]] std::uint32_t count(std::uint32_t size) const {
    return size + 1 < first.size() ? first[size + 1] - first[size] : 0;
  }
};

// What is the same for all devices of a stage.
struct ServedProgram {
  TasksBySize receives, all_reduces, gathers, sends;
  std::uint32_t pieces = 1;  // of an iteration's compute time
  std::uint32_t stage = 0;
  bool is_last = true;  // stage
  serving::PoolLayout layout;
  core::LpId first_scheduler;  // of the pool's replica 0
  core::Time latency;          // to it
  // Of a pool that another one continues; else null.
  std::shared_ptr<const serving::KvPlan> keys = nullptr;
  const PlacedJob* keys_to = nullptr;
  std::uint32_t keys_to_devices = 0;  // of its replicas

  [[nodiscard]] std::uint32_t tasks_of(const IterationBegins& it) const {
    return receives.count(it.tokens) + pieces * (1 + all_reduces.count(it.tokens)) +
           gathers.count(it.outputs) + sends.count(it.tokens) + 1;
  }
};

// A TaskSource, for one event.
class ServedTasks {
 public:
  static constexpr bool kServes = true;
  static constexpr std::uint32_t kIterations = 0, kTransfers = 1;

  explicit ServedTasks(const DeviceFrame& frame)
      : table_(frame.model.programs[frame.state.program]),
        program_(*table_.served),
        state_(*frame.parts.served) {
    compute_.kind = TaskKind::compute;
    compute_.time_class = TimeClass::compute;
    compute_.channel = kNoChannel;
    end_.kind = TaskKind::mark;
    keys_.kind = TaskKind::send;
    keys_.time_class = TimeClass::other;
    keys_.peer_is_absolute = true;
  }

  [[nodiscard]] static std::uint32_t streams() { return 2; }
  [[nodiscard]] std::uint32_t length(std::uint32_t stream) const {
    return stream == kIterations ? state_.end : state_.transfers_end;
  }
  [[nodiscard]] const Task& task(std::uint32_t stream, std::uint32_t position) const {
    return stream == kIterations ? iteration_task(position) : transfer_task(position);
  }
  [[nodiscard]] static std::span<const Dependency> dependencies(const Task&) { return {}; }
  [[nodiscard]] const ProgramTable& table() const { return table_; }

  [[nodiscard]] static bool is_transfer(const Task& send) {
    return (send.tag & kTransferTag) != 0;
  }

  // ---- what changes the device's state

  // The next iteration that it was told of, if there is one, begins.
  bool begin_next(pdes::Context& ctx) const {
    if (state_.told.empty()) return false;
    const IterationBegins next = state_.told.front();
    state_.told.pop_front(ctx);
    ctx.set(state_.now, next);
    ctx.set(state_.begin, state_.end);
    ctx.set(state_.end, state_.end + program_.tasks_of(next));
    return true;
  }
  void tell(const IterationBegins& it, pdes::Context& ctx) const {
    state_.told.push_back(ctx, it);
  }
  // Adds what this device has of a prompt's keys and values to its transfers. Returns whether that
  // is something.
  bool add_transfers(DeviceFrame& frame, const TransferDue& due, std::uint32_t sent) const;

  // The iteration is over here.
  void report(DeviceFrame& frame) const {
    const std::uint32_t of_replica = rank_in_replica(frame);
    if (!program_.is_last || of_replica % program_.layout.tensor != 0) return;
    frame.ctx.send(scheduler(frame), program_.latency, serving::kBatchEnd,
                   serving::BatchEndEvent{state_.now.batch});
  }
  // Keys and values have come.
  void report_keys(DeviceFrame& frame, std::uint32_t tag) const {
    frame.ctx.send(scheduler(frame), program_.latency, serving::kKeysCame,
                   serving::KeysCameEvent{tag & ~kTransferTag});
  }

 private:
  [[nodiscard]] std::uint32_t rank_in_replica(const DeviceFrame& frame) const {
    return frame.rank_in(table_).value % program_.layout.replica_devices();
  }
  [[nodiscard]] core::LpId scheduler(const DeviceFrame& frame) const {
    return {program_.first_scheduler.value +
            frame.rank_in(table_).value / program_.layout.replica_devices()};
  }

  // As of `from`, the i-th task of `size`; or i less their number.
  [[nodiscard]] const Task* find(const TasksBySize& from, std::uint32_t size,
                                 std::uint32_t& i) const {
    const std::uint32_t count = from.count(size);
    if (i < count) return &table_.tasks[from.first[size] + i];
    i -= count;
    return nullptr;
  }
  [[nodiscard]] const Task& iteration_task(std::uint32_t position) const {
    const IterationBegins& now = state_.now;
    std::uint32_t i = position - state_.begin;
    if (const Task* task = find(program_.receives, now.tokens, i)) return *task;
    const std::uint32_t of_piece = 1 + program_.all_reduces.count(now.tokens);
    if (i < program_.pieces * of_piece) {
      const std::uint32_t piece = i / of_piece;
      i %= of_piece;
      return i == 0 ? compute_task(piece, position)
                    : table_.tasks[program_.all_reduces.first[now.tokens] + i - 1];
    }
    i -= program_.pieces * of_piece;
    if (const Task* task = find(program_.gathers, now.outputs, i)) return *task;
    if (const Task* task = find(program_.sends, now.tokens, i)) return *task;
    return end_;
  }
  // The first piece takes what does not divide.
  [[nodiscard]] const Task& compute_task(std::uint32_t piece, std::uint32_t position) const {
    const std::int64_t ps = state_.now.compute_ps;
    const std::int64_t each = ps / program_.pieces;
    compute_.node = position;
    compute_.wire[0] = core::Time{piece == 0 ? ps - each * (program_.pieces - 1) : each};
    return compute_;
  }
  [[nodiscard]] const Task& transfer_task(std::uint32_t position) const {
    const KeysToSend& keys = state_.transfers[position - state_.sent];
    keys_.peer = static_cast<std::int32_t>(keys.to);
    keys_.tag = kTransferTag | keys.request;
    keys_.wire[0] = core::Time{keys.bytes};
    return keys_;
  }

  const ProgramTable& table_;
  const ServedProgram& program_;
  ServedState& state_;
  mutable Task compute_, end_, keys_;
};
static_assert(TaskSource<ServedTasks>);

inline bool ServedTasks::add_transfers(DeviceFrame& frame, const TransferDue& due,
                                       std::uint32_t sent) const {
  pdes::Context& ctx = frame.ctx;
  while (state_.sent < sent) {
    state_.transfers.pop_front(ctx);
    ctx.set(state_.sent, state_.sent + 1);
  }
  if (program_.keys == nullptr) return false;
  const auto& parts = program_.keys->parts[rank_in_replica(frame)];
  for (const serving::KvPart& part : parts) {
    const core::DeviceId to =
        program_.keys_to->device_of({due.replica * program_.keys_to_devices + part.to});
    state_.transfers.push_back(
        ctx, {.to = to.value,
              .request = due.request,
              .bytes = static_cast<std::int64_t>(part.bytes_per_token * due.tokens)});
  }
  ctx.set(state_.transfers_end, state_.transfers_end + static_cast<std::uint32_t>(parts.size()));
  return !parts.empty();
}

// Sets what the tasks of `table`, of stage `stage` of a pool, are for. Requires the table of
// serving::pool_graph().
ServedProgram served_program(const serving::Pool& pool, std::uint32_t stage,
                             const ProgramTable& table);

}  // namespace exawarp::model
