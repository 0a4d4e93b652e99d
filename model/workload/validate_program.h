// Inside validate.cc: the checks of one program, and the tables they share with those of groups.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "model/workload/graph.h"
#include "model/workload/validate.h"

namespace exawarp::model {

// The collectives a program runs on one group, in order.
struct GroupUse {
  std::uint32_t stream = 0;
  std::uint32_t count = 0;
  std::uint64_t hash = 0;
};

// The coordinates of a program's devices on one axis: first <= c <= last.
struct CoordinateSpan {
  std::uint32_t first = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t last = 0;
};

// By program.
struct ProgramTables {
  std::vector<std::uint64_t> devices;                       // bound to it
  std::vector<std::array<CoordinateSpan, kAxesMax>> spans;  // by axis
  std::vector<std::map<std::uint32_t, GroupUse>> uses;      // by group; filled by check_program
};

// `PLACE: programs[3] "stage 3"`.
std::string program_place(const WorkloadGraph& graph, std::uint32_t program);

// Requires a graph that is indexed and whose header, groups and bindings are sound.
// Throws core::InputError.
void check_program(const WorkloadGraph& graph, std::uint32_t program, ProgramTables& tables);

// Runs `read`; what Cap'n Proto throws in it becomes core::InputError at `place`.
void decoding(const std::string& place, const std::function<void()>& read);

}  // namespace exawarp::model
