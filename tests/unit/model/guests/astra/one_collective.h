// Jobs of one collective, and the terms of their closed forms.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "model/guests/astra/simulation.h"

namespace exawarp::tests {

namespace astra = model::astra;

constexpr astra::Ns kEndpointNs = 10;
constexpr double kBytesPerNs = 50 * static_cast<double>(1 << 30) / 1e9;

// One collective of `bytes` over a fully connected dimension, where nothing shares a link.
inline astra::Job collective(astra::CollectiveKind kind, astra::Algorithm algorithm,
                             std::uint32_t ranks, std::uint64_t bytes) {
  astra::Job job;
  job.network.dimensions = {{astra::Topology::fully_connected, ranks, 50, 500}};
  job.system.local_memory_gb_per_s = 1'600;
  job.system.endpoint_delay_ns = kEndpointNs;
  job.system.splits = 1;
  for (auto& implementations : job.system.implementations) {
    implementations = {astra::Implementation{.algorithm = algorithm}};
  }
  auto trace = std::make_shared<astra::Trace>();
  trace->nodes.push_back({.id = 1});
  trace->nodes[0].kind = astra::NodeKind::collective;
  trace->nodes[0].collective = kind;
  trace->nodes[0].comm_bytes = bytes;
  trace->nodes[0].has_bytes = true;
  job.traces.assign(ranks, trace);
  return job;
}

inline astra::Ns time_of(const astra::Job& job) {
  check(job);
  astra::Ns last = 0;
  std::uint32_t finished = 0;
  simulate(job, [&](const astra::Finish& finish) {
    last = std::max(last, finish.cycles);
    ++finished;
  });
  EXPECT_EQ(finished, job.traces.size());
  return last;
}

inline astra::Ns link(double bytes) { return static_cast<astra::Ns>(500 + bytes / kBytesPerNs); }
inline astra::Ns reduction(std::uint64_t bytes) {
  return 3 * static_cast<astra::Ns>(static_cast<double>(bytes) / (1'600.0 * 1e9) * 1e9);
}

}  // namespace exawarp::tests
