// A sweep's database: one row for each point, written when its state changes, so that a sweep goes
// on where it was however it ended. The tables, for whoever reads them with other tools:
//
//   sweep(name, file, identity, share, keys)   one row; `file` resolved, `keys` a JSON list
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

inline constexpr const char* kSweepTables =
    "CREATE TABLE sweep(name TEXT NOT NULL, file TEXT NOT NULL, identity TEXT NOT NULL,"
    " share TEXT NOT NULL, keys TEXT NOT NULL);"
    "CREATE TABLE point(number INTEGER PRIMARY KEY, state TEXT NOT NULL,"
    " starts INTEGER NOT NULL DEFAULT 0, key_values TEXT NOT NULL, reason TEXT, exit_code INTEGER,"
    " wall_s REAL, digest TEXT, study TEXT, summary TEXT);";

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

// Each `of`-th point, from that of number `part`: several machines share a sweep, each with a
// database of its own.
struct SweepShare {
  std::uint32_t part = 1, of = 1;  // 1 <= part <= of

  [[nodiscard]] bool has(std::size_t number) const { return number % of == part % of; }
  [[nodiscard]] std::string text() const;  // "3/8"
};

// What fills it. Owner: one thread.
class SweepDatabase {
 public:
  // Makes the file, or goes on with one of the same sweep and share: points that were begun and not
  // finished are pending again. Throws core::InputError for a database of another sweep, and
  // core::SystemError.
  SweepDatabase(const std::string& path, const Sweep& sweep, SweepShare share = {});

  // Points that are pending, in order.
  [[nodiscard]] std::vector<std::int64_t> pending();
  [[nodiscard]] std::int64_t count(PointState state);

  // A pending point is begun; one that is begun is finished, or pending again.
  void begin(std::int64_t number);
  void finish(std::int64_t number, const PointOutcome& outcome);
  void put_back(std::int64_t number);

 private:
  void create(const Sweep& sweep, const SweepShare& share);
  void check_same(const std::string& path, const Sweep& sweep, const SweepShare& share);
  void move(Statement& change);

  FillLock lock_;
  Database database_;
};

// What a sweep's databases hold together, with figures of the summaries. The texts of studies and
// summaries are long: they are there `with_texts` alone. Throws core::InputError for a file that is
// none, is of another sweep than the first one, or has a point that another has. Requires: one.
SweepResults read_sweep_results(const std::vector<std::string>& paths,
                                const std::vector<Measure>& measures, bool with_texts = false);

}  // namespace exawarp::io
