// The three formats as one list: each reader yields rows, and what rows have to be is checked once.
#include "io/formats/requests/request_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "core/mapped_file.h"
#include "io/formats/kernels/csv.h"
#include "io/study/numbers.h"
#include "io/study/text_file.h"

namespace exawarp::io {
namespace {

using core::InputError;
using core::Time;

constexpr double kSecondsMax = 1e6;

class Collector {
 public:
  explicit Collector(RequestTrace& out) : out_(out) {}

  // `place` names the file and line.
  void add(const std::string& place, Time arrival, std::uint64_t prompt, std::uint64_t output) {
    if (out_.requests.size() == kRecordedRequestsMax) {
      throw InputError(place, fmt::format("is one request too many; expected at most {}",
                                          kRecordedRequestsMax));
    }
    if (!first_) first_ = arrival;
    if (arrival < last_) throw InputError(place, "comes before the line before it; expected an "
                                                 "order by time");
    last_ = arrival;
    out_.requests.push_back({.arrival = arrival - *first_,
                             .prompt = static_cast<std::uint32_t>(prompt),
                             .output = static_cast<std::uint32_t>(output),
                             .ids_begin = out_.ids.size()});
  }
  // Of the request that was added last.
  void add_id(std::uint64_t id) {
    out_.ids.push_back(id);
    ++out_.requests.back().ids;
  }

