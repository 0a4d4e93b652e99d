// Each combination of values is tried on the workload's specification alone, which takes
// microseconds: what model::check() refuses is counted by the key that it names, and never becomes
// a point.
#include "io/study/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

#include "core/error.h"
#include "io/study/file_kinds.h"
#include "io/study/folder_name.h"
#include "io/study/numbers.h"
#include "io/study/study.h"
#include "io/study/suggest.h"
#include "io/study/sweep_points.h"
#include "model/generate/transformer.h"

namespace exawarp::io {
namespace {

using model::TransformerSpec;

constexpr const char* kTransformer = "workload.transformer.";
constexpr const char* kData = "workload.transformer.parallel.data";
constexpr const char* kMicroBatch = "micro_batch_sequences";

// Gives a specification the value; false: it is none of such a key.
using Setter = bool (*)(TransformerSpec& spec, const std::string& value);

template <auto Part, auto Member>
bool set_number(TransformerSpec& spec, const std::string& value) {
  const std::optional<std::int64_t> number = number_from<std::int64_t>(value);
  if (number) spec.*Part.*Member = *number;
  return number.has_value();
}

template <auto Part, auto Member>
bool set_choice(TransformerSpec& spec, const std::string& value) {
  auto& member = spec.*Part.*Member;
  const auto choice = core::value_of<std::remove_reference_t<decltype(member)>>(value);
  if (choice) member = *choice;
  return choice.has_value();
}

bool set_micro_batch(TransformerSpec& spec, const std::string& value) {
  const std::optional<std::int64_t> number = number_from<std::int64_t>(value);
  if (number) spec.micro_batch_sequences = *number;
  return number.has_value();
}

// An axis by its short name.
struct Axis {
  const char* name;
  const char* key;  // behind kTransformer
  Setter set;       // null: only the whole study tells
};

constexpr auto kParallel = &TransformerSpec::parallel;
constexpr auto kSchedule = &TransformerSpec::schedule;

constexpr std::array kAxes{
    Axis{"tensor", "parallel.tensor", set_number<kParallel, &model::ParallelSpec::tensor>},
    Axis{"pipeline", "parallel.pipeline", set_number<kParallel, &model::ParallelSpec::pipeline>},
    Axis{"context", "parallel.context", set_number<kParallel, &model::ParallelSpec::context>},
    Axis{"expert", "parallel.expert", set_number<kParallel, &model::ParallelSpec::expert>},
    Axis{"expert_tensor", "parallel.expert_tensor",
         set_number<kParallel, &model::ParallelSpec::expert_tensor>},
    Axis{"sharding", "parallel.sharding", set_choice<kParallel, &model::ParallelSpec::sharding>},
    Axis{"order", "parallel.order", nullptr},
    Axis{"schedule", "schedule.kind", set_choice<kSchedule, &model::ScheduleSpec::kind>},
    Axis{"virtual_stages", "schedule.virtual_stages",
         set_number<kSchedule, &model::ScheduleSpec::virtual_stages>},
    Axis{kMicroBatch, kMicroBatch, set_micro_batch},
    Axis{"recompute", "recompute",
         set_choice<&TransformerSpec::recompute, &model::RecomputeSpec::kind>}};

std::string path_of(const Axis& axis) { return std::string(kTransformer) + axis.key; }

// Null for a key without a short name.
const Axis* axis_by_path(const std::string& path) {
  const auto at = std::ranges::find_if(kAxes, [&](const Axis& a) { return path_of(a) == path; });
  return at == kAxes.end() ? nullptr : &*at;
}

const SectionSchema& layouts_schema() {
  static const SectionSchema schema{
      .name = "search.over",
      .meaning = "What layouts differ in, by a name (docs/guide/search.md) or `path.to.key`.",
      .keys = {},
      .others = {ValueShape::list_of(ValueShape::text())}};
  return schema;
}

std::string path_of_axis(const YamlSection& over, const std::string& name) {
  if (name.find('.') != std::string::npos) return name;
  const auto at = std::ranges::find(kAxes, name, [](const Axis& a) { return std::string(a.name); });
  if (at != kAxes.end()) return path_of(*at);
  std::vector<std::string> names;
  for (const Axis& axis : kAxes) names.emplace_back(axis.name);
  if (name == "data") over.fail(name, "follows from devices and the other axes; expected none");
  over.fail(name, "is nothing that layouts differ in" + did_you_mean(name, names) +
                      "; expected a name that docs/guide/search.md lists, or path.to.key");
}

void read_layouts(const YamlSection& root, Search& out, const KeySchema& key) {
  const YamlSection over = root.section(key.name);
  for (const std::string& name : over.keys()) {
    SweepAxis axis{.key = path_of_axis(over, name), .values = over.texts(name)};
    if (axis.key == kData) {
      over.fail(name, "follows from devices and the other axes; expected none");
    }
    if (std::ranges::find(out.sweep.axes, axis.key, &SweepAxis::key) != out.sweep.axes.end()) {
      over.fail(name, "is there twice, under two names; expected one");
    }
    if (axis.values.empty()) over.fail(name, "has no values; expected at least one");
    const Axis* const known = axis_by_path(axis.key);
    TransformerSpec scratch;
    for (const std::string& value : axis.values) {
      const bool sound = known == nullptr || known->set == nullptr || known->set(scratch, value);
      if (value.empty() || !sound) {
        over.fail(name, in_quotes(value) + " is no value of it; expected what --set takes");
      }
    }
    out.sweep.axes.push_back(std::move(axis));
  }
  if (out.sweep.axes.empty()) root.fail(key.name, "has no keys; expected at least one");
}

void read_search_name(const YamlSection& root, Search& out, const KeySchema& key) {
  out.sweep.name = read_folder_name(root, key.name);
}

const TransformerSpec& transformer_of(const Study& study, const std::string& place) {
  const auto* spec =
      study.jobs.size() == 1 ? std::get_if<WorkloadSpec>(&study.jobs.front().workload) : nullptr;
  const auto* transformer = spec == nullptr ? nullptr : std::get_if<TransformerSpec>(spec);
  if (transformer == nullptr) {
    throw core::InputError(place, "\"" + study.name +
                                      "\" is no study of one training job; "
                                      "expected a workload with \"transformer\"");
  }
  return *transformer;
}

// Tries combinations, and keeps those that can be.
class Layouts {
 public:
  Layouts(Search& search, const TransformerSpec& base) : search_(search), base_(base) {
    for (const SweepAxis& axis : search.sweep.axes) axes_.push_back(axis_by_path(axis.key));
  }

