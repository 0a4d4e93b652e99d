#include "io/yaml.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "core/error.h"
#include "io/suggest.h"

namespace exawarp::io {
namespace {

using core::InputError;
using Kind = YamlNode::Kind;

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::null: return "empty";
    case Kind::scalar: return "plain text";
    case Kind::sequence: return "a list";
    case Kind::mapping: return "a mapping";
  }
  return "unknown";
}

[[noreturn]] void fail_node(const YamlNode& node, const std::string& what) {
  throw InputError(node.where(), what);
}

std::string resolve(const YamlNode& scalar) {
  const std::filesystem::path path(scalar.text);
  if (path.is_absolute() || scalar.directory == ".") return path.lexically_normal().string();
  return (std::filesystem::path(scalar.directory) / path).lexically_normal().string();
}

// Replaces a scalar by the file it names, and gives the file its pending overrides.
void load_in_place(YamlNode& node) {
  const std::filesystem::path path(resolve(node));
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    fail_node(node, fmt::format("there is no file {}{}", in_quotes(path.string()),
                                did_you_mean_file(path.string())));
  }
  std::unique_ptr<YamlNode> loaded = load_yaml(path.string());
  if (loaded->kind != Kind::mapping) {
    throw InputError(path.string(), fmt::format("is {}; expected a mapping, \"key: value\"",
                                                kind_name(loaded->kind)));
  }
  apply_overrides(*loaded, std::move(node.pending));
  loaded->read = true;
  node = std::move(*loaded);
}

