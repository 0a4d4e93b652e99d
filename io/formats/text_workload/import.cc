// Turns layers into one program: forward through all of them, backward in reverse, each with its
// collectives on streams by role, as often as there are passes.
#include "io/formats/text_workload/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "core/error.h"
#include "io/formats/text_workload/reader.h"
#include "io/study/text_file.h"
#include "model/workload/builder.h"

namespace exawarp::io {
namespace {

using core::InputError;
namespace schema = model::schema;

constexpr std::uint64_t kNodesMax = 1u << 26;

// One program for all ranks: passes of forward, backward, and updates as late as possible, since a
// layer's update only has to precede its next forward pass. Collectives of each role have a stream
// of their own, so that a late gradient does not hold up what the next layer waits for.
class Emitter {
 public:
  Emitter(const TextWorkload& in, const std::string& path, const TextImportOptions& options)
      : in_(in), path_(path), options_(options), workload_(stem(path)) {
    make_groups();
    program_ = &workload_.add_program("every rank");
    compute_ = program_->add_stream("compute", schema::StreamKind::COMPUTE);
    for (const char* role : kRoles) {
      program_->add_stream(role, schema::StreamKind::COMMUNICATION);
    }
    last_.resize(in.layers.size());
  }

  model::WorkloadGraph run() {
    const std::uint64_t nodes = std::uint64_t{options_.passes} * in_.layers.size() * 8;
    if (nodes > kNodesMax) throw InputError(path_, "has too many layers for so many passes");
    for (std::uint32_t pass = 0; pass < options_.passes; ++pass) {
      if (in_.parallelism == TextParallelism::micro) {
        for (std::uint32_t i = 0; i < in_.layers.size(); ++i) {
          collect(i, kWeight, in_.layers[i].weight_gradient, kNone);
        }
        continue;
      }
      for (std::uint32_t i = 0; i < in_.layers.size(); ++i) forward(i, false);
      for (auto i = static_cast<std::uint32_t>(in_.layers.size()); i-- > 0;) backward(i);
    }
    if (in_.parallelism != TextParallelism::micro) {
      for (std::uint32_t i = 0; i < in_.layers.size(); ++i) update(i);
    }
    workload_.bind_range(0, {.axis = 0, .first = 0, .count = axis_size_});
    return workload_.build();
  }

 private:
  enum Role : std::uint8_t { kForward, kInput, kWeight };
  static constexpr const char* kRoles[] = {"forward", "input gradients", "weight gradients"};
  static constexpr std::uint32_t kNone = 0xffffffff;

  struct LayerState {
    std::uint32_t forward = kNone, input = kNone, weight = kNone;  // collectives, or computations
    bool to_update = false;
  };

  static std::string stem(const std::string& path) {
    return std::filesystem::path(path).stem().string();
  }

  // Axes and groups: "model" nearest, except for HYBRID_DATA_MODEL.
  void make_groups() {
    const bool whole_model = in_.parallelism == TextParallelism::model;
    const bool needs_size = in_.parallelism == TextParallelism::hybrid_data_model ||
                            in_.parallelism == TextParallelism::hybrid_model_data ||
                            in_.parallelism == TextParallelism::hybrid_customized;
    std::uint32_t size =
        options_.model_parallel != 0 ? options_.model_parallel : in_.model_parallel_size;
    if (size == 0 && needs_size) {
      throw InputError(path_,
                       "does not say how many ranks share a model; expected "
                       "--model-parallel N");
    }
    if (size == 0) size = whole_model ? options_.ranks : 1;
    if (options_.ranks % size != 0) {
      throw InputError(path_, fmt::format("{} ranks are no multiple of model-parallel groups of {}",
                                          options_.ranks, size));
    }
    const bool data_nearest = in_.parallelism == TextParallelism::hybrid_data_model;
    const std::uint32_t data_size = options_.ranks / size;
    const std::uint8_t first =
        workload_.add_axis(data_nearest ? "data" : "model", data_nearest ? data_size : size);
    const std::uint8_t second =
        workload_.add_axis(data_nearest ? "model" : "data", data_nearest ? size : data_size);
    axis_size_ = data_nearest ? data_size : size;
    all_axes_ = {first, second};
    model_axes_ = {data_nearest ? second : first};
    data_axes_ = {data_nearest ? first : second};
  }

  // Each role has communicators of its own, as it has a stream of its own.
  std::uint16_t group_of(const TextLayer& layer, Role role) {
    const bool hybrid = layer.parallelism != TextParallelism::micro &&
                        layer.parallelism != TextParallelism::data &&
                        layer.parallelism != TextParallelism::model &&
                        layer.parallelism != TextParallelism::hybrid_dlrm;
    const std::vector<std::uint8_t>& axes = !hybrid           ? all_axes_
                                            : role == kWeight ? data_axes_
                                                              : model_axes_;
    const auto [at, is_new] = groups_.try_emplace({axes, role}, std::uint16_t{0});
    if (is_new) {
      const char* const over = !hybrid ? "all ranks" : role == kWeight ? "data" : "model";
      at->second = workload_.add_group(fmt::format("{}, {}", over, kRoles[role]), axes);
    }
    return at->second;
  }

  std::uint32_t compute(std::uint32_t layer, const char* what, std::uint64_t cycles,
                        schema::Phase phase, std::initializer_list<std::uint32_t> after) {
    model::NodeFields fields;
    fields.stream = compute_;
    fields.phase = phase;
    fields.layer = static_cast<std::uint16_t>(layer);
    fields.name = workload_.name(in_.layers[layer].name + " " + what);
    fields.duration_ps = cycles * static_cast<std::uint64_t>(options_.cycle_ps);
    return add(fields, after);
  }

