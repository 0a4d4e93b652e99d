// A file of SQLite: what a process has written to it is there whenever and however the process
// ends, and others may read it meanwhile (its write-ahead log).
//
//   Database database("points.db", Database::Use::fill);
//   Statement insert = database.prepare("INSERT INTO point(number, text) VALUES (?, ?)");
//   insert.bind(1, 7).bind(2, "seven").run();
//
// Owner: one thread. All functions throw core::SystemError, `path: what failed: SQLite's words`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace exawarp::io {

// One command of SQL, to be run as often as wanted. Must not outlive its database.
class Statement {
 public:
  // Parameters are counted from 1.
  Statement& bind(int parameter, std::int64_t value);
  Statement& bind(int parameter, double value);
  Statement& bind(int parameter, std::string_view text);

  // Goes to the next row of the result; false: there is none, and the statement can be run again.
  bool next();
  // Runs all of it, for one that has no result.
  void run();

  // Of the row, columns counted from 0; NULL is 0 or "".
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::string text(int column) const;

 private:
  friend class Database;
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(sqlite3_stmt* statement, const std::string& path);
  void check(int code) const;

  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
  std::string path_;
};

class Database {
 public:
  enum class Use { fill, read };

  // `fill` makes the file where there is none; `read` needs it. Throws core::InputError for a file
  // that is no database.
  Database(const std::string& path, Use use);

  // Several commands, without parameters or results.
  void run(const char* sql);
  [[nodiscard]] Statement prepare(std::string_view sql);
  // Rows that the newest command changed.
  [[nodiscard]] std::int64_t changes() const;

 private:
  struct Closer {
    void operator()(sqlite3* database) const;
  };
  [[noreturn]] void fail(const char* what) const;

  std::string path_;
  std::unique_ptr<sqlite3, Closer> database_;
};

}  // namespace exawarp::io
