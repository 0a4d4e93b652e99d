// A database of points that are simulated one by one: a row for each, written when its state
// changes, so that whoever fills it goes on where it was however it ended. Sweeps and searches for
// a capacity keep theirs in one. The tables, for whoever reads them with other tools:
//
//   sweep(name, file, identity, share, keys)   one row; `file` resolved, `keys` a JSON list
//   point(number, state, starts, key_values, reason, exit_code, wall_s, digest, study, summary)
//         `key_values` a JSON object; `study` resolved; `summary` is summary.json
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "io/life/database.h"
#include "io/report/sweep_results.h"

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

// The row of `sweep`, as texts.
struct PointsHead {
  std::string name, file, identity, share, keys;
};

// What fills it. Owner: one thread.
class PointDatabase {
 public:
  // A pending point is begun; one that is begun is finished, or pending again.
  void begin(std::int64_t number);
  void finish(std::int64_t number, const PointOutcome& outcome);
  void put_back(std::int64_t number);

 protected:
  // Makes the file where there is none. Throws core::SystemError, also where another process fills
  // it.
  explicit PointDatabase(const std::string& path);

  [[nodiscard]] bool is_empty();
  // Makes the tables, and has `add_points` add rows to them: all of it or nothing.
  void create(const PointsHead& head, const std::function<void()>& add_points = [] {});
  // Points that were begun and not finished are pending again.
  void resume();
  [[nodiscard]] Database& database() { return database_; }

 private:
  void move(Statement& change);

  FillLock lock_;
  Database database_;
};

}  // namespace exawarp::io
