// The tables of kernels that move memory (schema::StreamKernel): what their files are called, and
// what of a shape they go by.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "model/compute/kernel_table.h"
#include "model/workload/shape.h"

namespace exawarp::model {

struct StreamTable {
  std::string_view name;
  // Of a table's points. One: the elements, rows times width. Two: rows and width, whatever they
  // stand for.
  std::span<const char* const> axes;

  [[nodiscard]] KernelTable::Point point(const StreamShape& shape) const;
};

// nullptr: a kernel of a later version.
const StreamTable* stream_table(schema::StreamKernel kernel);
// nullptr: no kernel has a table of that name.
const StreamTable* stream_table(std::string_view name);

}  // namespace exawarp::model
