// A sweep's database (point_database.h): its points are all there from the start.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/life/point_database.h"
#include "io/report/sweep_results.h"
#include "io/study/sweep.h"

namespace exawarp::io {

// Each `of`-th point, from that of number `part`: several machines share a sweep, each with a
// database of its own.
struct SweepShare {
  std::uint32_t part = 1, of = 1;  // 1 <= part <= of

  [[nodiscard]] bool has(std::size_t number) const { return number % of == part % of; }
  [[nodiscard]] std::string text() const;  // "3/8"
};

// What fills it. Owner: one thread.
class SweepDatabase : public PointDatabase {
 public:
  // Makes the file, or goes on with one of the same sweep and share: points that were begun and not
  // finished are pending again. Throws core::InputError for a database of another sweep, and
  // core::SystemError.
  SweepDatabase(const std::string& path, const Sweep& sweep, SweepShare share = {});

  // Points that are pending, in order.
  [[nodiscard]] std::vector<std::int64_t> pending();
  [[nodiscard]] std::int64_t count(PointState state);

 private:
  void add_points(const Sweep& sweep, const SweepShare& share);
  void check_same(const std::string& path, const Sweep& sweep, const SweepShare& share);
};

// What a sweep's databases hold together, with figures of the summaries. The texts of studies and
// summaries are long: they are there `with_texts` alone. Throws core::InputError for a file that is
// none, is of another sweep than the first one, or has a point that another has. Requires: one.
SweepResults read_sweep_results(const std::vector<std::string>& paths,
                                const std::vector<Measure>& measures, bool with_texts = false);

}  // namespace exawarp::io
