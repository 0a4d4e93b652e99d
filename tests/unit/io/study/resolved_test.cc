// A study as one file that says everything: it reads as the study did.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "io/study/study.h"
#include "io/study/yaml.h"

namespace exawarp::tests {
namespace {

using io::ResolvedYaml;
using io::YamlDocument;

class Resolved : public testing::Test {
 protected:
  Resolved() { std::filesystem::create_directories(directory_ / "parts"); }
  ~Resolved() override { std::filesystem::remove_all(directory_); }

  std::string write(const std::string& name, const std::string& text) {
    const std::string path = (directory_ / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  // Of a file with a `note`, a mapping `part` and a file `data`.
  ResolvedYaml resolved(const std::string& path, const std::vector<std::string>& overrides = {}) {
    YamlDocument document(path, overrides);
    const io::YamlSection root = document.root();
    note_ = root.text("note", "none");
    const io::YamlSection part = root.section("part");
    part_name_ = part.name();
    static_cast<void>(part.integer("lanes", {}, 4));
    part.note_usual("lanes", "4");
    if (root.has("data")) static_cast<void>(root.path("data"));
    document.finish();
    return document.resolved();
  }

  std::string note_, part_name_;
  const std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() / ("exawarp_resolved_" + std::to_string(getpid()));
};

TEST_F(Resolved, HoldsFilesDefaultsAndOverridesAndSaysWhichIsWhich) {
  write("parts/fast.yaml", "width: 3\n");
  const std::string study = write("s.yaml", "part: parts/fast.yaml\ndata: parts/data.bin\n");
  YamlDocument document(study, {"part.width=5"});
  const io::YamlSection part = document.root().section("part");
  static_cast<void>(part.name());
  static_cast<void>(part.integer("width"));
  part.note_usual("lanes", "4");
  static_cast<void>(document.root().path("data"));
  document.finish();
  const std::string folder = directory_.string();
  EXPECT_EQ(document.resolved().text, "part:  # " + folder + "/parts/fast.yaml\n"
                                      "  width: 5  # --set\n"
                                      "  name: fast  # default\n"
                                      "  lanes: 4  # default\n"
                                      "data: " + folder + "/parts/data.bin\n");
}

TEST_F(Resolved, IsItsOwnResolution) {
  write("parts/fast.yaml", "{}\n");
  const ResolvedYaml first =
      resolved(write("s.yaml", "note: x\npart: parts/fast.yaml\ndata: parts/data.bin\n"));
  const ResolvedYaml second = resolved(write("resolved.yaml", first.text));
  EXPECT_EQ(part_name_, "fast");
  EXPECT_EQ(second.hash, first.hash);
  const ResolvedYaml other = resolved(write("t.yaml", "note: y\npart: parts/fast.yaml\n"));
  EXPECT_NE(other.hash, first.hash);
}

TEST_F(Resolved, KeepsEveryText) {
  const std::vector<std::string> texts{"a: b",   "# no comment", "null",   "~",  "[1, 2]", "- x",
                                       "\"q\"",  "back\\slash",  "tab\t",  "ü",  "true",   "0x10",
                                       " ends ", "{a: b}",       "'quoted'"};
  for (const std::string& text : texts) {
    std::string quoted;
    for (const char c : text) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    const ResolvedYaml first =
        resolved(write("s.yaml", "note: \"" + quoted + "\"\npart: {name: p}\n"));
    ASSERT_EQ(note_, text);
    static_cast<void>(resolved(write("resolved.yaml", first.text)));
    EXPECT_EQ(note_, text) << first.text;
  }
}

TEST_F(Resolved, EveryShippedStudyIsWhatItResolvesTo) {
  const std::filesystem::path studies =
      std::filesystem::path(EXAWARP_SOURCE_DIR) / "configs/studies";
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(studies)) {
    const io::Study study = io::read_study(entry.path().string(), {"seed=7"});
    const io::Study again = io::read_study(write("resolved.yaml", study.resolved.text), {});
    EXPECT_EQ(again.resolved.hash, study.resolved.hash) << entry.path();
    EXPECT_EQ(again.engine.seed, 7u);
    ++count;
  }
  EXPECT_GT(count, 30);
}

}  // namespace
}  // namespace exawarp::tests
