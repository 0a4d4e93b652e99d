#include "io/life/load_database.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

using LoadJson = nlohmann::ordered_json;

constexpr const char* kSettingKey = "setting";

std::string dumped(const LoadJson& json) {
  return json.dump(-1, ' ', false, LoadJson::error_handler_t::replace);
}

// All loads of a study are one search, whatever they were tried for.
std::string identity_of(const LoadsOf& of) {
  return fmt::format("loads of {} by {}", of.study, of.rate_key);
}

}  // namespace

LoadDatabase::LoadDatabase(const std::string& path, LoadsOf of)
    : of_(std::move(of)), lock_(path), database_(path, Database::Use::fill) {
  if (!database_.prepare("SELECT 1 FROM sqlite_schema").next()) create();
  check_same(path);
  database_.run("UPDATE point SET state = 'pending' WHERE state = 'running'");
}

void LoadDatabase::create() {
  database_.run("BEGIN IMMEDIATE");
  database_.run(kSweepTables);
  database_.prepare("INSERT INTO sweep VALUES (?, '', ?, '1/1', ?)")
      .bind(1, of_.study)
      .bind(2, identity_of(of_))
      .bind(3, dumped(LoadJson::array({kSettingKey, of_.rate_key})))
      .run();
  database_.run("COMMIT");
}

void LoadDatabase::check_same(const std::string& path) {
  bool is_same = false;
  if (database_.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'sweep'").next()) {
    Statement known = database_.prepare("SELECT identity FROM sweep");
    is_same = known.next() && known.text(0) == identity_of(of_);
  }
  if (is_same) return;
  throw core::InputError(path, fmt::format("holds something else than loads of {} by {}; expected "
                                           "another file, -o FILE.db",
                                           in_quotes(of_.study), of_.rate_key));
}

std::optional<std::string> LoadDatabase::find(std::string_view study) {
  Statement rows =
      database_.prepare("SELECT summary FROM point WHERE state = 'done' AND study = ?");
  rows.bind(1, study);
  if (!rows.next()) return {};
  return rows.text(0);
}

std::int64_t LoadDatabase::begin(const LoadKeys& keys, std::string_view study) {
  Statement rows =
      database_.prepare("SELECT number FROM point WHERE state = 'pending' AND study = ?");
  rows.bind(1, study);
  const std::int64_t number = rows.next() ? rows.integer(0) : add(keys, study);
  database_
      .prepare("UPDATE point SET state = 'running', starts = starts + 1 WHERE number = ?")
      .bind(1, number)
      .run();
  return number;
}

std::int64_t LoadDatabase::add(const LoadKeys& keys, std::string_view study) {
  Statement last = database_.prepare("SELECT max(number) FROM point");
  const std::int64_t number = (last.next() ? last.integer(0) : 0) + 1;
  const LoadJson values{{kSettingKey, keys.setting},
                        {of_.rate_key, fmt::format("{}", keys.rate)}};
  database_
      .prepare("INSERT INTO point(number, state, key_values, study) VALUES (?, 'pending', ?, ?)")
      .bind(1, number)
      .bind(2, dumped(values))
      .bind(3, study)
      .run();
  return number;
}

void LoadDatabase::finish(std::int64_t number, const PointOutcome& outcome) {
  database_
      .prepare("UPDATE point SET state = 'done', reason = '', exit_code = ?, wall_s = ?, "
               "digest = ?, summary = ? WHERE number = ? AND state = 'running'")
      .bind(1, std::int64_t{outcome.exit_code})
      .bind(2, outcome.wall_s)
      .bind(3, outcome.digest)
      .bind(4, outcome.summary)
      .bind(5, number)
      .run();
  EXAWARP_CHECK(database_.changes() == 1, number);
}

void LoadDatabase::put_back(std::int64_t number) {
  database_.prepare("UPDATE point SET state = 'pending' WHERE number = ?").bind(1, number).run();
}

}  // namespace exawarp::io