  // The collective, or where there is none what it would follow.
  std::uint32_t collect(std::uint32_t layer, Role role, const TextPass& pass, std::uint32_t after) {
    if (!pass.collective) return after;
    model::NodeFields fields;
    fields.kind = schema::NodeKind::COLLECTIVE;
    fields.stream = static_cast<std::uint8_t>(1 + role);
    fields.collective = *pass.collective;
    fields.group = group_of(in_.layers[layer], role);
    fields.comm_bytes = pass.bytes;
    fields.phase = role == kForward ? schema::Phase::FORWARD : schema::Phase::BACKWARD;
    fields.layer = static_cast<std::uint16_t>(layer);
    fields.name =
        workload_.name(fmt::format("{} collective: {}", in_.layers[layer].name, kRoles[role]));
    return add(fields, {after});
  }

  std::uint32_t add(const model::NodeFields& fields, std::initializer_list<std::uint32_t> after) {
    std::vector<std::uint32_t> dependencies;
    for (const std::uint32_t node : after) {
      if (node != kNone) dependencies.push_back(node);
    }
    std::ranges::sort(dependencies);
    dependencies.erase(std::unique(dependencies.begin(), dependencies.end()), dependencies.end());
    return program_->add_node(fields, dependencies);
  }

  void forward(std::uint32_t i, bool again) {
    const TextLayer& layer = in_.layers[i];
    if (!again) update(i);
    const bool dlrm = in_.parallelism == TextParallelism::hybrid_dlrm;
    // The embedding's exchange overlaps the bottom layers.
    const bool joins = dlrm && i == in_.last_bottom_layer + 1;
    const std::uint32_t before = i == 0 || (dlrm && i == 1) ? kNone : last_[i - 1].forward;
    const std::uint32_t done = compute(i, again ? "recomputation" : "forward", layer.forward.cycles,
                                       again ? schema::Phase::BACKWARD : schema::Phase::FORWARD,
                                       {before, joins ? last_[0].forward : kNone});
    last_[i].forward = collect(i, kForward, layer.forward, done);
  }

  void backward(std::uint32_t i) {
    if (in_.layers[i].initiates_recomputation) {
      std::uint32_t first = i;
      while (first > 0 && !in_.layers[first].checkpoint) --first;
      for (std::uint32_t k = first; k <= i; ++k) forward(k, true);
    }
    const bool weights_first = in_.layers[i].parallelism == TextParallelism::data ||
                               in_.layers[i].parallelism == TextParallelism::hybrid_dlrm;
    if (weights_first) {
      weight_gradient(i, before_backward(i));
      if (i > 0) input_gradient(i, kNone);
    } else {
      input_gradient(i, before_backward(i));
      weight_gradient(i, kNone);
    }
  }

  [[nodiscard]] std::uint32_t before_backward(std::uint32_t i) const {
    const bool last = i + 1 == in_.layers.size();
    if (in_.parallelism == TextParallelism::hybrid_dlrm) {
      return i == 0 ? last_[0].input : kNone;
    }
    return last || in_.layers[i].initiates_recomputation ? last_[i].forward : last_[i + 1].input;
  }

  void input_gradient(std::uint32_t i, std::uint32_t after) {
    const TextPass& pass = in_.layers[i].input_gradient;
    const std::uint32_t done =
        compute(i, "input gradient", pass.cycles, schema::Phase::BACKWARD, {after});
    if (in_.parallelism == TextParallelism::hybrid_dlrm) {
      // The gradient of the exchange goes back as soon as the top layers are done.
      if (i == in_.last_bottom_layer + 1) {
        last_[0].input = collect(0, kInput, in_.layers[0].input_gradient, done);
      }
      return;
    }
    last_[i].input = i == 0 ? done : collect(i, kInput, pass, done);
  }

  void weight_gradient(std::uint32_t i, std::uint32_t after) {
    const TextPass& pass = in_.layers[i].weight_gradient;
    const std::uint32_t done =
        compute(i, "weight gradient", pass.cycles, schema::Phase::BACKWARD, {after});
    last_[i].weight = collect(i, kWeight, pass, done);
    last_[i].to_update = true;
  }

  void update(std::uint32_t i) {
    if (!last_[i].to_update) return;
    last_[i].to_update = false;
    compute(i, "update", in_.layers[i].update_cycles, schema::Phase::OPTIMIZER, {last_[i].weight});
  }

  const TextWorkload& in_;
  const std::string& path_;
  const TextImportOptions& options_;
  model::WorkloadBuilder workload_;
  model::ProgramBuilder* program_ = nullptr;
  std::uint8_t compute_ = 0;
  std::uint32_t axis_size_ = 1;
  std::vector<std::uint8_t> all_axes_, model_axes_, data_axes_;
  std::map<std::pair<std::vector<std::uint8_t>, Role>, std::uint16_t> groups_;
  std::vector<LayerState> last_;  // of each layer
};

}  // namespace

model::WorkloadGraph import_text_workload(const std::string& path,
                                          const TextImportOptions& options) {
  const core::MappedFile file(path);
  const TextWorkload workload = read_text_workload(text_of(file), path);
  return Emitter(workload, path, options).run();
}

}  // namespace exawarp::io
