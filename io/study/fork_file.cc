#include "io/study/fork_file.h"

#include <algorithm>

#include "io/study/file_kinds.h"
#include "io/study/folder_name.h"
#include "io/study/suggest.h"
#include "io/study/yaml.h"

namespace exawarp::io {
namespace {

constexpr const char* kUnchanged = "unchanged";  // what reports call the future without a change

const Keys<FutureSpec>& future_keys() {
  using K = Keys<FutureSpec>;
  static const K keys(
      "futures", "One future each.",
      {K::custom("name", {ValueShape::text()}, "letters, digits, `_`, `-`, `.`; not `unchanged`",
                 [](const YamlSection& section, FutureSpec& out, const KeySchema& key) {
                   out.name = read_folder_name(section, key.name);
                   if (out.name == kUnchanged) section.fail(key.name, "is the future without one");
                 })
           .required(),
       K::quantity("at", &FutureSpec::at, {core::Dimension::time, 0}, "when the change comes")
           .otherwise("where the checkpoint lies"),
       K::texts("set", &FutureSpec::set, "what changes, as after `--set`: path.to.key=value")
           .required()});
  return keys;
}

void read_futures(const YamlSection& root, ForkFile& out, const KeySchema& key) {
  for (const YamlSection& section : root.sections(key.name)) {
    FutureSpec future = future_keys().read(section);
    if (std::ranges::find(out.futures, future.name, &FutureSpec::name) != out.futures.end()) {
      section.fail("name", in_quotes(future.name) + " is the name of another one, too");
    }
    out.futures.push_back(std::move(future));
  }
  if (out.futures.empty()) root.fail(key.name, "is empty; expected a future at least");
}

}  // namespace

const Keys<ForkFile>& fork_keys() {
  using K = Keys<ForkFile>;
  static const K keys(
      "fork", "What `exawarp fork` tries: docs/guide/checkpoints.md.",
      {K::custom("fork", {ValueShape::text()},
                 "name, also of the results' folder: letters, digits, `_`, `-`, `.`",
                 [](const YamlSection& root, ForkFile& out, const KeySchema& key) {
                   out.name = read_folder_name(root, key.name);
                 })
           .required(),
       K::custom("futures", {ValueShape::list_of(ValueShape::mapping(future_keys().schema()))},
                 "what each of them changes", read_futures)
           .required()});
  return keys;
}

ForkFile read_fork_file(const std::string& path) {
  YamlDocument document(path);
  const YamlSection root = document.root();
  expect_kind(FileKind::fork, root, path);
  ForkFile out{.file = path, .name = {}, .futures = {}};
  out = fork_keys().read(root, std::move(out));
  document.finish();
  return out;
}

}  // namespace exawarp::io
