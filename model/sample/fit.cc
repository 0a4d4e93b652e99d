// Fitting: one pass over the nodes of each program in the order of its graph (dag.h). Each node is
// noted as a step under four contexts, from the closest (where in the program, after which two
// sorts) to the widest (where in the program); drawing takes the closest that occurs.
#include "model/sample/fit.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/error.h"
#include "model/sample/dag.h"

namespace exawarp::model {
namespace {

constexpr double kGrid = 16;        // steps an octave
constexpr std::size_t kLagsMax = 1024;  // of a node; more are left out
constexpr std::uint32_t kBackMax = 4096;

// Numbers things in the order they come up.
template <class Key>
std::uint32_t number_of(std::map<Key, std::uint32_t>& numbers, std::vector<Key>& list,
                        const Key& key) {
  const auto [at, is_new] = numbers.try_emplace(key, static_cast<std::uint32_t>(list.size()));
  if (is_new) list.push_back(key);
  return at->second;
}

struct RawCosts {
  std::vector<std::uint64_t> flops, bytes_read, bytes_written, comm_bytes, duration_ps;
};

class ProgramFit {
 public:
  ProgramFit(const WorkloadGraph& graph, std::uint32_t program)
      : graph_(graph), program_(graph.program(program)) {
    for (std::uint32_t d = 0; d < graph.device_count(); ++d) {
      if (graph.program_of({d}) != program) continue;
      device_ = {d};
      break;
    }
  }

  ProgramModel run() {
    const ProgramDag dag = program_dag(program_);
    model_.devices = graph_.device_count();
    model_.nodes = program_.node_count();
    for (std::uint32_t s = 0; s < program_.stream_count(); ++s) {
      model_.streams.push_back(program_.stream(s).getKind());
    }
    issued_.assign(program_.stream_count(), 0);
    std::uint32_t last = kNoSort, before_last = kNoSort;
    for (std::uint64_t i = 0; i < dag.order.size(); ++i) {
      const std::uint32_t node = dag.order[i];
      const Step step{number_of(sort_numbers_, model_.sorts, sort_of(program_.node(node))),
                      number_of(lag_numbers_, model_.lags, lags_of(node, dag.before[node]))};
      note(step, static_cast<std::uint32_t>(i * kSegments / model_.nodes), last, before_last);
      add_costs(step.sort, program_.node(node));
      ++issued_[program_.node(node).getStream()];
      before_last = last;
      last = step.sort;
    }
    for (RawCosts& raw : raw_) {
      model_.costs.push_back({Costs(std::move(raw.flops)), Costs(std::move(raw.bytes_read)),
                              Costs(std::move(raw.bytes_written)),
                              Costs(std::move(raw.comm_bytes)),
                              Costs(std::move(raw.duration_ps))});
    }
    return std::move(model_);
  }

 private:
  [[nodiscard]] NodeSort sort_of(const schema::Node::Reader& node) const {
    NodeSort sort{.kind = node.getKind(), .stream = node.getStream(), .phase = node.getPhase(),
                  .data_type = node.getDataType(),
                  .timed = node.getDurationPs() != schema::NO_DURATION};
    if (node.getKind() == schema::NodeKind::COMPUTE) sort.operation = node.getOperation();
    if (node.getKind() == schema::NodeKind::MEMORY) sort.place = node.getPlace();
    if (node.getKind() == schema::NodeKind::COLLECTIVE) {
      sort.collective = node.getCollective();
      sort.members = graph_.membership(node.getGroup(), device_).size;
      sort.spread = sort.members > 1 && graph_.member(node.getGroup(), device_, 1).value !=
                                            graph_.member(node.getGroup(), device_, 0).value + 1;
    }
    return sort;
  }

  // Of what a node comes after: how many nodes of that stream have been issued since.
  [[nodiscard]] Lags lags_of(std::uint32_t index, const std::vector<std::uint32_t>& before) const {
    const schema::Node::Reader node = program_.node(index);
    Lags lags;
    for (const std::uint32_t on : before) {
      const schema::Node::Reader other = program_.node(on);
      const std::uint32_t back = issued_[other.getStream()] - 1 - other.getPosition();
      if (other.getStream() == node.getStream() && back == 0) continue;  // its stream's order
      lags.push_back({other.getStream(), std::min(back, kBackMax)});
    }
    std::ranges::sort(lags, {}, &Lag::back);
    if (lags.size() > kLagsMax) lags.resize(kLagsMax);
    std::ranges::sort(lags);
    return lags;
  }

  void note(const Step& step, std::uint32_t segment, std::uint32_t last,
            std::uint32_t before_last) {
    const std::uint32_t number = number_of(step_numbers_, model_.steps, step);
    model_.next[{segment, last, before_last, true}].push_back(number);
    model_.next[{kSegments, last, before_last, true}].push_back(number);
    model_.next[{segment, last, kNoSort, false}].push_back(number);
    model_.next[{segment, kNoSort, kNoSort, false}].push_back(number);
  }

