// Walks @main and all it calls, and appends one step for every kernel and collective. Loops are
// walked once for each turn, and the number of steps is bounded before, not after.
#include "io/formats/stablehlo/program.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>

#include "core/check.h"
#include "io/formats/stablehlo/loops.h"
#include "io/study/suggest.h"

namespace exawarp::io::stablehlo {
namespace {

constexpr std::uint64_t kVisitsMax = std::uint64_t{1} << 24;
constexpr std::uint32_t kCallDepthMax = 64;

// One tensor as it flows: which step made it, and a key that tells tensors apart.
struct Origin {
  std::uint32_t step = kArgument;
  std::uint64_t key = 0;  // 0: nothing to read (a constant)
};
using Origins = std::vector<Origin>;

class Flattener {
 public:
  Flattener(const Module& module, const Source& source, const FlattenOptions& options)
      : module_(module), source_(source), options_(options), origins_(module.types.size()) {}

  Program run() {
    const Function* main = module_.find(options_.entry);
    if (main == nullptr) {
      std::string names;
      for (const Function& f : module_.functions) names += fmt::format(" @{}", f.name);
      source_.fail(module_.functions.empty() ? 0 : module_.functions[0].offset,
                   fmt::format("the module has no function {}; expected --entry with one of:{}",
                               in_quotes("@" + options_.entry), in_quotes(names)));
    }
    for (const ValueId argument : main->body.arguments) origins_[argument] = {fresh(kArgument)};
    walk(main->body);
    for (const Origins& origins : returned_)
      for (const Origin& origin : origins)
        if (origin.step != kArgument) program_.steps[origin.step].result_escapes = true;
    return std::move(program_);
  }

 private:
  Origin fresh(std::uint32_t step) { return {step, next_key_++}; }
  void walk(const Region& region);  // what it returns is in returned_
  void visit(const Operation& op);
  void visit_call(const Operation& op, std::string_view callee);
  void visit_while(const Operation& op);
  void check_turns(const Operation& op, std::uint64_t trips, std::uint64_t steps_before,
                   std::uint64_t visits_before) const;
  void visit_branches(const Operation& op);
  void visit_region(const Operation& op);
  void visit_collective(const Operation& op);
  void visit_kernel(const Operation& op, const Cost& cost);
  void pass_through(const Operation& op);
  [[nodiscard]] Cost fusion_cost(const Operation& op);
  [[nodiscard]] Cost region_cost(const Region& region);
  void bind(const std::vector<ValueId>& arguments, const std::vector<ValueId>& values,
            const Operation& op);
  void give(const Operation& op);
  Step& add_step(StepKind kind, const Operation& op);
  void count(const Operation& op, const Cost& cost);

