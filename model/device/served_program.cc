#include "model/device/served_program.h"

#include "core/check.h"
#include "model/serving/expert_exchange.h"
#include "model/serving/size_classes.h"

namespace exawarp::model {
namespace {

// Reads tasks of stream 0, node by node; a collective may be several tasks.
class ServedTaskReader {
 public:
  explicit ServedTaskReader(const ProgramTable& table) : table_(table) {}

  TasksBySize read(std::uint64_t size_max) {
    TasksBySize out;
    for (std::uint32_t c = 0; c <= serving::size_class_of(size_max); ++c) {
      out.first.push_back(next_);
      EXAWARP_CHECK(next_ < table_.first_task[1], next_);
      const std::uint32_t node = table_.tasks[next_].node;
      while (next_ < table_.first_task[1] && table_.tasks[next_].node == node) ++next_;
    }
    out.first.push_back(next_);
    return out;
  }
  [[nodiscard]] bool is_at_end() const { return next_ == table_.first_task[1]; }

 private:
  const ProgramTable& table_;
  std::uint32_t next_ = 0;
};

}  // namespace

bool ServedTasks::add_transfers(DeviceFrame& frame, const TransferDue& due) const {
  if (program_.keys == nullptr) return false;
  const auto& parts = key_parts(frame);
  for (const serving::KvPart& part : parts) {
    push_transfer(frame, {.to = key_device(due.group, part.to),
                          .request = due.request,
                          .bytes = static_cast<std::int64_t>(part.bytes_per_token * due.tokens),
                          .tokens = 0,
                          .unused = 0});
  }
  return !parts.empty();
}

bool ServedTasks::add_by_layer(DeviceFrame& frame, const KeysDue& due,
                               std::uint32_t position) const {
  if (program_.keys == nullptr) return false;
  KeysByLayer keys{.due = due, .sent = 0, .unused = 0};
  const bool any = add_layers(frame, keys, layers_computed(due, position));
  if (keys.sent < key_parts(frame).size()) {
    state_.by_layer.push_back(frame.ctx, keys);
  }
  return any;
}

bool ServedTasks::add_computed(DeviceFrame& frame, std::uint32_t pieces) const {
  if (state_.by_layer.empty()) return false;
  const std::size_t all = key_parts(frame).size();
  const std::uint32_t layers = program_.layers_after(pieces);
  bool any = false;
  for (std::uint32_t i = 0; i < state_.by_layer.size();) {
    KeysByLayer keys = state_.by_layer[i];
    const bool is_of_it = keys.due.batch == state_.now.batch;
    if (is_of_it && add_layers(frame, keys, layers)) {
      any = true;
      state_.by_layer.assign(frame.ctx, i, keys);
    }
    if (keys.sent == all)
      state_.by_layer.erase(frame.ctx, i);
    else
      ++i;
  }
  return any;
}

std::uint32_t ServedTasks::layers_computed(const KeysDue& due, std::uint32_t position) const {
  const IterationBegins& now = state_.now;
  if (due.batch == kComputedBefore) return program_.layers;
  const bool has_begun = state_.end != 0 && due.batch <= now.batch;
  if (!has_begun) return 0;
  if (due.batch < now.batch) return program_.layers;
  const std::uint32_t first = state_.begin + program_.receives.count(group_class_of(now));
  if (position <= first) return 0;
  if (position - first >= program_.tasks_of_pieces(now)) return program_.layers;
  const ServedProgram::PieceTask at = program_.piece_task(position - first, now);
  return program_.layers_after(at.piece + (at.task != 0 ? 1 : 0));
}

bool ServedTasks::add_layers(DeviceFrame& frame, KeysByLayer& keys, std::uint32_t layers) const {
  const auto& parts = key_parts(frame);
  const std::uint32_t before = keys.sent;
  for (; keys.sent < parts.size() && parts[keys.sent].layers <= layers; ++keys.sent) {
    const serving::KvPart& part = parts[keys.sent];
    push_transfer(frame,
                  {.to = key_device(keys.due.group, part.to),
                   .request = keys.due.request,
                   .bytes = static_cast<std::int64_t>(part.bytes_per_token * keys.due.tokens),
                   .tokens = keys.due.tokens,
                   .unused = 0});
  }
  return keys.sent != before;
}

ServedProgram served_program(const serving::Pool& pool, std::uint32_t stage,
                             const ProgramTable& table) {
  const std::uint64_t tokens = serving::batch_tokens_bound(pool.spec);
  ServedProgram out;
  out.stage = stage;
  out.is_last = stage + 1 == pool.layout.pipeline;
  out.layout = pool.layout;
  out.latency = pool.spec.latency;
  out.pieces = serving::pieces_of(pool);
  out.exchanges = serving::exchanges_of(pool);
  out.regroupings = serving::regroupings_of(pool);
  out.sums = out.pieces - 2 * (out.exchanges + out.regroupings);
  out.layers = serving::layers_of(pool, stage);
  out.by_layer = pool.layers_per_message != 0;
  ServedTaskReader reader(table);
  if (stage != 0) out.receives = reader.read(tokens);
  if (pool.layout.attention_ranks() > 1) out.all_reduces = reader.read(tokens);
  if (out.regroupings != 0) {
    out.regathers = reader.read(tokens);
    out.rescatters = reader.read(tokens);
    out.regathers.of_batch = out.rescatters.of_batch = true;
  }
  if (out.exchanges != 0) {
    out.dispatches = reader.read(tokens);
    out.combines = reader.read(tokens);
  }
  if (out.is_last && pool.layout.tensor > 1) {
    out.gathers = reader.read(serving::batch_outputs_bound(pool.spec));
  }
  if (!out.is_last) out.sends = reader.read(tokens);
  EXAWARP_CHECK(reader.is_at_end(), stage, table.tasks.size());
  return out;
}

}  // namespace exawarp::model
