// Idea: steps are taken in order. One that may be fused joins the kernels of its inputs, one after
// the other, wherever no path leads from one of the two kernels to the other through a third: such
// a path would make a cycle of the join. The search for a path goes backward from a kernel and
// stops at kernels all of whose steps come before the first step of the one it looks for.
// Example: a = x + y; b = tanh(a); r = reduce(b); c = b * r  gives {a, b, r} and {c}, for c reads
// r, the result of a reduction, which has to be complete first.
// Cost: O(steps * kernels searched); ResNet-50's 9,815 operations take some milliseconds.
#include "io/stablehlo/fusion.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace exawarp::io::stablehlo {
namespace {

constexpr std::size_t kSearchMax = 4'096;  // kernels looked at for one join; beyond, none is made

bool may_fuse(const Step& step) {
  return step.kind == StepKind::kernel &&
         (step.cost.kind == CostClass::elementwise || step.cost.kind == CostClass::shape ||
          step.cost.kind == CostClass::reduction);
}

class Fuser {
 public:
  explicit Fuser(const Program& program)
      : program_(program), owner_(program.steps.size()), members_(program.steps.size()),
        seen_(program.steps.size(), 0) {
    std::iota(owner_.begin(), owner_.end(), 0u);
    for (std::uint32_t i = 0; i < members_.size(); ++i) members_[i] = {i};
  }

  void join_all() {
    for (std::uint32_t i = 0; i < program_.steps.size(); ++i) {
      if (!may_fuse(program_.steps[i])) continue;
      for (const std::uint32_t input : program_.steps[i].inputs) {
        if (input == kArgument || !is_open(program_.steps[input])) continue;
        const std::uint32_t a = owner_[input], b = owner_[i];
        if (a != b && !is_reached(a, b) && !is_reached(b, a)) join(a, b);
      }
    }
  }

  [[nodiscard]] std::vector<std::vector<std::uint32_t>> kernels() const {
    std::vector<std::vector<std::uint32_t>> out;
    for (std::uint32_t i = 0; i < members_.size(); ++i)
      if (owner_[i] == i) out.push_back(members_[i]);
    return out;
  }

 private:
  static bool is_open(const Step& step) {
    return may_fuse(step) && step.cost.kind != CostClass::reduction;
  }

  // The owner of a kernel is its first step.
  void join(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t into = std::min(a, b), from = std::max(a, b);
    std::vector<std::uint32_t> all;
    std::ranges::merge(members_[into], members_[from], std::back_inserter(all));
    for (const std::uint32_t step : members_[from]) owner_[step] = into;
    members_[into] = std::move(all);
    members_[from].clear();
  }

  // Does a path lead from kernel `from` to kernel `to` through another? True also where the search
  // is given up.
  [[nodiscard]] bool is_reached(std::uint32_t from, std::uint32_t to) {
    ++search_;
    std::vector<std::uint32_t> open{to};
    seen_[to] = search_;
    for (std::size_t at = 0; at < open.size(); ++at) {
      if (open.size() > kSearchMax) return true;
      const std::uint32_t kernel = open[at];
      for (const std::uint32_t step : members_[kernel]) {
        for (const std::uint32_t input : program_.steps[step].inputs) {
          if (input == kArgument) continue;
          const std::uint32_t before = owner_[input];
          if (before == from && kernel != to) return true;
          const bool too_early = members_[before].back() < from;
          if (before == from || too_early || seen_[before] == search_) continue;
          seen_[before] = search_;
          open.push_back(before);
        }
      }
    }
    return false;
  }

