#include "io/life/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include "core/error.h"

namespace exawarp::io {
namespace {

constexpr int kWaitForOthers_ms = 10'000;

[[noreturn]] void fail(const std::string& path, const std::string& what, sqlite3* database) {
  throw core::SystemError(fmt::format("{}: {}: {}", path, what, sqlite3_errmsg(database)));
}

}  // namespace

void Statement::Finalizer::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement::Statement(sqlite3_stmt* statement, const std::string& path)
    : statement_(statement), path_(path) {}

void Statement::check(int code) const {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  io::fail(path_, "cannot go on", sqlite3_db_handle(statement_.get()));
}

Statement& Statement::bind(int parameter, std::int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), parameter, value));
  return *this;
}

Statement& Statement::bind(int parameter, double value) {
  check(sqlite3_bind_double(statement_.get(), parameter, value));
  return *this;
}

Statement& Statement::bind(int parameter, std::string_view text) {
  check(sqlite3_bind_text64(statement_.get(), parameter, text.data(), text.size(), SQLITE_TRANSIENT,
                            SQLITE_UTF8));
  return *this;
}

bool Statement::next() {
  const int code = sqlite3_step(statement_.get());
  check(code);
  if (code == SQLITE_ROW) return true;
  check(sqlite3_reset(statement_.get()));
  return false;
}

void Statement::run() {
  while (next()) {
  }
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }

std::string Statement::text(int column) const {
  const unsigned char* const text = sqlite3_column_text(statement_.get(), column);
  const int bytes = sqlite3_column_bytes(statement_.get(), column);
  return text == nullptr
             ? std::string()
             : std::string(reinterpret_cast<const char*>(text), static_cast<std::size_t>(bytes));
}

void Database::Closer::operator()(sqlite3* database) const { sqlite3_close(database); }

Database::Database(const std::string& path, Use use) : path_(path) {
  // A reader that may not write leaves the files of the log behind; without the rights to write it
  // still reads.
  const int flags = SQLITE_OPEN_READWRITE | (use == Use::fill ? SQLITE_OPEN_CREATE : 0);
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &opened, flags, nullptr);
  database_.reset(opened);  // there is one to be closed even where it could not be opened
  if (code != SQLITE_OK) fail("cannot open");
  sqlite3_busy_timeout(opened, kWaitForOthers_ms);
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(opened, "SELECT 1 FROM sqlite_schema", -1, &statement, nullptr) ==
      SQLITE_NOTADB) {
    throw core::InputError(path, "is no database; expected one that `exawarp sweep` made");
  }
  sqlite3_finalize(statement);
  if (use == Use::fill) run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
}

void Database::fail(const char* what) const { io::fail(path_, what, database_.get()); }

void Database::run(const char* sql) {
  if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    fail("cannot go on");
  }
}

Statement Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()), &statement,
                         nullptr) != SQLITE_OK) {
    fail("cannot go on");
  }
  return {statement, path_};
}

std::int64_t Database::changes() const { return sqlite3_changes64(database_.get()); }

}  // namespace exawarp::io
