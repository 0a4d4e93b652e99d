// Through yaml-cpp's emitter, with every text in quotes that another reader could take for
// something else. Mappings lie below each other, lists of plain text in one line.
#include "io/study/yaml_writer.h"

#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>

#include <algorithm>
#include <string_view>
#include <vector>

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
  // Written once: comments are cut out of a copy.
  YamlTexts texts(const YamlNode& root) {
    EXAWARP_CHECK(root.kind == NodeKind::mapping);
    out_.SetIndent(2);
    write(root);
    EXAWARP_CHECK(out_.good());
    YamlTexts out{.plain = {}, .annotated = std::string(out_.c_str()) + "\n"};
    std::size_t from = 0;
    for (const Span& comment : comments_) {
      out.plain.append(out.annotated, from, comment.from - from);
      from = comment.until;
    }
    out.plain.append(out.annotated, from);
    return out;
  }

 private:
  struct Span {
    std::size_t from, until;
  };

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
    out_ << YAML::Key;
    write_text(entry.key);
    out_ << YAML::Value;
    if (below && !origin.empty()) write_comment(origin);
    write(*entry.value);
    if (!below && !origin.empty()) write_comment(origin);
  }

  // The emitter may write what belongs to the value before it, and then the comment's own spaces.
  void write_comment(const std::string& text) {
    const std::size_t before = out_.size();
    out_ << YAML::Comment(text);
    const std::string_view written(out_.c_str(), out_.size());
    std::size_t from = written.find('#', before);
    EXAWARP_CHECK(from != std::string_view::npos);
    while (from > before && written[from - 1] == ' ') --from;
    comments_.push_back({from, written.size()});
  }

  YAML::Emitter out_;
  std::vector<Span> comments_;  // ascending
};

}  // namespace

YamlTexts yaml_texts(const YamlNode& root) { return Writer().texts(root); }

}  // namespace exawarp::io
