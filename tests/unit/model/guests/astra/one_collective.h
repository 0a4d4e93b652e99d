// Jobs of one collective, and the terms of their closed forms.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "model/guests/astra/simulation.h"

namespace exawarp::model::astra {

constexpr Ns kEndpointNs = 10;
constexpr double kBytesPerNs = 50 * static_cast<double>(1 << 30) / 1e9;

// One collective of `bytes` over a fully connected dimension, where nothing shares a link.
inline Job collective(CollectiveKind kind, Algorithm algorithm, std::uint32_t ranks,
                      std::uint64_t bytes) {
  Job job;
  job.network.dimensions = {{Topology::fully_connected, ranks, 50, 500}};
  job.system.local_memory_gb_per_s = 1'600;
  job.system.endpoint_delay_ns = kEndpointNs;
  job.system.splits = 1;
  for (auto& implementations : job.system.implementations) {
    implementations = {Implementation{.algorithm = algorithm}};
  }
  auto trace = std::make_shared<Trace>();
  trace->nodes.push_back({.id = 1});
  trace->nodes[0].kind = NodeKind::collective;
  trace->nodes[0].collective = kind;
  trace->nodes[0].comm_bytes = bytes;
  trace->nodes[0].has_bytes = true;
  job.traces.assign(ranks, trace);
  return job;
}

inline Ns time_of(const Job& job) {
  check(job);
  Ns last = 0;
  std::uint32_t finished = 0;
  simulate(job, [&](const Finish& finish) {
    last = std::max(last, finish.cycles);
    ++finished;
  });
  EXPECT_EQ(finished, job.traces.size());
  return last;
}

inline Ns link(double bytes) { return static_cast<Ns>(500 + bytes / kBytesPerNs); }
inline Ns reduction(std::uint64_t bytes) {
  return 3 * static_cast<Ns>(static_cast<double>(bytes) / (1'600.0 * 1e9) * 1e9);
}

}  // namespace exawarp::model::astra
