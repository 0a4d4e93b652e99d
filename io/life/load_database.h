// Loads that `exawarp capacity` simulated, in a database of points (point_database.h). A row is a
// load: `study` as it resolves at that
// load, `summary` with what the search wants of it under the key "load". Rows are added as loads
// are tried; which one comes next follows from those before it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/life/point_database.h"

namespace exawarp::io {

// What all loads of a file are of.
struct LoadsOf {
  std::string study;     // its name
  std::string rate_key;  // in its file
};
// What loads differ in, for whoever reads the file with other tools.
struct LoadKeys {
  std::string setting;  // KEY=VALUE, or a split's name; empty: the study as it is
  double rate = 0;
};

// What fills it. Owner: one thread.
class LoadDatabase : public PointDatabase {
 public:
  // Makes the file, or goes on with one that has loads of the same. Throws core::InputError for
  // another database, and core::SystemError.
  LoadDatabase(const std::string& path, LoadsOf of);

  // The summary of that study, resolved; nothing if it was not simulated to its end.
  [[nodiscard]] std::optional<std::string> find(std::string_view study);
  // The row of a load, which is pending: it has to be simulated. Requires that find() has nothing.
  std::int64_t row_of(const LoadKeys& keys, std::string_view study);

 private:
  void check_same(const std::string& path);
  std::int64_t add(const LoadKeys& keys, std::string_view study);

  LoadsOf of_;
};

}  // namespace exawarp::io
