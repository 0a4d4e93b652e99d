#include "model/compute/compute_models.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "model/compute/roofline.h"
#include "model/compute/systolic_model.h"
#include "model/compute/table_model.h"

namespace exawarp::model {
namespace {

constexpr std::size_t index_of(ComputeFidelity fidelity) {
  return static_cast<std::size_t>(fidelity);
}

class Recorded final : public ComputeModel {
 public:
  [[nodiscard]] std::optional<Priced> price(const ComputeOperation& operation) const override {
    if (!operation.recorded) return std::nullopt;
    return Priced{.duration = *operation.recorded, .provenance = Provenance::recorded};
  }
};

// Factors are at most 10 and durations below 1e18 ps (roofline.cc), which leaves room to 2^63.
Priced calibrated(Priced priced, double factor) {
  if (factor == 1) return priced;
  constexpr double kDurationMaxPs = 1e18;
  const double ps = std::ceil(static_cast<double>(priced.duration.ps) * factor);
  priced.duration = {static_cast<std::int64_t>(std::min(ps, kDurationMaxPs))};
  return priced;
}

}  // namespace

ComputeModels::ComputeModels(const Accelerator& accelerator, const ComputeChoice& choice)
    : choice_(choice), calibration_(accelerator.calibration) {
  models_[index_of(ComputeFidelity::roofline)] = std::make_unique<Roofline>(accelerator);
  models_[index_of(ComputeFidelity::recorded)] = std::make_unique<Recorded>();
  if (accelerator.tables != nullptr) {
    models_[index_of(ComputeFidelity::table)] =
        std::make_unique<TableModel>(accelerator, *accelerator.tables);
  }
  if (accelerator.power_tables != nullptr) {
    watts_ = std::make_unique<TableModel>(accelerator, *accelerator.power_tables);
  }
  if (accelerator.systolic) {
    models_[index_of(ComputeFidelity::systolic)] =
        std::make_unique<SystolicModel>(accelerator, *accelerator.systolic);
  }
}

ComputeModels::~ComputeModels() = default;

Priced ComputeModels::price(const ComputeOperation& operation) const {
  Priced priced = price_of_time(operation);
  if (watts_ == nullptr) return priced;
  if (choice_.of(operation.operation) != ComputeFidelity::table) return priced;
  const auto elsewhere = watts_->price(operation);
  if (!elsewhere || elsewhere->watts == 0) return priced;
  priced.watts = elsewhere->watts;
  priced.watts_provenance = std::max(Provenance::derived, elsewhere->watts_provenance);
  return priced;
}

Priced ComputeModels::price_of_time(const ComputeOperation& operation) const {
  for (const ComputeFidelity fidelity :
       {choice_.of(operation.operation), ComputeFidelity::roofline}) {
    const auto& model = models_[index_of(fidelity)];
    if (model == nullptr) continue;
    if (const auto priced = model->price(operation)) {
      return calibrated(*priced, time_factor(calibration_, operation, priced->provenance));
    }
  }
  EXAWARP_CHECK(false);  // the roofline knows every operation
  return {};
}

}  // namespace exawarp::model