  const Module& module_;
  const Source& source_;
  FlattenOptions options_;
  Program program_;
  std::vector<Origins> origins_;  // by value
  std::uint64_t next_key_ = 1;
  std::vector<Origins> returned_;  // by the region walked last
  std::uint64_t iterations_ = 0;   // of loops
  std::uint64_t visits_ = 0;       // of operations
  std::uint32_t depth_ = 0;
};

void Flattener::walk(const Region& region) {
  if (depth_ >= kCallDepthMax)
    source_.fail(region.operations.empty() ? 0 : region.operations[0].offset,
                 "calls and regions nest deeper than 64; does a function call itself?");
  ++depth_;
  returned_.clear();
  for (const Operation& op : region.operations) {
    if (op.name != "return") {
      visit(op);
      continue;
    }
    returned_.clear();
    for (const ValueId id : op.operands) returned_.push_back(origins_[id]);
  }
  --depth_;
}

void Flattener::visit(const Operation& op) {
  if (++visits_ > kVisitsMax) source_.fail(op.offset, "more than 2^24 operations in all");
  if (op.name == "func.call") return visit_call(op, op.callee);
  if (op.name == "composite") {
    std::string_view callee = op.attribute("decomposition");
    if (!callee.empty()) callee.remove_prefix(1);
    return visit_call(op, callee);
  }
  if (op.name == "while") return visit_while(op);
  if (op.name == "if" || op.name == "case") return visit_branches(op);
  if (op.name == "async_start") return visit_region(op);
  if (is_collective(op.name)) return visit_collective(op);
  if (op.name == "mhlo.fusion") return visit_kernel(op, fusion_cost(op));
  visit_kernel(op, cost_of(op, module_, source_));
}

void Flattener::bind(const std::vector<ValueId>& arguments, const std::vector<ValueId>& values,
                     const Operation& op) {
  if (arguments.size() != values.size())
    source_.fail(op.offset, fmt::format("{} passes {} values to {} arguments", op.name,
                                        values.size(), arguments.size()));
  std::vector<Origins> passed;
  for (const ValueId id : values) passed.push_back(origins_[id]);
  for (std::size_t i = 0; i < arguments.size(); ++i) origins_[arguments[i]] = passed[i];
}

// The operation's results are what its body returned.
void Flattener::give(const Operation& op) {
  EXAWARP_CHECK(origins_.size() == module_.types.size(), origins_.size());
  for (std::size_t i = 0; i < op.results.size(); ++i)
    origins_[op.results[i]] = i < returned_.size() ? returned_[i] : Origins{};
}

void Flattener::visit_call(const Operation& op, std::string_view callee) {
  const Function* function = module_.find(callee);
  if (function == nullptr)
    source_.fail(op.offset, fmt::format("function {} is not defined", in_quotes(callee)));
  bind(function->body.arguments, op.operands, op);
  walk(function->body);
  give(op);
}

void Flattener::visit_region(const Operation& op) {
  if (op.regions.empty())
    source_.fail(op.offset, fmt::format("{} has no region", op.name));
  bind(op.regions[0].arguments, op.operands, op);
  walk(op.regions[0]);
  give(op);
}

void Flattener::visit_while(const Operation& op) {
  if (op.regions.size() != 2)
    source_.fail(op.offset, fmt::format("while has {} regions; expected cond and do",
                                        op.regions.size()));
  std::optional<std::uint64_t> trips = trip_count(op, module_);
  if (!trips) trips = options_.trip_count;
  if (!trips)
    source_.fail(op.offset, "the trip count of this loop is not a constant; expected a counter "
                            "compared with a constant, or --trip-count N");
  std::vector<Origins> state;
  for (const ValueId id : op.operands) state.push_back(origins_[id]);
  const std::uint64_t steps_before = program_.steps.size(), visits_before = visits_;
  for (std::uint64_t trip = 0; trip < *trips; ++trip) {
    if (trip == 1) check_turns(op, *trips, steps_before, visits_before);
    for (const std::size_t region : {std::size_t{0}, std::size_t{1}}) {
      const std::vector<ValueId>& arguments = op.regions[region].arguments;
      if (arguments.size() != state.size())
        source_.fail(op.offset, fmt::format("while carries {} values, a region takes {}",
                                            state.size(), arguments.size()));
      for (std::size_t i = 0; i < arguments.size(); ++i) origins_[arguments[i]] = state[i];
      walk(op.regions[region]);
      if (region == 1 && returned_.size() == state.size()) state = returned_;
    }
    if (++iterations_ > options_.steps_max) {
      source_.fail(op.offset,
                   fmt::format("loops of more than {} iterations", options_.steps_max));
    }
  }
  returned_ = state;
  give(op);
}

// Refuses a loop after its first turn rather than after millions.
void Flattener::check_turns(const Operation& op, std::uint64_t trips, std::uint64_t steps_before,
                            std::uint64_t visits_before) const {
  const auto check = [&](const char* what, std::uint64_t a_turn, std::uint64_t before,
                         std::uint64_t count_max) {
    if (a_turn == 0 || trips <= (count_max - before) / a_turn) return;
    constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t all = trips > kMost / a_turn ? kMost : trips * a_turn;
    source_.fail(op.offset, fmt::format("a loop of {} turns makes {} {}, {} a turn; expected at "
                                        "most {} in all",
                                        trips, all, what, a_turn, count_max));
  };
  const std::uint64_t steps_max = options_.steps_max;
  check("kernels and collectives", program_.steps.size() - steps_before, steps_before, steps_max);
  check("operations", visits_ - visits_before, visits_before, kVisitsMax);
  if (trips > steps_max - (iterations_ - 1)) {
    source_.fail(op.offset, fmt::format("a loop of {} turns; expected at most {} in all loops",
                                        trips, steps_max));
  }
}

// The branch with the most FLOPs, then the most bytes.
void Flattener::visit_branches(const Operation& op) {
  const Region* dearest = nullptr;
  Cost most;
  for (const Region& branch : op.regions) {
    const Cost cost = region_cost(branch);
    if (dearest != nullptr && (cost.flops < most.flops ||
                               (cost.flops == most.flops && cost.bytes() <= most.bytes())))
      continue;
    dearest = &branch;
    most = cost;
  }
  if (dearest == nullptr) source_.fail(op.offset, fmt::format("{} has no branch", op.name));
  if (op.regions.size() > 1)
    program_.notes.push_back(fmt::format("{}: of {} branches the dearest was taken, {} FLOPs",
                                         op.name, op.regions.size(), most.flops));
  walk(*dearest);
  give(op);
}

// Sums over the region's own operations; what they call counts as nothing.
Cost Flattener::region_cost(const Region& region) {
  Cost sum{.kind = CostClass::data};
  for (const Operation& op : region.operations) {
    if (is_collective(op.name) || op.name == "func.call") continue;
    Cost cost;
    if (op.regions.empty() || op.name == "reduce" || op.name == "reduce_window" ||
        op.name == "sort" || op.name == "scatter" || op.name == "select_and_scatter") {
      cost = cost_of(op, module_, source_);
    } else {
      for (const Region& inner : op.regions) {
        const Cost one = region_cost(inner);
        cost.flops += one.flops;
        cost.bytes_read += one.bytes_read;
      }
    }
    sum.flops += cost.flops;
    sum.bytes_read += cost.bytes();
  }
  return sum;
}

// One kernel: the operations of its body, and the traffic of its operands and results.
Cost Flattener::fusion_cost(const Operation& op) {
  Cost cost{.kind = CostClass::data};
  for (const Region& region : op.regions) cost.flops += region_cost(region).flops;
  for (const ValueId id : op.operands) cost.bytes_read += bytes_of(module_.types[id]);
  for (const ValueId id : op.results) cost.bytes_written += bytes_of(module_.types[id]);
  return cost;
}

void Flattener::count(const Operation& op, const Cost& cost) {
  ++program_.operations;
  OpTotal& total = program_.by_name[op.name];
  ++total.count;
  total.flops += cost.flops;
  total.bytes += cost.bytes();
  program_.flops += cost.flops;
  program_.bytes += cost.bytes();
  constexpr std::uint64_t kSumMax = std::uint64_t{1} << 61;
  if (program_.flops > kSumMax || program_.bytes > kSumMax)
    source_.fail(op.offset, "the module needs more than 2^61 FLOPs or bytes");
  if (cost.kind == CostClass::unknown) {
    std::string name = op.name;
    if (op.name == "custom_call") name += fmt::format(" @{}", op.callee);
    ++program_.uncosted[name];
  }
}

Step& Flattener::add_step(StepKind kind, const Operation& op) {
  if (program_.steps.size() >= options_.steps_max)
    source_.fail(op.offset, fmt::format("more than {} operations", options_.steps_max));
  Step& step = program_.steps.emplace_back();
  step.kind = kind;
  step.op = &op;
  for (const ValueId id : op.operands) {
    for (const Origin& origin : origins_[id]) {
      if (origin.key == 0) continue;
      step.inputs.push_back(origin.step);
      step.reads.push_back({.key = origin.key, .bytes = bytes_of(module_.types[id])});
    }
  }
  EXAWARP_CHECK(step.inputs.size() == step.reads.size(), step.inputs.size(), step.reads.size());
  for (const std::vector<ValueId>* ids : {&op.operands, &op.results})
    for (const ValueId id : *ids)
      for (const TensorType& tensor : module_.types[id])
        if (tensor.width_bits() > step.element_bits) {
          step.element_bits = tensor.width_bits();
          step.element = tensor.element;
        }
  const Origin result = fresh(static_cast<std::uint32_t>(program_.steps.size() - 1));
  for (const ValueId id : op.results) origins_[id] = {result};
  return step;
}

void Flattener::pass_through(const Operation& op) {
  Origins all;
  for (const ValueId id : op.operands)
    all.insert(all.end(), origins_[id].begin(), origins_[id].end());
  for (const ValueId id : op.results) origins_[id] = all;
}

void Flattener::visit_kernel(const Operation& op, const Cost& cost) {
  count(op, cost);
  // Without work an operation is no step: what it stands for is what it was made of.
  if (cost.flops == 0 && cost.bytes() == 0) return pass_through(op);
  add_step(StepKind::kernel, op).cost = cost;
}

void Flattener::visit_collective(const Operation& op) {
  ++program_.collectives;
  Step& step = add_step(StepKind::collective, op);
  for (const ValueId id : op.operands) step.comm_bytes += bytes_of(module_.types[id]);
  for (const ValueId id : op.results)
    program_.collective_output_bytes += bytes_of(module_.types[id]);
}

}  // namespace

bool is_collective(std::string_view name) {
  constexpr std::array<std::string_view, 7> kCollectives = {
      "all_reduce",         "all_gather",           "reduce_scatter", "all_to_all",
      "collective_permute", "collective_broadcast", "cross-replica-sum"};
  return std::ranges::find(kCollectives, name) != kCollectives.end();
}

Program flatten(const Module& module, const Source& source, const FlattenOptions& options) {
  return Flattener(module, source, options).run();
}

}  // namespace exawarp::io::stablehlo
