#include "model/extrapolate/recorded_step.h"

namespace exawarp::model {

std::vector<std::uint32_t> updated_tensors(const RecordedStep& step) {
  std::vector<bool> updated(step.tensors.size());
  const auto mark = [&](const RecordedOperator& op, bool as) {
    for (const std::uint32_t tensor : op.inputs) updated[tensor] = as;
  };
  for (const RecordedOperator& op : step.operators) {
    if (op.name == "aten::_foreach_addcdiv_") mark(op, true);
  }
  for (const RecordedOperator& op : step.operators) {
    if (op.name == "aten::_foreach_add_" || op.name == "aten::_foreach_lerp_") mark(op, false);
  }
  std::vector<std::uint32_t> out;
  for (std::uint32_t tensor = 0; tensor < updated.size(); ++tensor) {
    if (updated[tensor]) out.push_back(tensor);
  }
  return out;
}

}  // namespace exawarp::model
