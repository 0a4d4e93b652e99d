// The compute and memory nodes of a program, priced: nodes that say the same are one kernel, and
// its time and power are computed once. Layers and micro-batches repeat each other, so a program
// of a hundred thousand nodes has some dozens.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/time.h"
#include "core/words_hash.h"
#include "model/compute/compute_models.h"
#include "model/compute/pedigree.h"
#include "model/device/program_table.h"
#include "model/workload/graph.h"

namespace exawarp::model {

class ProgramKernels {
 public:
  // All outlive it. `lag_ppb`: ProgramTableInputs::lag_ppb.
  ProgramKernels(const WorkloadGraph& graph, const Accelerator& accelerator,
                 const ComputeModels& models, std::int64_t lag_ppb);

  struct Kernel {
    core::Time priced, lasts;  // as its model says, and behind the others' by the lag
    // What it adds to the device's idle power while it lasts; 0 where power is not known.
    std::int32_t above_idle_mw = 0;
    double above_idle_j = 0;
    Provenance power = Provenance::modelled;  // how these are known
    std::uint32_t use = 0;                    // of KernelUses
    std::uint32_t work = 0;                   // into ProgramTable::work
  };

  // Of a compute or memory node, of which `table` then has one more. Throws core::InputError,
  // without a place, where no time can be computed.
  Kernel use(const schema::Node::Reader& node, ProgramTable& table);
  // Gives `table` its kernels; the next node is of another program.
  void finish(ProgramTable& table);

 private:
  // All that a price depends on, and what else is told apart in ComputeWork.
  using Identity = std::array<std::uint64_t, 5>;
  static Identity identity_of(const schema::Node::Reader& node);
  Kernel priced(const schema::Node::Reader& node, ProgramTable& table);

  const WorkloadGraph& graph_;
  const Accelerator& accelerator_;
  const ComputeModels& models_;
  std::int64_t lag_ppb_;
  KernelUses uses_;
  std::unordered_map<Identity, Kernel, core::WordsHash> known_;  // looked up only
};

}  // namespace exawarp::model