template <class T>
std::optional<T> number_from(const std::string& text) {
  T value{};
  const char* first = text.data();
  if (text.size() > 1 && text[0] == '+') ++first;
  const auto [end, error] = std::from_chars(first, text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "1,000" and "1_000" are numbers to people, though not to us.
std::string number_hint(const std::string& text) {
  return text.find_first_of(",_") == std::string::npos ? "" : " without separators";
}

void mark_read(YamlNode& node) {
  node.read = true;
  for (YamlNode::Entry& entry : node.entries) {
    node.asked.push_back(entry.key);
    mark_read(*entry.value);
  }
}

// Keys that were asked for and are not there: what a misspelt key may have meant.
std::vector<std::string> asked_and_absent(const YamlNode& mapping) {
  std::vector<std::string> names;
  for (const std::string& key : mapping.asked) {
    if (mapping.find(key) == nullptr) names.push_back(key);
  }
  return names;
}

void check_all_read(const YamlNode& node) {
  for (const YamlNode::Entry& entry : node.entries) {
    if (!entry.value->read) {
      const std::vector<std::string> absent = asked_and_absent(node);
      std::string hint = did_you_mean(entry.key, absent);
      if (hint.empty()) hint = did_you_mean(entry.key, node.asked);
      if (hint.empty() && !node.asked.empty()) {
        hint = fmt::format("; expected one of: {}", fmt::join(node.asked, ", "));
      }
      fail_node(*entry.value, "unknown key" + hint);
    }
    check_all_read(*entry.value);
  }
  for (const auto& item : node.items) {
    if (item->read) check_all_read(*item);
  }
  if (!node.pending.empty()) {
    throw InputError("--set " + node.pending.front().path,
                     fmt::format("{} is no mapping, but {}", in_quotes(node.key_path),
                                 in_quotes(node.text)));
  }
}

void list_settings(const YamlNode& node, const std::string& path, Settings& all) {
  for (const YamlNode::Entry& entry : node.entries) {
    list_settings(*entry.value, path.empty() ? entry.key : path + "." + entry.key, all);
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    list_settings(*node.items[i], fmt::format("{}[{}]", path, i), all);
  }
  if (node.entries.empty() && node.items.empty()) all.push_back({path, node.text});
}

}  // namespace

YamlNode* YamlSection::ask(std::string_view key) const {
  if (std::ranges::find(node_->asked, key) == node_->asked.end()) {
    node_->asked.emplace_back(key);
  }
  YamlNode* found = node_->find(key);
  if (found != nullptr) found->read = true;
  return found;
}

YamlNode& YamlSection::require(std::string_view key, std::string_view expected) const {
  if (YamlNode* found = ask(key)) return *found;
  const std::string name(key);
  for (const YamlNode::Entry& entry : node_->entries) {
    if (entry.value->read) continue;
    if (const std::string near = closest(entry.key, std::span(&name, 1)); !near.empty()) {
      fail_node(*entry.value, "unknown key; did you mean " + in_quotes(near) + "?");
    }
  }
  throw InputError(where(key), fmt::format("is missing; expected {}", expected));
}

YamlNode* YamlSection::scalar(std::string_view key, bool required,
                              std::string_view expected) const {
  YamlNode* found = required ? &require(key, expected) : ask(key);
  if (found != nullptr && found->kind != Kind::scalar) {
    fail_node(*found, fmt::format("is {}; expected {}", kind_name(found->kind), expected));
  }
  return found;
}

bool YamlSection::has(std::string_view key) const { return ask(key) != nullptr; }

bool YamlSection::has_text(std::string_view key) const {
  const YamlNode* found = ask(key);
  return found != nullptr && found->kind == Kind::scalar;
}

std::string YamlSection::text(std::string_view key, std::optional<std::string> fallback) const {
  const YamlNode* found = scalar(key, !fallback, "a text");
  if (found == nullptr) return *fallback;
  if (found->text.empty()) fail_node(*found, "is an empty text");
  return found->text;
}

std::int64_t YamlSection::integer(std::string_view key, IntegerRange range,
                                  std::optional<std::int64_t> fallback) const {
  const YamlNode* found = scalar(key, !fallback, "a whole number");
  if (found == nullptr) return *fallback;
  const std::optional<std::int64_t> value = number_from<std::int64_t>(found->text);
  const std::string expected =
      range.max == IntegerRange{}.max
          ? fmt::format("a whole number >= {}", range.min)
          : fmt::format("a whole number from {} to {}", range.min, range.max);
  if (!value) {
    fail_node(*found, fmt::format("{} is no whole number; expected {}{}", in_quotes(found->text),
                                  expected, number_hint(found->text)));
  }
  if (*value < range.min || *value > range.max) {
    fail_node(*found, fmt::format("{} is out of range; expected {}", *value, expected));
  }
  return *value;
}

double YamlSection::real(std::string_view key, RealRange range,
                         std::optional<double> fallback) const {
  const YamlNode* found = scalar(key, !fallback, "a number");
  if (found == nullptr) return *fallback;
  const std::optional<double> value = number_from<double>(found->text);
  const bool bounded = range.max < std::numeric_limits<double>::max();
  const std::string expected =
      bounded ? fmt::format("a number in {}{}, {}{}", range.min_excluded ? "(" : "[", range.min,
                            range.max, range.max_excluded ? ")" : "]")
              : fmt::format("a number {} {}", range.min_excluded ? ">" : ">=", range.min);
  if (!value || !std::isfinite(*value)) {
    fail_node(*found,
              fmt::format("{} is no number; expected {}", in_quotes(found->text), expected));
  }
  const bool inside = (range.min_excluded ? *value > range.min : *value >= range.min) &&
                      (range.max_excluded ? *value < range.max : *value <= range.max);
  if (!inside) {
    fail_node(*found, fmt::format("{} is out of range; expected {}", found->text, expected));
  }
  return *value;
}

bool YamlSection::flag(std::string_view key, std::optional<bool> fallback) const {
  const YamlNode* found = scalar(key, !fallback, "true or false");
  if (found == nullptr) return *fallback;
  if (found->text == "true") return true;
  if (found->text == "false") return false;
  fail_node(*found, in_quotes(found->text) + " is no truth value; expected true or false");
}

std::int64_t YamlSection::quantity(std::string_view key, core::Dimension dimension,
                                   std::int64_t min, std::optional<std::int64_t> fallback) const {
  const YamlNode* found =
      scalar(key, !fallback, fmt::format("e.g. {}", core::examples_of(dimension)));
  if (found == nullptr) return *fallback;
  const core::ParsedQuantity parsed = core::parse_quantity(found->text, dimension);
  if (!parsed.ok()) fail_node(*found, in_quotes(found->text) + " " + parsed.error);
  if (parsed.value < min) {
    fail_node(*found, fmt::format("{} is out of range; expected more, e.g. {}",
                                  in_quotes(found->text), core::examples_of(dimension)));
  }
  return parsed.value;
}

std::size_t YamlSection::one_of(std::string_view key, std::span<const std::string> names,
                                std::optional<std::size_t> fallback) const {
  const std::string expected = fmt::format("one of: {}", fmt::join(names, ", "));
  const YamlNode* found = scalar(key, !fallback, expected);
  if (found == nullptr) return *fallback;
  const auto at = std::ranges::find(names, found->text);
  if (at != names.end()) return static_cast<std::size_t>(at - names.begin());
  fail_node(*found, fmt::format("{} is not known here; expected {}{}", in_quotes(found->text),
                                expected, did_you_mean(found->text, names)));
}

std::vector<std::string> YamlSection::texts(
    std::string_view key, std::optional<std::vector<std::string>> fallback) const {
  YamlNode* found = fallback ? ask(key) : &require(key, "a list");
  if (found == nullptr) return *fallback;
  if (found->kind != Kind::sequence) {
    fail_node(*found, fmt::format("is {}; expected a list, e.g. [a, b]", kind_name(found->kind)));
  }
  std::vector<std::string> out;
  for (const auto& item : found->items) {
    if (item->kind != Kind::scalar) fail_node(*item, "expected plain text");
    out.push_back(item->text);
  }
  return out;
}

std::vector<std::uint32_t> YamlSection::integers(
    std::string_view key, IntegerRange range,
    std::optional<std::vector<std::uint32_t>> fallback) const {
  YamlNode* found = fallback ? ask(key) : &require(key, "a list of whole numbers");
  if (found == nullptr) return *fallback;
  if (found->kind != Kind::sequence) {
    fail_node(*found, fmt::format("is {}; expected a list, e.g. [4, 4]", kind_name(found->kind)));
  }
  std::vector<std::uint32_t> out;
  for (const auto& item : found->items) {
    item->read = true;
    const auto value = item->kind == Kind::scalar ? number_from<std::int64_t>(item->text)
                                                  : std::optional<std::int64_t>{};
    if (!value || *value < range.min || *value > range.max) {
      fail_node(*found, fmt::format("{} is not possible; expected whole numbers from {} to {}",
                                    in_quotes(item->text), range.min, range.max));
    }
    out.push_back(static_cast<std::uint32_t>(*value));
  }
  return out;
}

YamlSection YamlSection::section(std::string_view key) const {
  YamlNode& found = require(key, "a mapping, or the path of a YAML file");
  if (found.kind == Kind::scalar) load_in_place(found);
  if (found.kind != Kind::mapping) {
    fail_node(found, fmt::format("is {}; expected a mapping, or the path of a YAML file",
                                 kind_name(found.kind)));
  }
  return YamlSection(found);
}

std::optional<YamlSection> YamlSection::optional_section(std::string_view key) const {
  if (!has(key)) return std::nullopt;
  return section(key);
}

std::vector<YamlSection> YamlSection::sections(std::string_view key) const {
  YamlNode& found = require(key, "a list of mappings");
  if (found.kind != Kind::sequence) {
    fail_node(found, fmt::format("is {}; expected a list of mappings", kind_name(found.kind)));
  }
  std::vector<YamlSection> out;
  for (const auto& item : found.items) {
    if (item->kind == Kind::scalar) load_in_place(*item);
    if (item->kind != Kind::mapping) {
      fail_node(*item, fmt::format("is {}; expected a mapping", kind_name(item->kind)));
    }
    item->read = true;
    out.emplace_back(*item);
  }
  return out;
}

std::string YamlSection::path(std::string_view key) const {
  return resolve(*scalar(key, true, "the path of a file"));
}

std::vector<std::string> YamlSection::keys() const {
  std::vector<std::string> names;
  for (const YamlNode::Entry& entry : node_->entries) names.push_back(entry.key);
  return names;
}

void YamlSection::skip(std::string_view key) const {
  if (YamlNode* found = ask(key)) mark_read(*found);
}

std::string YamlSection::where(std::string_view key) const {
  const YamlNode* at = node_;
  std::string_view rest = key;
  while (!rest.empty() && at->kind == Kind::mapping) {
    const std::size_t dot = rest.find('.');
    const YamlNode* next = at->find(rest.substr(0, dot));
    if (next == nullptr) break;
    at = next;
    rest = dot == std::string_view::npos ? std::string_view{} : rest.substr(dot + 1);
  }
  if (rest.empty()) return at->where();
  const std::string name = at->key_path.empty() ? std::string(rest)
                                                : fmt::format("{}.{}", at->key_path, rest);
  if (at->file == "--set") return "--set " + one_line(name);
  return fmt::format("{}{}: key {}", at->file, at->line > 0 ? fmt::format(":{}", at->line) : "",
                     in_quotes(name));
}

void YamlSection::fail(std::string_view key, const std::string& what) const {
  throw InputError(where(key), what);
}

YamlDocument::YamlDocument(const std::string& path, const std::vector<std::string>& overrides)
    : root_(load_yaml(path)) {
  if (root_->kind != Kind::mapping) {
    throw InputError(path, fmt::format("is {}; expected a mapping, \"key: value\"",
                                       kind_name(root_->kind)));
  }
  std::vector<Override> parsed;
  for (const std::string& text : overrides) parsed.push_back(Override::parse(text));
  apply_overrides(*root_, std::move(parsed));
  root_->read = true;
}

YamlSection YamlDocument::root() { return YamlSection(*root_); }

void YamlDocument::finish() const { check_all_read(*root_); }

Settings YamlDocument::settings() const {
  Settings all;
  list_settings(*root_, "", all);
  return all;
}

}  // namespace exawarp::io