  // All combinations, the last axis fastest.
  void collect() {
    collect(0, base_);
    search_.sweep.axes.push_back({.key = kData, .values = {}});
  }
  [[nodiscard]] std::vector<std::vector<std::string>>& layouts() { return layouts_; }

 private:
  void collect(std::size_t axis, const TransformerSpec& spec) {
    if (axis == axes_.size()) {
      for (const std::uint32_t devices : search_.devices) add(spec, devices);
      return;
    }
    for (const std::string& value : search_.sweep.axes[axis].values) {
      TransformerSpec next = spec;
      if (axes_[axis] != nullptr && axes_[axis]->set != nullptr) axes_[axis]->set(next, value);
      values_.push_back(value);
      collect(axis + 1, next);
      values_.pop_back();
    }
  }

  void add(TransformerSpec spec, std::uint32_t devices) {
    ++search_.combinations;
    const model::ParallelSpec& p = spec.parallel;
    std::int64_t rest = devices;
    for (const std::int64_t part : {p.tensor, p.pipeline, p.context}) {
      if (part < 1 || rest % part != 0) {
        ++search_.impossible["devices"];
        return;
      }
      rest /= part;
    }
    spec.parallel.data = rest;
    try {
      model::check(spec);
    } catch (const model::SpecProblem& problem) {
      ++search_.impossible[problem.key];
      return;
    }
    layouts_.push_back(values_);
    layouts_.back().push_back(std::to_string(rest));
  }

