// yaml-cpp's events build the tree, so that positions are known and limits act while reading, not
// after; overrides are applied to the finished tree as if the file had said so.
#include "io/study/yaml_tree.h"

#include <fmt/format.h>
#include <unistd.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <new>
#include <optional>
#include <sstream>

#include "core/error.h"
#include "core/input_file.h"
#include "io/study/numbers.h"
#include "io/study/suggest.h"
#include "io/study/text_file.h"

namespace exawarp::io {
namespace {

using core::InputError;
using NodeKind = YamlNode::Kind;

// Builds the tree from yaml-cpp's events.
class Builder : public YAML::EventHandler {
 public:
  Builder(const std::string& file, const std::string& directory)
      : file_(file), directory_(directory) {}

  std::unique_ptr<YamlNode> take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (root_) fail(mark, "a second document starts here; expected one document a file");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    add(mark, NodeKind::null, {});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fail(mark, "aliases are not supported; expected the value itself, or a file of its own");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    if (awaits_key()) {
      set_key(mark, value);
    } else {
      add(mark, NodeKind::scalar, value);
    }
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    open(mark, NodeKind::sequence);
  }
  void OnSequenceEnd() override { stack_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    open(mark, NodeKind::mapping);
  }
  void OnMapEnd() override { stack_.pop_back(); }

 private:
  struct Level {
    YamlNode* node;
    bool has_key = false;
    std::string key;
    int key_line = 0;
  };

  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& what) const {
    throw InputError(fmt::format("{}:{}", file_, mark.line + 1), what);
  }
  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != YAML::NullAnchor) {
      fail(mark, "anchors are not supported; expected the value itself, or a file of its own");
    }
  }
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (!tag.empty() && tag != "?" && tag != "!") {
      fail(mark, "the tag " + in_quotes(tag) + " is not supported; expected a plain value");
    }
  }

  [[nodiscard]] bool awaits_key() const {
    return !stack_.empty() && stack_.back().node->kind == NodeKind::mapping &&
           !stack_.back().has_key;
  }

  void set_key(const YAML::Mark& mark, const std::string& key) {
    Level& level = stack_.back();
    if (level.node->entries.size() >= kYamlKeysMax) {
      fail(mark, fmt::format("more than {} keys in one mapping", kYamlKeysMax));
    }
    if (const YamlNode* first = level.node->find(key)) {
      fail(mark, fmt::format("key {} is given twice; the first is on line {}",
                             in_quotes(path_of(level.node->key_path, key)), first->line));
    }
    level.has_key = true;
    level.key = key;
    level.key_line = mark.line + 1;
  }

  static std::string path_of(const std::string& parent, const std::string& key) {
    return parent.empty() ? key : parent + "." + key;
  }

  YamlNode* add(const YAML::Mark& mark, NodeKind kind, const std::string& text) {
    if (awaits_key()) fail(mark, "a key is no plain text; expected \"name: value\"");
    auto node = std::make_unique<YamlNode>();
    YamlNode* added = node.get();
    node->kind = kind;
    node->text = text;
    node->file = file_;
    node->directory = directory_;
    node->line = mark.line + 1;
    if (stack_.empty()) {
      root_ = std::move(node);
    } else if (Level& level = stack_.back(); level.node->kind == NodeKind::mapping) {
      node->key_path = path_of(level.node->key_path, level.key);
      node->line = level.key_line;
      level.node->entries.push_back({level.key, std::move(node)});
      level.has_key = false;
    } else {
      node->key_path = fmt::format("{}[{}]", level.node->key_path, level.node->items.size());
      level.node->items.push_back(std::move(node));
    }
    return added;
  }

  void open(const YAML::Mark& mark, NodeKind kind) {
    if (stack_.size() >= kYamlDepthMax) {
      fail(mark, fmt::format("nested too deeply; expected at most {} levels", kYamlDepthMax));
    }
    stack_.push_back({add(mark, kind, {}), false, {}, 0});
  }

  std::string file_, directory_;
  std::unique_ptr<YamlNode> root_;
  std::vector<Level> stack_;
};

std::string read_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw InputError(path, "is a directory; expected a YAML file");
  }
  if (path != core::kStandardInput && access(path.c_str(), R_OK) != 0) {
    const std::string reason = core::system_text(errno);
    throw InputError(path, fmt::format("cannot open: {}{}", reason, did_you_mean_file(path)));
  }
  const core::MappedFile file(path);
  if (file.bytes().size() > kYamlBytesMax) {
    throw InputError(path, "is larger than 1 MiB; expected a YAML configuration");
  }
  return std::string(text_of(file));
}

