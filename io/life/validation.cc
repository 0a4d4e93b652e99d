// The rows of the file become overrides of the study, by one table of columns; then each is a
// simulation of its own on a single rank, taken by whichever thread is free.
#include "io/life/validation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <variant>

#include "core/error.h"
#include "io/life/simulate.h"
#include "io/study/suggest.h"
#include "io/study/text_file.h"

namespace exawarp::io {
namespace {

// Columns that replace a key of the workload where they are not empty.
struct KeyColumn {
  const char* column;
  const char* key;
};
constexpr KeyColumn kKeyColumns[] = {{"tensor", "parallel.tensor"},
                                     {"context", "parallel.context"},
                                     {"pipeline", "parallel.pipeline"},
                                     {"expert", "parallel.expert"},
                                     {"data", "parallel.data"},
                                     {"chunks", "schedule.virtual_stages"},
                                     {"micro_batch", "micro_batch_sequences"},
                                     {"global_batch", "global_batch_sequences"},
                                     {"sequence", "sequence_length"}};
constexpr const char* kWorkload = "workload.transformer.";
// Of `settings`, keys that are not the workload's.
constexpr std::string_view kStudyKeys[] = {"collectives", "compute",        "faults", "fold",
                                           "network",     "point_to_point", "system"};

// The fields of a line: separated by commas, in quotes where they hold some, a quote doubled.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"') {
        fields.back() += line[++i];
      } else {
        quoted = !quoted;
      }
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

// Of each line that is neither empty nor a comment.
void for_each_line(const std::string& path,
                   const std::function<void(std::string_view line, std::size_t number)>& use) {
  const core::MappedFile file(path);
  const std::string_view text = io::text_of(file);
  std::size_t number = 0;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const std::string_view line = text.substr(from, end - from);
    from = end + 1;
    ++number;
    if (!line.empty() && line.front() != '#') use(line, number);
  }
}

// "a=1;b.c=2", each a key of the workload, or of the study where that has one of the name.
void add_overrides(std::string_view settings, std::vector<std::string>& out) {
  for (std::size_t from = 0; from < settings.size();) {
    const std::size_t end = std::min(settings.find(';', from), settings.size());
    const std::string setting(settings.substr(from, end - from));
    const std::string first = setting.substr(0, setting.find_first_of(".="));
    const bool of_study = std::ranges::find(kStudyKeys, first) != std::end(kStudyKeys);
    if (!setting.empty()) out.push_back((of_study ? "" : kWorkload) + setting);
    from = end + 1;
  }
}

class RowReader {
 public:
  RowReader(std::string file, const std::vector<std::string>& header) : file_(std::move(file)) {
    for (std::size_t i = 0; i < header.size(); ++i) columns_[header[i]] = i;
    for (const char* needed : {"family", "row", "system", "model", "measured_s"}) {
      if (!columns_.contains(needed)) {
        throw core::InputError(
            file_ + ":1",
            fmt::format("has no column \"{}\"; expected it in the first line", needed));
      }
    }
  }

  ValidationRow read(std::string_view line, std::size_t number) {
    place_ = fmt::format("{}:{}", file_, number);
    fields_ = fields_of(line);
    if (fields_.size() > columns_.size()) {
      throw core::InputError(place_, fmt::format("has {} columns; expected at most {}",
                                                 fields_.size(), columns_.size()));
    }
    ValidationRow row{.place = place_,
                      .family = text("family"),
                      .name = text("row"),
                      .system = text("system"),
                      .model = text("model"),
                      .tables = text("tables"),
                      .settings = {},
                      .less = {},
                      .measured_s = seconds("measured_s"),
                      .noise_percent = seconds("noise_percent"),
                      .reason = text("reason"),
                      .source = text("source")};
    if (row.reason.empty()) check(row);
    add_settings(row);
    return row;
  }

