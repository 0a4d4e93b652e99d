// Parameters of a congestion control or a routing policy, as a table: what a study may say, how it
// is read, what it is when a study is silent, and what it means. The reader of studies, its errors
// and the reference pages go by the table.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "core/time.h"

namespace exawarp::model {

constexpr core::Time kPeriodMax{3'600 * core::kPicosecondsPerSecond};  // sums with it fit

enum class ParameterKind : std::uint8_t {
  size,   // bytes
  rate,   // bytes/s
  time,   // picoseconds
  count,  // a whole number
  share,  // thousandths; a study says 0 to 1
};

struct Parameter {
  std::string_view key;
  ParameterKind kind{};
  std::int64_t usual = 0;  // where a study is silent
  std::int64_t least = 0;  // both in the unit of its kind
  std::int64_t most = INT64_MAX;
  std::string_view meaning;  // one sentence
};

// The values that a study gave, by the key below `packet`: "dcqcn.gain_shift", "ugal_bias".
using GivenParameters = std::map<std::string, std::int64_t, std::less<>>;

// "dcqcn" and "gain_shift" make "dcqcn.gain_shift"; a section "" adds nothing.
std::string parameter_key(std::string_view section, std::string_view key);

// The value of every parameter of one table.
class ParameterValues {
 public:
  // Throws core::InputError for a value outside its parameter's range. The table's texts outlive
  // it.
  ParameterValues(std::span<const Parameter> table, std::string_view section,
                  const GivenParameters& given);

  // Requires a key of the table.
  [[nodiscard]] std::int64_t operator[](std::string_view key) const;
  [[nodiscard]] std::uint32_t count(std::string_view key) const;  // of kind count or share
  [[nodiscard]] core::Time time(std::string_view key) const { return core::Time{(*this)[key]}; }

 private:
  std::map<std::string_view, std::int64_t> values_;
};

// Throws core::InputError "packet network: OPTION: WHAT" unless `condition`.
void require_option(bool condition, std::string_view option, const std::string& what);

}  // namespace exawarp::model
