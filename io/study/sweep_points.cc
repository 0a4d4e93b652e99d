// Combinations are numbered, so that those that hold the conditions are a list of numbers, of which
// a random sweep draws some.
#include "io/study/sweep_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "core/random.h"
#include "io/study/expression.h"
#include "io/study/numbers.h"
#include "io/study/study_cluster.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

// Which value of each axis.
using Indices = std::vector<std::size_t>;

// What a condition may name: a number that points differ in, or one of the study.
struct Name {
  std::string name;
  std::optional<std::size_t> axis;
  double value = 0;  // without `axis`
};

constexpr const char* kDevices = "devices";  // of the study as it stands, or its key

std::string last_part(const std::string& key) { return key.substr(key.rfind('.') + 1); }

// The names of all whose number is known: each key in full, then by its last part, which is that of
// no other. An axis goes before the study's keys.
class Names {
 public:
  Names(const Sweep& sweep, const Study& base) {
    for (std::size_t axis = 0; axis < sweep.axes.size(); ++axis) {
      if (is_numeric(sweep.axes[axis])) known_.push_back({sweep.axes[axis].key, axis});
    }
    shorten(0);
    const std::size_t axes = known_.size();
    for (const Setting& setting : base.settings) {
      const std::optional<double> value = number_from<double>(setting.value);
      if (value && find(setting.key) == nullptr) known_.push_back({setting.key, {}, *value});
    }
    shorten(axes);
    for (const auto& [name, key] : sweep.names) add_alias(sweep.file, name, key);
    if (find(kDevices) == nullptr) known_.push_back({kDevices, {}});
  }

  [[nodiscard]] const std::vector<Name>& all() const { return known_; }
  [[nodiscard]] std::vector<Name>& all() { return known_; }
  [[nodiscard]] std::vector<std::string> texts() const {
    std::vector<std::string> out;
    for (const Name& name : known_) out.push_back(name.name);
    return out;
  }

 private:
  static bool is_numeric(const SweepAxis& axis) {
    return std::ranges::all_of(axis.values,
                               [](const auto& v) { return number_from<double>(v).has_value(); });
  }
  [[nodiscard]] const Name* find(const std::string& name) const {
    const auto at = std::ranges::find(known_, name, &Name::name);
    return at == known_.end() ? nullptr : &*at;
  }
  void shorten(std::size_t first) {
    const std::vector<Name> long_names(known_.begin() + static_cast<std::ptrdiff_t>(first),
                                       known_.end());
    for (const Name& name : long_names) {
      Name brief = name;
      brief.name = last_part(name.name);
      const auto so_called = std::ranges::count_if(
          long_names, [&](const Name& other) { return last_part(other.name) == brief.name; });
      if (so_called != 1 || brief.name == kDevices || find(brief.name) != nullptr) continue;
      known_.push_back(std::move(brief));
    }
  }

  void add_alias(const std::string& file, const std::string& name, const std::string& key) {
    const Name* const named = find(key);
    if (named == nullptr) {
      throw core::InputError(fmt::format("{}: key \"as.{}\"", file, name),
                             in_quotes(key) + " is no key that has a number here");
    }
    Name alias = *named;
    alias.name = name;
    std::erase_if(known_, [&](const Name& other) { return other.name == name; });
    known_.push_back(std::move(alias));
  }

  std::vector<Name> known_;
};

// How many combinations there are, and the values of each.
class Combinations {
 public:
  explicit Combinations(const Sweep& sweep) : sweep_(sweep) {
    count_ = sweep.order == SweepOrder::list ? sweep.axes.front().values.size() : 1;
    if (sweep.order == SweepOrder::list) return;
    for (const SweepAxis& axis : sweep.axes) {
      count_ *= axis.values.size();
      if (count_ > kSweepCombinationsMax) {
        throw core::InputError(sweep.file, fmt::format("has more than {} combinations of values; "
                                                       "expected fewer, or several sweeps",
                                                       kSweepCombinationsMax));
      }
    }
  }

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] Indices at(std::size_t number) const {
    Indices out(sweep_.axes.size(), number);
    if (sweep_.order == SweepOrder::list) return out;
    for (std::size_t axis = out.size(); axis-- > 0;) {
      const std::size_t values = sweep_.axes[axis].values.size();
      out[axis] = number % values;
      number /= values;
    }
    return out;
  }

 private:
  const Sweep& sweep_;
  std::size_t count_ = 1;
};

// The conditions of a sweep, ready to be asked about one combination after the other.
class Conditions {
 public:
  Conditions(const Sweep& sweep, const Study& base, const std::string& place)
      : sweep_(sweep), names_(sweep, base) {
    const std::vector<std::string> texts = names_.texts();
    for (const std::string& text : sweep.where) expressions_.emplace_back(text, place, texts);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const bool used = std::ranges::any_of(expressions_, [i](const auto& e) { return e.uses(i); });
      if (texts[i] == kDevices && used) count_devices(names_.all()[i], base);
    }
  }

  bool hold(const Indices& point) {
    values_.clear();
    for (const Name& name : names_.all()) {
      values_.push_back(name.axis ? number(*name.axis, point) : name.value);
    }
    return std::ranges::all_of(expressions_, [&](const auto& e) { return e.holds(values_); });
  }

 private:
  // What the study's jobs need, unless the study or the sweep says how many there are.
  static void count_devices(Name& name, const Study& base) {
    if (name.axis || name.value != 0) return;
    name.value = devices_of(base, load_jobs(base));
  }
  [[nodiscard]] double number(std::size_t axis, const Indices& point) const {
    return *number_from<double>(sweep_.axes[axis].values[point[axis]]);
  }

  const Sweep& sweep_;
  Names names_;
  std::vector<Expression> expressions_;
  std::vector<double> values_;
};

// `count` of `all`, each as likely, in their order (the first steps of a Fisher-Yates shuffle).
void draw(std::vector<std::size_t>& all, std::size_t count, std::uint64_t seed) {
  count = std::min(count, all.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = core::random_bits(core::stream_of(seed, 0), i);
    std::swap(all[i], all[i + bits % (all.size() - i)]);
  }
  all.resize(count);
  std::ranges::sort(all);
}

}  // namespace

std::vector<std::vector<std::string>> points_of(const Sweep& sweep, const Study& base,
                                                const std::string& place) {
  const Combinations combinations(sweep);
  Conditions conditions(sweep, base, place);
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < combinations.count(); ++i) {
    if (conditions.hold(combinations.at(i))) chosen.push_back(i);
  }
  if (chosen.empty()) {
    throw core::InputError(place, fmt::format("none of {} combinations of values holds all "
                                              "conditions; expected some that do",
                                              combinations.count()));
  }
  if (sweep.order == SweepOrder::random) draw(chosen, sweep.samples, sweep.seed);
  if (chosen.size() > kSweepPointsMax) {
    throw core::InputError(sweep.file,
                           fmt::format("has {} points; expected at most {}: more conditions, or "
                                       "how: random",
                                       chosen.size(), kSweepPointsMax));
  }
  std::vector<std::vector<std::string>> points;
  for (const std::size_t number : chosen) {
    const Indices at = combinations.at(number);
    std::vector<std::string>& point = points.emplace_back();
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      point.push_back(sweep.axes[axis].values[at[axis]]);
    }
  }
  return points;
}

}  // namespace exawarp::io
