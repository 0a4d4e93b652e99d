// The part of archives that asks for no template.
#include "pdes/state_archive.h"

#include <bit>

namespace exawarp::pdes {

// As Context::allocate_block() of the containers rounds.
std::uint32_t StateArchive::class_of(std::uint64_t bytes) {
  return static_cast<std::uint32_t>(std::bit_width(bytes - 1));
}

}  // namespace exawarp::pdes
