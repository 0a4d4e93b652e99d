// Recognises the one shape that compilers leave behind for counted loops: a variable that starts
// at a constant, is compared with a constant, and grows by a constant. Anything else has no known
// count.
#include "io/formats/stablehlo/loops.h"

#include <algorithm>

#include "core/check.h"

namespace exawarp::io::stablehlo {
namespace {

constexpr std::int64_t kBoundMax = std::int64_t{1} << 40;

const Operation* producer(const Region& region, ValueId value) {
  for (const Operation& op : region.operations)
    if (std::ranges::find(op.results, value) != op.results.end()) return &op;
  return nullptr;
}

std::optional<std::size_t> index_of(const std::vector<ValueId>& values, ValueId wanted) {
  const auto it = std::ranges::find(values, wanted);
  if (it == values.end()) return std::nullopt;
  return static_cast<std::size_t>(it - values.begin());
}

// LT, LE, GT, GE, NE: "LT" stands as a word, or in #stablehlo<comparison_direction LT>.
std::string direction_of(const Operation& compare) {
  for (const Attribute& a : compare.attributes) {
    for (const std::string_view name : {"LT", "LE", "GT", "GE", "NE", "EQ"}) {
      if (a.name == "word" && a.value == name) return std::string(name);
      if (a.name == "comparison_direction" && a.value.find(name) != std::string_view::npos)
        return std::string(name);
    }
  }
  return "";
}

std::string mirrored(const std::string& direction) {
  if (direction == "LT") return "GT";
  if (direction == "LE") return "GE";
  if (direction == "GT") return "LT";
  if (direction == "GE") return "LE";
  return direction;
}

struct Counting {
  std::int64_t from, step, bound;
};

std::optional<std::uint64_t> turns(Counting c, std::string direction) {
  for (const std::int64_t value : {c.from, c.step, c.bound})
    if (value > kBoundMax || value < -kBoundMax) return std::nullopt;
  if (c.step == 0) return std::nullopt;
  if (direction == "NE") {
    const std::int64_t distance = c.bound - c.from;
    if (distance % c.step != 0 || distance / c.step < 0) return std::nullopt;
    return static_cast<std::uint64_t>(distance / c.step);
  }
  if (direction == "GT" || direction == "GE") {  // the same, seen in a mirror
    c = {-c.from, -c.step, -c.bound};
    direction = mirrored(direction);
  }
  if (direction == "LE") ++c.bound;
  if (direction != "LT" && direction != "LE") return std::nullopt;
  if (c.from >= c.bound) return 0;
  if (c.step < 0) return std::nullopt;
  EXAWARP_CHECK(c.step > 0 && c.bound > c.from, c.step, c.from, c.bound);
  return static_cast<std::uint64_t>((c.bound - c.from + c.step - 1) / c.step);
}

}  // namespace

std::optional<std::uint64_t> trip_count(const Operation& loop, const Module& module) {
  if (loop.regions.size() != 2) return std::nullopt;
  const Region& condition = loop.regions[0];
  const Region& body = loop.regions[1];
  if (condition.operations.empty() || body.operations.empty()) return std::nullopt;
  const Operation& tested = condition.operations.back();
  const Operation& carried = body.operations.back();
  if (tested.operands.size() != 1) return std::nullopt;
  const Operation* compare = producer(condition, tested.operands[0]);
  if (compare == nullptr || compare->name != "compare" || compare->operands.size() != 2)
    return std::nullopt;
  std::string direction = direction_of(*compare);
  ValueId counter = compare->operands[0], bound = compare->operands[1];
  if (!index_of(condition.arguments, counter)) {
    std::swap(counter, bound);
    direction = mirrored(direction);
  }
  const auto variable = index_of(condition.arguments, counter);
  // A bound that the loop carries unchanged is as good as a constant.
  if (const auto at = index_of(condition.arguments, bound);
      at && *at < loop.operands.size() && *at < carried.operands.size() &&
      *at < body.arguments.size() && carried.operands[*at] == body.arguments[*at])
    bound = loop.operands[*at];
  if (!variable || *variable >= loop.operands.size() || *variable >= carried.operands.size() ||
      *variable >= body.arguments.size())
    return std::nullopt;
  EXAWARP_CHECK(bound < module.constants.size(), bound, module.constants.size());
  EXAWARP_CHECK(loop.operands[*variable] < module.constants.size(), loop.operands[*variable]);
  const auto from = module.constants[loop.operands[*variable]];
  const auto limit = module.constants[bound];
  const Operation* next = producer(body, carried.operands[*variable]);
  if (!from || !limit || next == nullptr || next->operands.size() != 2) return std::nullopt;
  const bool subtracts = next->name == "subtract";
  if (next->name != "add" && !subtracts) return std::nullopt;
  ValueId argument = next->operands[0], step = next->operands[1];
  if (argument != body.arguments[*variable] && !subtracts) std::swap(argument, step);
  if (argument != body.arguments[*variable] || !module.constants[step]) return std::nullopt;
  const std::int64_t by = *module.constants[step];
  return turns({*from, subtracts ? -by : by, *limit}, direction);
}

}  // namespace exawarp::io::stablehlo
