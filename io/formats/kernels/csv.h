// Tables of comma-separated values, as spreadsheets and simulators write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace exawarp::io {

std::string lower_case(std::string_view text);  // of ASCII

constexpr std::uint64_t kCsvCountMax = (std::uint64_t{1} << 40) - 1;

// A row and its place. All functions throw core::InputError there.
class CsvRow {
 public:
  CsvRow(const std::vector<std::string>& columns, std::string place,
         std::vector<std::string> fields)
      : columns_(columns), place_(std::move(place)), fields_(std::move(fields)) {}

  [[nodiscard]] const std::string& place() const { return place_; }
  [[nodiscard]] std::size_t size() const { return fields_.size(); }
  // "" where the row is shorter.
  [[nodiscard]] const std::string& at(std::size_t column) const;
  [[nodiscard]] bool has(std::size_t column) const { return !at(column).empty(); }
  // A whole number in [1, kCsvCountMax].
  [[nodiscard]] std::uint64_t count(std::size_t column) const;
  // Above 0 and finite.
  [[nodiscard]] double positive(std::size_t column) const;
  [[noreturn]] void fail(std::size_t column, std::string_view expected) const;

 private:
  const std::vector<std::string>& columns_;
  std::string place_;
  std::vector<std::string> fields_;
};

// The first line names columns; empty lines and those that begin with # are passed over. Fields may
// be quoted, with quotes inside doubled, but not go over lines; blanks around them fall away, as
// does an empty one at a line's end.
class CsvTable {
 public:
  // Valid as long as `text`. Throws core::InputError at `file` where there is no line of names.
  CsvTable(std::string file, std::string_view text);

  // Lower case, blanks as "_".
  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  // The first of these that there is.
  [[nodiscard]] std::optional<std::size_t> find(
      std::initializer_list<std::string_view> names) const;
  // Throws where there is none.
  [[nodiscard]] std::size_t require(std::initializer_list<std::string_view> names) const;
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] std::string header_place() const;
  // Throws also where a row has more fields than there are columns, or there is no row.
  void each_row(const std::function<void(const CsvRow&)>& visit) const;

 private:
  std::string file_;
  std::string_view rest_;
  std::size_t header_line_ = 0;
  std::vector<std::string> columns_;
};

}  // namespace exawarp::io
