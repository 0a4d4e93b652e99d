// What the keys of a configuration file are: one table for each mapping that may stand in one. From
// it come the reader (io/study/keys.h), the reference of keys (docs/reference/keys.md) and the JSON
// Schema that editors check files by (`exawarp schema`).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/units.h"
#include "io/study/numbers.h"

namespace exawarp::io {

struct SectionSchema;

// One form that a value may have.
struct ValueShape {
  enum class Kind { text, flag, integer, real, quantity, choice, section };
  Kind kind = Kind::text;
  bool is_list = false;                               // a list of such values
  IntegerRange integers = {};                         // integer
  RealRange reals = {};                               // real
  core::Dimension dimension = core::Dimension::time;  // quantity
  std::int64_t quantity_min = 0;                      // quantity, in base units
  std::vector<std::string> names = {};                // choice
  const SectionSchema* section = nullptr;             // section: a mapping, or the path of a file

  static ValueShape text() { return {}; }
  static ValueShape flag() { return {.kind = Kind::flag}; }
  static ValueShape integer(IntegerRange range) {
    return {.kind = Kind::integer, .integers = range};
  }
  static ValueShape real(RealRange range) { return {.kind = Kind::real, .reals = range}; }
  static ValueShape quantity(core::Dimension dimension, std::int64_t min = 0) {
    return {.kind = Kind::quantity, .dimension = dimension, .quantity_min = min};
  }
  static ValueShape choice(std::vector<std::string> names) {
    return {.kind = Kind::choice, .names = std::move(names)};
  }
  static ValueShape mapping(const SectionSchema& section) {
    return {.kind = Kind::section, .section = &section};
  }
  static ValueShape list_of(ValueShape shape) {
    shape.is_list = true;
    return shape;
  }
};

// A key that its mapping has only where another one, or that one's default, is one of `values`.
struct KeyCondition {
  std::string key = {};  // empty: always
  std::vector<std::string> values = {};
};

struct KeySchema {
  std::string name;
  std::vector<ValueShape> shapes;  // any of these
  bool required = false;
  std::string fallback = {};  // what holds where it is absent, as a file would say it; may be empty
  std::string otherwise = {};  // the same in words, where no value says it
  std::string meaning = {};    // one sentence or less
  bool presence_matters = false;  // saying the default is not the same as saying nothing
  KeyCondition only = {};
  std::string when = {};  // in words: a condition that `only` cannot say; empty: none
};

// Keys of which a mapping has one, or, unless `required`, none.
struct KeyAlternatives {
  std::vector<std::string> keys;
  bool required = true;
};

struct SectionSchema {
  std::string name;     // of its definition: "transformer.parallel"
  std::string meaning;  // may be empty
  std::vector<KeySchema> keys;
  std::vector<KeyAlternatives> alternatives = {};
  // What keys of the writer's own choice hold; empty: there are none.
  std::vector<ValueShape> others = {};

  // Whether it may be empty.
  [[nodiscard]] bool requires_nothing() const;
  // nullptr: there is none.
  [[nodiscard]] const KeySchema* find(std::string_view key) const;
};

// A kind of file.
struct SchemaKind {
  std::string name;   // of `exawarp schema NAME`
  std::string where;  // "configs/studies/"
  const SectionSchema* section;
};
std::span<const SchemaKind> schema_kinds();

// "4 KiB", "55 us", "400 GB/s": parse_quantity() reads exactly `value` from it.
std::string quantity_text(std::int64_t value, core::Dimension dimension);

// JSON Schema, draft 2020-12, of one kind of file.
std::string json_schema(const SchemaKind& kind);

// All kinds as docs/reference/keys.md has them.
std::string key_reference();

}  // namespace exawarp::io
