// The file of a kernel table (.xkt): lines of text up to `cells`, then 16-bit levels,
// little-endian, then 8-bit levels of watts where it has them. docs/reference/kernel_tables.md has
// the format. Files may come from anywhere: everything is checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace exawarp::model {

constexpr double kKernelUsMax = 1e9;
constexpr double kKernelWattsMax = 1e6;
constexpr double kKernelCellsMax = 1 << 22;  // of all slices together

struct KernelFile {
  std::string operation, data_type;
  bool derived = false;  // from measurements of other kernels or chips; the source says how
  std::vector<std::string> keys, axes;
  std::vector<std::vector<std::uint32_t>> values;  // of each axis, ascending, 1 or more
  std::vector<std::vector<std::uint32_t>> slices;  // keys, ascending; one empty one without keys
  std::vector<std::uint16_t> levels;               // slice by slice; 0xffff: not measured
  double log_least = 0, log_step = 0;  // exp(log_least + level * log_step) us
  std::vector<std::uint8_t> watt_levels;  // as many, or none; 0xff: not measured
  double watt_least = 0, watt_step = 0;   // watt_least + level * watt_step W
};

// Throws core::InputError at `place`.
KernelFile parse_kernel_file(const std::string& place, std::string_view bytes);

}  // namespace exawarp::model