// Drops what a node holds and makes it an empty one of an override.
void make_overridden(YamlNode& node, const Override& by) {
  node = YamlNode{};
  node.file = "--set";
  node.key_path = by.path;
}

// Gives every node of an override's value the path that the user wrote.
void prefix_paths(YamlNode& node, const std::string& prefix) {
  node.line = 0;
  node.key_path = node.key_path.empty() ? prefix : prefix + "." + node.key_path;
  for (YamlNode::Entry& entry : node.entries) prefix_paths(*entry.value, prefix);
  for (auto& item : node.items) prefix_paths(*item, prefix);
}

void assign(YamlNode& node, const Override& override) {
  try {
    node = std::move(*parse_yaml(override.value, "--set", "."));
  } catch (const InputError&) {
    throw InputError("--set " + override.path,
                     in_quotes(override.value) + " is no YAML value; expected e.g. --set a.b=8");
  }
  prefix_paths(node, override.path);
}

// Of the list that `node` is: jobs.1.start is of the second job.
YamlNode& element_of(YamlNode& node, const Override& override) {
  const std::optional<std::uint64_t> index = unsigned_from(override.segments.front());
  if (index && *index < node.items.size()) return *node.items[*index];
  throw InputError("--set " + override.path,
                   fmt::format("{} is a list of {}; expected the number of one, from 0, or to set "
                               "the list as a whole",
                               in_quotes(node.key_path), node.items.size()));
}

void apply(YamlNode& node, Override override) {
  if (override.segments.empty()) return assign(node, override);
  if (node.kind == NodeKind::scalar) {
    node.pending.push_back(std::move(override));
    return;
  }
  if (node.kind == NodeKind::sequence) {
    YamlNode& element = element_of(node, override);
    override.segments.erase(override.segments.begin());
    return apply(element, std::move(override));
  }
  if (node.kind == NodeKind::null) {
    make_overridden(node, override);
    node.kind = NodeKind::mapping;
  }
  const std::string key = override.segments.front();
  override.segments.erase(override.segments.begin());
  YamlNode* child = node.find(key);
  if (child == nullptr) {
    node.entries.push_back({key, std::make_unique<YamlNode>()});
    child = node.entries.back().value.get();
    make_overridden(*child, override);
  }
  apply(*child, std::move(override));
}

}  // namespace

Override Override::parse(std::string_view argument) {
  const std::size_t equals = argument.find('=');
  const auto fail = [&](const char* what) -> InputError {
    return InputError("--set " + one_line(argument),
                      std::string(what) + "; expected --set path.to.key=value");
  };
  if (equals == std::string_view::npos) throw fail("has no \"=\"");
  Override out;
  out.path = argument.substr(0, equals);
  out.value = argument.substr(equals + 1);
  std::stringstream stream(out.path);
  for (std::string segment; std::getline(stream, segment, '.');) out.segments.push_back(segment);
  const bool bad = out.path.empty() || out.path.back() == '.' ||
                   std::ranges::any_of(out.segments, [](const auto& s) { return s.empty(); });
  if (bad) throw fail("names no key");
  if (out.value.empty()) throw fail("has no value");
  if (out.segments.size() > kYamlDepthMax) throw fail("is nested too deeply");
  return out;
}

YamlNode* YamlNode::find(std::string_view key) const {
  for (const Entry& entry : entries) {
    if (entry.key == key) return entry.value.get();
  }
  return nullptr;
}

std::string YamlNode::where() const {
  if (file == "--set") return "--set " + one_line(key_path);
  std::string place = line > 0 ? fmt::format("{}:{}", file, line) : file;
  if (!key_path.empty()) place += ": key " + in_quotes(key_path);
  return place;
}

std::unique_ptr<YamlNode> parse_yaml(const std::string& text, const std::string& file,
                                     const std::string& directory) {
  Builder builder(file, directory);
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const InputError&) {
    throw;
  } catch (const YAML::Exception& error) {
    throw InputError(fmt::format("{}:{}", file, error.mark.line + 1),
                     "is no valid YAML: " + error.msg);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw InputError(file, std::string("is no valid YAML: ") + error.what());
  }
  std::unique_ptr<YamlNode> root = builder.take();
  if (!root) {
    root = std::make_unique<YamlNode>();
    root->file = file;
    root->directory = directory;
  }
  return root;
}

std::unique_ptr<YamlNode> load_yaml(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  return parse_yaml(read_file(path), path, directory.empty() ? "." : directory);
}

void apply_overrides(YamlNode& root, std::vector<Override> overrides) {
  std::ranges::stable_sort(overrides, {}, [](const Override& o) { return o.segments.size(); });
  for (Override& override : overrides) apply(root, std::move(override));
}

}  // namespace exawarp::io