 private:
  RequestTrace& out_;
  std::optional<Time> first_;
  Time last_{0};
};

std::uint64_t tokens_at(const CsvRow& row, std::size_t column) {
  const std::optional<std::uint64_t> value = unsigned_from(row.at(column));
  if (!value || *value < 1 || *value > kRecordedTokensMax) {
    row.fail(column, fmt::format("a number of tokens from 1 to {}", kRecordedTokensMax));
  }
  return *value;
}

Time seconds(double value) {
  return Time{std::llround(value * static_cast<double>(core::kPicosecondsPerSecond))};
}

void read_vidur(const CsvTable& table, Collector& collector, RequestTrace& out) {
  const std::optional<std::size_t> arrival = table.find({"arrived_at"});
  const std::size_t prompt = table.require({"num_prefill_tokens"}),
                    output = table.require({"num_decode_tokens"});
  out.has_arrivals = arrival.has_value();
  table.each_row([&](const CsvRow& row) {
    Time at{0};
    if (arrival) {
      const std::optional<double> value = number_from<double>(row.at(*arrival));
      if (!value || !(*value >= 0 && *value <= kSecondsMax)) {
        row.fail(*arrival, "seconds, from 0 to 1,000,000");
      }
      at = seconds(*value);
    }
    collector.add(row.place(), at, tokens_at(row, prompt), tokens_at(row, output));
  });
}

// Days since 1970-01-01 of a date of the Gregorian calendar: H. Hinnant, "chrono-Compatible
// Low-Level Date Algorithms", days_from_civil.
std::int64_t days_of(int year, int month, int day) {
  const int y = year - (month <= 2 ? 1 : 0);
  const int era = y / 400, of_era = y - era * 400;
  const int of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return std::int64_t{era} * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

struct Stamp {
  std::int64_t minutes = 0;  // since 1970
  Time behind;               // after that minute began
};

// "2023-11-16 18:15:46.6805900", with a time zone behind or not, which all rows share.
std::optional<Stamp> stamp_of(const std::string& text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, at = 0;
  const int found = std::sscanf(text.c_str(), "%4d-%2d-%2d%*1[ T]%2d:%2d:%n", &year, &month, &day,
                                &hour, &minute, &at);
  const auto within = [](int v, int least, int most) { return v >= least && v <= most; };
  const bool good = found == 5 && at != 0 && within(year, 1970, 9999) && within(month, 1, 12) &&
                    within(day, 1, 31) && within(hour, 0, 23) && within(minute, 0, 59);
  if (!good) return {};
  const std::string_view rest = std::string_view(text).substr(static_cast<std::size_t>(at));
  const std::size_t end = std::min(rest.find_first_not_of("0123456789."), rest.size());
  const std::string_view zone = rest.substr(end);
  if (!zone.empty() && zone != "Z" && zone[0] != '+' && zone[0] != '-') return {};
  const std::optional<double> second = number_from<double>(rest.substr(0, end));
  if (!second || !(*second >= 0 && *second < 61)) return {};
  return Stamp{days_of(year, month, day) * 1'440 + hour * 60 + minute, seconds(*second)};
}

void read_azure(const CsvTable& table, Collector& collector) {
  constexpr std::int64_t kMinutesMax = 11 * 1'440;  // kSecondsMax
  const std::size_t time = table.require({"timestamp"}),
                    prompt = table.require({"contexttokens", "context_tokens"}),
                    output = table.require({"generatedtokens", "generated_tokens"});
  std::optional<std::int64_t> first;
  table.each_row([&](const CsvRow& row) {
    const std::optional<Stamp> stamp = stamp_of(row.at(time));
    if (!stamp) row.fail(time, "a time like \"2023-11-16 18:15:46.6805900\"");
    if (!first) first = stamp->minutes;
    const std::int64_t minutes = stamp->minutes - *first;
    const bool good = minutes >= 0 && minutes <= kMinutesMax;
    if (!good) row.fail(time, "a time up to 11 days after the first");
    const Time at = Time{minutes * 60 * core::kPicosecondsPerSecond} + stamp->behind;
    collector.add(row.place(), at, tokens_at(row, prompt), tokens_at(row, output));
  });
}

void add_hash_ids(const nlohmann::json& object, const std::string& place, Collector& collector) {
  const auto found = object.find("hash_ids");
  if (found == object.end()) return;
  const auto is_id = [](const nlohmann::json& id) {
    return id.is_number_unsigned() && id.get<std::uint64_t>() <= kHashIdMax;
  };
  if (!found->is_array() || !std::ranges::all_of(*found, is_id)) {
    throw InputError(place, fmt::format("member hash_ids: expected a list of whole numbers from 0 "
                                        "to {}",
                                        kHashIdMax));
  }
  for (const nlohmann::json& id : *found) collector.add_id(id.get<std::uint64_t>());
}

void read_mooncake(const std::string& path, std::string_view text, Collector& collector) {
  std::uint64_t line = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line;
    if (row.find_first_not_of(" \t\r") == row.npos) continue;
    const std::string place = fmt::format("{}:{}", path, line);
    const nlohmann::json object = nlohmann::json::parse(row, nullptr, false);
    if (!object.is_object()) throw InputError(place, "is no JSON object; expected one a line");
    const auto number = [&](const char* name, double least, double most) {
      const auto found = object.find(name);
      const bool good = found != object.end() && found->is_number() &&
                        found->get<double>() >= least && found->get<double>() <= most;
      if (!good) {
        throw InputError(place, fmt::format("member {}: expected a number from {} to {}", name,
                                            least, most));
      }
      return found->get<double>();
    };
    const Time at = seconds(number("timestamp", 0, kSecondsMax * 1e3) / 1e3);
    const double prompt = number("input_length", 1, kRecordedTokensMax);
    const double output = number("output_length", 1, kRecordedTokensMax);
    collector.add(place, at, static_cast<std::uint64_t>(prompt),
                  static_cast<std::uint64_t>(output));
    add_hash_ids(object, place, collector);
  }
}

}  // namespace

RequestTrace read_request_trace(const std::string& path, RequestFormat format) {
  const core::MappedFile file(path);
  RequestTrace out;
  Collector collector(out);
  if (format == RequestFormat::mooncake) {
    read_mooncake(path, text_of(file), collector);
    if (out.requests.empty()) throw InputError(path, "has no requests; expected some");
    return out;
  }
  const CsvTable table(path, text_of(file));
  if (format == RequestFormat::vidur) {
    read_vidur(table, collector, out);
  } else {
    read_azure(table, collector);
  }
  return out;
}

}  // namespace exawarp::io
