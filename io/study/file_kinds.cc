#include "io/study/file_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/error.h"

namespace exawarp::io {
namespace {

struct KindOfFile {
  FileKind kind;
  const char* name;
  const char* reader;             // "{}": the file
  std::vector<std::string> keys;  // any of these
};

// The first that fits: a study may hold what the later ones do.
const std::array kKinds{
    KindOfFile{FileKind::sweep, "a sweep", "run it by `exawarp sweep {}`", {"sweep"}},
    KindOfFile{FileKind::search, "a search", "run it by `exawarp search {}`", {"search"}},
    KindOfFile{
        FileKind::traffic_study, "a traffic study", "run it by `exawarp traffic {}`", {"traffic"}},
    KindOfFile{
        FileKind::serving_study, "a serving study", "run it by `exawarp serve {}`", {"serving"}},
    KindOfFile{
        FileKind::study, "a study", "run it by `exawarp run {}`", {"workload", "jobs", "system"}},
    KindOfFile{FileKind::fork,
               "a file of futures",
               "try them by `exawarp fork CHECKPOINTS --variants {}`",
               {"futures"}},
    KindOfFile{FileKind::workload,
               "a workload specification",
               "name it in a study, \"workload: {}\", or make its workload by `exawarp workload "
               "generate {} -o FILE.xwg`",
               {"transformer", "dlrm", "resnet", "inference", "microbenchmark"}},
    KindOfFile{FileKind::accelerator,
               "an accelerator",
               "name it in a system, \"accelerator: {}\"",
               {"matrix_rate"}},
    KindOfFile{FileKind::system, "a system", "name it in a study, \"system: {}\"", {"accelerator"}},
    KindOfFile{FileKind::fabric,
               "a fabric",
               "name it in a system, \"fabric: {}\"",
               {"scale_out", "topology"}}};

const KindOfFile* kind_of(const std::vector<std::string>& keys) {
  for (const KindOfFile& kind : kKinds) {
    if (std::ranges::find_first_of(keys, kind.keys) != keys.end()) return &kind;
  }
  return nullptr;
}

}  // namespace

void expect_kind(FileKind expected, const YamlSection& root, const std::string& path) {
  const KindOfFile* const found = kind_of(root.keys());
  if (found == nullptr || found->kind == expected) return;
  const auto wanted = std::ranges::find(kKinds, expected, &KindOfFile::kind);
  std::string reader = found->reader;
  for (std::size_t at; (at = reader.find("{}")) != std::string::npos;) {
    reader.replace(at, 2, path.find("{}") == std::string::npos ? path : "FILE");
  }
  throw core::InputError(path,
                         fmt::format("is {}; expected {}; {}", found->name, wanted->name, reader));
}

}  // namespace exawarp::io
