// Typed, checked reading of YAML configurations.
//
//   YamlDocument document("configs/x.yaml", overrides);
//   YamlSection root = document.root();
//   const std::int64_t layers = root.integer("layers", {.min = 1});
//   const YamlSection link = root.section("link");    // inline, or `link: ../links/y.yaml`
//   const std::int64_t bandwidth = link.quantity("bandwidth", core::Dimension::bandwidth);
//   document.finish();                                // refuses keys that nobody asked for
//
// Every error is one line of core::InputError:
//   configs/x.yaml:37: key "link.bandwidth": "400 Gb" has no time unit; expected e.g. "400 Gb/s"
// Why the reader collects the keys it is asked for: they are the schema, so unknown keys and
// "did you mean" need no second list that could disagree.
// A required key that is absent is noted, and reading goes on with some value in its range, so that
// one error tells all that are: the next fail(), or finish(), throws it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/names.h"
#include "core/units.h"
#include "io/study/numbers.h"
#include "io/study/settings.h"
#include "io/study/yaml_tree.h"

namespace exawarp::io {

// One value of a registry, whose names are known when the program runs, by the name users write.
template <class E>
struct Choice {
  std::string name;
  E value;
};

// What is absent from a document, by mapping, and empty mappings to read on from in its stead.
struct YamlProblems {
  struct Missing {
    const YamlNode* mapping;
    std::string key;
    std::string expected;
  };
  const YamlNode* root = nullptr;
  std::vector<Missing> missing;
  std::vector<std::unique_ptr<YamlNode>> stand_ins;
};

// A mapping in a document. Cheap to copy; valid as long as its document.
// Each getter takes a key of this mapping; without `fallback` the key is required.
class YamlSection {
 public:
  YamlSection(YamlNode& node, YamlProblems& problems) : node_(&node), problems_(&problems) {}

  [[nodiscard]] bool has(std::string_view key) const;
  // Present, and plain text rather than a mapping or a list.
  [[nodiscard]] bool has_text(std::string_view key) const;
  // Present, and a list.
  [[nodiscard]] bool has_list(std::string_view key) const;

  [[nodiscard]] std::string text(std::string_view key,
                                 std::optional<std::string> fallback = {}) const;
  [[nodiscard]] std::int64_t integer(std::string_view key, IntegerRange range = {},
                                     std::optional<std::int64_t> fallback = {}) const;
  [[nodiscard]] double real(std::string_view key, RealRange range = {},
                            std::optional<double> fallback = {}) const;
  [[nodiscard]] bool flag(std::string_view key, std::optional<bool> fallback = {}) const;
  // In base units; refuses what is below `min`.
  [[nodiscard]] std::int64_t quantity(std::string_view key, core::Dimension dimension,
                                      std::int64_t min = 1,
                                      std::optional<std::int64_t> fallback = {}) const;
  // The index in `names` of the key's value.
  [[nodiscard]] std::size_t one_of(std::string_view key, std::span<const std::string> names,
                                   std::optional<std::size_t> fallback = {}) const;
  // The same by value: `choice<Sync>("sync", names_of(Sync{}), Sync::optimistic)`.
  template <class E>
  [[nodiscard]] E choice(std::string_view key, std::span<const core::Named<E>> table,
                         std::optional<E> fallback = {}) const;
  template <class E>
  [[nodiscard]] E choice(std::string_view key, std::span<const Choice<E>> choices,
                         std::optional<E> fallback = {}) const;
  [[nodiscard]] std::vector<std::string> texts(
      std::string_view key, std::optional<std::vector<std::string>> fallback = {}) const;

  // A list of whole numbers.
  [[nodiscard]] std::vector<std::uint32_t> integers(
      std::string_view key, IntegerRange range,
      std::optional<std::vector<std::uint32_t>> fallback = {}) const;

