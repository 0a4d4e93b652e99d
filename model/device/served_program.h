// Devices whose tasks come from a scheduler: those of serving replicas (serving/pool.h).
//
// Stream 0 runs iterations, one after the other, each as its scheduler told it:
//
//   receive, (compute, all-reduce) x pieces, gather, send       of a stage of a pipeline;
//                                                               what a stage lacks is left out
//
// (some pieces end in a dispatch to experts, and as many in a combine, in place of an all-reduce;
// with data-parallel attention some in a gather of what groups have, and as many in a scatter);
//   then, on the first device of the last stage, the scheduler hears
//
// Stream 1 sends keys and values to the devices of another pool's replica, whose schedulers hear of
// each message that comes: of whole prompts, or, where they go by layer, of the layers that are
// computed, of which a mark behind each piece's computation tells.
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

// Size classes of an iteration: of the tokens of a group of data-parallel attention.
constexpr std::uint32_t group_class_of(const IterationBegins& it) {
  return it.tokens - it.group_below;
}

// Tasks of a table, by size class: index of the first of each class, and of what comes behind the
// last. Empty: there are none.
struct TasksBySize {
  std::vector<std::uint32_t> first;
  bool of_batch = false;  // classes are of a batch's tokens; else of a group's

  [[nodiscard]] std::uint32_t count(std::uint32_t size) const {
    return size + 1 < first.size() ? first[size + 1] - first[size] : 0;
  }
  [[nodiscard]] std::uint32_t class_of(const IterationBegins& it) const {
    return of_batch ? it.tokens : group_class_of(it);
  }
};

// What is the same for all devices of a stage.
struct ServedProgram {
  TasksBySize receives, all_reduces, regathers, rescatters, dispatches, combines, gathers, sends;
  // Of an iteration's compute time: `sums` that end in an all-reduce, and behind each share of them
  // a pair: one that ends in a dispatch and one that ends in a combine, of which there are
  // `exchanges`, or one that ends in a gather of what groups have and one that ends in a scatter,
  // of which there are `regroupings`. The two kinds of pairs alternate by their shares.
  std::uint32_t pieces = 1;
  std::uint32_t sums = 1, exchanges = 0, regroupings = 0;
  std::uint32_t layers = 1;
  bool by_layer = false;  // go keys and values: a mark follows each piece's computation
  std::uint32_t stage = 0;
  bool is_last = true;  // stage
  serving::PoolLayout layout;
  core::LpId first_scheduler;  // of the pool's replica 0
  core::Time latency;          // to it
  // Of a pool that another one continues; else null.
  std::shared_ptr<const serving::KvPlan> keys = nullptr;
  const PlacedJob* keys_to = nullptr;
  serving::PoolLayout keys_to_layout;

  // Tasks of a piece that ends in `message`, of the pieces before pair `q`, and of all.
  [[nodiscard]] std::uint32_t tasks_of_piece(const TasksBySize& message,
                                             const IterationBegins& it) const {
    return 1 + (by_layer ? 1 : 0) + message.count(message.class_of(it));
  }
  [[nodiscard]] std::uint32_t tasks_before(std::uint32_t q, const IterationBegins& it) const {
    const std::uint32_t sent = exchanges_before(q);
    return sums_before(q) * tasks_of_piece(all_reduces, it) +
           sent * (tasks_of_piece(dispatches, it) + tasks_of_piece(combines, it)) +
           (q - sent) * (tasks_of_piece(regathers, it) + tasks_of_piece(rescatters, it));
  }
  [[nodiscard]] std::uint32_t tasks_of_pieces(const IterationBegins& it) const {
    return pairs() == 0 ? sums * tasks_of_piece(all_reduces, it) : tasks_before(pairs(), it);
  }
  [[nodiscard]] std::uint32_t tasks_of(const IterationBegins& it) const {
    return receives.count(receives.class_of(it)) + tasks_of_pieces(it) +
           gathers.count(it.outputs) + sends.count(sends.class_of(it)) + 1;
  }

