// docs/reference/keys.md from the tables of keys.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "io/study/schema.h"

namespace exawarp::io {
namespace {

using ShapeKind = ValueShape::Kind;

std::string_view name_of(core::Dimension dimension) {
  switch (dimension) {
    case core::Dimension::time:
      return "time";
    case core::Dimension::size:
      return "size";
    case core::Dimension::bandwidth:
      return "bandwidth";
    case core::Dimension::rate:
      return "rate";
    case core::Dimension::power:
      return "power";
    case core::Dimension::frequency:
      return "frequency";
  }
  return "quantity";
}

// What a link to a heading says: dots fall out.
std::string anchor_of(const std::string& heading) {
  std::string out;
  for (const char c : heading) {
    if (c != '.') out += c;
  }
  return out;
}

std::string single(const ValueShape& shape) {
  switch (shape.kind) {
    case ShapeKind::text:
      return "text";
    case ShapeKind::flag:
      return "`true` or `false`";
    case ShapeKind::integer:
      return shape.integers.expected();
    case ShapeKind::real:
      return shape.reals.expected();
    case ShapeKind::quantity:
      return fmt::format("{}{}", name_of(shape.dimension),
                         shape.quantity_min > 0 ? " above 0" : "");
    case ShapeKind::choice:
      return fmt::format("`{}`", fmt::join(shape.names, "`, `"));
    case ShapeKind::section:
      return fmt::format("[{}](#{})", shape.section->name, anchor_of(shape.section->name));
  }
  return "";
}

std::string values_of(const std::vector<ValueShape>& shapes) {
  std::string out;
  for (const ValueShape& shape : shapes) {
    out += fmt::format("{}{}{}", out.empty() ? "" : "; or ", shape.is_list ? "list of " : "",
                       single(shape));
  }
  return out;
}

std::string default_of(const KeySchema& key) {
  if (key.required) return "required";
  if (!key.otherwise.empty()) return key.otherwise;
  return key.fallback.empty() ? "" : fmt::format("`{}`", key.fallback);
}

std::string meaning_of(const KeySchema& key) {
  std::string out = key.meaning;
  if (!key.when.empty()) out += "; " + key.when;
  if (!key.only.key.empty()) {
    out += fmt::format("; with `{}`: `{}`", key.only.key, fmt::join(key.only.values, "`, `"));
  }
  return out;
}

// Itself, and what stands below it but for kinds of files, which have chapters of their own.
void add_section(const SectionSchema& section, std::set<std::string>& done, std::string& out) {
  done.insert(section.name);
  out += fmt::format("\n### {}\n", section.name);
  if (!section.meaning.empty()) out += fmt::format("\n{}\n", section.meaning);
  if (!section.keys.empty()) {
    out += "\n| key | value | default | meaning |\n|---|---|---|---|\n";
    for (const KeySchema& key : section.keys) {
      out += fmt::format("| `{}` | {} | {} | {} |\n", key.name, values_of(key.shapes),
                         default_of(key), meaning_of(key));
    }
  }
  if (!section.others.empty()) {
    out += fmt::format("\nEach key: {}.\n", values_of(section.others));
  }
  for (const KeyAlternatives& one : section.alternatives) {
    out += fmt::format("\n{} of `{}`.\n", one.required ? "One" : "At most one",
                       fmt::join(one.keys, "`, `"));
  }
  const auto follow = [&](const std::vector<ValueShape>& shapes) {
    for (const ValueShape& shape : shapes) {
      if (shape.section == nullptr || done.contains(shape.section->name)) continue;
      add_section(*shape.section, done, out);
    }
  };
  for (const KeySchema& key : section.keys) follow(key.shapes);
  follow(section.others);
}

}  // namespace

std::string key_reference() {
  std::string out =
      "# Keys of configuration files\n"
      "\n"
      "`exawarp schema --reference` prints this page; `exawarp schema KIND` prints the same as "
      "JSON "
      "Schema.\n"
      "A mapping may stand in place or in a file of its own, whose path then stands for it. Sizes, "
      "times,\n"
      "bandwidths and rates carry their unit: `16 MiB`, `3.6 us`, `400 Gb/s`, `50 GB/s`, `989.4 "
      "TFLOP/s`.\n";
  std::set<std::string> done;
  for (const SchemaKind& kind : schema_kinds()) done.insert(kind.section->name);
  for (const SchemaKind& kind : schema_kinds()) {
    out += fmt::format("\n## Files of {}\n", kind.where);
    add_section(*kind.section, done, out);
  }
  return out;
}

}  // namespace exawarp::io
