// An accelerator's specification: constants of the compute models. Read from
// configs/accelerators/*.yaml by io/.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "model/compute/calibration.h"
#include "model/compute/systolic_unit.h"
#include "model/workload/names.h"

namespace exawarp::model {

constexpr std::size_t kOperationCount = std::size(schema::kOperationNames);
constexpr std::size_t kDataTypeCount = 8;  // schema::DataType

class KernelTables;

// Share of a peak that a kind of operation reaches, each in (0, 1].
struct Efficiency {
  double compute = 1;
  double memory = 1;
};

// What a device draws (model/energy/power.h has the formula). Zero limit: not known.
struct PowerSpec {
  std::int64_t idle_mw = 0;
  std::int64_t limit_mw = 0;
  std::int64_t communicating_mw = 0;  // while it does nothing else
  double compute_saturation = 0.4;    // share of the dense peak from which a kernel is at the limit
  double memory_share = 0.9;  // of what lies between idle and limit, at the memory's full bandwidth

  [[nodiscard]] bool known() const { return limit_mw != 0; }
  [[nodiscard]] double idle_w() const { return static_cast<double>(idle_mw) / 1e3; }
  [[nodiscard]] double limit_w() const { return static_cast<double>(limit_mw) / 1e3; }
  [[nodiscard]] double communicating_w() const {
    return static_cast<double>(communicating_mw) / 1e3;
  }
};

// Of the time of a device that trains, in which nothing is computed, where nobody knows better.
constexpr double kUsualIdleShare = 0.15;

// What measured products and attention take over what they took in bursts of milliseconds, on a
// device that has been busy for seconds but for a share of the time: the power limit lowers the
// clock, the more the less it is idle.
struct SustainedSlowdown {
  double idle_share = 0;  // in [0, 1]
  double slowdown = 1;    // >= 1
};

struct Accelerator {
  std::string name;
  std::array<double, kDataTypeCount> matrix_flops_per_s{};  // by schema::DataType; 0: not offered
  double vector_flops_per_s = 0;
  double memory_bytes_per_s = 0;
  std::int64_t memory_bytes = 0;
  double host_bytes_per_s = 0;  // link to host memory
  core::Time launch_latency;    // added to every compute node
  // The same where kernels are launched as a graph, without the host between them. 1 us is what
  // gaps between short kernels of a graph come to on recent accelerators (unconfirmed).
  core::Time graph_launch_latency{1'000'000};
  // Share of the peak's clock that matrix units keep under the power limit, in (0, 1]. Beside
  // efficiencies that were measured at the full clock.
  double sustained_clock = 1;
  // A compute node that starts while a collective is in progress on its device takes so many times
  // as long, >= 1: the collective's kernels hold part of the multiprocessors and of the memory's
  // bandwidth, also while they wait for other members.
  double overlap_slowdown = 1;
  std::vector<SustainedSlowdown> sustained = {};  // ascending in idle_share; empty: no slowdown
  double idle_share = kUsualIdleShare;            // of its devices, in [0, 1]
  bool idle_share_known = false;                  // no guess
  std::array<Efficiency, kOperationCount> efficiency{};  // by schema::Operation
  PowerSpec power;
  std::shared_ptr<const KernelTables> tables = {};       // measured kernels; null: none
  // Kernels whose watts were measured on a device of this chip and limit, where the times of
  // `tables` are of another; null: none.
  std::shared_ptr<const KernelTables> power_tables = {};
  std::optional<SystolicUnit> systolic = {};             // none: it has no such arrays
  Calibration calibration;

  // That of `idle_share`: between two points of `sustained` on the line through both, beyond the
  // first or the last what that one has.
  [[nodiscard]] double sustained_slowdown() const;
  // Whether `idle_share` makes a difference: to measured kernels, where there are several points.
  [[nodiscard]] bool slows_by_idle_share() const {
    return tables != nullptr && sustained.size() > 1;
  }
};

}  // namespace exawarp::model