  void add_costs(std::uint32_t sort, const schema::Node::Reader& node) {
    if (sort == raw_.size()) raw_.emplace_back();
    RawCosts& raw = raw_[sort];
    raw.flops.push_back(node.getFlops());
    raw.bytes_read.push_back(node.getBytesRead());
    raw.bytes_written.push_back(node.getBytesWritten());
    raw.comm_bytes.push_back(handed_bytes(graph_, node));
    const bool timed = node.getDurationPs() != schema::NO_DURATION;
    raw.duration_ps.push_back(timed ? node.getDurationPs() : 0);
  }

  const WorkloadGraph& graph_;
  const Program& program_;
  DeviceId device_{0};  // the first that runs it
  ProgramModel model_;
  std::vector<std::uint32_t> issued_;  // by stream
  std::vector<RawCosts> raw_;          // by sort
  std::map<NodeSort, std::uint32_t> sort_numbers_;
  std::map<Lags, std::uint32_t> lag_numbers_;
  std::map<Step, std::uint32_t> step_numbers_;
};

// Programs with nodes that some device runs.
std::vector<std::uint32_t> used_programs(const WorkloadGraph& graph) {
  std::vector<bool> bound(graph.program_count());
  for (const BoundRange& range : graph.bound_ranges()) bound[range.program] = true;
  for (const BoundDevice& at : graph.bound_devices()) bound[at.program] = true;
  std::vector<std::uint32_t> used;
  for (std::uint32_t p = 0; p < graph.program_count(); ++p) {
    if (bound[p] && graph.program(p).node_count() > 0) used.push_back(p);
  }
  return used;
}

}  // namespace

Costs::Costs(std::vector<std::uint64_t> values) {
  EXAWARP_CHECK(!values.empty());
  std::ranges::sort(values);
  const auto log2_of = [&](std::size_t i) {
    return std::log2(1.0 + static_cast<double>(values[i]));
  };
  const std::size_t n = values.size();
  for (std::size_t s = 0; s < kSlices; ++s) {
    const std::size_t first = s * n / kSlices;
    const std::size_t end = std::max(first + 1, (s + 1) * n / kSlices);
    double sum = 0, deviation = 0;
    for (std::size_t i = first; i < end; ++i) sum += log2_of(i);
    const double mean = sum / static_cast<double>(end - first);
    for (std::size_t i = first; i < end; ++i) deviation += std::abs(log2_of(i) - mean);
    // What is spread evenly over a width deviates by a quarter of it on average.
    const double half_width = 2 * deviation / static_cast<double>(end - first);
    mean_[s] = static_cast<float>(std::round(mean * kGrid) / kGrid);
    half_width_[s] =
        static_cast<float>(std::max(0.5, std::round(half_width * kGrid)) / kGrid);
  }
}

std::uint64_t Costs::draw(double rank, double place) const {
  const auto slice = static_cast<std::size_t>(rank * static_cast<double>(kSlices));
  EXAWARP_CHECK(slice < kSlices, slice);
  if (mean_[slice] == 0) return 0;
  const double log2 = mean_[slice] + (2 * place - 1) * half_width_[slice];
  constexpr double kLog2Max = 61.9;  // below kSizeMax
  return static_cast<std::uint64_t>(
      std::llround(std::exp2(std::clamp(log2, 0.0, kLog2Max)) - 1.0));
}

const std::vector<std::uint32_t>& ProgramModel::steps_after(std::uint32_t segment,
                                                            std::uint32_t last,
                                                            std::uint32_t before_last) const {
  const StepContext contexts[] = {{segment, last, before_last, true},
                                  {kSegments, last, before_last, true},
                                  {segment, last, kNoSort, false},
                                  {segment, kNoSort, kNoSort, false}};
  for (const StepContext& context : contexts) {
    const auto found = next.find(context);
    if (found != next.end()) return found->second;
  }
  return next.begin()->second;  // a program of fewer nodes than segments
}

SampleModel fit_sample(std::span<const WorkloadGraph> graphs) {
  SampleModel model;
  for (const WorkloadGraph& graph : graphs) {
    const std::vector<std::uint32_t> programs = used_programs(graph);
    if (programs.empty()) {
      throw core::InputError(graph.place(), "no node; expected a graph with at least one");
    }
    for (const std::uint32_t p : programs) {
      model.programs.push_back(ProgramFit(graph, p).run());
      model.programs.back().weight =
          1.0 / (static_cast<double>(graphs.size()) * static_cast<double>(programs.size()));
    }
  }
  return model;
}

}  // namespace exawarp::model
