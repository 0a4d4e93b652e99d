#include "io/life/load_database.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

using LoadJson = nlohmann::ordered_json;

constexpr const char* kSettingKey = "setting";

std::string dumped(const LoadJson& load) {
  return load.dump(-1, ' ', false, LoadJson::error_handler_t::replace);
}

// All loads of a study are one search, whatever they were tried for.
std::string identity_of(const LoadsOf& of) {
  return fmt::format("loads of {} by {}", of.study, of.rate_key);
}

}  // namespace

LoadDatabase::LoadDatabase(const std::string& path, LoadsOf of)
    : PointDatabase(path), of_(std::move(of)) {
  if (is_empty()) {
    create({.name = of_.study,
            .file = "",
            .identity = identity_of(of_),
            .share = "1/1",
            .keys = dumped(LoadJson::array({kSettingKey, of_.rate_key}))});
  }
  check_same(path);
  resume();
}

void LoadDatabase::check_same(const std::string& path) {
  bool is_same = false;
  if (database().prepare("SELECT 1 FROM sqlite_schema WHERE name = 'sweep'").next()) {
    Statement known = database().prepare("SELECT identity FROM sweep");
    is_same = known.next() && known.text(0) == identity_of(of_);
  }
  if (is_same) return;
  throw core::InputError(path, fmt::format("holds something else than loads of {} by {}; expected "
                                           "another file, -o FILE.db",
                                           in_quotes(of_.study), of_.rate_key));
}

std::optional<std::string> LoadDatabase::find(std::string_view study) {
  Statement rows =
      database().prepare("SELECT summary FROM point WHERE state = 'done' AND study = ?");
  rows.bind(1, study);
  if (!rows.next()) return {};
  return rows.text(0);
}

std::int64_t LoadDatabase::row_of(const LoadKeys& keys, std::string_view study) {
  Statement rows =
      database().prepare("SELECT number FROM point WHERE state = 'pending' AND study = ?");
  rows.bind(1, study);
  return rows.next() ? rows.integer(0) : add(keys, study);
}

std::int64_t LoadDatabase::add(const LoadKeys& keys, std::string_view study) {
  Statement last = database().prepare("SELECT max(number) FROM point");
  const std::int64_t number = (last.next() ? last.integer(0) : 0) + 1;
  const LoadJson values{{kSettingKey, keys.setting},
                        {of_.rate_key, fmt::format("{}", keys.rate)}};
  database()
      .prepare("INSERT INTO point(number, state, key_values, study) VALUES (?, 'pending', ?, ?)")
      .bind(1, number)
      .bind(2, dumped(values))
      .bind(3, study)
      .run();
  return number;
}

}  // namespace exawarp::io
