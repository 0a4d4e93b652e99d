// What COCOSSim prints for a file of one layer, or several such runs one after the other:
//
//   processing Matmul M K N
//   Cycles 3847              or, as its perf_model, Time: 4.09 us
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "core/error.h"
#include "io/formats/kernels/csv.h"
#include "io/formats/kernels/rows.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream in{std::string(line)};
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

class Log {
 public:
  Log(const KernelImportOptions& options, KernelRows& rows) : options_(options), rows_(rows) {}

  void read(const std::string& place, std::string_view line) {
    if (line.find("processing ") == std::string_view::npos &&
        line.find("Cycles ") == std::string_view::npos &&
        line.find("Time: ") == std::string_view::npos) {
      return;
    }
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) return;
    if (words[0] == "processing") return take_layer(place, words);
    if (words[0] == "Cycles" && words.size() == 2) {
      return finish(place, us_of_cycles(place, number(place, words[1]), options_));
    }
    if (words[0] == "Time:" && words.size() == 3 && words[2] == "us") {
      finish(place, number(place, words[1]));
    }
  }

 private:
  static double number(const std::string& place, const std::string& text) {
    return CsvRow(kColumn, place, {text}).positive(0);
  }

  void take_layer(const std::string& place, const std::vector<std::string>& words) {
    if (in_run_++ > 0) {
      throw core::InputError(place,
                             "is a second layer in one run, whose cycles are of both; "
                             "expected a run for each layer");
    }
    layer_ = words.size() > 1 ? words[1] : "";
    kernel_.reset();
    if (layer_ != "Matmul") return;
    if (words.size() != 5) {
      throw core::InputError(place, "a layer of " + std::to_string(words.size() - 2) +
                                        " sizes; expected Matmul M K N");
    }
    const CsvRow sizes(kColumns, place, {words[2], words[3], words[4]});
    kernel_ = MeasuredKernel{.name = "",
                             .operation = "gemm",
                             .type = options_.type,
                             .sizes = {sizes.count(0), sizes.count(2), sizes.count(1)},
                             .key = {}};
  }

  void finish(const std::string& place, double us) {
    if (in_run_ == 0) return;  // both Cycles and Time: the first counts
    in_run_ = 0;
    if (!kernel_) return rows_.leave_out(layer_);
    kernel_->us = us;
    rows_.add(place, *kernel_);
  }

  inline static const std::vector<std::string> kColumn{"time"}, kColumns{"M", "K", "N"};
  const KernelImportOptions& options_;
  KernelRows& rows_;
  int in_run_ = 0;
  std::string layer_;
  std::optional<MeasuredKernel> kernel_;
};

}  // namespace

void read_cocossim_kernels(const std::string& file, std::string_view text,
                           const KernelImportOptions& options, KernelRows& rows) {
  Log log(options, rows);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    log.read(fmt::format("{}:{}", file, number), text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace exawarp::io