  // A mapping given in place or as the path of a YAML file, which is then loaded in place.
  [[nodiscard]] YamlSection section(std::string_view key) const;
  [[nodiscard]] std::optional<YamlSection> optional_section(std::string_view key) const;
  // A list of mappings, each in place or as the path of a YAML file.
  [[nodiscard]] std::vector<YamlSection> sections(std::string_view key) const;
  // A path relative to the file it stands in, as it can be opened from here.
  [[nodiscard]] std::string path(std::string_view key) const;
  // `name`, where it is for the reader alone: without it that of the file, less folder and
  // extension.
  [[nodiscard]] std::string name() const;
  // Keys of this mapping, in the file's order.
  [[nodiscard]] std::vector<std::string> keys() const;
  // Notes what holds for a key that is absent, as YAML: for YamlDocument::resolved().
  void note_usual(std::string_view key, const std::string& yaml) const;
  // An absent mapping, to read defaults from, which notes them.
  [[nodiscard]] YamlSection usual_section(std::string_view key) const;
  // Accepts the key, whatever it holds: documentation for the reader of the file.
  void skip(std::string_view key) const;

  // What a message about `key` (or "a.b" below it) starts with; the nearest place where absent.
  [[nodiscard]] std::string where(std::string_view key) const;
  // Throws core::InputError "PLACE: key "KEY": WHAT"; `key` may lead into sections below ("a.b").
  // Where required keys are absent it names those instead: the complaint may be about what stands
  // in for them.
  [[noreturn]] void fail(std::string_view key, const std::string& what) const;

 private:
  [[nodiscard]] YamlNode* ask(std::string_view key) const;
  // nullptr where it is absent, which is noted.
  [[nodiscard]] YamlNode* require(std::string_view key, std::string_view expected) const;
  [[nodiscard]] YamlSection section_at(YamlNode& node) const;
  [[nodiscard]] YamlSection stand_in(std::string_view key) const;
  [[noreturn]] void fail_at(const YamlNode& node, const std::string& what) const;
  // The scalar at `key`; nullptr where it is absent.
  [[nodiscard]] YamlNode* scalar(std::string_view key, bool required,
                                 std::string_view expected) const;
  YamlNode* node_;
  YamlProblems* problems_;
};

// A document as one file of YAML that needs no other, completed by the defaults that were relied
// on: it reads as the document did.
struct ResolvedYaml {
  std::string text;
  std::string hash;  // 16 hex digits over all but comments
};

class YamlDocument {
 public:
  // Loads `path` and applies the overrides. Throws core::InputError.
  YamlDocument(const std::string& path, const std::vector<std::string>& overrides = {});
  ~YamlDocument();
  YamlDocument(const YamlDocument&) = delete;
  YamlDocument& operator=(const YamlDocument&) = delete;

  [[nodiscard]] YamlSection root();
  // Throws core::InputError for the required keys that are absent, and the keys or overrides that
  // nobody has asked for. Until then values may stand in for what is absent.
  void finish() const;
  // All that the files hold, those that were loaded in place included, and the overrides: each
  // value by its path from the root, in order.
  [[nodiscard]] Settings settings() const;
  // Only once everything has been read.
  [[nodiscard]] ResolvedYaml resolved() const;

 private:
  std::unique_ptr<YamlNode> root_;
  YamlProblems problems_;
};

template <class E>
E YamlSection::choice(std::string_view key, std::span<const core::Named<E>> table,
                      std::optional<E> fallback) const {
  if (fallback && !has(key)) return *fallback;
  return table[one_of(key, core::names_in(table))].value;
}

template <class E>
E YamlSection::choice(std::string_view key, std::span<const Choice<E>> choices,
                      std::optional<E> fallback) const {
  std::vector<std::string> names;
  std::optional<std::size_t> fallback_index;
  for (const Choice<E>& choice : choices) {
    if (fallback && *fallback == choice.value) fallback_index = names.size();
    names.push_back(choice.name);
  }
  return choices[one_of(key, names, fallback_index)].value;
}

}  // namespace exawarp::io
