#include "io/formats/kernels/vidur_profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/mapped_file.h"
#include "io/formats/kernels/csv.h"
#include "io/study/numbers.h"
#include "io/study/text_file.h"

namespace exawarp::io {
namespace {

using model::serving::MeasuredTimes;
using model::serving::Profile;

constexpr RealRange kMilliseconds{.min = 0, .max = 1e6};
constexpr std::uint64_t kSizeMax = 1 << 20;  // tokens, requests
constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 44;

constexpr std::array<std::string_view, 8> kTokenOperations{
    "attn_pre_proj", "attn_post_proj", "attn_rope", "input_layernorm",
    "add",           "mlp_up_proj",    "mlp_act",   "mlp_down_proj"};
// Not there where a layer has one norm.
constexpr std::string_view kSecondNorm = "post_attention_layernorm";

// Times of equal sizes, and their mean.
class Means {
 public:
  void add(std::uint64_t size, double ms) {
    auto& [sum_ms, count] = sums_[size];
    sum_ms += ms;
    ++count;
  }
  [[nodiscard]] MeasuredTimes times() const {
    MeasuredTimes out;
    for (const auto& [size, sum] : sums_) {
      out[size] = std::llround(sum.first * 1e9 / static_cast<double>(sum.second));
    }
    return out;
  }
  [[nodiscard]] bool empty() const { return sums_.empty(); }

 private:
  std::map<std::uint64_t, std::pair<double, std::uint64_t>> sums_;
};

std::optional<double> milliseconds_at(const CsvRow& row, std::size_t column) {
  if (!row.has(column)) return {};
  const std::optional<double> value = number_from<double>(row.at(column));
  if (!value || !kMilliseconds.contains(*value)) {
    row.fail(column, "milliseconds, from 0 to 1,000,000");
  }
  return value;
}

std::uint64_t size_at(const CsvRow& row, std::size_t column, std::uint64_t least,
                      std::uint64_t most = kSizeMax) {
  const std::optional<std::uint64_t> value = unsigned_from(row.at(column));
  if (!value || *value < least || *value > most) {
    row.fail(column, fmt::format("a whole number from {} to {}", least, most));
  }
  return *value;
}

std::size_t time_column(const CsvTable& table, std::string_view operation) {
  const std::string name = fmt::format("time_stats.{}.median", operation);
  return table.require({name});
}

// A value that rows are chosen by.
class Wanted {
 public:
  Wanted(const CsvTable& table, std::string_view column, std::uint64_t value)
      : table_(table), name_(column), column_(table.require({column})), value_(value) {}

  [[nodiscard]] bool is_in(const CsvRow& row) {
    const std::uint64_t value = size_at(row, column_, 1);
    seen_.insert(value);
    return value == value_;
  }
  // At the end: throws if no row had it.
  void require_seen() const {
    if (seen_.contains(value_)) return;
    throw core::InputError(table_.file(), fmt::format("{}: no row has {}; expected one of: {}",
                                                      name_, value_, fmt::join(seen_, ", ")));
  }

 private:
  const CsvTable& table_;
  std::string name_;
  std::size_t column_;
  std::uint64_t value_;
  std::set<std::uint64_t> seen_;
};

// The rows that have all that is wanted; throws if none has.
void each_wanted(const CsvTable& table, std::vector<Wanted> wanted,
                 const std::function<void(const CsvRow&)>& visit) {
  bool any = false;
  table.each_row([&](const CsvRow& row) {
    bool all = true;
    for (Wanted& w : wanted) all = w.is_in(row) && all;
    if (!all) return;
    any = true;
    visit(row);
  });
  for (const Wanted& w : wanted) w.require_seen();
  if (any) return;
  throw core::InputError(table.file(), "has no row with all that the study wants; expected one "
                                       "with its devices and block size");
}

void require_times(const CsvTable& table, std::string_view operation, bool any) {
  if (any) return;
  throw core::InputError(table.file(),
                         fmt::format("time_stats.{}.median: no row that the study wants has a "
                                     "value; expected some",
                                     operation));
}

// At every size of any of them the sum of all, between whose own sizes are straight lines.
MeasuredTimes sum_of(const std::vector<MeasuredTimes>& operations) {
  MeasuredTimes sum;
  for (const MeasuredTimes& times : operations) {
    for (const auto& [size, ps] : times) sum[size] = 0;
  }
  for (const MeasuredTimes& times : operations) {
    model::serving::TimeCurve curve;
    for (const auto& [size, ps] : times) curve.add(size, ps);
    for (auto& [size, ps] : sum) ps += curve.at(size);
  }
  return sum;
}

void read_mlp(const std::string& path, const VidurProfileRows& rows, Profile& out) {
  const core::MappedFile file(path);
  const CsvTable table(path, text_of(file));
  const std::size_t tokens = table.require({"num_tokens"}), width = table.require({"n_embd"});
  std::vector<std::string_view> names(kTokenOperations.begin(), kTokenOperations.end());
  names.push_back(kSecondNorm);
  std::vector<std::size_t> columns;
  for (const std::string_view name : names) columns.push_back(time_column(table, name));
  std::vector<Means> means(names.size());
  each_wanted(table, {Wanted(table, "num_tensor_parallel_workers", rows.tensor)},
              [&](const CsvRow& row) {
                const std::uint64_t size = size_at(row, tokens, 1);
                out.token_bytes = 2 * size_at(row, width, 1);
                for (std::size_t i = 0; i < names.size(); ++i) {
                  if (const auto ms = milliseconds_at(row, columns[i])) means[i].add(size, *ms);
                }
              });
  std::vector<MeasuredTimes> times;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == kSecondNorm && means[i].empty()) continue;
    require_times(table, names[i], !means[i].empty());
    times.push_back(means[i].times());
  }
  out.tokens = sum_of(times);
}

