#include "io/study/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "io/study/keys.h"

namespace exawarp::io {
namespace {

using core::Dimension;

struct PrintedUnit {
  std::string_view symbol;
  std::int64_t base;
};

constexpr PrintedUnit kTimes[] = {
    {"s", 1'000'000'000'000}, {"ms", 1'000'000'000}, {"us", 1'000'000}, {"ns", 1'000}, {"ps", 1}};
constexpr PrintedUnit kSizes[] = {
    {"TiB", std::int64_t{1} << 40}, {"GiB", 1 << 30},  {"MiB", 1 << 20}, {"KiB", 1 << 10},
    {"GB", 1'000'000'000},          {"MB", 1'000'000}, {"kB", 1'000},    {"B", 1}};
constexpr PrintedUnit kBandwidths[] = {
    {"GB/s", 1'000'000'000}, {"MB/s", 1'000'000}, {"kB/s", 1'000}, {"B/s", 1}};
constexpr PrintedUnit kRates[] = {{"TFLOP/s", 1'000'000'000'000},
                                  {"GFLOP/s", 1'000'000'000},
                                  {"MFLOP/s", 1'000'000},
                                  {"FLOP/s", 1}};

constexpr PrintedUnit kPowers[] = {{"kW", 1'000'000}, {"W", 1'000}, {"mW", 1}};
constexpr PrintedUnit kFrequencies[] = {
    {"GHz", 1'000'000'000}, {"MHz", 1'000'000}, {"kHz", 1'000}, {"Hz", 1}};

std::span<const PrintedUnit> printed_units(Dimension dimension) {
  switch (dimension) {
    case Dimension::time:
      return kTimes;
    case Dimension::size:
      return kSizes;
    case Dimension::bandwidth:
      return kBandwidths;
    case Dimension::rate:
      return kRates;
    case Dimension::power:
      return kPowers;
    case Dimension::frequency:
      return kFrequencies;
  }
  return {};
}

}  // namespace

const KeySchema* SectionSchema::find(std::string_view key) const {
  const auto at = std::ranges::find(keys, key, &KeySchema::name);
  return at == keys.end() ? nullptr : &*at;
}

bool SectionSchema::requires_nothing() const {
  return std::ranges::none_of(keys, &KeySchema::required) &&
         std::ranges::none_of(alternatives, &KeyAlternatives::required);
}

std::string quantity_text(std::int64_t value, Dimension dimension) {
  const std::span<const PrintedUnit> units = printed_units(dimension);
  const PrintedUnit& smallest = units.back();
  for (const PrintedUnit& unit : units) {
    if (value != 0 && value % unit.base == 0) {
      return fmt::format("{} {}", value / unit.base, unit.symbol);
    }
  }
  return fmt::format("{} {}", value, smallest.symbol);
}

void note_usual(const YamlSection& section, const KeySchema& key, const std::string& yaml) {
  if (key.required || key.presence_matters || !key.otherwise.empty()) return;
  section.note_usual(key.name, yaml);
}

bool holds(const KeyCondition& condition, const SectionSchema& schema, const YamlSection& section) {
  if (condition.key.empty()) return true;
  const KeySchema* const key = schema.find(condition.key);
  const std::string value =
      section.has_text(condition.key) ? section.text(condition.key) : key->fallback;
  return std::ranges::find(condition.values, value) != condition.values.end();
}

bool is_open(const KeyCondition& condition, const SectionSchema& schema,
             const YamlSection& section) {
  return !condition.key.empty() && schema.find(condition.key)->required &&
         !section.has(condition.key);
}

}  // namespace exawarp::io