 private:
  [[nodiscard]] std::string text(const std::string& column) const {
    const auto at = columns_.find(column);
    return at == columns_.end() || at->second >= fields_.size() ? "" : fields_[at->second];
  }
  [[nodiscard]] double seconds(const std::string& column) const {
    const std::string value = text(column);
    if (value.empty()) return 0;
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size() || !(number >= 0)) {
      throw core::InputError(
          place_, fmt::format("column {}: \"{}\" is no number; expected e.g. 1.5", column,
                              printable(value)));
    }
    return number;
  }
  void check(const ValidationRow& row) const {
    if (!(row.measured_s > 0)) {
      throw core::InputError(place_,
                             "column measured_s: is empty; expected seconds of a step, or a "
                             "reason why it cannot be simulated");
    }
    for (const auto& [column, value] : {std::pair{"model", row.model}, {"system", row.system}}) {
      if (value.empty()) {
        throw core::InputError(place_, fmt::format("column {}: is empty; expected a name", column));
      }
    }
  }
  void add_settings(ValidationRow& row) const {
    for (const KeyColumn& key : kKeyColumns) {
      if (const std::string value = text(key.column); !value.empty()) {
        row.settings.push_back(fmt::format("{}{}={}", kWorkload, key.key, value));
      }
    }
    // Eight bits are for products alone: what is between them stays in bf16.
    if (const std::string precision = text("precision"); precision == "fp8") {
      row.settings.push_back(fmt::format("{}precision=bf16", kWorkload));
      row.settings.push_back(fmt::format("{}gemm_precision=fp8", kWorkload));
    } else if (!precision.empty()) {
      row.settings.push_back(fmt::format("{}precision={}", kWorkload, precision));
    }
    add_overrides(text("settings"), row.settings);
    add_overrides(text("less"), row.less);
  }

  std::string file_;
  std::string place_;
  std::map<std::string, std::size_t> columns_;
  std::vector<std::string> fields_;
};

std::vector<std::string> overrides_of(const ValidationRow& row, const ValidationOptions& options) {
  const std::filesystem::path beside = std::filesystem::path(options.study_file).parent_path();
  std::vector<std::string> all;
  all.push_back(fmt::format("{}model={}", kWorkload,
                            (beside / "../models" / (row.model + ".yaml")).string()));
  all.push_back(
      fmt::format("system={}", (beside / "../systems" / (row.system + ".yaml")).string()));
  if (!row.tables.empty()) {
    all.push_back(
        fmt::format("system.accelerator.tables={}", (beside / "../kernels" / row.tables).string()));
  }
  // A file that a row names is looked for where one that the study names is.
  constexpr std::string_view kFile = "collectives=";
  for (const std::string& setting : row.settings) {
    const bool file = setting.starts_with(kFile) && setting.ends_with(".yaml");
    all.push_back(file
                      ? fmt::format("{}{}", kFile, (beside / setting.substr(kFile.size())).string())
                      : setting);
  }
  all.insert(all.end(), options.overrides.begin(), options.overrides.end());
  return all;
}

// The model's arithmetic at the peak, a third more where all of it is repeated, and longer by the
// share of a pipeline's slots in which a stage waits.
double formula_s(const Study& study, const model::Outcome& outcome) {
  if (study.jobs.size() != 1) return 0;
  const auto* const workload = std::get_if<WorkloadSpec>(&study.jobs.front().workload);
  const auto* const spec =
      workload == nullptr ? nullptr : std::get_if<model::TransformerSpec>(workload);
  if (spec == nullptr) return 0;
  const double at_peak_s =
      outcome.training().model_flops_utilisation * core::to_seconds(outcome.iteration_time());
  const double repeated = spec->recompute.kind == model::Recompute::kFull ? 4.0 / 3 : 1;
  const auto waiting = static_cast<double>(spec->parallel.pipeline - 1);
  const auto slots =
      static_cast<double>(model::micro_batches_of(*spec) * spec->schedule.virtual_stages);
  return at_peak_s * repeated * (1 + waiting / slots);
}

// Seconds of a step, or what is wrong.
ValidationResult simulated_step(const ValidationRow& row, const ValidationOptions& options,
                                const std::vector<std::string>& overrides) {
  const Study study = read_study(options.study_file, overrides);
  const auto transport = pdes::make_single_transport();
  const RunReport report =
      simulate(study, {.sync = pdes::Sync::sequential, .threads = 1}, *transport);
  if (report.status != RunStatus::finished) return {.predicted_s = 0, .problem = "deadlocked"};
  const model::Pedigree pedigree = report.outcome->pedigree();
  model::Pedigree::Shares known_by{};
  for (std::size_t i = 0; i < known_by.size() && pedigree.total_ps() > 0; ++i) {
    known_by.at(i) = pedigree.total_ps(static_cast<model::Provenance>(i)) / pedigree.total_ps();
  }
  const auto& fitted_to = study.system.accelerator.calibration.fitted_to;
  return {.predicted_s = core::to_seconds(report.outcome->iteration_time()),
          .problem = "",
          .fitted = std::ranges::find(fitted_to, row.family) != fitted_to.end(),
          .formula_s = formula_s(study, *report.outcome),
          .accelerator = study.system.accelerator.name,
          .known_by = known_by};
}

