// Measured kernels as a compute model: products, attention cores, layers of experts and kernels
// that move memory, whose shape is known, on devices that have tables.
//
//   product      m, n, k as measured; a batch counts as so many times m. In fp8 the tables `gemm`
//                hold the conversion of the input, which serving engines have with each product;
//                where nodes of their own convert it, `gemm_converted` has the product alone
//   attention    forward, causal: as measured. What its queries see besides themselves, and what
//                causal attention leaves out, by the ratio of pairs seen; wider heads than were
//                measured by the ratio of widths, narrower ones by half of what it lacks. Backward:
//                the same, of tables of their own; where there are none, forward times 2.5, the
//                ratio of FLOPs of flash attention, marked derived. Scores that go through memory:
//                not known here.
//   experts      a layer's kernels were measured together, forward: a product, of the backward
//                pass too, has the share of its FLOPs, marked derived. Where each device has the
//                tokens of all, the layer as measured for that split, whole
//   stream       by its kernel, rows and width, or elements in all
//
// Products and attention were measured in bursts of milliseconds. A device that is busy for seconds
// meets its power limit and lowers its clock: they take Accelerator::sustained_slowdown times as
// long, those that leave most of the matrix units idle less so (sustained_factor).
//
// What is derived from a kernel draws what that kernel draws. To each comes the accelerator's
// launch latency: kernels were timed back to back.
#pragma once

#include <string_view>

#include "model/compute/accelerator.h"
#include "model/compute/compute_model.h"
#include "model/compute/kernel_tables.h"

namespace exawarp::model {

class TableModel final : public ComputeModel {
 public:
  // Both outlive it.
  TableModel(const Accelerator& accelerator, const KernelTables& tables)
      : accelerator_(accelerator), tables_(tables) {}
  [[nodiscard]] std::optional<Priced> price(const ComputeOperation& operation) const override;

 private:
  enum class Pass : std::uint8_t { forward, backward };
  struct Time {
    double us = 0;
    Provenance provenance = Provenance::measured;
    double relative_error = 0;
    double watts = 0;  // 0: not known
    bool watts_of_another = false;  // kernel, that the time is not derived from
  };
  [[nodiscard]] std::optional<Time> of(const GemmShape& shape, schema::DataType type) const;
  static double products_of(const GemmShape& shape, std::uint64_t flops);
  [[nodiscard]] std::optional<Time> of(const StreamShape& shape, schema::DataType type) const;
  [[nodiscard]] double sustained_factor(const ComputeOperation& operation, double us) const;
  [[nodiscard]] std::optional<Time> of(const AttentionShape& shape, schema::DataType type) const;
  [[nodiscard]] std::optional<Time> of(const ExpertShape& shape,
                                       const ComputeOperation& operation) const;
  [[nodiscard]] std::optional<Time> served(const ExpertShape& shape, schema::DataType type) const;
  [[nodiscard]] std::optional<Time> latent(const AttentionShape& shape, schema::DataType type,
                                           Pass pass) const;
  [[nodiscard]] std::optional<Time> plain(const AttentionShape& shape, schema::DataType type,
                                          Pass pass) const;
  // Of a table of that pass.
  [[nodiscard]] std::optional<Time> known(const AttentionShape& shape, schema::DataType type,
                                          Pass pass) const;
  [[nodiscard]] const KernelTable* find(std::string_view operation, schema::DataType type) const;
  static std::optional<Time> estimate(const KernelTable& table, std::size_t slice,
                                      const KernelTable::Point& point);

  const Accelerator& accelerator_;
  const KernelTables& tables_;
};

}  // namespace exawarp::model
