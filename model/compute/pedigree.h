// How the compute time of a run is known: what share of it was measured, interpolated and so on,
// for each kind of operation, and how far off it may be.
//
// Errors are those that the compute models state (Priced::relative_error). One kernel's error is
// common to all its repetitions; kernels of one kind that are measured add up as independent ones,
// what is modelled by one formula is off as a whole:
//
//   variance = sum over kernels (time * error)^2 + sum over kinds (modelled time * error)^2
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/time.h"
#include "model/compute/accelerator.h"
#include "model/compute/compute_model.h"

namespace exawarp::model {

// A kernel of a program: operations that take the same for the same reason.
struct KernelUse {
  ComputeOperation operation;  // the first of them
  Priced priced;
  std::uint64_t uses = 0;
  double ps = 0;  // of all uses
};

// The kernels of a program, as it is set up.
class KernelUses {
 public:
  // The number of a kernel, for count(). `shape`: Node.shape; operations without one are one kernel
  // where they are of one kind and their times are known alike.
  std::uint32_t number_of(const ComputeOperation& operation, std::uint32_t shape,
                          const Priced& priced);
  void count(std::uint32_t kernel, core::Time duration) {
    ++uses_[kernel].uses;
    uses_[kernel].ps += static_cast<double>(duration.ps);
  }
  [[nodiscard]] const std::vector<KernelUse>& all() const { return uses_; }

 private:
  [[nodiscard]] std::optional<std::uint32_t> find(const ComputeOperation& operation,
                                                  std::uint32_t shape,
                                                  Provenance provenance) const;

  std::vector<KernelUse> uses_;
  std::vector<std::uint32_t> by_shape_;  // 1 + the latest kernel of a shape; 0: none
  // For each of uses_: 1 + the one before of its shape, which differs in type or amounts.
  std::vector<std::uint32_t> earlier_;
};

struct Pedigree {
  using Shares = std::array<double, kProvenanceCount>;  // by Provenance

  // Picoseconds of all devices, by schema::Operation and Provenance.
  std::array<Shares, kOperationCount> ps{};
  double variance_ps2 = 0;

  [[nodiscard]] double total_ps() const;
  [[nodiscard]] double total_ps(schema::Operation operation) const;
  [[nodiscard]] double total_ps(Provenance provenance) const;
  // Of all compute time, one standard deviation; 0 where nothing was computed.
  [[nodiscard]] double relative_error() const;
};

struct DeviceKernels {
  std::uint64_t devices = 0;
  std::span<const KernelUse> kernels;  // of each
};
Pedigree pedigree_of(std::span<const DeviceKernels> programs);

}  // namespace exawarp::model