ValidationResult simulated(const ValidationRow& row, const ValidationOptions& options) {
  if (!row.reason.empty()) return {.predicted_s = 0, .problem = row.reason};
  try {
    std::vector<std::string> overrides = overrides_of(row, options);
    ValidationResult result = simulated_step(row, options, overrides);
    if (row.less.empty() || !result.known()) return result;
    overrides.insert(overrides.end(), row.less.begin(), row.less.end());
    const ValidationResult less = simulated_step(row, options, overrides);
    if (!less.known()) return less;
    result.predicted_s -= less.predicted_s;
    result.formula_s -= less.formula_s;
    if (!result.known()) return {.predicted_s = 0, .problem = "is not longer than what is less"};
    return result;
  } catch (const core::InputError& error) {
    return {.predicted_s = 0, .problem = error.what()};
  }
}

// For each row the first of its family that is the same study: releases of a framework publish the
// same runs again. Rows without a simulation are their own.
std::vector<std::size_t> first_of_equals(const std::vector<ValidationRow>& rows,
                                         const ValidationOptions& options) {
  std::map<std::string, std::size_t> known;
  std::vector<std::size_t> first(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    first[i] = i;
    if (!rows[i].reason.empty()) continue;
    const std::string study =
        fmt::format("{}\n{}\n\n{}", rows[i].family, fmt::join(overrides_of(rows[i], options), "\n"),
                    fmt::join(rows[i].less, "\n"));
    first[i] = known.try_emplace(study, i).first->second;
  }
  return first;
}

}  // namespace

std::vector<ValidationRow> read_validation(const std::string& path) {
  std::optional<RowReader> reader;
  std::vector<ValidationRow> rows;
  for_each_line(path, [&](std::string_view line, std::size_t number) {
    if (!reader) {
      reader.emplace(path, fields_of(line));
    } else {
      rows.push_back(reader->read(line, number));
    }
  });
  if (rows.empty()) throw core::InputError(path, "has no rows; expected a header and rows");
  return rows;
}

std::vector<Trend> read_trends(const std::string& path, const std::vector<ValidationRow>& rows) {
  static const std::vector<std::string> kHeader{"kind", "family", "row", "other_family",
                                                "other_row"};
  std::map<std::pair<std::string, std::string>, std::size_t> known;
  for (const ValidationRow& row : rows) ++known[{row.family, row.name}];
  bool header = false;
  std::vector<Trend> trends;
  for_each_line(path, [&](std::string_view line, std::size_t number) {
    const std::string place = fmt::format("{}:{}", path, number);
    const std::vector<std::string> fields = fields_of(line);
    if (!std::exchange(header, true)) {
      if (fields == kHeader) return;
      throw core::InputError(
          place, fmt::format("is no header of trends; expected {}", fmt::join(kHeader, ",")));
    }
    if (fields.size() != kHeader.size()) {
      throw core::InputError(
          place, fmt::format("has {} columns; expected {}", fields.size(), kHeader.size()));
    }
    for (const std::size_t i : {1U, 3U}) {
      const auto at = known.find({fields[i], fields[i + 1]});
      if (at != known.end() && at->second == 1) continue;
      throw core::InputError(
          place, fmt::format("\"{}\" of family \"{}\" is the name of {} rows; expected of one",
                             printable(fields[i + 1]), printable(fields[i]),
                             at == known.end() ? 0 : at->second));
    }
    trends.push_back({fields[0], fields[1], fields[2], fields[3], fields[4]});
  });
  return trends;
}

std::vector<ValidationResult> validate(const std::vector<ValidationRow>& rows,
                                       const ValidationOptions& options) {
  std::vector<ValidationResult> results(rows.size());
  const std::vector<std::size_t> first = first_of_equals(rows, options);
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::size_t done = 0;
  std::exception_ptr failure;
  const auto work = [&] {
    for (std::size_t i = next++; i < rows.size(); i = next++) {
      try {
        if (first[i] == i) results[i] = simulated(rows[i], options);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (!failure) failure = std::current_exception();
        next = rows.size();
        return;
      }
      const std::scoped_lock lock(mutex);
      ++done;
      if (options.progress) options.progress(done, rows.size());
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::uint32_t t = 1; t < options.threads; ++t) others.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
  for (std::size_t i = 0; i < rows.size(); ++i) results[i] = results[first[i]];
  return results;
}

}  // namespace exawarp::io
