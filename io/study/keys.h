// Tables of keys that read themselves: each key with its type, range, meaning and the member of
// `Spec` that it goes to. What holds where a key is absent is what a Spec{} has there.
//
//   const Keys<Link> kLink("link", "A cable.",
//       {Keys<Link>::quantity("bandwidth", &Link::bytes_per_s, {Dimension::bandwidth, 1},
//                             "what transfers achieve").required(),
//        Keys<Link>::integer("lanes", &Link::lanes, {1, 16}, "side by side")});
//   const Link link = kLink.read(section);
//
// A key's place is a pointer to member, or a function Spec& -> reference to what it sets.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/names.h"
#include "core/time.h"
#include "io/study/quantities.h"
#include "io/study/schema.h"
#include "io/study/yaml.h"

namespace exawarp::io {

struct QuantityRange {
  core::Dimension dimension = core::Dimension::time;
  std::int64_t min = 0;  // in base units
};

// Of mappings whose keys are all read by hand.
struct NoSpec {};

// Of values that are stored as `T`: whole numbers of base units, and times.
template <class T>
std::int64_t in_base_units(const T& value) {
  if constexpr (std::is_same_v<T, core::Time>) {
    return value.ps;
  } else {
    return static_cast<std::int64_t>(value);
  }
}
template <class T>
T from_base_units(std::int64_t value) {
  if constexpr (std::is_same_v<T, core::Time>) {
    return core::Time{value};
  } else {
    return static_cast<T>(value);
  }
}

// Notes that `key`, where it is absent, is `yaml` (YamlSection::note_usual()); nothing of keys that
// have no default to be told.
void note_usual(const YamlSection& section, const KeySchema& key, const std::string& yaml);

// Whether `section`, which `schema` describes, has to do with a key of that condition.
bool holds(const KeyCondition& condition, const SectionSchema& schema, const YamlSection& section);
// Whether nothing says, since the key that would is missing.
bool is_open(const KeyCondition& condition, const SectionSchema& schema,
             const YamlSection& section);

template <class Spec>
class Keys {
  // What a key goes to.
  template <class Ref>
  using Value = std::remove_cvref_t<std::invoke_result_t<Ref, Spec&>>;

 public:
  // Puts the section's value into the spec, whose own one is the default.
  using Reader = std::function<void(const YamlSection&, Spec&, const KeySchema&)>;

  struct Key {
    KeySchema schema;
    Reader read = {};                               // none: whoever reads the section reads it
    std::function<bool(const Spec&)> applies = {};  // none: always

    Key required() && {
      schema.required = true;
      schema.fallback.clear();
      return std::move(*this);
    }
    // What is printed in place of the default.
    Key otherwise(std::string words) && {
      schema.otherwise = std::move(words);
      schema.fallback.clear();
      return std::move(*this);
    }
    // The default, where no member has it.
    Key usually(std::string value) && {
      schema.fallback = std::move(value);
      return std::move(*this);
    }
    // Its presence alone means something, so its default is not what a file may say as well.
    Key if_given() && {
      schema.presence_matters = true;
      return std::move(*this);
    }
    Key only_if(std::string key, std::vector<std::string> values) && {
      schema.only = {std::move(key), std::move(values)};
      return std::move(*this);
    }
    // The same by what the keys above it gave, a section below among them; `words` say when.
    Key when(std::function<bool(const Spec&)> condition, std::string words) && {
      applies = std::move(condition);
      schema.when = std::move(words);
      return std::move(*this);
    }
  };

  Keys(std::string name, std::string meaning, std::vector<Key> keys,
       std::vector<KeyAlternatives> alternatives = {}, std::vector<ValueShape> others = {})
      : keys_(std::move(keys)) {
    schema_ = {.name = std::move(name),
               .meaning = std::move(meaning),
               .keys = {},
               .alternatives = std::move(alternatives),
               .others = std::move(others)};
    for (const Key& key : keys_) {
      if (!key.schema.name.empty()) schema_.keys.push_back(key.schema);
    }
  }
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  [[nodiscard]] const SectionSchema& schema() const { return schema_; }

