// Where the nodes of each rank come from: files of one format or another, read one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "io/formats/chakra/reader.h"

namespace exawarp::io {

struct TraceSource {
  std::uint32_t ranks = 0;
  // What messages about a rank's trace start with.
  std::function<std::string(std::uint32_t rank)> place;
  // Calls the visitor for each record; returns how many bytes were read. Throws core::InputError.
  std::function<std::uint64_t(std::uint32_t rank, const TraceVisitor& visitor)> read;
};

// PREFIX.<rank>.et, or PREFIX.<rank>.json where there is no PREFIX.0.et. Throws core::InputError
// where there is neither.
[[nodiscard]] TraceSource trace_files(const std::string& prefix);

// The files that `pattern` names: itself, or, where it holds "{rank}", those of ranks 0, 1, ... as
// far as there are any. Throws core::InputError where there is none.
class RankFiles {
 public:
  explicit RankFiles(std::string pattern);
  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] std::string path(std::uint32_t rank) const;

 private:
  std::string pattern_;
  std::uint32_t count_ = 0;
};

}  // namespace exawarp::io
