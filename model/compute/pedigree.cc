// Adds up what each kernel took by how its time is known, and propagates the errors: kernels count
// as independent, formulas as one.
#include "model/compute/pedigree.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace exawarp::model {
namespace {

constexpr std::size_t index_of(schema::Operation operation) {
  return static_cast<std::size_t>(operation);
}
constexpr std::size_t index_of(Provenance provenance) {
  return static_cast<std::size_t>(provenance);
}

bool is_of_one_formula(Provenance provenance) {
  return provenance == Provenance::modelled || provenance == Provenance::recorded;
}

// What differs between kernels of which each has an error of its own.
using KernelKey = std::tuple<std::size_t, std::size_t, schema::DataType, Shape>;

KernelKey key_of(const KernelUse& use) {
  const std::size_t operation = index_of(use.operation.operation);
  const std::size_t provenance = index_of(use.priced.provenance);
  if (is_of_one_formula(use.priced.provenance)) return {operation, provenance, {}, {}};
  return {operation, provenance, use.operation.data_type, use.operation.shape};
}

}  // namespace

std::optional<std::uint32_t> KernelUses::find(const ComputeOperation& operation,
                                              std::uint32_t shape, Provenance provenance) const {
  if (shape == 0) {
    for (std::uint32_t i = 0; i < uses_.size(); ++i) {
      const KernelUse& use = uses_[i];
      if (use.operation.operation == operation.operation && use.priced.provenance == provenance &&
          std::holds_alternative<std::monostate>(use.operation.shape)) {
        return i;
      }
    }
    return std::nullopt;
  }
  for (std::uint32_t i = shape < by_shape_.size() ? by_shape_[shape] : 0; i != 0;
       i = earlier_[i - 1]) {
    const ComputeOperation& known = uses_[i - 1].operation;
    if (known.operation == operation.operation && known.data_type == operation.data_type &&
        known.flops == operation.flops && known.bytes == operation.bytes &&
        known.recorded == operation.recorded) {
      return i - 1;
    }
  }
  return std::nullopt;
}

std::uint32_t KernelUses::number_of(const ComputeOperation& operation, std::uint32_t shape,
                                    const Priced& priced) {
  if (const auto known = find(operation, shape, priced.provenance)) return *known;
  const auto number = static_cast<std::uint32_t>(uses_.size());
  uses_.push_back({.operation = operation, .priced = priced});
  earlier_.push_back(0);
  if (shape == 0) return number;
  by_shape_.resize(std::max<std::size_t>(by_shape_.size(), shape + 1));
  earlier_.back() = by_shape_[shape];
  by_shape_[shape] = number + 1;
  return number;
}

double Pedigree::total_ps(schema::Operation operation) const {
  double sum = 0;
  for (const double part : ps.at(index_of(operation))) sum += part;
  return sum;
}

double Pedigree::total_ps(Provenance provenance) const {
  double sum = 0;
  for (const Shares& shares : ps) sum += shares.at(index_of(provenance));
  return sum;
}

double Pedigree::total_ps() const {
  double sum = 0;
  for (std::size_t p = 0; p < kProvenanceCount; ++p) sum += total_ps(static_cast<Provenance>(p));
  return sum;
}

double Pedigree::relative_error() const {
  const double all = total_ps();
  return all > 0 ? std::sqrt(variance_ps2) / all : 0;
}

Pedigree pedigree_of(std::span<const DeviceKernels> programs) {
  Pedigree out;
  std::map<KernelKey, double> deviation_ps;
  for (const DeviceKernels& program : programs) {
    for (const KernelUse& use : program.kernels) {
      const double ps = use.ps * static_cast<double>(program.devices);
      out.ps.at(index_of(use.operation.operation)).at(index_of(use.priced.provenance)) += ps;
      deviation_ps[key_of(use)] += ps * use.priced.relative_error;
    }
  }
  for (const auto& [key, deviation] : deviation_ps) out.variance_ps2 += deviation * deviation;
  return out;
}

}  // namespace exawarp::model