  // Where a task lies among those of pieces.
  struct PieceTask {
    std::uint32_t piece, task;   // in the piece
    const TasksBySize* message;  // that ends it
  };
  // Requires i < tasks_of_pieces(it).
  [[nodiscard]] PieceTask piece_task(std::uint32_t i, const IterationBegins& it) const {
    const std::uint32_t of_sum = tasks_of_piece(all_reduces, it);
    if (pairs() == 0) return {i / of_sum, i % of_sum, &all_reduces};
    auto q = static_cast<std::uint32_t>(std::uint64_t{i} * pairs() / tasks_before(pairs(), it));
    while (tasks_before(q, it) > i) --q;
    while (tasks_before(q + 1, it) <= i) ++q;
    i -= tasks_before(q, it);
    const std::uint32_t first = sums_before(q) + 2 * q;
    const std::uint32_t own = sums_before(q + 1) - sums_before(q);
    if (i < own * of_sum) return {first + i / of_sum, i % of_sum, &all_reduces};
    i -= own * of_sum;
    const bool is_exchange = exchanges_before(q + 1) != exchanges_before(q);
    const TasksBySize& there = is_exchange ? dispatches : regathers;
    const std::uint32_t of_there = tasks_of_piece(there, it);
    if (i < of_there) return {first + own, i, &there};
    return {first + own + 1, i - of_there, is_exchange ? &combines : &rescatters};
  }
  // Whose keys are there once so many pieces are computed. A layer has them when half of it is:
  // attention comes first.
  [[nodiscard]] std::uint32_t layers_after(std::uint32_t computed) const {
    return (2 * computed * layers + pieces) / (2 * pieces);
  }

 private:
  [[nodiscard]] std::uint32_t pairs() const { return exchanges + regroupings; }
  // Sums, and exchanges, before pair `q`.
  [[nodiscard]] std::uint32_t sums_before(std::uint32_t q) const {
    return static_cast<std::uint32_t>(std::uint64_t{q} * sums / pairs());
  }
  [[nodiscard]] std::uint32_t exchanges_before(std::uint32_t q) const {
    return static_cast<std::uint32_t>(std::uint64_t{q} * exchanges / pairs());
  }
};

// A TaskSource, for one event.
class ServedTasks {
 public:
  static constexpr bool kServes = true;
  static constexpr std::uint32_t kIterations = 0, kTransfers = 1;
  // Tags of marks: this one, or how many pieces are computed.
  static constexpr std::uint32_t kIterationEnds = 0;

