// The compute models of one kind of accelerator, and which of them prices what.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "model/compute/accelerator.h"
#include "model/compute/compute_model.h"

namespace exawarp::model {

// Of a study: a fidelity, and others for some kinds of operation.
struct ComputeChoice {
  ComputeFidelity fidelity = ComputeFidelity::roofline;
  std::array<std::optional<ComputeFidelity>, kOperationCount> by_operation = {};

  [[nodiscard]] ComputeFidelity of(schema::Operation operation) const {
    return by_operation.at(static_cast<std::size_t>(operation)).value_or(fidelity);
  }
};

class TableModel;

class ComputeModels {
 public:
  // The accelerator outlives it.
  ComputeModels(const Accelerator& accelerator, const ComputeChoice& choice);
  ~ComputeModels();

  // By the model of the operation's fidelity, or the roofline where that does not know it, times
  // what the accelerator's calibration says. At fidelity `table` watts are those of
  // Accelerator::power_tables, derived, where these know the kernel. Throws
  // core::InputError, without a place, where the accelerator lacks what the operation needs.
  [[nodiscard]] Priced price(const ComputeOperation& operation) const;

 private:
  [[nodiscard]] Priced price_of_time(const ComputeOperation& operation) const;

  ComputeChoice choice_;
  Calibration calibration_;
  // By fidelity; none: the roofline answers. A fidelity is added by a class, its name, and a line
  // in the constructor.
  std::array<std::unique_ptr<ComputeModel>, std::size(kComputeFidelityNames)> models_;
  std::unique_ptr<TableModel> watts_;  // Accelerator::power_tables; null: none
};

}  // namespace exawarp::model
