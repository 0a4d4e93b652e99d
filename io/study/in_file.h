// Gives errors that do not know where their input stands the file that it came from.
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"
#include "model/workload/graph.h"

namespace exawarp::io {

// What `work` returns. A core::InputError of its that has no place, or only that of a graph which
// was made from the file, gets `file`.
template <class Work>
auto in_file(const std::string& file, const Work& work) {
  try {
    return work();
  } catch (const core::InputError& error) {
    const bool generated = std::string_view(error.what()).starts_with(model::kGeneratedPlace);
    if (error.has_place() && !generated) throw;
    throw core::InputError(file, error.what());
  }
}

}  // namespace exawarp::io
