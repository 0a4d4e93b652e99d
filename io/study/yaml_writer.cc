// Through yaml-cpp's emitter, with every text in quotes that another reader could take for
// something else. Mappings lie below each other, lists of plain text in one line.
#include "io/study/yaml_writer.h"

#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>

#include <algorithm>
#include <string_view>

#include "core/check.h"

namespace exawarp::io {
namespace {

using NodeKind = YamlNode::Kind;

bool is_plain(std::string_view text) {
  constexpr std::string_view kNulls[] = {"null", "Null", "NULL"};
  return !text.empty() && std::ranges::find(kNulls, text) == std::end(kNulls) &&
         text.front() != '-' && std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '.' || c == '-' || c == '/';
         });
}

class Writer {
 public:
  explicit Writer(YamlComments comments) : comments_(comments == YamlComments::origins) {}

  std::string text(const YamlNode& root) {
    EXAWARP_CHECK(root.kind == NodeKind::mapping);
    out_.SetIndent(2);
    write(root);
    EXAWARP_CHECK(out_.good());
    return std::string(out_.c_str()) + "\n";
  }

 private:
  void write(const YamlNode& node) {
    switch (node.kind) {
      case NodeKind::null:
        out_ << YAML::Null;
        return;
      case NodeKind::scalar:
        write_text(node.path.empty() ? node.text : node.path);
        return;
      case NodeKind::sequence:
        write_list(node);
        return;
      case NodeKind::mapping:
        write_mapping(node);
        return;
    }
  }

  void write_text(const std::string& text) {
    if (!is_plain(text)) out_ << YAML::DoubleQuoted;
    out_ << text;
  }

  void write_list(const YamlNode& node) {
    const bool plain = std::ranges::all_of(
        node.items, [](const auto& item) { return item->kind == NodeKind::scalar; });
    if (plain) out_ << YAML::Flow;
    out_ << YAML::BeginSeq;
    for (const auto& item : node.items) write(*item);
    out_ << YAML::EndSeq;
  }

  void write_mapping(const YamlNode& node) {
    if (node.entries.empty() && node.usual.empty()) out_ << YAML::Flow;
    out_ << YAML::BeginMap;
    for (const YamlNode::Entry& entry : node.entries) {
      write_entry(entry, entry.value->file == node.file ? "" : entry.value->file);
    }
    for (const YamlNode::Entry& entry : node.usual) {
      const bool says_nothing =
          entry.value->kind == NodeKind::mapping && entry.value->usual.empty();
      if (!says_nothing) write_entry(entry, "default");
    }
    out_ << YAML::EndMap;
  }

  // `origin` is told where it is not that of the mapping it stands in.
  void write_entry(const YamlNode::Entry& entry, const std::string& origin) {
    const bool below = entry.value->kind == NodeKind::mapping;
    const bool comment = comments_ && !origin.empty();
    out_ << YAML::Key;
    write_text(entry.key);
    out_ << YAML::Value;
    if (below && comment) out_ << YAML::Comment(origin);
    write(*entry.value);
    if (!below && comment) out_ << YAML::Comment(origin);
  }

  YAML::Emitter out_;
  bool comments_;
};

}  // namespace

std::string yaml_text(const YamlNode& root, YamlComments comments) {
  return Writer(comments).text(root);
}

}  // namespace exawarp::io