  explicit ServedTasks(const DeviceFrame& frame)
      : table_(frame.model.programs[frame.state.program]),
        program_(*table_.served),
        state_(*frame.parts.served) {
    compute_.kind = TaskKind::compute;
    compute_.time_class = TimeClass::compute;
    compute_.channel = kNoChannel;
    end_.kind = computed_.kind = TaskKind::mark;
    end_.tag = kIterationEnds;
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
  // The transfers before position `sent` are over.
  void forget_sent(std::uint32_t sent, pdes::Context& ctx) const {
    while (state_.sent < sent) {
      state_.transfers.pop_front(ctx);
      ctx.set(state_.sent, state_.sent + 1);
    }
  }
  // Each adds keys and values to this device's transfers, and returns whether there are any: what
  // it has of a prompt; what it has computed, now that its iterations are at `position`, and in
  // future what it computes; and what `pieces` pieces of the iteration in progress have computed.
  bool add_transfers(DeviceFrame& frame, const TransferDue& due) const;
  bool add_by_layer(DeviceFrame& frame, const KeysDue& due, std::uint32_t position) const;
  bool add_computed(DeviceFrame& frame, std::uint32_t pieces) const;

  // The iteration is over here.
  void report(DeviceFrame& frame) const {
    const std::uint32_t of_replica = rank_in_replica(frame);
    if (!program_.is_last || of_replica % program_.layout.tensor != 0) return;
    frame.ctx.send(scheduler(frame), program_.latency, serving::kBatchEnd,
                   serving::BatchEndEvent{state_.now.batch});
  }
  // Keys and values have come.
  void report_keys(DeviceFrame& frame, const Message& keys) const {
    frame.ctx.send(
        scheduler(frame), program_.latency, serving::kKeysCame,
        serving::KeysCameEvent{.request = keys.tag & ~kTransferTag, .tokens = keys.stream});
  }

 private:
  [[nodiscard]] std::uint32_t rank_in_replica(const DeviceFrame& frame) const {
    return frame.rank_in(table_).value % program_.layout.replica_devices();
  }
  // What this device has of keys and values of its group's requests.
  [[nodiscard]] const std::vector<serving::KvPart>& key_parts(const DeviceFrame& frame) const {
    const serving::PoolLayout& layout = program_.layout;
    const std::uint32_t ranks = layout.attention_ranks();
    const std::uint32_t in_group = rank_in_replica(frame) % layout.tensor % ranks;
    return program_.keys->parts[in_group + ranks * program_.stage];
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
    if (const Task* task = find(program_.receives, group_class_of(now), i)) return *task;
    const std::uint32_t of_pieces = program_.tasks_of_pieces(now);
    if (i < of_pieces) {
      const ServedProgram::PieceTask at = program_.piece_task(i, now);
      if (at.task == 0) return compute_task(at.piece, position);
      const std::uint32_t marks = program_.by_layer ? 1 : 0;
      if (at.task == marks) return computed_task(at.piece + 1);
      const std::uint32_t first = at.message->first[at.message->class_of(now)];
      return table_.tasks[first + at.task - marks - 1];
    }
    i -= of_pieces;
    if (const Task* task = find(program_.gathers, now.outputs, i)) return *task;
    if (const Task* task = find(program_.sends, group_class_of(now), i)) return *task;
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
  [[nodiscard]] const Task& computed_task(std::uint32_t pieces) const {
    computed_.tag = pieces;
    return computed_;
  }
  // Layers whose keys the batch of `due` has computed, now that iterations are at `position`.
  [[nodiscard]] std::uint32_t layers_computed(const KeysDue& due, std::uint32_t position) const;
  // Adds the messages of `keys` that `layers` layers make possible.
  bool add_layers(DeviceFrame& frame, KeysByLayer& keys, std::uint32_t layers) const;
  void push_transfer(DeviceFrame& frame, const KeysToSend& keys) const {
    state_.transfers.push_back(frame.ctx, keys);
    frame.ctx.set(state_.transfers_end, state_.transfers_end + 1);
  }
  // Of rank `rank` of a plan, in a group of a replica (TransferDue::group).
  [[nodiscard]] std::uint32_t key_device(std::uint32_t group, std::uint32_t rank) const {
    const serving::PoolLayout& to = program_.keys_to_layout;
    const std::uint32_t replica = group / to.attention_data;
    const std::uint32_t in_replica = serving::rank_of_group(to, group % to.attention_data, rank);
    return program_.keys_to->device_of({replica * to.replica_devices() + in_replica}).value;
  }
  [[nodiscard]] const Task& transfer_task(std::uint32_t position) const {
    const KeysToSend& keys = state_.transfers[position - state_.sent];
    keys_.peer = static_cast<std::int32_t>(keys.to);
    keys_.tag = kTransferTag | keys.request;
    keys_.wire[0] = core::Time{keys.bytes};
    keys_.steps = keys.tokens;
    return keys_;
  }

  const ProgramTable& table_;
  const ServedProgram& program_;
  ServedState& state_;
  mutable Task compute_, computed_, end_, keys_;
};
static_assert(TaskSource<ServedTasks>);

// Sets what the tasks of `table`, of stage `stage` of a pool, are for. Requires the table of
// serving::pool_graph().
ServedProgram served_program(const serving::Pool& pool, std::uint32_t stage,
                             const ProgramTable& table);

}  // namespace exawarp::model