  Search& search_;
  const TransformerSpec& base_;
  std::vector<const Axis*> axes_;
  std::vector<std::string> values_;
  std::vector<std::vector<std::string>> layouts_;
};

void check_size(const Search& search) {
  std::size_t count = search.devices.size();
  for (const SweepAxis& axis : search.sweep.axes) {
    count *= axis.values.size();
    if (count > kSweepCombinationsMax) {
      throw core::InputError(search.sweep.file,
                             fmt::format("has more than {} combinations of values; expected fewer, "
                                         "or several searches",
                                         kSweepCombinationsMax));
    }
  }
}

std::string impossible_text(const Search& search) {
  std::string out;
  for (const auto& [key, count] : search.impossible) {
    out += fmt::format("{}{} by {}", out.empty() ? "" : ", ", count, key);
  }
  return out;
}

// What is left by the conditions, which see layouts as a list.
void find_points(Search& search, const Study& base, const YamlSection& root) {
  check_size(search);
  Layouts layouts(search, transformer_of(base, root.where("study")));
  layouts.collect();
  if (layouts.layouts().empty()) {
    throw core::InputError(root.where("over"),
                           fmt::format("none of {} combinations of values is possible: {}; "
                                       "expected some that are",
                                       search.combinations, impossible_text(search)));
  }
  Sweep& sweep = search.sweep;
  for (std::size_t axis = 0; axis < sweep.axes.size(); ++axis) {
    sweep.axes[axis].values.clear();
    for (const auto& layout : layouts.layouts()) sweep.axes[axis].values.push_back(layout[axis]);
  }
  sweep.order = SweepOrder::list;
  sweep.points = points_of(sweep, base, root.where("where"));
  const std::size_t refused = layouts.layouts().size() - sweep.points.size();
  if (refused != 0) search.impossible["where"] += refused;
}

Sweep simulated_at(const Search& search, VerifyFidelity fidelity,
                   std::vector<std::vector<std::string>> points) {
  Sweep out = search.sweep;
  const std::string name(core::name_of(fidelity));
  out.name += "." + name;
  const bool folded = fidelity == VerifyFidelity::folded_message;
  out.overrides.insert(out.overrides.end(), {"network.fidelity=" + (folded ? "message" : name),
                                             folded ? "fold=replicas" : "fold=none"});
  out.points = std::move(points);
  out.identity = sweep_identity(out, search.sweep.identity);
  return out;
}

}  // namespace

const Keys<Search>& search_keys() {
  using S = Search;
  using K = Keys<S>;
  static const auto where = [](const YamlSection& root, S& out, const KeySchema& key) {
    out.sweep.where = root.texts(key.name, std::vector<std::string>{});
  };
  static const auto set = [](const YamlSection& root, S& out, const KeySchema& key) {
    out.sweep.overrides = settings_at(root, key.name, out.sweep.file);
  };
  static const auto study = [](const YamlSection& root, S& out, const KeySchema& key) {
    out.sweep.study_file = study_file_at(root, key.name);
  };
  static const K keys(
      "search", "All layouts of a training job, for `exawarp search`: docs/guide/search.md.",
      {K::custom("search", {ValueShape::text()}, "its name: letters, digits, `_`, `-`, `.`",
                 read_search_name)
           .required(),
       K::note("description"), K::note("source"),
       K::custom("study", {ValueShape::text()},
                 "model, cluster and batch: a file, or a name in configs/studies", study)
           .required(),
       K::custom("set", {ValueShape::list_of(ValueShape::text())},
                 "replace keys of the study: `path.to.key=value`", set),
       K::integers("devices", &S::devices, {1, 1 << 24}, "how many devices; several: each is tried")
           .required(),
       K::custom("over", {ValueShape::mapping(layouts_schema())}, "what layouts differ in",
                 read_layouts)
           .required(),
       K::custom("where", {ValueShape::list_of(ValueShape::text())},
                 "conditions that a layout has to hold, as in a sweep", where),
       K::integer("look_again", &S::look_again, {0, 100'000},
                  "at most so many have a second look, folded at `message`, before the best are "
                  "chosen; 0: none"),
       K::integer("best", &S::best, {0, 1000},
                  "so many of the best are verified: simulated once more"),
       K::choice("verify", &S::fidelity,
                 "how: device by device at this `network.fidelity`; or folded at `message`, as the "
                 "second look has done")});
  return keys;
}

Search read_search(const std::string& path, const std::vector<std::string>& overrides) {
  YamlDocument document(path);
  const YamlSection root = document.root();
  expect_kind(FileKind::search, root, path);
  Search out;
  out.sweep.file = path;
  out = search_keys().read(root, std::move(out));
  document.finish();
  if (out.devices.empty()) root.fail("devices", "is empty; expected at least one number");
  Sweep& sweep = out.sweep;
  // So the first look differs less from what contention makes of layouts (docs/guide/search.md);
  // who wants the other one says so.
  sweep.overrides.insert(sweep.overrides.begin(), "network.share_interfaces=true");
  sweep.overrides.insert(sweep.overrides.end(), overrides.begin(), overrides.end());
  sweep.overrides.insert(sweep.overrides.end(), {"network.fidelity=analytical", "fold=auto"});
  const Study base = study_with(root, sweep.study_file, sweep.overrides);
  find_points(out, base, root);
  sweep.text = document.resolved().text;
  sweep.identity = sweep_identity(sweep, base.resolved.hash);
  keep_tables(base, sweep);
  return out;
}

std::uint32_t second_looks(const Search& search) {
  const bool none = search.look_again == 0 || search.best == 0;
  return none ? 0 : std::max(search.look_again, search.best);
}

Sweep second_look_of(const Search& search, std::vector<std::vector<std::string>> points) {
  return simulated_at(search, VerifyFidelity::folded_message, std::move(points));
}

Sweep verification_of(const Search& search, std::vector<std::vector<std::string>> points) {
  return simulated_at(search, search.fidelity, std::move(points));
}

}  // namespace exawarp::io
