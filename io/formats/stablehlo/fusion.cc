// Idea: steps are taken in order. One that may be fused joins the kernels of its inputs, one after
// the other, wherever no path leads from one of the two kernels to the other through a third: such
// a path would make a cycle of the join. The search for a path goes backward from a kernel and
// stops at kernels all of whose steps come before the first step of the one it looks for.
// Example: a = x + y; b = tanh(a); r = reduce(b); c = b * r  gives {a, b, r} and {c}, for c reads
// r, the result of a reduction, which has to be complete first.
// Kernels are sets of a union-find, each with the edges that come in from outside: a join appends
// the shorter list to the longer one, and a search drops edges that have become inner or double.
// Cost: O(steps * log steps) and the searches, which may look at 4,096 kernels each until they have
// looked at 2^24 edges in all, and at 64 edges each from then on; without a join where one is given
// up. An unrolled loop of 1,000,000 turns takes a second; ResNet-50's 9,815 operations some
// milliseconds.
#include "io/formats/stablehlo/fusion.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "core/check.h"

namespace exawarp::io::stablehlo {
namespace {

constexpr std::size_t kSearchMax = 4'096;  // kernels looked at for one join; beyond, none is made
// Looked at in all; beyond, each search looks at so few.
constexpr std::uint64_t kEdgesMax = std::uint64_t{1} << 24;
constexpr std::uint64_t kFewEdges = 64;

bool may_fuse(const Step& step) {
  return step.kind == StepKind::kernel &&
         (step.cost.kind == CostClass::elementwise || step.cost.kind == CostClass::shape ||
          step.cost.kind == CostClass::reduction);
}

class Fuser {
 public:
  explicit Fuser(const Program& program)
      : program_(program), parent_(program.steps.size()), kernels_(program.steps.size()) {
    std::iota(parent_.begin(), parent_.end(), 0u);
    for (std::uint32_t i = 0; i < kernels_.size(); ++i) kernels_[i].first = kernels_[i].last = i;
  }

  void join_all() {
    for (std::uint32_t i = 0; i < program_.steps.size(); ++i) {
      for (const std::uint32_t input : program_.steps[i].inputs)
        if (input != kArgument) kernels_[i].inputs.push_back(input);
      if (!may_fuse(program_.steps[i])) continue;
      for (const std::uint32_t input : program_.steps[i].inputs) {
        if (input == kArgument || !is_open(program_.steps[input])) continue;
        const std::uint32_t a = kernel_of(input), b = kernel_of(i);
        const bool unread = kernels_[b].first == i;  // no kernel reads the newest step
        if (a != b && !is_reached(a, b) && (unread || !is_reached(b, a))) join(a, b);
      }
    }
  }

  // The steps of each kernel, ascending; kernels by their first step.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> kernels() {
    std::vector<std::vector<std::uint32_t>> out;
    std::vector<std::uint32_t> place(parent_.size());
    for (std::uint32_t i = 0; i < parent_.size(); ++i) {
      const std::uint32_t kernel = kernel_of(i);
      if (kernels_[kernel].first == i) {
        place[kernel] = static_cast<std::uint32_t>(out.size());
        out.emplace_back();
      }
      out[place[kernel]].push_back(i);
    }
    return out;
  }

 private:
  struct Set {
    std::uint32_t first = 0, last = 0;  // of its steps
    std::vector<std::uint32_t> inputs;  // what its steps read: a step of each kernel, or several
    std::size_t settled = 0;            // how many inputs were left when the list was last cleaned
    std::uint64_t seen = 0;             // the last search, or cleaning, that met it
  };

  static bool is_open(const Step& step) {
    return may_fuse(step) && step.cost.kind != CostClass::reduction;
  }

  // The root of the set that `step` is in.
  [[nodiscard]] std::uint32_t kernel_of(std::uint32_t step) {
    while (parent_[step] != step) step = parent_[step] = parent_[parent_[step]];
    return step;
  }

  void join(std::uint32_t a, std::uint32_t b) {
    EXAWARP_CHECK(a != b && parent_[a] == a && parent_[b] == b, a, b);
    if (kernels_[a].inputs.size() < kernels_[b].inputs.size()) std::swap(a, b);
    Set& into = kernels_[a];
    Set& from = kernels_[b];
    parent_[b] = a;
    into.first = std::min(into.first, from.first);
    into.last = std::max(into.last, from.last);
    into.inputs.insert(into.inputs.end(), from.inputs.begin(), from.inputs.end());
    from.inputs = {};
    if (into.inputs.size() > 2 * into.settled + kFewEdges) clean(a);
  }

  // Leaves one input for each other kernel. Lists double in between, so a step pays for few.
  void clean(std::uint32_t kernel) {
    ++search_;
    kernels_[kernel].seen = search_;
    std::erase_if(kernels_[kernel].inputs, [&](std::uint32_t& input) {
      input = kernel_of(input);
      return std::exchange(kernels_[input].seen, search_) == search_;
    });
    kernels_[kernel].settled = kernels_[kernel].inputs.size();
  }

  // Does a path lead from kernel `from` to kernel `to` through another? True also where the search
  // is given up.
  [[nodiscard]] bool is_reached(std::uint32_t from, std::uint32_t to) {
    ++search_;
    const std::uint32_t first = kernels_[from].first;
    std::uint64_t edges = 0;
    open_.assign(1, to);
    kernels_[to].seen = search_;
    for (std::size_t at = 0; at < open_.size(); ++at) {
      if (open_.size() > kSearchMax) return true;
      const std::uint32_t kernel = open_[at];
      for (const std::uint32_t input : kernels_[kernel].inputs) {
        ++edges_;
        if (++edges > kFewEdges && edges_ > kEdgesMax) return true;
        const std::uint32_t before = kernel_of(input);
        if (before == kernel) continue;
        if (before == from && kernel != to) return true;
        const bool too_early = kernels_[before].last < first;
        if (before == from || too_early || kernels_[before].seen == search_) continue;
        kernels_[before].seen = search_;
        open_.push_back(before);
      }
    }
    return false;
  }

  const Program& program_;
  std::vector<std::uint32_t> parent_;  // by step, towards the root of its kernel
  std::vector<Set> kernels_;           // by root
  std::vector<std::uint32_t> open_;    // of the search
  std::uint64_t search_ = 0, edges_ = 0;
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
  EXAWARP_CHECK(out.size() == kernels.size(), out.size(), kernels.size());  // else: a cycle
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
    EXAWARP_CHECK(step.inputs.size() == step.reads.size(), index, step.inputs.size());
    for (std::size_t i = 0; i < step.inputs.size(); ++i)
      if (step.inputs[i] == kArgument || owner[step.inputs[i]] != self)
        read.emplace(step.reads[i].key, step.reads[i].bytes);
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