// Means by a first size, then a second one.
class MeanRows {
 public:
  void add(std::uint64_t row, std::uint64_t size, std::optional<double> ms) {
    if (ms) rows_[row].add(size, *ms);
  }
  [[nodiscard]] std::map<std::uint64_t, MeasuredTimes> times() const {
    std::map<std::uint64_t, MeasuredTimes> out;
    for (const auto& [row, means] : rows_) out[row] = means.times();
    return out;
  }

 private:
  std::map<std::uint64_t, Means> rows_;
};

void read_attention(const std::string& path, const VidurProfileRows& rows, Profile& out) {
  const core::MappedFile file(path);
  const CsvTable table(path, text_of(file));
  const std::size_t width = table.require({"n_embd"}), queries = table.require({"n_q_head"}),
                    keys = table.require({"n_kv_head"}), requests = table.require({"batch_size"}),
                    chunk = table.require({"prefill_chunk_size"}),
                    context = table.require({"kv_cache_size"}),
                    saved = time_column(table, "attn_kv_cache_save"),
                    prompt = time_column(table, "attn_prefill"),
                    decode = time_column(table, "attn_decode");
  Means keys_saved;
  MeanRows prompts, decodes;
  each_wanted(table,
              {Wanted(table, "num_tensor_parallel_workers", rows.tensor),
               Wanted(table, "block_size", rows.block_tokens)},
              [&](const CsvRow& row) {
                if (2 * size_at(row, width, 1) != out.token_bytes) {
                  row.fail(width, fmt::format("{}, as in the profile of the other operations",
                                              out.token_bytes / 2));
                }
                out.grouped_queries = size_at(row, keys, 1) < size_at(row, queries, 1);
                const std::uint64_t past = size_at(row, context, 0);
                const std::uint64_t of_prompt = size_at(row, chunk, 0);
                const std::uint64_t tokens = of_prompt != 0 ? of_prompt : size_at(row, requests, 1);
                if (const auto ms = milliseconds_at(row, saved)) keys_saved.add(tokens, *ms);
                (of_prompt == 0 ? decodes : prompts)
                    .add(tokens, past, milliseconds_at(row, of_prompt == 0 ? decode : prompt));
              });
  out.keys_saved = keys_saved.times();
  out.prompts = prompts.times();
  out.decodes = decodes.times();
  require_times(table, "attn_kv_cache_save", !out.keys_saved.empty());
  require_times(table, "attn_prefill", !out.prompts.empty());
  require_times(table, "attn_decode", !out.decodes.empty());
}

MeasuredTimes read_network(const std::string& path, std::string_view operation,
                           std::uint64_t workers, std::uint64_t in_node) {
  const core::MappedFile file(path);
  const CsvTable table(path, text_of(file));
  const std::size_t bytes = table.require({"size"}), time = time_column(table, operation);
  Means means;
  each_wanted(table,
              {Wanted(table, "num_workers", workers), Wanted(table, "devices_per_node", in_node)},
              [&](const CsvRow& row) {
                const std::uint64_t size = size_at(row, bytes, 1, kBytesMax);
                if (const auto ms = milliseconds_at(row, time)) means.add(size, *ms);
              });
  require_times(table, operation, !means.empty());
  return means.times();
}

}  // namespace

Profile read_vidur_profile(const ProfileFiles& files, const VidurProfileRows& rows) {
  Profile out;
  read_mlp(files.mlp, rows, out);
  read_attention(files.attention, rows, out);
  if (!files.all_reduce.empty()) {
    out.all_reduce = read_network(files.all_reduce, "all_reduce", rows.tensor, rows.tensor);
  }
  if (!files.send_recv.empty()) {
    out.send = read_network(files.send_recv, "send_recv", 2, rows.send_in_node);
  }
  return out;
}

}  // namespace exawarp::io
