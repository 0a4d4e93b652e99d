#include "io/formats/kernels/csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

constexpr std::size_t kColumnsMax = 1'000;

std::string trimmed(const std::string& text) {
  const std::size_t from = text.find_first_not_of(" \t\r");
  if (from == std::string::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r") - from + 1);
}

std::vector<std::string> fields_of_line(const std::string& place, std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  if (quoted) throw core::InputError(place, "has a quote that does not end; expected another one");
  if (fields.size() > kColumnsMax) {
    throw core::InputError(
        place, fmt::format("has {} fields; expected at most {}", fields.size(), kColumnsMax));
  }
  for (std::string& field : fields) field = trimmed(field);
  if (fields.size() > 1 && fields.back().empty()) fields.pop_back();
  return fields;
}

std::string column_name(const std::string& field) {
  std::string out = lower_case(field);
  std::ranges::replace(out, ' ', '_');
  return out;
}

// The next line that says something; false at the end.
bool next_line(std::string_view& rest, std::size_t& number, std::string_view& line) {
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string_view::npos && line[first] != '#') return true;
  }
  return false;
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

const std::string& CsvRow::at(std::size_t column) const {
  static const std::string kNothing;
  return column < fields_.size() ? fields_[column] : kNothing;
}

void CsvRow::fail(std::size_t column, std::string_view expected) const {
  throw core::InputError(place_,
                         fmt::format("column {}: {}; expected {}", printable(columns_.at(column)),
                                     in_quotes(at(column)), expected));
}

std::uint64_t CsvRow::count(std::size_t column) const {
  const std::string& text = at(column);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value == 0 ||
      value > kCsvCountMax) {
    fail(column, "a whole number from 1 to 2^40 - 1");
  }
  return value;
}

double CsvRow::positive(std::size_t column) const {
  const std::string& text = at(column);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value > 0) ||
      !std::isfinite(value)) {
    fail(column, "a number above 0");
  }
  return value;
}

CsvTable::CsvTable(std::string file, std::string_view text) : file_(std::move(file)), rest_(text) {
  std::string_view line;
  if (!next_line(rest_, header_line_, line)) {
    throw core::InputError(file_, "is empty; expected a line of column names, then rows");
  }
  for (const std::string& field : fields_of_line(header_place(), line)) {
    columns_.push_back(column_name(field));
  }
}

std::string CsvTable::header_place() const { return fmt::format("{}:{}", file_, header_line_); }

std::optional<std::size_t> CsvTable::find(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    const auto at = std::ranges::find(columns_, name);
    if (at != columns_.end()) return static_cast<std::size_t>(at - columns_.begin());
  }
  return std::nullopt;
}

std::size_t CsvTable::require(std::initializer_list<std::string_view> names) const {
  if (const auto at = find(names)) return *at;
  throw core::InputError(
      header_place(),
      fmt::format("has no column \"{}\"; expected it among: {}", fmt::join(names, "\" or \""),
                  printable(fmt::format("{}", fmt::join(columns_, ", ")))));
}

void CsvTable::each_row(const std::function<void(const CsvRow&)>& visit) const {
  std::string_view rest = rest_, line;
  std::size_t number = header_line_;
  bool any = false;
  while (next_line(rest, number, line)) {
    const std::string place = fmt::format("{}:{}", file_, number);
    std::vector<std::string> fields = fields_of_line(place, line);
    if (fields.size() > columns_.size()) {
      throw core::InputError(place, fmt::format("has {} fields; expected at most {}, as the first "
                                                "line has",
                                                fields.size(), columns_.size()));
    }
    visit(CsvRow(columns_, place, std::move(fields)));
    any = true;
  }
  if (!any) throw core::InputError(file_, "has no rows; expected some below the names");
}

}  // namespace exawarp::io
