// A YAML file as a tree that remembers where each value stands: what io/study/yaml.h reads from.
//
// Why a tree of our own beside yaml-cpp's: every value keeps its file, line and key path, across
// files that refer to each other; duplicate keys are refused; and hostile input has bounds (size,
// depth, no aliases), so that no file can blow up in memory or on the stack.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace exawarp::io {

constexpr std::size_t kYamlBytesMax = 1 << 20;  // a file; larger is no configuration
constexpr std::size_t kYamlDepthMax = 32;       // nested mappings and lists
constexpr std::size_t kYamlKeysMax = 1'000;     // of one mapping

// `--set path.to.key=value`, or what is left of it below a certain node.
struct Override {
  std::string path;                   // as the user wrote it, without the value
  std::vector<std::string> segments;  // what is left of the path
  std::string value;                  // YAML text

  // Throws core::InputError when `argument` is not of the form path.to.key=value.
  static Override parse(std::string_view argument);
};

struct YamlNode {
  enum class Kind { null, scalar, sequence, mapping };
  struct Entry {
    std::string key;
    std::unique_ptr<YamlNode> value;
  };

  Kind kind = Kind::null;
  std::string text;  // of a scalar
  std::vector<Entry> entries;                    // of a mapping, in the file's order
  std::vector<std::unique_ptr<YamlNode>> items;  // of a sequence

  std::string file;      // as shown in messages; "--set" for an override
  int line = 0;          // counted from 1; 0: no line
  std::string key_path;  // "link.bandwidth", from the root of its file
  std::string directory; // what relative paths are relative to

  // Of a mapping: what held for keys that it has not, as plain text, a list of that or a mapping.
  std::vector<Entry> usual;
  std::string path;  // of a scalar that names a file: where that is, from the root of all files

  std::vector<Override> pending;   // for the file that this scalar refers to, once loaded
  bool read = false;               // somebody asked for it
  std::vector<std::string> asked;  // keys that somebody asked this mapping for
  // What it has to hold depends on what is missing, so nothing is said about its keys.
  bool unknowable = false;

  [[nodiscard]] YamlNode* find(std::string_view key) const;
  // What a message about this node starts with: `x.yaml:37: key "a.b"`.
  [[nodiscard]] std::string where() const;
};

// Reads and parses one file. Throws core::InputError.
std::unique_ptr<YamlNode> load_yaml(const std::string& path);

// Parses `text`, which is one YAML document; `file` and `directory` are what its nodes say.
std::unique_ptr<YamlNode> parse_yaml(const std::string& text, const std::string& file,
                                     const std::string& directory);

// Puts each override in its place below `root`; those that lead through a scalar stay pending
// there. Shorter paths go first, then the order given. Throws core::InputError.
void apply_overrides(YamlNode& root, std::vector<Override> overrides);

}  // namespace exawarp::io
