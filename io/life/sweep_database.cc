#include "io/life/sweep_database.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

using Json = nlohmann::ordered_json;

std::string key_values(const Sweep& sweep, const std::vector<std::string>& point) {
  Json out = Json::object();
  for (std::size_t i = 0; i < point.size(); ++i) out[sweep.axes[i].key] = point[i];
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool has_tables(Database& database) {
  return database.prepare("SELECT 1 FROM sqlite_schema WHERE name IN ('sweep', 'point')").next();
}

[[noreturn]] void refuse_foreign(const std::string& path) {
  throw core::InputError(path, "is no sweep's database; expected one that `exawarp sweep` made");
}

struct Head {
  std::string name, identity;
  std::vector<std::string> keys;
};

Head head_of(Database& database, const std::string& path) {
  if (!has_tables(database)) refuse_foreign(path);
  Statement sweep = database.prepare("SELECT name, identity, keys FROM sweep");
  if (!sweep.next()) refuse_foreign(path);
  return {sweep.text(0), sweep.text(1), Json::parse(sweep.text(2))};
}

void add_rows(Database& database, bool with_texts, SweepResults& out) {
  Statement rows = database.prepare(
      "SELECT number, state, starts, key_values, reason, exit_code, wall_s, digest, study, summary "
      "FROM point");
  while (rows.next()) {
    SweepPoint& point = out.points.emplace_back();
    point.number = rows.integer(0);
    point.state = core::value_of<PointState>(rows.text(1)).value_or(PointState::failed);
    point.starts = rows.integer(2);
    const Json values = Json::parse(rows.text(3));
    for (const std::string& key : out.keys) point.values.push_back(values.at(key));
    point.outcome = {.exit_code = static_cast<int>(rows.integer(5)),
                     .reason = rows.text(4),
                     .wall_s = rows.real(6),
                     .digest = rows.text(7),
                     .study = with_texts ? rows.text(8) : "",
                     .summary = rows.text(9)};
    point.figures = figures_of(point.outcome.summary, out.measures);
    if (!with_texts) point.outcome.summary.clear();
  }
}

void require_file(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode)) return;
  throw core::InputError(path, "there is no such file" + did_you_mean_file(path) +
                                   "; expected a database that `exawarp sweep` made");
}

}  // namespace

std::string SweepShare::text() const { return fmt::format("{}/{}", part, of); }

SweepDatabase::SweepDatabase(const std::string& path, const Sweep& sweep, SweepShare share)
    : PointDatabase(path) {
  if (is_empty()) {
    Json keys = Json::array();
    for (const SweepAxis& axis : sweep.axes) keys.push_back(axis.key);
    create({.name = sweep.name,
            .file = sweep.text,
            .identity = sweep.identity,
            .share = share.text(),
            .keys = keys.dump(-1, ' ', false, Json::error_handler_t::replace)},
           [&] { add_points(sweep, share); });
  }
  check_same(path, sweep, share);
  resume();
}

void SweepDatabase::check_same(const std::string& path, const Sweep& sweep,
                               const SweepShare& share) {
  if (!has_tables(database())) refuse_foreign(path);
  Statement known = database().prepare("SELECT name, identity, share FROM sweep");
  if (!known.next()) refuse_foreign(path);
  if (known.text(1) != sweep.identity) {
    throw core::InputError(
        path, fmt::format("holds another sweep, or other values of it: {}; expected another file, "
                          "-o FILE.db",
                          in_quotes(known.text(0))));
  }
  if (known.text(2) != share.text()) {
    throw core::InputError(
        path, fmt::format("holds share {} of the sweep; expected that of --share, which is {}",
                          known.text(2), share.text()));
  }
}

void SweepDatabase::add_points(const Sweep& sweep, const SweepShare& share) {
  Statement insert =
      database().prepare("INSERT INTO point(number, state, key_values) VALUES (?, 'pending', ?)");
  for (std::size_t number = 1; number <= sweep.points.size(); ++number) {
    if (!share.has(number)) continue;
    insert.bind(1, static_cast<std::int64_t>(number))
        .bind(2, key_values(sweep, sweep.points[number - 1]))
        .run();
  }
}

std::vector<std::int64_t> SweepDatabase::pending() {
  std::vector<std::int64_t> numbers;
  Statement rows =
      database().prepare("SELECT number FROM point WHERE state = 'pending' ORDER BY number");
  while (rows.next()) numbers.push_back(rows.integer(0));
  return numbers;
}

std::int64_t SweepDatabase::count(PointState state) {
  Statement rows = database().prepare("SELECT count(*) FROM point WHERE state = ?");
  rows.bind(1, core::name_of(state));
  return rows.next() ? rows.integer(0) : 0;
}

SweepResults read_sweep_results(const std::vector<std::string>& paths,
                                const std::vector<Measure>& measures, bool with_texts) {
  SweepResults out;
  out.measures = measures;
  std::string identity;
  for (const std::string& path : paths) {
    require_file(path);
    Database database(path, Database::Use::read);
    try {
      Head head = head_of(database, path);
      if (out.keys.empty()) {
        out.name = std::move(head.name);
        out.keys = std::move(head.keys);
        identity = head.identity;
      } else if (head.identity != identity) {
        throw core::InputError(path, "holds another sweep than " + paths.front());
      }
      add_rows(database, with_texts, out);
    } catch (const nlohmann::json::exception&) {  // somebody else wrote into it
      refuse_foreign(path);
    }
  }
  std::ranges::sort(out.points, {}, &SweepPoint::number);
  const auto twice = std::ranges::adjacent_find(out.points, {}, &SweepPoint::number);
  if (twice != out.points.end()) {
    throw core::InputError(paths.back(),
                           fmt::format("point {} is in several files; expected those of a sweep's "
                                       "shares, each once",
                                       twice->number));
  }
  return out;
}

}  // namespace exawarp::io
