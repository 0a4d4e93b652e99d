// A section is a pointer into the tree and a record of what was asked for. Absent and unknown keys
// are collected and told together at finish(), each with what it may have meant.
#include "io/study/yaml.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <system_error>

#include "core/check.h"
#include "core/digest.h"
#include "core/error.h"
#include "io/study/find_config.h"
#include "io/study/suggest.h"
#include "io/study/yaml_writer.h"

namespace exawarp::io {
namespace {

using core::InputError;
using NodeKind = YamlNode::Kind;

std::string_view kind_name(NodeKind kind) {
  switch (kind) {
    case NodeKind::null: return "empty";
    case NodeKind::scalar: return "plain text";
    case NodeKind::sequence: return "a list";
    case NodeKind::mapping: return "a mapping";
  }
  return "unknown";
}

[[noreturn]] void fail_node(const YamlNode& node, const std::string& what) {
  throw InputError(node.where(), what);
}

std::string resolve(const YamlNode& scalar) {
  const std::filesystem::path path(scalar.text);
  const bool from_here = path.is_absolute() || scalar.directory == ".";
  const std::filesystem::path at = from_here ? path : scalar.directory / path;
  const std::string found = at.lexically_normal().string();
  std::error_code ignored;
  if (std::filesystem::exists(found, ignored)) return found;
  const std::string below = find_below_configs(scalar.text);
  return below == scalar.text ? found : below;
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
  if (loaded->kind != NodeKind::mapping) {
    throw InputError(path.string(), fmt::format("is {}; expected a mapping, \"key: value\"",
                                                kind_name(loaded->kind)));
  }
  apply_overrides(*loaded, std::move(node.pending));
  loaded->read = true;
  node = std::move(*loaded);
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

// What is wrong with one key, alone and as one of several.
struct Problem {
  std::string place, what;
  const YamlNode* mapping;  // that has it, or should
  std::string among_others;
};

std::string path_in(const YamlNode& mapping, std::string_view key) {
  return mapping.key_path.empty() ? std::string(key)
                                  : fmt::format("{}.{}", mapping.key_path, key);
}

std::string place_of_absent(const YamlNode& mapping, std::string_view key) {
  const std::string path = path_in(mapping, key);
  if (mapping.file == "--set") return "--set " + one_line(path);
  return fmt::format("{}{}: key {}", mapping.file,
                     mapping.line > 0 ? fmt::format(":{}", mapping.line) : "", in_quotes(path));
}

Problem unknown_key(const YamlNode& mapping, const YamlNode& value, const std::string& hint) {
  const std::size_t question = hint.find("did you mean");
  return {.place = value.where(),
          .what = "unknown key" + hint,
          .mapping = &mapping,
          .among_others = fmt::format(
              "{} is unknown{}{}", in_quotes(value.key_path),
              value.line > 0 ? fmt::format(" on line {}", value.line) : "",
              question == std::string::npos ? "" : fmt::format(" ({})", hint.substr(question)))};
}

// The key that somebody may have meant by the absent one; nullptr: none.
const YamlNode* misspelt(const YamlProblems& problems, const YamlProblems::Missing& missing) {
  std::vector<std::string> absent;  // from the same mapping
  for (const YamlProblems::Missing& other : problems.missing) {
    if (other.mapping == missing.mapping) absent.push_back(other.key);
  }
  for (const YamlNode::Entry& entry : missing.mapping->entries) {
    if (!entry.value->read && closest(entry.key, absent) == missing.key) {
      return entry.value.get();
    }
  }
  return nullptr;
}

void add_absent(const YamlProblems& problems, std::vector<const YamlNode*>& explained,
                std::vector<Problem>& out) {
  for (const YamlProblems::Missing& missing : problems.missing) {
    const YamlNode& mapping = *missing.mapping;
    if (const YamlNode* value = misspelt(problems, missing)) {
      explained.push_back(value);
      out.push_back(unknown_key(mapping, *value,
                                fmt::format("; did you mean {}?", in_quotes(missing.key))));
      continue;
    }
    out.push_back({.place = place_of_absent(mapping, missing.key),
                   .what = fmt::format("is missing; expected {}", missing.expected),
                   .mapping = &mapping,
                   .among_others =
                       fmt::format("{} is missing (expected {})",
                                   in_quotes(path_in(mapping, missing.key)), missing.expected)});
  }
}

void add_unknown(const YamlNode& node, const std::vector<const YamlNode*>& explained,
                 std::vector<Problem>& out) {
  if (node.unknowable) return;
  for (const YamlNode::Entry& entry : node.entries) {
    if (entry.value->read) {
      add_unknown(*entry.value, explained, out);
      continue;
    }
    if (std::ranges::find(explained, entry.value.get()) != explained.end()) continue;
    std::string hint = did_you_mean(entry.key, asked_and_absent(node));
    if (hint.empty()) hint = did_you_mean(entry.key, node.asked);
    if (hint.empty() && !node.asked.empty()) {
      hint = fmt::format("; expected one of: {}", fmt::join(node.asked, ", "));
    }
    out.push_back(unknown_key(node, *entry.value, hint));
  }
  for (const auto& item : node.items) {
    if (item->read) add_unknown(*item, explained, out);
  }
}

// One problem is told at its place, several after the name of the file.
void throw_all(const YamlNode& root, const std::vector<Problem>& problems) {
  if (problems.empty()) return;
  if (problems.size() == 1) throw InputError(problems[0].place, problems[0].what);
  std::vector<std::string> texts;
  for (const Problem& problem : problems) {
    texts.push_back(problem.among_others);
    if (problem.mapping->file != root.file && problem.mapping->file != "--set") {
      texts.back() = problem.mapping->file + ": " + texts.back();
    }
  }
  throw InputError(root.file, fmt::format("{} keys are missing or unknown: {}", problems.size(),
                                          fmt::join(texts, "; ")));
}

void throw_absent(const YamlProblems& problems) {
  std::vector<const YamlNode*> explained;
  std::vector<Problem> all;
  add_absent(problems, explained, all);
  throw_all(*problems.root, all);
}

// Overrides of what turned out to be plain text.
void check_pending(const YamlNode& node) {
  if (!node.pending.empty()) {
    throw InputError("--set " + node.pending.front().path,
                     fmt::format("{} is no mapping, but {}", in_quotes(node.key_path),
                                 in_quotes(node.text)));
  }
  for (const YamlNode::Entry& entry : node.entries) check_pending(*entry.value);
  for (const auto& item : node.items) {
    if (item->read) check_pending(*item);
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

YamlNode* YamlSection::require(std::string_view key, std::string_view expected) const {
  YamlNode* found = ask(key);
  if (found == nullptr && !node_->unknowable) {
    problems_->missing.push_back({node_, std::string(key), std::string(expected)});
  }
  return found;
}

YamlNode* YamlSection::scalar(std::string_view key, bool required,
                              std::string_view expected) const {
  YamlNode* found = required ? require(key, expected) : ask(key);
  if (found != nullptr && found->kind != NodeKind::scalar) {
    fail_at(*found, fmt::format("is {}; expected {}", kind_name(found->kind), expected));
  }
  return found;
}

void YamlSection::fail_at(const YamlNode& node, const std::string& what) const {
  throw_absent(*problems_);
  fail_node(node, what);
}

YamlSection YamlSection::section_at(YamlNode& node) const { return {node, *problems_}; }

// An empty mapping of which nothing is said any more.
YamlSection YamlSection::stand_in(std::string_view key) const {
  YamlNode& node = *problems_->stand_ins.emplace_back(std::make_unique<YamlNode>());
  node.kind = NodeKind::mapping;
  node.file = node_->file;
  node.line = node_->line;
  node.key_path = path_in(*node_, key);
  node.directory = node_->directory;
  node.unknowable = true;
  return section_at(node);
}

bool YamlSection::has(std::string_view key) const { return ask(key) != nullptr; }

bool YamlSection::has_text(std::string_view key) const {
  const YamlNode* found = ask(key);
  return found != nullptr && found->kind == NodeKind::scalar;
}

bool YamlSection::has_list(std::string_view key) const {
  const YamlNode* found = ask(key);
  return found != nullptr && found->kind == NodeKind::sequence;
}

std::string YamlSection::text(std::string_view key, std::optional<std::string> fallback) const {
  const YamlNode* found = scalar(key, !fallback, "a text");
  if (found == nullptr) return fallback.value_or("none");
  if (found->text.empty()) fail_at(*found, "is an empty text");
  return found->text;
}

std::int64_t YamlSection::integer(std::string_view key, IntegerRange range,
                                  std::optional<std::int64_t> fallback) const {
  const YamlNode* found = scalar(key, !fallback, "a whole number");
  if (found == nullptr) {
    return fallback.value_or(std::clamp(std::int64_t{1}, range.min, range.max));
  }
  const std::optional<std::int64_t> value = number_from<std::int64_t>(found->text);
  const std::string expected = range.expected();
  if (!value) {
    fail_at(*found, fmt::format("{} is no whole number; expected {}{}", in_quotes(found->text),
                                  expected, number_hint(found->text)));
  }
  if (!range.contains(*value)) {
    fail_at(*found, fmt::format("{} is out of range; expected {}", *value, expected));
  }
  return *value;
}

double YamlSection::real(std::string_view key, RealRange range,
                         std::optional<double> fallback) const {
  const YamlNode* found = scalar(key, !fallback, "a number");
  if (found == nullptr) {
    return fallback.value_or(range.min_excluded ? std::min(range.min + 1, range.max) : range.min);
  }
  const std::optional<double> value = number_from<double>(found->text);
  const std::string expected = range.expected();
  if (!value || !std::isfinite(*value)) {
    fail_at(*found,
              fmt::format("{} is no number; expected {}", in_quotes(found->text), expected));
  }
  if (!range.contains(*value)) {
    fail_at(*found, fmt::format("{} is out of range; expected {}", found->text, expected));
  }
  return *value;
}

bool YamlSection::flag(std::string_view key, std::optional<bool> fallback) const {
  const YamlNode* found = scalar(key, !fallback, "true or false");
  if (found == nullptr) return fallback.value_or(false);
  if (found->text == "true") return true;
  if (found->text == "false") return false;
  fail_at(*found, in_quotes(found->text) + " is no truth value; expected true or false");
}

std::int64_t YamlSection::quantity(std::string_view key, core::Dimension dimension,
                                   std::int64_t min, std::optional<std::int64_t> fallback) const {
  const YamlNode* found =
      scalar(key, !fallback, fmt::format("e.g. {}", core::examples_of(dimension)));
  if (found == nullptr) return fallback.value_or(std::max<std::int64_t>(min, 1));
  const core::ParsedQuantity parsed = core::parse_quantity(found->text, dimension);
  if (!parsed.ok()) fail_at(*found, in_quotes(found->text) + " " + parsed.error);
  if (parsed.value < min) {
    fail_at(*found, fmt::format("{} is out of range; expected more, e.g. {}",
                                  in_quotes(found->text), core::examples_of(dimension)));
  }
  return parsed.value;
}

std::size_t YamlSection::one_of(std::string_view key, std::span<const std::string> names,
                                std::optional<std::size_t> fallback) const {
  const std::string expected = fmt::format("one of: {}", fmt::join(names, ", "));
  const YamlNode* found = scalar(key, !fallback, expected);
  if (found == nullptr) {
    if (!fallback) node_->unknowable = true;  // which keys it has depends on the choice
    return fallback.value_or(0);
  }
  const auto at = std::ranges::find(names, found->text);
  if (at != names.end()) return static_cast<std::size_t>(at - names.begin());
  fail_at(*found, fmt::format("{} is not known here; expected {}{}", in_quotes(found->text),
                                expected, did_you_mean(found->text, names)));
}

std::vector<std::string> YamlSection::texts(
    std::string_view key, std::optional<std::vector<std::string>> fallback) const {
  YamlNode* found = fallback ? ask(key) : require(key, "a list");
  if (found == nullptr) return fallback.value_or(std::vector<std::string>{});
  if (found->kind != NodeKind::sequence) {
    fail_at(*found, fmt::format("is {}; expected a list, e.g. [a, b]", kind_name(found->kind)));
  }
  std::vector<std::string> out;
  for (const auto& item : found->items) {
    if (item->kind != NodeKind::scalar) fail_at(*item, "expected plain text");
    out.push_back(item->text);
  }
  return out;
}

std::vector<std::uint32_t> YamlSection::integers(
    std::string_view key, IntegerRange range,
    std::optional<std::vector<std::uint32_t>> fallback) const {
  YamlNode* found = fallback ? ask(key) : require(key, "a list of whole numbers");
  if (found == nullptr) return fallback.value_or(std::vector<std::uint32_t>{});
  if (found->kind != NodeKind::sequence) {
    fail_at(*found, fmt::format("is {}; expected a list, e.g. [4, 4]", kind_name(found->kind)));
  }
  std::vector<std::uint32_t> out;
  for (const auto& item : found->items) {
    item->read = true;
    const auto value = item->kind == NodeKind::scalar ? number_from<std::int64_t>(item->text)
                                                  : std::optional<std::int64_t>{};
    if (!value || !range.contains(*value)) {
      fail_at(*found, fmt::format("{} is not possible; expected whole numbers from {} to {}",
                                    in_quotes(item->text), range.min, range.max));
    }
    out.push_back(static_cast<std::uint32_t>(*value));
  }
  return out;
}

YamlSection YamlSection::section(std::string_view key) const {
  YamlNode* found = require(key, "a mapping, or the path of a YAML file");
  if (found == nullptr) return stand_in(key);
  if (found->kind == NodeKind::scalar) load_in_place(*found);
  if (found->kind != NodeKind::mapping) {
    fail_at(*found, fmt::format("is {}; expected a mapping, or the path of a YAML file",
                                kind_name(found->kind)));
  }
  return section_at(*found);
}

std::optional<YamlSection> YamlSection::optional_section(std::string_view key) const {
  if (!has(key)) return std::nullopt;
  return section(key);
}

std::vector<YamlSection> YamlSection::sections(std::string_view key) const {
  YamlNode* found = require(key, "a list of mappings");
  if (found == nullptr) return {};
  if (found->kind != NodeKind::sequence) {
    fail_at(*found, fmt::format("is {}; expected a list of mappings", kind_name(found->kind)));
  }
  std::vector<YamlSection> out;
  for (const auto& item : found->items) {
    if (item->kind == NodeKind::scalar) load_in_place(*item);
    if (item->kind != NodeKind::mapping) {
      fail_at(*item, fmt::format("is {}; expected a mapping", kind_name(item->kind)));
    }
    item->read = true;
    out.push_back(section_at(*item));
  }
  return out;
}

std::string YamlSection::path(std::string_view key) const {
  YamlNode* found = scalar(key, true, "the path of a file");
  if (found == nullptr) return "none";
  const std::string path = resolve(*found);
  found->path = std::filesystem::absolute(path).lexically_normal().string();
  return path;
}

std::string YamlSection::name() const {
  const bool overridden = node_->file == "--set";
  const std::string fallback =
      overridden ? node_->key_path.substr(node_->key_path.rfind('.') + 1)
                 : std::filesystem::path(node_->file).stem().string();
  const std::string name = text("name", fallback.empty() ? "unnamed" : fallback);
  if (node_->find("name") == nullptr) {
    node_->usual.push_back({"name", std::make_unique<YamlNode>()});
    node_->usual.back().value->kind = NodeKind::scalar;
    node_->usual.back().value->text = name;
  }
  return name;
}

std::vector<std::string> YamlSection::keys() const {
  std::vector<std::string> names;
  for (const YamlNode::Entry& entry : node_->entries) names.push_back(entry.key);
  return names;
}

void YamlSection::note_usual(std::string_view key, const std::string& yaml) const {
  if (node_->find(key) != nullptr) return;
  node_->usual.push_back({std::string(key), parse_yaml(yaml, node_->file, node_->directory)});
}

YamlSection YamlSection::usual_section(std::string_view key) const {
  YamlNode& node =
      *node_->usual.emplace_back(YamlNode::Entry{std::string(key), std::make_unique<YamlNode>()})
           .value;
  node.kind = NodeKind::mapping;
  node.file = node_->file;
  node.line = node_->line;
  node.key_path = path_in(*node_, key);
  node.directory = node_->directory;
  return section_at(node);
}

void YamlSection::skip(std::string_view key) const {
  if (YamlNode* found = ask(key)) mark_read(*found);
}

std::string YamlSection::where(std::string_view key) const {
  const YamlNode* at = node_;
  std::string_view rest = key;
  while (!rest.empty() && at->kind == NodeKind::mapping) {
    const std::size_t dot = rest.find('.');
    const YamlNode* next = at->find(rest.substr(0, dot));
    if (next == nullptr) break;
    at = next;
    rest = dot == std::string_view::npos ? std::string_view{} : rest.substr(dot + 1);
  }
  if (rest.empty()) return at->where();
  return place_of_absent(*at, rest);
}

void YamlSection::fail(std::string_view key, const std::string& what) const {
  throw_absent(*problems_);
  throw InputError(where(key), what);
}

YamlDocument::YamlDocument(const std::string& path, const std::vector<std::string>& overrides)
    : root_(load_yaml(path)) {
  if (root_->kind != NodeKind::mapping) {
    throw InputError(path, fmt::format("is {}; expected a mapping, \"key: value\"",
                                       kind_name(root_->kind)));
  }
  std::vector<Override> parsed;
  for (const std::string& text : overrides) parsed.push_back(Override::parse(text));
  apply_overrides(*root_, std::move(parsed));
  root_->read = true;
  problems_.root = root_.get();
}

YamlDocument::~YamlDocument() {
  // A value that stands in for an absent one goes no further.
  EXAWARP_CHECK(problems_.missing.empty() || std::uncaught_exceptions() > 0);
}

YamlSection YamlDocument::root() { return {*root_, problems_}; }

void YamlDocument::finish() const {
  std::vector<const YamlNode*> explained;
  std::vector<Problem> all;
  add_absent(problems_, explained, all);
  add_unknown(*root_, explained, all);
  throw_all(*root_, all);
  check_pending(*root_);
}

Settings YamlDocument::settings() const {
  Settings all;
  list_settings(*root_, "", all);
  return all;
}

ResolvedYaml YamlDocument::resolved() const {
  YamlTexts texts = yaml_texts(*root_);
  core::Hasher hasher;
  hasher.bytes(texts.plain.data(), texts.plain.size());
  return {.text = std::move(texts.annotated), .hash = core::to_hex({hasher.value()})};
}

}  // namespace exawarp::io