  const Program& program_;
  std::vector<std::uint32_t> owner_;                 // by step: its kernel's first step
  std::vector<std::vector<std::uint32_t>> members_;  // by first step
  std::vector<std::uint64_t> seen_;                  // by kernel: the last search that met it
  std::uint64_t search_ = 0;
};

// Kernels in an order in which each follows its inputs; otherwise by first step (Kahn).
std::vector<Kernel> in_order(const std::vector<Kernel>& kernels) {
  std::vector<std::vector<std::uint32_t>> users(kernels.size());
  std::vector<std::size_t> waits(kernels.size());
  for (std::uint32_t k = 0; k < kernels.size(); ++k) {
    waits[k] = kernels[k].inputs.size();
    for (const std::uint32_t input : kernels[k].inputs) users[input].push_back(k);
  }
  // A kernel's work is due where its last step stood.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> ready;
  for (std::uint32_t k = 0; k < kernels.size(); ++k)
    if (waits[k] == 0) ready.emplace(std::pair(kernels[k].steps.back(), k), k);
  std::vector<Kernel> out;
  std::vector<std::uint32_t> place(kernels.size());
  while (!ready.empty()) {
    const std::uint32_t k = ready.begin()->second;
    ready.erase(ready.begin());
    place[k] = static_cast<std::uint32_t>(out.size());
    out.push_back(kernels[k]);
    for (const std::uint32_t user : users[k])
      if (--waits[user] == 0) ready.emplace(std::pair(kernels[user].steps.back(), user), user);
  }
  for (Kernel& kernel : out)
    for (std::uint32_t& input : kernel.inputs) input = place[input];
  for (Kernel& kernel : out) std::ranges::sort(kernel.inputs);
  return out;
}

// A kernel of one step costs what its operation does; of several, what passes its border.
void add_costs(const Program& program, const std::vector<std::uint32_t>& owner,
               const std::vector<bool>& used_outside, Kernel& kernel) {
  for (const std::uint32_t step : kernel.steps) kernel.flops += program.steps[step].cost.flops;
  if (kernel.steps.size() == 1) {
    kernel.bytes_read = program.steps[kernel.steps[0]].cost.bytes_read;
    kernel.bytes_written = program.steps[kernel.steps[0]].cost.bytes_written;
    return;
  }
  const std::uint32_t self = owner[kernel.steps[0]];
  std::map<std::uint64_t, std::uint64_t> read;  // by tensor: bytes
  for (const std::uint32_t index : kernel.steps) {
    const Step& step = program.steps[index];
    for (std::size_t i = 0; i < step.inputs.size(); ++i)
      if (step.inputs[i] == kArgument || owner[step.inputs[i]] != self)
        read.emplace(step.input_keys[i], step.input_bytes[i]);
    if (used_outside[index]) kernel.bytes_written += step.cost.bytes_written;
  }
  for (const auto& [key, bytes] : read) kernel.bytes_read += bytes;
}

}  // namespace

std::vector<Kernel> kernels_of(const Program& program, bool fuse) {
  Fuser fuser(program);
  if (fuse) fuser.join_all();
  std::vector<Kernel> kernels;
  std::vector<std::uint32_t> owner(program.steps.size());
  for (std::vector<std::uint32_t>& steps : fuser.kernels()) {
    for (const std::uint32_t step : steps) owner[step] = static_cast<std::uint32_t>(kernels.size());
    kernels.push_back({.steps = std::move(steps), .inputs = {}});
  }
  std::vector<bool> used_outside(program.steps.size(), false);
  for (std::uint32_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (step.result_escapes) used_outside[i] = true;
    for (const std::uint32_t input : step.inputs) {
      if (input == kArgument || owner[input] == owner[i]) continue;
      used_outside[input] = true;
      kernels[owner[i]].inputs.push_back(owner[input]);
    }
  }
  for (Kernel& kernel : kernels) {
    std::ranges::sort(kernel.inputs);
    kernel.inputs.erase(std::unique(kernel.inputs.begin(), kernel.inputs.end()),
                        kernel.inputs.end());
    add_costs(program, owner, used_outside, kernel);
  }
  return in_order(kernels);
}

}  // namespace exawarp::io::stablehlo
