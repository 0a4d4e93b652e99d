// Kernels are found by a hash of what their nodes say. An imported trace may record another time
// for every node, so no more than kKnownMax are remembered.
#include "model/device/program_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/compute/rank_noise.h"
#include "model/energy/power.h"

namespace exawarp::model {
namespace {

constexpr std::size_t kKnownMax = 4096;

std::uint32_t work_number(const schema::Node::Reader& node, std::vector<ComputeWork>& work) {
  const auto is_of = [&](const ComputeWork& w) {
    return w.phase == node.getPhase() && w.operation == node.getOperation() &&
           w.data_type == node.getDataType();
  };
  const auto found = std::ranges::find_if(work, is_of);
  const auto number = static_cast<std::uint32_t>(found - work.begin());
  if (found == work.end()) {
    work.push_back({node.getPhase(), node.getOperation(), node.getDataType()});
  }
  return number;
}

}  // namespace

ProgramKernels::ProgramKernels(const WorkloadGraph& graph, const Accelerator& accelerator,
                               const ComputeModels& models, std::int64_t lag_ppb)
    : graph_(graph), accelerator_(accelerator), models_(models), lag_ppb_(lag_ppb) {}

ProgramKernels::Identity ProgramKernels::identity_of(const schema::Node::Reader& node) {
  std::uint64_t kinds = node.getShape();  // 16 bits
  for (const std::uint64_t kind :
       {static_cast<std::uint64_t>(node.getKind()), static_cast<std::uint64_t>(node.getOperation()),
        static_cast<std::uint64_t>(node.getPhase()), static_cast<std::uint64_t>(node.getDataType()),
        static_cast<std::uint64_t>(node.getPlace())}) {
    kinds = kinds << 8 | kind;  // validate() has seen that each has a name
  }
  return {kinds, node.getFlops(), node.getBytesRead(), node.getBytesWritten(),
          node.getDurationPs()};
}

ProgramKernels::Kernel ProgramKernels::priced(const schema::Node::Reader& node,
                                              ProgramTable& table) {
  const ComputeOperation operation = operation_of(node, graph_.shape_of(node));
  const Priced priced = models_.price(operation);
  Kernel kernel{.priced = priced.duration, .lasts = lagged(priced.duration, lag_ppb_)};
  kernel.use = uses_.number_of(operation, node.getShape(), priced);
  if (node.getKind() == schema::NodeKind::COMPUTE) kernel.work = work_number(node, table.work);
  if (!accelerator_.power.known()) return kernel;
  const double above_w = above_idle_w(accelerator_, operation, priced, kernel.lasts);
  constexpr double kMwMax = std::numeric_limits<std::int32_t>::max();
  kernel.above_idle_mw =
      static_cast<std::int32_t>(std::lround(std::clamp(above_w * 1e3, -kMwMax, kMwMax)));
  kernel.above_idle_j = above_w * core::to_seconds(kernel.lasts);
  kernel.power = power_provenance(priced);
  return kernel;
}

ProgramKernels::Kernel ProgramKernels::use(const schema::Node::Reader& node, ProgramTable& table) {
  const Identity identity = identity_of(node);
  const auto known = known_.find(identity);
  const Kernel kernel = known != known_.end() ? known->second : priced(node, table);
  if (known == known_.end() && known_.size() < kKnownMax) known_.emplace(identity, kernel);
  uses_.count(kernel.use, kernel.priced);
  table.lag_ppb = lag_ppb_;
  table.above_idle_j.at(static_cast<std::size_t>(kernel.power)) += kernel.above_idle_j;
  if (node.getKind() != schema::NodeKind::COMPUTE) return kernel;
  ComputeWork& work = table.work[kernel.work];
  ++work.nodes;
  work.ps += static_cast<double>(kernel.lasts.ps);
  work.flops += static_cast<double>(node.getFlops());
  work.bytes += static_cast<double>(node.getBytesRead()) +
                static_cast<double>(node.getBytesWritten());
  return kernel;
}

void ProgramKernels::finish(ProgramTable& table) {
  table.kernels = uses_.all();
  uses_ = {};
  known_.clear();
}

}  // namespace exawarp::model
