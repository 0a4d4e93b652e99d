#include "model/serving/cluster_outcome.h"

#include <cstring>

#include "core/error.h"
#include "model/cluster.h"
#include "pdes/transport.h"

namespace exawarp::model::serving {

ClusterOutcome::ClusterOutcome(const Cluster& cluster) : cluster_(cluster) {
  for (const auto& serving : cluster.served()) {
    outcomes_.push_back(std::make_unique<Outcome>(serving->spec()));
  }
}

void ClusterOutcome::deliver(core::PartitionId partition, const pdes::Emission& emission) {
  if (!cluster_.is_scheduler(emission.lp)) return;
  const Serving& of = cluster_.serving_at(emission.lp);
  for (std::size_t i = 0; i < outcomes_.size(); ++i) {
    if (cluster_.served()[i].get() == &of) outcomes_[i]->deliver(partition, emission);
  }
}

std::vector<std::byte> ClusterOutcome::saved() const {
  std::vector<std::byte> out;
  for (const auto& outcome : outcomes_) {
    for (const auto* values : outcome->all()) {
      const auto bytes = std::as_bytes(std::span(*values));
      out.insert(out.end(), bytes.begin(), bytes.end());
    }
  }
  return out;
}

void ClusterOutcome::restore(std::span<const std::byte> saved) {
  for (const auto& outcome : outcomes_) {
    for (auto* values : outcome->all()) {
      if (saved.size() < values->size() * sizeof(std::uint64_t)) {
        throw core::InputError("holds fewer requests than the study has");
      }
      for (std::uint64_t& value : *values) {
        std::uint64_t added = 0;
        std::memcpy(&added, saved.data(), sizeof added);
        value += added;
        saved = saved.subspan(sizeof added);
      }
    }
  }
  if (!saved.empty()) throw core::InputError("holds more requests than the study has");
}

void ClusterOutcome::combine(pdes::Transport& transport) {
  for (const auto& outcome : outcomes_) {
    for (auto* values : outcome->all()) transport.all_reduce_sum(*values);
  }
}

}  // namespace exawarp::model::serving
