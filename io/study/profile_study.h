// A model whose operations were profiled, as a serving study names it: what a batch takes.
#pragma once

#include <cstdint>
#include <string>

namespace exawarp::io {

// Paths of tables that Vidur's profiler writes (io/formats/kernels/vidur_profile.h).
struct ProfileFiles {
  std::string mlp;         // operations on tokens
  std::string attention;   // attention, and keys and values saved
  std::string all_reduce;  // empty: none
  std::string send_recv;   // empty: none
};

struct ProfileStudy {
  ProfileFiles files;
  std::uint32_t layers = 1;
  std::uint32_t tensor = 1;  // devices that split each layer
  bool stages_across_nodes = false;
};

}  // namespace exawarp::io
