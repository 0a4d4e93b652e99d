#include "model/device/served_program.h"

#include "core/check.h"
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

ServedProgram served_program(const serving::Pool& pool, std::uint32_t stage,
                             const ProgramTable& table) {
  const std::uint64_t tokens = serving::batch_tokens_bound(pool.spec);
  ServedProgram out;
  out.stage = stage;
  out.is_last = stage + 1 == pool.layout.pipeline;
  out.layout = pool.layout;
  out.latency = pool.spec.latency;
  out.pieces = serving::all_reduces_of(pool);
  ServedTaskReader reader(table);
  if (stage != 0) out.receives = reader.read(tokens);
  if (pool.layout.tensor > 1) out.all_reduces = reader.read(tokens);
  if (out.is_last && pool.layout.tensor > 1) {
    out.gathers = reader.read(serving::batch_outputs_bound(pool.spec));
  }
  if (!out.is_last) out.sends = reader.read(tokens);
  EXAWARP_CHECK(reader.is_at_end(), stage, table.tasks.size());
  return out;
}

}  // namespace exawarp::model