  // In the table's order: a key may depend on those above it. Throws core::InputError.
  [[nodiscard]] Spec read(const YamlSection& section, Spec out = {}) const {
    for (const Key& key : keys_) {
      if (!key.read) continue;
      if (is_open(key.schema.only, schema_, section)) section.skip(key.schema.name);
      if (!holds(key.schema.only, schema_, section)) continue;
      if (!key.applies || key.applies(out)) key.read(section, out, key.schema);
    }
    return out;
  }

  // ---- keys by type

  template <class Ref>
  static Key integer(std::string name, Ref at, IntegerRange range, std::string meaning) {
    using T = Value<Ref>;
    return key(std::move(name), ValueShape::integer(range), std::move(meaning),
               std::to_string(static_cast<std::int64_t>(usual(at))),
               [at, range](const YamlSection& section, Spec& spec, const KeySchema& schema) {
                 T& value = std::invoke(at, spec);
                 value = static_cast<T>(section.integer(
                     schema.name, range, unless(schema, static_cast<std::int64_t>(value))));
                 note_usual(section, schema, std::to_string(static_cast<std::int64_t>(value)));
               });
  }

  template <class Ref>
  static Key real(std::string name, Ref at, RealRange range, std::string meaning) {
    return key(std::move(name), ValueShape::real(range), std::move(meaning),
               fmt::format("{}", usual(at)),
               [at, range](const YamlSection& section, Spec& spec, const KeySchema& schema) {
                 double& value = std::invoke(at, spec);
                 value = section.real(schema.name, range, unless(schema, value));
                 note_usual(section, schema, fmt::format("{}", value));
               });
  }

  template <class Ref>
  static Key flag(std::string name, Ref at, std::string meaning) {
    return key(std::move(name), ValueShape::flag(), std::move(meaning),
               usual(at) ? "true" : "false",
               [at](const YamlSection& section, Spec& spec, const KeySchema& schema) {
                 bool& value = std::invoke(at, spec);
                 value = section.flag(schema.name, unless(schema, value));
                 note_usual(section, schema, value ? "true" : "false");
               });
  }

  // Up to a minute (io/study/quantities.h).
  template <class Ref>
  static Key latency(std::string name, Ref at, std::int64_t min_ps, std::string meaning) {
    return key(std::move(name), ValueShape::quantity(core::Dimension::time, min_ps),
               std::move(meaning), quantity_text(usual(at).ps, core::Dimension::time),
               [at, min_ps](const YamlSection& section, Spec& spec, const KeySchema& schema) {
                 core::Time& value = std::invoke(at, spec);
                 value = read_latency(section, schema.name, min_ps, unless(schema, value.ps));
                 note_usual(section, schema, quantity_text(value.ps, core::Dimension::time));
               });
  }

  // Into core::Time or a number, in base units.
  template <class Ref>
  static Key quantity(std::string name, Ref at, QuantityRange range, std::string meaning) {
    using T = Value<Ref>;
    return key(std::move(name), ValueShape::quantity(range.dimension, range.min),
               std::move(meaning), quantity_text(in_base_units(usual(at)), range.dimension),
               [at, range](const YamlSection& section, Spec& spec, const KeySchema& schema) {
                 T& value = std::invoke(at, spec);
                 value =
                     from_base_units<T>(section.quantity(schema.name, range.dimension, range.min,
                                                         unless(schema, in_base_units(value))));
                 note_usual(section, schema,
                            quantity_text(in_base_units(value), range.dimension));
               });
  }

  // An enumeration with names_of(), or others (bool, say) by a table.
  template <class Ref>
  static Key choice(std::string name, Ref at, std::string meaning) {
    return choice(std::move(name), at, names_of(Value<Ref>{}), std::move(meaning));
  }
  template <class Ref, class E>
  static Key choice(std::string name, Ref at, std::span<const core::Named<E>> table,
                    std::string meaning) {
    return key(std::move(name), ValueShape::choice(core::names_in(table)), std::move(meaning),
               std::string(core::name_in(table, usual(at))),
               [at, table](const YamlSection& section, Spec& spec, const KeySchema& schema) {
                 E& value = std::invoke(at, spec);
                 value = section.choice(schema.name, table, unless(schema, value));
                 note_usual(section, schema, std::string(core::name_in(table, value)));
               });
  }

