// What became of the requests of all jobs of a cluster that serve.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "model/serving/outcome.h"
#include "pdes/emission.h"

namespace exawarp::pdes {
class Transport;
}
namespace exawarp::model {
class Cluster;
}

namespace exawarp::model::serving {

// Thread safety: as EmissionSink asks.
class ClusterOutcome final : public pdes::EmissionSink {
 public:
  // `cluster` outlives it.
  explicit ClusterOutcome(const Cluster& cluster);

  void deliver(core::PartitionId partition, const pdes::Emission& emission) override;
  [[nodiscard]] std::vector<std::byte> saved() const override;
  void restore(std::span<const std::byte> saved) override;

  // Adds up over all ranks; collective.
  void combine(pdes::Transport& transport);

  // As Cluster::served().
  [[nodiscard]] const Outcome& of(std::size_t served) const { return *outcomes_[served]; }
  [[nodiscard]] std::size_t size() const { return outcomes_.size(); }

 private:
  const Cluster& cluster_;
  std::vector<std::unique_ptr<Outcome>> outcomes_;
};

}  // namespace exawarp::model::serving
