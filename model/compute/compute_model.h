// How long an operation takes on a device, what it draws meanwhile, and how that is known. A
// compute model answers for the operations it knows; ComputeModels (compute_models.h) asks the one
// that is chosen for the kind of operation, and the roofline where that has no answer.
//
// Asked once per program node and rank, when a program is set up; never in an event.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "core/names.h"
#include "core/time.h"
#include "model/workload/shape.h"
#include "model/workload/workload.capnp.h"

namespace exawarp::model {

enum class ComputeFidelity : std::uint8_t {
  roofline,  // from operations and bytes
  recorded,  // a node's recorded duration where it has one
  table,     // measured kernels
  systolic,  // cycles of the accelerator's systolic arrays
};

inline constexpr core::Named<ComputeFidelity> kComputeFidelityNames[] = {
    {"roofline", ComputeFidelity::roofline},
    {"recorded", ComputeFidelity::recorded},
    {"table", ComputeFidelity::table},
    {"systolic", ComputeFidelity::systolic}};
constexpr std::span<const core::Named<ComputeFidelity>> names_of(ComputeFidelity) {
  return kComputeFidelityNames;
}
static_assert(core::names_each(kComputeFidelityNames));

// How a duration is known, the surest first.
enum class Provenance : std::uint8_t {
  measured,      // this very shape
  interpolated,  // between measured shapes
  extrapolated,  // from the edge of what was measured
  derived,       // from a measurement of another kernel, by a ratio of their work
  modelled,      // a formula
  recorded,      // in the workload
};

inline constexpr core::Named<Provenance> kProvenanceNames[] = {
    {"measured", Provenance::measured},         {"interpolated", Provenance::interpolated},
    {"extrapolated", Provenance::extrapolated}, {"derived", Provenance::derived},
    {"modelled", Provenance::modelled},         {"recorded", Provenance::recorded}};
constexpr std::span<const core::Named<Provenance>> names_of(Provenance) {
  return kProvenanceNames;
}
static_assert(core::names_each(kProvenanceNames));
constexpr std::size_t kProvenanceCount = std::size(kProvenanceNames);

// A compute or memory node, as models see it. Requires amounts that validate() accepts.
struct ComputeOperation {
  schema::Operation operation = schema::Operation::OTHER;
  schema::DataType data_type = schema::DataType::NONE;
  bool moves_memory = false;  // a memory node
  bool to_host = false;       // a memory node whose bytes are the host's
  std::uint64_t flops = 0;
  std::uint64_t bytes = 0;  // read and written
  std::optional<core::Time> recorded = {};
  Shape shape = {};
};

ComputeOperation operation_of(const schema::Node::Reader& node, const Shape& shape);

struct Priced {
  core::Time duration = {};
  Provenance provenance = Provenance::modelled;
  double relative_error = 0;  // one standard deviation, relative; 0: not known
  // What the device draws while the kernel runs, and how that is known; 0: not known, and
  // utilisation says it (model/energy/power.h).
  double watts = 0;
  Provenance watts_provenance = Provenance::measured;
};

// Thread safety: const methods from any thread.
class ComputeModel {
 public:
  ComputeModel() = default;
  ComputeModel(const ComputeModel&) = delete;
  ComputeModel& operator=(const ComputeModel&) = delete;
  virtual ~ComputeModel() = default;

  // None: the model does not know such operations. Throws core::InputError, without a place (the
  // caller knows it), where the device cannot run the operation.
  [[nodiscard]] virtual std::optional<Priced> price(const ComputeOperation& operation) const = 0;
};

}  // namespace exawarp::model
