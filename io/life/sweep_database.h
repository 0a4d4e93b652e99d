// A sweep's database: one row for each point, written when its state changes, so that a sweep goes
// on where it was however it ended. The tables, for whoever reads them with other tools:
//
//   sweep(name, file, identity, keys)     one row; `file` resolved, `keys` a JSON list
//   point(number, state, starts, key_values, reason, exit_code, wall_s, digest, study, summary)
//         `key_values` a JSON object; `study` resolved; `summary` is summary.json
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/life/database.h"
#include "io/report/sweep_results.h"
#include "io/study/sweep.h"

namespace exawarp::io {

// Keeps other processes from filling a file, as long as it lives. The system ends it with the
// process and those of its children that have not closed their descriptors. Why a lock of the open
// file and not of the process: the latter ends when SQLite gives up its own.
class FillLock {
 public:
  // Makes the file where there is none. Throws core::SystemError where another process goes on
  // having it.
  explicit FillLock(const std::string& path);
  ~FillLock();
  FillLock(const FillLock&) = delete;
  FillLock& operator=(const FillLock&) = delete;

 private:
  int descriptor_;
};

// What fills it. Owner: one thread.
class SweepDatabase {
 public:
  // Makes the file, or goes on with one of the same sweep: points that were begun and not finished
  // are pending again. Throws core::InputError for a database of another sweep, and
  // core::SystemError.
  SweepDatabase(const std::string& path, const Sweep& sweep);

  // Points that are pending, in order.
  [[nodiscard]] std::vector<std::int64_t> pending();
  [[nodiscard]] std::int64_t count(PointState state);

  // A pending point is begun; one that is begun is finished, or pending again.
  void begin(std::int64_t number);
  void finish(std::int64_t number, const PointOutcome& outcome);
  void put_back(std::int64_t number);

 private:
  void create(const Sweep& sweep);
  void check_same(const std::string& path, const Sweep& sweep);
  void move(Statement& change);

  FillLock lock_;
  Database database_;
};

// What a sweep's database holds, with figures of the summaries. The texts of studies and summaries
// are long: they are there `with_texts` alone. Throws core::InputError for a file that is none.
SweepResults read_sweep_results(const std::string& path, std::vector<Measure> measures,
                                bool with_texts = false);

}  // namespace exawarp::io
