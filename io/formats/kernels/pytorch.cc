// PyTorch's profiler (Chrome trace with record_shapes): operators carry the sizes of their inputs,
// kernels the number of the operator that launched them.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/error.h"
#include "io/formats/kernels/csv.h"
#include "io/formats/kernels/rows.h"
#include "io/study/text_file.h"

namespace exawarp::io {
namespace {

using Json = nlohmann::json;

struct Operator {
  std::string name, type;
  std::string place;
  std::vector<std::uint64_t> sizes;  // m, n, k; empty: no product of matrices
  double us = 0;                     // of its kernels
};

std::string text_in(const Json& in, const char* key) {
  const auto at = in.find(key);
  return at != in.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::optional<std::uint64_t> id_in(const Json& event) {
  const auto arguments = event.find("args");
  if (arguments == event.end() || !arguments->is_object()) return std::nullopt;
  const auto at = arguments->find("External id");
  if (at == arguments->end() || !at->is_number_unsigned()) return std::nullopt;
  return at->get<std::uint64_t>();
}

// The sizes of an input, of `rank` dimensions each in [1, kCsvCountMax]; empty: it is none.
std::vector<std::uint64_t> dimensions(const Json& inputs, std::size_t index, std::size_t rank) {
  if (index >= inputs.size() || !inputs[index].is_array() || inputs[index].size() != rank)
    return {};
  std::vector<std::uint64_t> out;
  for (const Json& size : inputs[index]) {
    if (!size.is_number_unsigned()) return {};
    out.push_back(size.get<std::uint64_t>());
    if (out.back() == 0 || out.back() > kCsvCountMax) return {};
  }
  return out;
}

// Where an operator's two matrices stand among its inputs.
struct Product {
  const char* name;
  std::size_t first, rank;
};
constexpr Product kProducts[] = {{"aten::mm", 0, 2},
                                 {"aten::addmm", 1, 2},
                                 {"aten::bmm", 0, 3},
                                 {"aten::baddbmm", 1, 3},
                                 {"aten::_scaled_mm", 0, 2}};

void take_shape(const Json& arguments, Operator& out) {
  const auto inputs = arguments.find("Input Dims");
  const auto types = arguments.find("Input type");
  if (inputs == arguments.end() || !inputs->is_array()) return;
  for (const Product& product : kProducts) {
    if (out.name != product.name) continue;
    const auto a = dimensions(*inputs, product.first, product.rank);
    const auto b = dimensions(*inputs, product.first + 1, product.rank);
    if (a.empty() || b.empty()) return;
    const std::size_t last = product.rank - 1;
    const std::uint64_t batch = product.rank == 3 ? a[0] : 1;
    std::uint64_t m = 0;
    if (a[last] != b[last - 1] || __builtin_mul_overflow(batch, a[last - 1], &m)) return;
    out.sizes = {m, b[last], a[last]};
    if (types != arguments.end() && types->is_array() && product.first < types->size() &&
        (*types)[product.first].is_string()) {
      out.type = (*types)[product.first].get<std::string>();
    }
    return;
  }
}

double duration_us(const Json& event, const std::string& place) {
  const auto at = event.find("dur");
  if (at == event.end() || !at->is_number() || !(at->get<double>() >= 0) ||
      !(at->get<double>() < 1e9)) {
    throw core::InputError(place, "dur: expected microseconds");
  }
  return at->get<double>();
}

}  // namespace

void read_pytorch_kernels(const std::string& file, std::string_view text, KernelRows& rows) {
  check_json_depth(text, file);
  const Json document = Json::parse(text, nullptr, false);
  if (!document.is_object() || !document.contains("traceEvents") ||
      !document["traceEvents"].is_array()) {
    throw core::InputError(file,
                           "is no JSON object with traceEvents; expected a profile that "
                           "PyTorch exported, export_chrome_trace()");
  }
  const Json& events = document["traceEvents"];
  std::vector<Operator> operators;
  std::unordered_map<std::uint64_t, std::size_t> by_id;
  const auto is = [](const Json& event, std::string_view category) {
    return event.is_object() && text_in(event, "ph") == "X" && text_in(event, "cat") == category;
  };
  const auto place = [&](std::size_t i) { return fmt::format("{}: traceEvents[{}]", file, i); };
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto id = is(events[i], "cpu_op") ? id_in(events[i]) : std::nullopt;
    if (!id) continue;
    by_id[*id] = operators.size();
    Operator& op = operators.emplace_back();
    op.name = text_in(events[i], "name");
    op.place = place(i);
    take_shape(events[i]["args"], op);
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!is(events[i], "kernel")) continue;
    const double us = duration_us(events[i], place(i));
    const auto id = id_in(events[i]);
    const auto at = id ? by_id.find(*id) : by_id.end();
    if (at != by_id.end()) operators[at->second].us += us;
    if (at == by_id.end()) rows.leave_out("kernels of no operator");
  }
  for (const Operator& op : operators) {
    if (op.us == 0) continue;
    if (op.sizes.empty()) {
      rows.leave_out(op.name);
      continue;
    }
    rows.add(op.place, {.name = op.name,
                        .operation = "gemm",
                        .type = op.type,
                        .sizes = op.sizes,
                        .key = {},
                        .us = op.us});
  }
}

}  // namespace exawarp::io
