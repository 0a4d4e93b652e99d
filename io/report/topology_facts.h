// A topology in figures, for people and programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/topology/topology.h"

namespace exawarp::io {

struct TopologyFacts {
  std::string name;
  std::uint32_t devices = 0;
  model::TopologyCounts counts;
  struct Links {
    model::LinkKind kind;
    std::uint64_t count = 0;
  };
  std::vector<Links> links;
  struct Paths {
    model::Distance distance;
    double share = 0;  // of the pairs looked at
  };
  std::vector<Paths> paths;  // nearest first; those that some pair has
  std::uint32_t sources = 0;  // devices from which pairs were looked at: all, or an even sample
};

// Cost: O(vertices * ports) and O(devices) for each of at most kSourcesMax sources.
TopologyFacts facts_of(const model::Topology& topology);
constexpr std::uint32_t kSourcesMax = 64;

std::string topology_text(const TopologyFacts& facts);
std::string topology_json(const TopologyFacts& facts);

}  // namespace exawarp::io
