// Times of kernels as others write them, made into kernel tables.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/names.h"
#include "model/compute/kernel_table.h"

namespace exawarp::io {

enum class KernelFormat : std::uint8_t { csv, pytorch, cocossim, accel_sim };
inline constexpr core::Named<KernelFormat> kKernelFormatNames[] = {
    {"csv", KernelFormat::csv},
    {"pytorch", KernelFormat::pytorch},
    {"cocossim", KernelFormat::cocossim},
    {"accel-sim", KernelFormat::accel_sim}};
constexpr std::span<const core::Named<KernelFormat>> names_of(KernelFormat) {
  return kKernelFormatNames;
}
static_assert(core::names_each(kKernelFormatNames));

struct KernelImportOptions {
  KernelFormat format = KernelFormat::csv;
  std::int64_t clock_hz = 0;  // of cycles; 0: not given
  std::string type;           // of kernels that do not say theirs; empty: they have to
  std::string device;         // of a column `device`; empty: the only one
  std::string shapes_file;    // accel_sim: its name, for messages
  std::string_view shapes;    // accel_sim: what kernels of a name or number compute
};

struct KernelImport {
  std::vector<model::KernelTable> tables;
  std::size_t kernels = 0;                      // that went into them
  std::map<std::string, std::size_t> left_out;  // how many, by operation
};

// docs/reference/kernel_import.md has the formats. Of the times of kernels of one name and shape
// the median counts, of several names the fastest. Throws core::InputError, at the line where there
// are lines, also where nothing is left.
KernelImport import_kernels(const std::string& file, std::string_view text,
                            const KernelImportOptions& options);

}  // namespace exawarp::io
