// JSON Schema, draft 2020-12, from the tables of keys: each mapping becomes a definition, which
// editors and validators see with its keys, types, ranges, defaults and one sentence on each.
//
// What it cannot say (a size's largest value, relations between keys of different mappings) the
// program alone checks: a file that is right by the schema may be refused, but none that the schema
// refuses is run, except for numbers written in quotes.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "io/study/schema.h"

namespace exawarp::io {
namespace {

using Json = nlohmann::ordered_json;
using ShapeKind = ValueShape::Kind;

// As parse_quantity() reads: a number, with or without an exponent, and a unit.
std::string pattern_of(core::Dimension dimension) {
  std::string units;
  for (const std::string_view unit : core::units_of(dimension)) {
    units += (units.empty() ? "" : "|") + std::string(unit);
  }
  return fmt::format("^ *([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)? *({}) *$", units);
}

Json schema_of(const ValueShape& shape) {
  switch (shape.kind) {
    case ShapeKind::text:
      return {{"type", Json::array({"string", "number", "boolean"})}};
    case ShapeKind::flag:
      return {{"type", "boolean"}};
    case ShapeKind::integer: {
      Json out{{"type", "integer"}, {"minimum", shape.integers.min}};
      if (shape.integers.max != IntegerRange{}.max) out["maximum"] = shape.integers.max;
      return out;
    }
    case ShapeKind::real: {
      const RealRange& range = shape.reals;
      Json out{{"type", "number"},
               {range.min_excluded ? "exclusiveMinimum" : "minimum", range.min}};
      if (range.max != RealRange{}.max) {
        out[range.max_excluded ? "exclusiveMaximum" : "maximum"] = range.max;
      }
      return out;
    }
    case ShapeKind::quantity:
      return {{"type", "string"}, {"pattern", pattern_of(shape.dimension)}};
    case ShapeKind::choice:
      return {{"enum", shape.names}};
    case ShapeKind::section:
      return {{"anyOf", Json::array({{{"$ref", "#/$defs/" + shape.section->name}},
                                     {{"type", "string"},
                                      {"description", "the path of a file that has it"}}})}};
  }
  return Json::object();
}

Json any_of(const std::vector<ValueShape>& shapes) {
  Json all = Json::array();
  for (const ValueShape& shape : shapes) {
    Json one = schema_of(shape);
    all.push_back(shape.is_list ? Json{{"type", "array"}, {"items", std::move(one)}}
                                : std::move(one));
  }
  if (all.size() == 1) return all[0];
  return {{"anyOf", std::move(all)}};
}

// As JSON has it; lists and what words alone say are left to the description.
void add_default(const KeySchema& key, Json& out) {
  if (key.fallback.empty() || key.shapes.front().is_list) return;
  switch (key.shapes.front().kind) {
    case ShapeKind::integer:
    case ShapeKind::real:
    case ShapeKind::flag:
      out["default"] = Json::parse(key.fallback);
      return;
    default:
      out["default"] = key.fallback;
  }
}

std::string description_of(const KeySchema& key) {
  std::string out = key.meaning;
  if (!key.when.empty()) out += fmt::format(" ({})", key.when);
  if (!key.otherwise.empty()) out += fmt::format("; default: {}", key.otherwise);
  return out;
}

// The section has to do with `condition`.
Json test_of(const SectionSchema& section, const KeyCondition& condition) {
  Json out{{"properties", {{condition.key, {{"enum", condition.values}}}}}};
  const KeySchema* const key = section.find(condition.key);
  const bool by_default =
      std::ranges::find(condition.values, key->fallback) != condition.values.end();
  if (!by_default) out["required"] = Json::array({condition.key});
  return out;
}

// Where no words say when else it is.
bool is_required(const KeySchema& key) { return key.required && key.when.empty(); }

// {"if": the condition, "then": the key is required, "else": it is not allowed}.
Json conditional(const SectionSchema& section, const KeySchema& key) {
  Json out{{"if", test_of(section, key.only)}};
  if (is_required(key)) out["then"] = {{"required", Json::array({key.name})}};
  out["else"] = {{"properties", {{key.name, false}}}};
  return out;
}

// One of the keys and no other, or, unless one is required, none.
Json exclusive(const KeyAlternatives& alternatives) {
  Json all = Json::array();
  Json any = Json::array();
  for (const std::string& key : alternatives.keys) {
    all.push_back({{"required", Json::array({key})}});
    any.push_back({{"required", Json::array({key})}});
  }
  if (!alternatives.required) all.push_back({{"not", {{"anyOf", std::move(any)}}}});
  return {{"oneOf", std::move(all)}};
}

Json definition_of(const SectionSchema& section) {
  Json out{{"type", "object"}};
  if (!section.meaning.empty()) out["description"] = section.meaning;
  Json properties = Json::object();
  Json required = Json::array();
  Json conditions = Json::array();
  for (const KeySchema& key : section.keys) {
    Json property{{"description", description_of(key)}};
    property.update(any_of(key.shapes));
    add_default(key, property);
    properties[key.name] = std::move(property);
    if (!key.only.key.empty()) {
      conditions.push_back(conditional(section, key));
    } else if (is_required(key)) {
      required.push_back(key.name);
    }
  }
  for (const KeyAlternatives& alternatives : section.alternatives) {
    conditions.push_back(exclusive(alternatives));
  }
  out["properties"] = std::move(properties);
  if (!required.empty()) out["required"] = std::move(required);
  out["additionalProperties"] = section.others.empty() ? Json(false) : any_of(section.others);
  if (!conditions.empty()) out["allOf"] = std::move(conditions);
  return out;
}

void add_definitions(const SectionSchema& section, Json& definitions) {
  if (definitions.contains(section.name)) return;
  definitions[section.name] = definition_of(section);
  const auto follow = [&definitions](const std::vector<ValueShape>& shapes) {
    for (const ValueShape& shape : shapes) {
      if (shape.section != nullptr) add_definitions(*shape.section, definitions);
    }
  };
  for (const KeySchema& key : section.keys) follow(key.shapes);
  follow(section.others);
}

}  // namespace

std::string json_schema(const SchemaKind& kind) {
  Json definitions = Json::object();
  add_definitions(*kind.section, definitions);
  const Json out{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", fmt::format("exawarp: {}", kind.name)},
                 {"$ref", "#/$defs/" + kind.section->name},
                 {"$defs", std::move(definitions)}};
  return out.dump(2) + "\n";
}

}  // namespace exawarp::io
