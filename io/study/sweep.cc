// The file by its table of keys; its points are found in io/study/sweep_points.cc.
#include "io/study/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/digest.h"
#include "core/error.h"
#include "io/study/expression.h"
#include "io/study/file_kinds.h"
#include "io/study/find_config.h"
#include "io/study/folder_name.h"
#include "io/study/in_file.h"
#include "io/study/study.h"
#include "io/study/suggest.h"
#include "io/study/sweep_points.h"
#include "model/compute/kernel_tables.h"

namespace exawarp::io {
namespace {

constexpr std::size_t kAxesMax = 100;
constexpr std::size_t kRangeMax = 10'000;  // values
constexpr RealRange kAnyNumber{.min = -1e15, .max = 1e15};
constexpr core::Named<bool> kMemoryNames[] = {{"fits", false}, {"ignore", true}};
constexpr std::span<const core::Named<bool>> kMemory = kMemoryNames;

// {from: 2, to: 32, factor: 2}
struct ValueRange {
  double from = 0, to = 0;
  double step = 1;
  double factor = 1;  // 1: by steps
};

const Keys<ValueRange>& range_keys() {
  using S = ValueRange;
  using K = Keys<S>;
  static const K keys("sweep.range", "Numbers from one to another.",
                      {K::real("from", &S::from, kAnyNumber, "the first").required(),
                       K::real("to", &S::to, kAnyNumber, "none is above it").required(),
                       K::real("step", &S::step, {.min = 0, .max = 1e15, .min_excluded = true},
                               "each is by so much above the one before"),
                       K::real("factor", &S::factor, {.min = 1, .max = 1e15, .min_excluded = true},
                               "each is so many times the one before")
                           .otherwise("none: by steps")},
                      {{.keys = {"step", "factor"}, .required = false}});
  return keys;
}

std::vector<std::string> values_of(const YamlSection& section, const ValueRange& range) {
  const bool by_factor = section.has("factor");
  if (by_factor && section.has("step")) {
    section.fail("factor", "is given beside step; expected one of them");
  }
  if (by_factor && !(range.from > 0)) section.fail("from", "is not above 0, as a factor needs");
  if (range.to < range.from) section.fail("to", "is below from");
  const double last = range.to + 1e-9 * std::abs(range.to);  // sums of steps are rounded
  std::vector<std::string> values;
  for (double value = range.from; value <= last;) {
    values.push_back(fmt::format("{:.12g}", value));
    if (values.size() > kRangeMax) {
      section.fail("to", fmt::format("is too far off: more than {} values", kRangeMax));
    }
    const auto number = static_cast<double>(values.size());
    value = by_factor ? value * range.factor : range.from + number * range.step;
  }
  return values;
}

const SectionSchema& axes_schema() {
  static const SectionSchema schema{
      .name = "sweep.over",
      .meaning = "Keys of the study, `path.to.key`, and what each is in turn.",
      .keys = {},
      .others = {ValueShape::list_of(ValueShape::text()),
                 ValueShape::mapping(range_keys().schema())}};
  return schema;
}

const SectionSchema& point_schema() {
  static const SectionSchema schema{.name = "sweep.point",
                                    .meaning = "Keys of the study, and what each is.",
                                    .keys = {},
                                    .others = {ValueShape::text()}};
  return schema;
}

const SectionSchema& names_schema() {
  static const SectionSchema schema{.name = "sweep.as",
                                    .meaning = "Names of the writer's choice, each for a key.",
                                    .keys = {},
                                    .others = {ValueShape::text()}};
  return schema;
}

// A file beside the sweep's own, where there is one; else as it is.
std::string from_here(const std::string& file, const std::string& value) {
  if (!value.ends_with(".yaml") && !value.ends_with(".xwg")) return value;
  const std::filesystem::path beside = std::filesystem::path(file).parent_path() / value;
  std::error_code ignored;
  return std::filesystem::exists(beside, ignored) ? beside.lexically_normal().string() : value;
}

void add_value(const YamlSection& section, const std::string& key, const std::string& value,
               const Sweep& sweep, SweepAxis& axis) {
  if (value.empty()) section.fail(key, "has an empty value; expected what --set takes");
  axis.values.push_back(from_here(sweep.file, value));
}

void read_axes(const YamlSection& root, Sweep& out, const KeySchema& key) {
  if (!root.has(key.name)) return;
  const YamlSection over = root.section(key.name);
  for (const std::string& path : over.keys()) {
    SweepAxis& axis = out.axes.emplace_back(SweepAxis{.key = path, .values = {}});
    const bool listed = over.has_list(path) || over.has_text(path);
    const auto range = [&] {
      const YamlSection section = over.section(path);
      return values_of(section, range_keys().read(section));
    };
    for (const std::string& value : listed ? over.texts(path) : range()) {
      add_value(over, path, value, out, axis);
    }
    if (axis.values.empty()) over.fail(path, "has no values; expected at least one");
  }
  if (out.axes.empty() || out.axes.size() > kAxesMax) {
    root.fail(key.name, fmt::format("has {} keys; expected 1 to {}", out.axes.size(), kAxesMax));
  }
}

// Points one by one are a list of the values of each key.
void read_points(const YamlSection& root, Sweep& out, const KeySchema& key) {
  if (root.has(key.name) == root.has("over")) {
    root.fail(key.name, "and over: expected one of the two");
  }
  if (!root.has(key.name)) return;
  if (root.has("how")) root.fail("how", "is for over; points are simulated as they are listed");
  out.order = SweepOrder::list;
  for (const YamlSection& point : root.sections(key.name)) {
    const std::vector<std::string> keys = point.keys();
    if (out.axes.empty()) {
      for (const std::string& name : keys) out.axes.push_back({.key = name, .values = {}});
    }
    if (keys.size() != out.axes.size()) {
      root.fail(key.name, "have unlike keys; expected those of the first one in all of them");
    }
    for (SweepAxis& axis : out.axes) {
      add_value(point, axis.key, point.text(axis.key), out, axis);
    }
  }
  if (out.axes.empty()) root.fail(key.name, "has no values; expected at least one point");
}

void read_names(const YamlSection& root, Sweep& out, const KeySchema& key) {
  if (!root.has(key.name)) return;
  const YamlSection names = root.section(key.name);
  for (const std::string& name : names.keys()) {
    if (!Expression::is_name(name)) {
      names.fail(name, "is no name; expected a letter, then letters, digits and \"_\"");
    }
    out.names.emplace_back(name, names.text(name));
  }
}

// What of the table can be checked only when all of it is read.
void check_order(const YamlSection& root, Sweep& out) {
  if (out.order != SweepOrder::list) return;
  const std::size_t points = out.axes.front().values.size();
  const auto other = std::ranges::find_if(
      out.axes, [points](const SweepAxis& axis) { return axis.values.size() != points; });
  if (other == out.axes.end()) return;
  root.fail("over." + other->key,
            fmt::format("has {} values, and {} has {}; expected as many in a list",
                        other->values.size(), in_quotes(out.axes.front().key), points));
}

}  // namespace

std::string study_file_at(const YamlSection& root, const std::string& key) {
  if (!root.has(key)) return root.text(key);  // named among all that is missing
  const std::string beside = root.path(key);
  std::error_code ignored;
  if (std::filesystem::is_regular_file(beside, ignored)) return beside;
  try {
    return find_config(root.text(key), kStudyFolders);
  } catch (const core::InputError& error) {
    root.fail(key, error.what());
  }
}

std::vector<std::string> settings_at(const YamlSection& root, const std::string& key,
                                     const std::string& file) {
  std::vector<std::string> out;
  for (const std::string& setting : root.texts(key, std::vector<std::string>{})) {
    const std::size_t value = setting.find('=') + 1;  // 0 where there is none, for --set to refuse
    out.push_back(setting.substr(0, value) + from_here(file, setting.substr(value)));
  }
  return out;
}

Study study_with(const YamlSection& root, const std::string& file,
                 const std::vector<std::string>& overrides) {
  try {
    return in_file(file, [&] { return read_study(file, overrides); });
  } catch (const core::InputError& error) {
    constexpr std::string_view kOption = "--set ";
    std::string_view what = error.what();
    if (!what.starts_with(kOption)) throw;
    what.remove_prefix(kOption.size());
    for (const std::string& setting : root.texts("set", std::vector<std::string>{})) {
      if (what.starts_with(setting.substr(0, setting.find('=')) + ":")) {
        root.fail("set", std::string(what));
      }
    }
    throw;
  }
}

const Keys<Sweep>& sweep_keys() {
  using S = Sweep;
  using K = Keys<S>;
  static const auto study = [](const YamlSection& root, S& out, const KeySchema& key) {
    out.study_file = study_file_at(root, key.name);
  };
  static const auto set = [](const YamlSection& root, S& out, const KeySchema& key) {
    out.overrides = settings_at(root, key.name, out.file);
  };
  static const K keys(
      "sweep", "One study at many points, for `exawarp sweep`: docs/guide/sweeps.md.",
      {K::custom("sweep", {ValueShape::text()}, "its name: letters, digits, `_`, `-`, `.`",
                 [](const YamlSection& root, S& out, const KeySchema& key) {
                   out.name = read_folder_name(root, key.name);
                 })
           .required(),
       K::note("description"), K::note("source"),
       K::custom("study", {ValueShape::text()}, "a file, or a name in configs/studies", study)
           .required(),
       K::custom("set", {ValueShape::list_of(ValueShape::text())},
                 "replace keys at every point: `path.to.key=value`", set),
       K::custom("over", {ValueShape::mapping(axes_schema())}, "what points differ in", read_axes),
       K::custom("points", {ValueShape::list_of(ValueShape::mapping(point_schema()))},
                 "the same, point by point: each has all keys", read_points),
       K::choice("how", &S::order,
                 "`grid`: every combination; `list`: the first of all values, then the second, and "
                 "so on; `random`: some of the combinations"),
       K::integer("samples", &S::samples, {1, kSweepPointsMax},
                  "points drawn of those that hold the conditions; all, where there are fewer")
           .required()
           .only_if("how", {"random"}),
       K::integer("seed", &S::seed, {}, "of what is drawn").only_if("how", {"random"}),
       K::texts("where", &S::where,
                "conditions that a point has to hold, e.g. `tensor * data = devices`"),
       K::custom("as", {ValueShape::mapping(names_schema())}, "names for keys, in conditions",
                 read_names),
       K::choice("memory", &S::ignore_memory, kMemory,
                 "`fits`: what does not fit the accelerator is not simulated"),
       K::then(check_order)},
      {{.keys = {"over", "points"}}});
  return keys;
}

void keep_tables(const Study& base, Sweep& sweep) {
  const model::Accelerator& a = base.system.accelerator;
  for (const auto& tables : {a.tables, a.power_tables}) {
    if (tables == nullptr) continue;
    tables->read_all();
    sweep.tables.push_back(tables);
  }
}

void share_tables(const Sweep& sweep, Study& point) {
  model::Accelerator& a = point.system.accelerator;
  for (auto* own : {&a.tables, &a.power_tables}) {
    for (const auto& tables : sweep.tables) {
      if (*own != nullptr && (*own)->folder() == tables->folder()) *own = tables;
    }
  }
}

std::vector<std::string> overrides_of(const Sweep& sweep, const std::vector<std::string>& point) {
  std::vector<std::string> all = sweep.overrides;
  if (sweep.ignore_memory) all.emplace_back("memory.ignore=true");
  for (std::size_t i = 0; i < point.size(); ++i) {
    all.push_back(fmt::format("{}={}", sweep.axes[i].key, point[i]));
  }
  return all;
}

std::string sweep_identity(const Sweep& sweep, const std::string& study_hash) {
  core::Hasher hash;
  const auto add = [&hash](const std::string& text) { hash.bytes(text.data(), text.size()); };
  add(study_hash);
  for (const std::vector<std::string>& point : sweep.points) {
    for (const std::string& setting : overrides_of(sweep, point)) add(setting);
  }
  return core::to_hex({hash.value()});
}

Sweep read_sweep(const std::string& path, const std::vector<std::string>& overrides) {
  YamlDocument document(path);
  const YamlSection root = document.root();
  expect_kind(FileKind::sweep, root, path);
  Sweep out;
  out.file = path;
  out = sweep_keys().read(root, std::move(out));
  document.finish();
  out.overrides.insert(out.overrides.end(), overrides.begin(), overrides.end());
  const Study base = study_with(root, out.study_file, overrides_of(out, {}));
  out.points = points_of(out, base, root.where("where"));
  out.text = document.resolved().text;
  out.identity = sweep_identity(out, base.resolved.hash);
  keep_tables(base, out);
  return out;
}

}  // namespace exawarp::io
