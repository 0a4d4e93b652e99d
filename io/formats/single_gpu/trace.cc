#include "io/formats/single_gpu/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>

#include "core/error.h"
#include "core/mapped_file.h"
#include "io/formats/kernels/csv.h"
#include "io/study/numbers.h"
#include "io/study/suggest.h"
#include "io/study/text_file.h"

namespace exawarp::io {
namespace {

using core::InputError;
using model::RecordedOperator;
using model::RecordedPhase;
using model::RecordedStep;
using model::RecordedTensor;

constexpr std::size_t kRowsMax = 1u << 20;
constexpr std::uint64_t kElementsMax = std::uint64_t{1} << 40;
constexpr std::uint64_t kElementBytesMax = 64;
constexpr std::uint64_t kIdMax = std::uint64_t{1} << 53;
constexpr double kTimeMaxUs = 1e12;

using TensorIndex = std::unordered_map<std::string, std::uint32_t>;

std::uint64_t whole(const CsvRow& row, std::size_t column, std::uint64_t max) {
  const std::optional<std::uint64_t> value = unsigned_from(row.at(column));
  if (!value || *value > max) row.fail(column, fmt::format("a whole number from 0 to {}", max));
  return *value;
}

// A row that ends before the last column that counts was cut off.
void expect_complete(const CsvRow& row, std::size_t columns) {
  if (row.size() >= columns) return;
  throw InputError(row.place(), fmt::format("is cut off after {} of {} fields; expected all",
                                            row.size(), columns));
}

// "[128, 64, 224, 224]": 128; "[]" and what is no list: 0.
std::uint64_t first_extent(std::string_view shape) {
  const std::size_t begin = shape.find_first_not_of("[( ");
  if (begin == shape.npos) return 0;
  const std::string_view rest = shape.substr(begin);
  return unsigned_from(std::string(rest.substr(0, rest.find_first_of(",]) ")))).value_or(0);
}

bool is_parameter(const std::string& type) {
  return type == "weight" || type == "bias" || type == "bias=None";
}

void read_tensors(const CsvTable& table, RecordedStep& step, TensorIndex& index) {
  const std::size_t line = table.require({"index"}), id = table.require({"tensorid"}),
                    shape = table.require({"tensorshape"}),
                    elements = table.require({"tensornumelement"}),
                    element_bytes = table.require({"tensoreachbyte"}),
                    type = table.require({"tensortype"});
  const std::size_t columns = std::max({line, id, shape, elements, element_bytes, type}) + 1;
  std::set<std::uint64_t> lines;
  table.each_row([&](const CsvRow& row) {
    expect_complete(row, columns);
    if (!lines.insert(whole(row, line, kIdMax)).second) row.fail(line, "each number once");
    if (lines.size() > kRowsMax) row.fail(line, fmt::format("at most {} rows", kRowsMax));
    if (!row.has(id)) row.fail(id, "the tensor's name");
    const std::uint64_t bytes =
        whole(row, elements, kElementsMax) * whole(row, element_bytes, kElementBytesMax);
    const auto [at, is_new] =
        index.try_emplace(row.at(id), static_cast<std::uint32_t>(step.tensors.size()));
    if (is_new) step.tensors.push_back({.id = row.at(id), .bytes = bytes});
    RecordedTensor& tensor = step.tensors[at->second];
    if (tensor.bytes != bytes) {
      throw InputError(row.place(), fmt::format("tensor {} has {} bytes, but {} in a line above; "
                                                "expected one size", in_quotes(row.at(id)), bytes,
                                                tensor.bytes));
    }
    tensor.rows = first_extent(row.at(shape));
    tensor.is_gradient = row.at(type) == "grad_output" || row.at(type) == "grad";
    tensor.is_parameter = tensor.is_parameter || is_parameter(row.at(type));
  });
}

// "[4; 6; 8]" or "['4'; '6']".
std::vector<std::uint32_t> tensors_of(const CsvRow& row, std::size_t column,
                                      const TensorIndex& index) {
  std::string_view rest = row.at(column);
  if (!rest.starts_with('[') || !rest.ends_with(']') || rest.size() < 2) {
    row.fail(column, "tensors as \"[4; 6; 8]\"");
  }
  rest = rest.substr(1, rest.size() - 2);
  std::vector<std::uint32_t> out;
  if (rest.find_first_not_of(' ') == rest.npos) return out;
  while (true) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    std::string_view word = rest.substr(0, end);
    const std::size_t first = std::min(word.find_first_not_of(" '"), word.size());
    word.remove_prefix(first);
    word = word.substr(0, word.find_last_not_of(" '") + 1);
    const auto found = index.find(std::string(word));
    if (found == index.end()) {
      throw InputError(row.place(), fmt::format("tensor {} is in no line of the table of tensors; "
                                                "expected one that is",
                                                in_quotes(std::string(word))));
    }
    out.push_back(found->second);
    if (end == rest.size()) return out;
    rest.remove_prefix(end + 1);
  }
}

RecordedPhase phase_of(const CsvRow& row, std::size_t column) {
  const std::string& text = row.at(column);
  if (text == "forward") return RecordedPhase::forward;
  if (text == "backward") return RecordedPhase::backward;
  if (text != "optimizer") row.fail(column, "one of: forward, backward, optimizer");
  return RecordedPhase::optimizer;
}

void read_operators(const CsvTable& table, const TensorIndex& index, RecordedStep& step) {
  const std::size_t id = table.require({"operatorid"}), name = table.require({"operatorname"}),
                    input = table.require({"operator_input"}),
                    output = table.require({"operator_output"}),
                    time = table.require({"operator_cudatimenooverlap"}),
                    stage = table.require({"stage"}), flag = table.require({"tpflag"});
  const std::size_t columns = std::max({id, name, input, output, time, stage, flag}) + 1;
  std::set<std::uint64_t> ids;
  table.each_row([&](const CsvRow& row) {
    expect_complete(row, columns);
    RecordedOperator op;
    op.id = whole(row, id, kIdMax);
    if (!ids.insert(op.id).second) row.fail(id, "each operator once");
    if (ids.size() > kRowsMax) row.fail(id, fmt::format("at most {} operators", kRowsMax));
    op.name = row.at(name);
    op.inputs = tensors_of(row, input, index);
    op.outputs = tensors_of(row, output, index);
    const std::optional<double> us = number_from<double>(row.at(time));
    if (!us || !(*us >= 0 && *us <= kTimeMaxUs)) row.fail(time, "microseconds, from 0 to 1e12");
    op.time_us = *us;
    op.phase = phase_of(row, stage);
    op.splits = whole(row, flag, 1) == 1;
    step.operators.push_back(std::move(op));
  });
}

}  // namespace

RecordedStep read_single_gpu_trace(const std::string& trace, const std::string& tensors) {
  RecordedStep step;
  TensorIndex index;
  const core::MappedFile tensor_file(tensors), trace_file(trace);
  read_tensors(CsvTable(tensors, text_of(tensor_file)), step, index);
  read_operators(CsvTable(trace, text_of(trace_file)), index, step);
  return step;
}

}  // namespace exawarp::io