  template <class Ref>
  static Key text(std::string name, Ref at, std::string meaning) {
    return key(std::move(name), ValueShape::text(), std::move(meaning), usual(at),
               [at](const YamlSection& section, Spec& spec, const KeySchema& schema) {
                 std::string& value = std::invoke(at, spec);
                 value = section.text(schema.name, unless(schema, value));
               });
  }

  template <class Ref>
  static Key texts(std::string name, Ref at, std::string meaning) {
    return key(std::move(name), ValueShape::list_of(ValueShape::text()), std::move(meaning),
               fmt::format("[{}]", fmt::join(usual(at), ", ")),
               [at](const YamlSection& section, Spec& spec, const KeySchema& schema) {
                 std::vector<std::string>& value = std::invoke(at, spec);
                 value = section.texts(schema.name, unless(schema, value));
               });
  }

  template <class Ref>
  static Key integers(std::string name, Ref at, IntegerRange range, std::string meaning) {
    return key(std::move(name), ValueShape::list_of(ValueShape::integer(range)), std::move(meaning),
               fmt::format("[{}]", fmt::join(usual(at), ", ")),
               [at, range](const YamlSection& section, Spec& spec, const KeySchema& schema) {
                 std::vector<std::uint32_t>& value = std::invoke(at, spec);
                 value = section.integers(schema.name, range, unless(schema, value));
                 note_usual(section, schema, fmt::format("[{}]", fmt::join(value, ", ")));
               });
  }

  // A mapping by a table of its own, which has to outlive this one.
  template <class Ref>
  static Key section(std::string name, Ref at, const Keys<Value<Ref>>& inner, std::string meaning) {
    return key(std::move(name), ValueShape::mapping(inner.schema()), std::move(meaning), "",
               [at, &inner](const YamlSection& section, Spec& spec, const KeySchema& schema) {
                 auto& value = std::invoke(at, spec);
                 if (schema.required || section.has(schema.name)) {
                   value = inner.read(section.section(schema.name), std::move(value));
                 } else if (inner.schema().requires_nothing() && schema.otherwise.empty()) {
                   value = inner.read(section.usual_section(schema.name), std::move(value));
                 }
               });
  }

  // `name`, where it is for the reader alone: without it that of the file.
  template <class Ref>
  static Key file_name(Ref at) {
    return key("name", ValueShape::text(), "for the reader", "",
               [at](const YamlSection& section, Spec& spec, const KeySchema&) {
                 std::invoke(at, spec) = section.name();
               })
        .otherwise("that of the file");
  }

  // Documentation, whatever it holds.
  static Key note(std::string name) {
    return key(std::move(name), ValueShape::text(), "for the reader", "",
               [](const YamlSection& section, Spec&, const KeySchema& schema) {
                 section.skip(schema.name);
               });
  }

  // No key, but what is to be done when those above are read: a check, say.
  static Key then(std::function<void(const YamlSection&, Spec&)> act) {
    return {{}, [act = std::move(act)](const YamlSection& section, Spec& spec, const KeySchema&) {
              act(section, spec);
            }};
  }

  // Anything else: `read` asks the section for it, or, without, whoever reads the section does.
  static Key custom(std::string name, std::vector<ValueShape> shapes, std::string meaning,
                    Reader read = {}) {
    return {{.name = std::move(name), .shapes = std::move(shapes), .meaning = std::move(meaning)},
            std::move(read),
            {}};
  }

 private:
  template <class Ref>
  static Value<Ref> usual(const Ref& at) {
    Spec spec{};
    return std::invoke(at, spec);
  }

  // `value` as the default; none of a required key.
  template <class T>
  static std::optional<T> unless(const KeySchema& schema, T value) {
    return schema.required ? std::optional<T>{} : std::optional<T>{std::move(value)};
  }

  static Key key(std::string name, ValueShape shape, std::string meaning, std::string fallback,
                 Reader read) {
    return {{.name = std::move(name),
             .shapes = {std::move(shape)},
             .fallback = std::move(fallback),
             .meaning = std::move(meaning)},
            std::move(read),
            {}};
  }

  std::vector<Key> keys_;
  SectionSchema schema_;
};

}  // namespace exawarp::io
