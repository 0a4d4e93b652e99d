// What the YAML reader says of input that is wrong, and what it survives.
#include "io/study/yaml.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <ostream>

#include "io/study/suggest.h"
#include "tests/unit/io/study/yaml_error.h"

namespace exawarp::tests {
namespace {

using namespace io;

// A directory of its own for each test, and the reader that most tests share.
class Yaml : public testing::Test {
 protected:
  Yaml() { std::filesystem::create_directories(directory_ / "links"); }
  ~Yaml() override { std::filesystem::remove_all(directory_); }

  std::string write(const std::string& name, const std::string& text) {
    const std::string path = (directory_ / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  // Reads what a "link" file holds; the directory is cut off the message.
  std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
    write("x.yaml", text);
    return yaml_error(directory_, "x.yaml", overrides, read);
  }

  static void read(const YamlSection& root) {
    static_cast<void>(root.text("name", "none"));
    static_cast<void>(root.integer("ports", {1, 64}, 8));
    static_cast<void>(root.real("share", {.min = 0, .max = 1, .max_excluded = true}, 0.5));
    static_cast<void>(root.flag("on", true));
    static_cast<void>(root.one_of("kind", std::array<std::string, 2>{"ring", "tree"}, 0));
    static_cast<void>(root.texts("order", std::vector<std::string>{"a"}));
    const YamlSection link = root.section("link");
    static_cast<void>(link.quantity("bandwidth", core::Dimension::bandwidth));
    static_cast<void>(link.quantity("latency", core::Dimension::time, 0, 0));
  }

  const std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() / ("exawarp_yaml_" + std::to_string(getpid()));
};

const std::string kFastLink = "link: {bandwidth: 400 Gb/s}\n";

TEST_F(Yaml, ReadsWhatIsWellFormed) { EXPECT_EQ(error_of("ports: 4\n" + kFastLink), ""); }

TEST_F(Yaml, AQuantityWithoutTimeUnitNamesLineAndKey) {
  EXPECT_EQ(error_of("ports: 4\nlink:\n  bandwidth: 400 Gb\n"),
            "x.yaml:3: key \"link.bandwidth\": \"400 Gb\" has no time unit; expected e.g. "
            "\"400 Gb/s\" or \"50 GB/s\"");
}

TEST_F(Yaml, AMisspeltKeyIsSuggested) {
  EXPECT_EQ(error_of("link:\n  bandwith: 400 Gb/s\n"),
            "x.yaml:2: key \"link.bandwith\": unknown key; did you mean \"bandwidth\"?");
  EXPECT_EQ(error_of("prots: 4\n" + kFastLink),
            "x.yaml:1: key \"prots\": unknown key; did you mean \"ports\"?");
  EXPECT_EQ(error_of("zebra: 4\n" + kFastLink),
            "x.yaml:1: key \"zebra\": unknown key; expected one of: name, ports, share, on, kind, "
            "order, link");
}

TEST_F(Yaml, AMissingKeyNamesTheMappingItBelongsTo) {
  EXPECT_EQ(error_of("ports: 4\nlink:\n  latency: 1 us\n"),
            "x.yaml:2: key \"link.bandwidth\": is missing; expected e.g. \"400 Gb/s\" or "
            "\"50 GB/s\"");
}

TEST_F(Yaml, WrongTypesAndRangesAreRefused) {
  EXPECT_EQ(error_of("ports: many\n" + kFastLink),
            "x.yaml:1: key \"ports\": \"many\" is no whole number; expected a whole number from 1 "
            "to 64");
  EXPECT_EQ(error_of("ports: 65\n" + kFastLink),
            "x.yaml:1: key \"ports\": 65 is out of range; expected a whole number from 1 to 64");
  EXPECT_EQ(error_of("ports: [1]\n" + kFastLink),
            "x.yaml:1: key \"ports\": is a list; expected a whole number");
  EXPECT_EQ(error_of("ports:\n" + kFastLink),
            "x.yaml:1: key \"ports\": is empty; expected a whole number");
  EXPECT_EQ(error_of("share: 1.0\n" + kFastLink),
            "x.yaml:1: key \"share\": 1.0 is out of range; expected a number in [0, 1)");
  EXPECT_EQ(error_of("share: nan\n" + kFastLink),
            "x.yaml:1: key \"share\": \"nan\" is no number; expected a number in [0, 1)");
  EXPECT_EQ(error_of("on: yes\n" + kFastLink),
            "x.yaml:1: key \"on\": \"yes\" is no truth value; expected true or false");
  EXPECT_EQ(error_of("kind: rnig\n" + kFastLink),
            "x.yaml:1: key \"kind\": \"rnig\" is not known here; expected one of: ring, tree; did "
            "you mean \"ring\"?");
  EXPECT_EQ(error_of("order: a\n" + kFastLink),
            "x.yaml:1: key \"order\": is plain text; expected a list, e.g. [a, b]");
  EXPECT_EQ(error_of("link: [1, 2]\n"),
            "x.yaml:1: key \"link\": is a list; expected a mapping, or the path of a YAML file");
}

TEST_F(Yaml, DuplicateKeysAreRefused) {
  EXPECT_EQ(error_of("ports: 4\nports: 5\n" + kFastLink),
            "x.yaml:2: key \"ports\" is given twice; the first is on line 1");
}

TEST_F(Yaml, BrokenYamlIsRefusedWithItsLine) {
  EXPECT_EQ(error_of("ports: 4\nlink: {bandwidth: 1\n"),
            "x.yaml:3: is no valid YAML: end of map flow not found");
  EXPECT_EQ(error_of(""), "x.yaml: is empty; expected a mapping, \"key: value\"");
  EXPECT_EQ(error_of("a: 1\n---\nb: 2\n"),
            "x.yaml:2: a second document starts here; expected one document a file");
}

TEST_F(Yaml, HostileFilesAreBounded) {
  EXPECT_EQ(error_of("a: &x [1]\nb: *x\n"),
            "x.yaml:1: anchors are not supported; expected the value itself, or a file of its own");
  std::string deep = "a: ";
  for (int i = 0; i < 100'000; ++i) deep += "{a: ";
  EXPECT_EQ(error_of(deep), "x.yaml:1: nested too deeply; expected at most 32 levels");
  EXPECT_NE(error_of("a: " + std::string(100'000, '[')), "");
  EXPECT_EQ(error_of("a: " + std::string(2'000'000, 'x')),
            "x.yaml: is larger than 1 MiB; expected a YAML configuration");
  EXPECT_EQ(error_of("!!python/object a: 1\n"),
            "x.yaml:1: the tag \"tag:yaml.org,2002:python/object\" is not supported; expected a "
            "plain value");
  std::string many;
  for (int i = 0; i < 2'000; ++i) many += "k" + std::to_string(i) + ": 1\n";
  EXPECT_EQ(error_of(many), "x.yaml:1001: more than 1000 keys in one mapping");
}

TEST_F(Yaml, AReferenceIsLoadedInPlaceAndItsErrorsNameItsFile) {
  write("links/slow.yaml", "# a comment\nbandwidth: 1 Mb/s\n");
  EXPECT_EQ(error_of("link: links/slow.yaml\n"), "");
  write("links/slow.yaml", "# a comment\nbandwidth: 1 Mb\n");
  EXPECT_EQ(error_of("link: links/slow.yaml\n"),
            "links/slow.yaml:2: key \"bandwidth\": \"1 Mb\" has no time unit; expected "
            "e.g. \"400 Gb/s\" or \"50 GB/s\"");
  EXPECT_EQ(error_of("link: links/slwo.yaml\n"),
            "x.yaml:1: key \"link\": there is no file \"links/slwo.yaml\"; did you mean "
            "\"slow.yaml\"?");
  EXPECT_EQ(error_of("link: links\n"), "links: is a directory; expected a YAML file");
}

TEST_F(Yaml, OverridesReplaceAndAddKeysAlsoInReferencedFiles) {
  write("links/slow.yaml", "bandwidth: 1 Mb/s\n");
  const std::string path = write("x.yaml", "link: links/slow.yaml\n");
  YamlDocument document(path, {"link.bandwidth=8 b/s", "link.latency=3 ps", "ports=2"});
  const YamlSection root = document.root();
  EXPECT_EQ(root.integer("ports"), 2);
  const YamlSection link = root.section("link");
  EXPECT_EQ(link.quantity("bandwidth", core::Dimension::bandwidth), 1);
  EXPECT_EQ(link.quantity("latency", core::Dimension::time), 3);
  document.finish();
}

TEST_F(Yaml, OverridesReplaceElementsOfLists) {
  const std::string path =
      write("x.yaml", "links: [{latency: 1 ps}, {latency: 2 ps}]\nnames: [a, b]\n");
  YamlDocument document(path, {"links.1.latency=3 ps", "names.0=c"});
  const YamlSection root = document.root();
  const std::vector<YamlSection> links = root.sections("links");
  EXPECT_EQ(links[0].quantity("latency", core::Dimension::time), 1);
  EXPECT_EQ(links[1].quantity("latency", core::Dimension::time), 3);
  EXPECT_EQ(root.texts("names"), (std::vector<std::string>{"c", "b"}));
}

TEST_F(Yaml, OverridesThatGoWrongNameTheOverride) {
  EXPECT_EQ(error_of(kFastLink, {"ports"}),
            "--set ports: has no \"=\"; expected --set path.to.key=value");
  EXPECT_EQ(error_of(kFastLink, {"=4"}),
            "--set =4: names no key; expected --set path.to.key=value");
  EXPECT_EQ(error_of(kFastLink, {"ports="}),
            "--set ports=: has no value; expected --set path.to.key=value");
  EXPECT_EQ(error_of(kFastLink, {"a..b=1"}),
            "--set a..b=1: names no key; expected --set path.to.key=value");
  EXPECT_EQ(error_of(kFastLink, {"ports=x"}),
            "--set ports: \"x\" is no whole number; expected a whole number from 1 to 64");
  EXPECT_EQ(error_of(kFastLink, {"link.latncy=1 us"}),
            "--set link.latncy: unknown key; did you mean \"latency\"?");
  EXPECT_EQ(error_of("name: a\n" + kFastLink, {"name.first=b"}),
            "--set name.first: \"name\" is no mapping, but \"a\"");
  for (const char* element : {"order.1", "order.-1", "order.b"}) {
    EXPECT_EQ(error_of("order: [a]\n" + kFastLink, {std::string(element) + "=b"}),
              "--set " + std::string(element) +
                  ": \"order\" is a list of 1; expected the number of one, from 0, or to set the "
                  "list as a whole");
  }
  EXPECT_EQ(error_of(kFastLink, {"order=[a"}),
            "--set order: \"[a\" is no YAML value; expected e.g. --set a.b=8");
  EXPECT_EQ(error_of(kFastLink, {"link.bandwidth={a: 1}"}),
            "--set link.bandwidth: is a mapping; expected e.g. \"400 Gb/s\" or \"50 GB/s\"");
}

TEST(Suggest, QuotedTextStaysOnOneLine) {
  EXPECT_EQ(in_quotes("a\nb\x01"), "\"a\\nb\\x01\"");
  EXPECT_EQ(in_quotes(std::string(100, 'x')), "\"" + std::string(60, 'x') + "...\"");
}

TEST(Suggest, OnlyPlausibleSlipsAreSuggested) {
  const std::vector<std::string> names{"latency", "bandwidth"};
  EXPECT_EQ(closest("latncy", names), "latency");
  EXPECT_EQ(closest("zebra", names), "");
  EXPECT_EQ(closest("", names), "");
}

}  // namespace
}  // namespace exawarp::tests
