// Kernels on their way into tables.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/formats/kernels/import.h"

namespace exawarp::io {

struct MeasuredKernel {
  std::string name;
  std::string operation;  // as the file calls it
  std::string type;       // the same
  // gemm, gemm_converted: m, n, k; decode: heads, batch, past_tokens; other attention: heads,
  // batch, new_tokens; kernels that move memory: StreamTable::axes.
  std::vector<std::uint64_t> sizes;
  // prefill, prefill_backward, decode: head_dim, window, key-value heads (0: as many as heads).
  std::vector<std::uint64_t> key;
  double us = 0;
};

// The table's name: gemm, gemm_converted, prefill, prefill_backward, mla, mla_backward, decode, or
// that of a kernel that moves memory (model/compute/stream_tables.h); empty: no table holds such
// operations.
std::string_view table_operation(std::string_view operation);

class KernelRows {
 public:
  // Of an operation that tables hold. Throws core::InputError at `place`.
  void add(const std::string& place, const MeasuredKernel& kernel);
  void leave_out(const std::string& operation) { ++import_.left_out[operation]; }
  // Throws core::InputError at `file` where nothing was added.
  [[nodiscard]] KernelImport finish(const std::string& file) &&;

 private:
  using Shape = std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>>;
  // Times by table, shape and name.
  std::map<std::pair<std::string, std::string>,
           std::map<Shape, std::map<std::string, std::vector<double>>>>
      times_;
  KernelImport import_;
};

// Parsers of formats that are no CSV. Throw core::InputError.
void read_pytorch_kernels(const std::string& file, std::string_view text, KernelRows& rows);
void read_cocossim_kernels(const std::string& file, std::string_view text,
                           const KernelImportOptions& options, KernelRows& rows);
void read_accel_sim_kernels(const std::string& file, std::string_view text,
                            const KernelImportOptions& options, KernelRows& rows);
void read_csv_kernels(const std::string& file, std::string_view text,
                      const KernelImportOptions& options, KernelRows& rows);

// Microseconds of so many cycles. Throws core::InputError at `place` where no clock is given.
double us_of_cycles(const std::string& place, double cycles, const KernelImportOptions& options);

}  // namespace exawarp::io
