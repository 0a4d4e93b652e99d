// Required keys that are absent: one error names all of them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "io/study/yaml.h"
#include "tests/unit/io/study/yaml_error.h"

namespace exawarp::tests {
namespace {

using namespace io;

class MissingKeys : public testing::Test {
 protected:
  MissingKeys() { std::filesystem::create_directories(directory_); }
  ~MissingKeys() override { std::filesystem::remove_all(directory_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name, std::ios::binary) << text;
  }

  // Of a cluster with a link, a shape that depends on its kind, and counts in their ranges.
  std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
    write("x.yaml", text);
    return yaml_error(directory_, "x.yaml", overrides,
                      [this](const YamlSection& root) { read(root); });
  }

  void read(const YamlSection& root) {
    name_ = root.name();
    const std::int64_t ports = root.integer("ports", {2, 64});
    EXPECT_GE(ports, 2);
    EXPECT_LE(ports, 64);
    const double share = root.real("share", {.min = 0, .max = 1, .min_excluded = true});
    EXPECT_GT(share, 0);
    EXPECT_LE(share, 1);
    const YamlSection link = root.section("link");
    EXPECT_GE(link.quantity("bandwidth", core::Dimension::bandwidth), 1);
    EXPECT_GE(link.quantity("latency", core::Dimension::time, 5), 5);
    const YamlSection shape = root.section("shape");
    if (shape.one_of("kind", std::array<std::string, 2>{"ring", "torus"}) == 0) {
      static_cast<void>(shape.integer("length"));
    } else if (shape.integers("dims", {1, 8}).empty()) {
      shape.fail("dims", "has no dimensions");
    }
  }

  std::string name_;
  const std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() / ("exawarp_missing_" + std::to_string(getpid()));
};

const std::string kLink = "link: {bandwidth: 1 GB/s, latency: 1 us}\n";
const std::string kShape = "shape: {kind: ring, length: 4}\n";
const std::string kRest = "ports: 2\nshare: 0.5\n";

TEST_F(MissingKeys, NoneIsMissing) { EXPECT_EQ(error_of(kRest + kLink + kShape), ""); }

TEST_F(MissingKeys, OneIsToldAtItsPlace) {
  EXPECT_EQ(error_of("ports: 2\n" + kLink + kShape),
            "x.yaml:1: key \"share\": is missing; expected a number");
}

TEST_F(MissingKeys, SeveralAreToldAtOnce) {
  EXPECT_EQ(error_of("share: 0.5\nlink: {}\n" + kShape),
            "x.yaml: 3 keys are missing or unknown: \"ports\" is missing (expected a whole "
            "number); \"link.bandwidth\" is missing (expected e.g. \"400 Gb/s\" or \"50 GB/s\"); "
            "\"link.latency\" is missing (expected e.g. \"3.6 us\" or \"250 ns\")");
}

TEST_F(MissingKeys, WhatAMissingMappingHoldsIsNotTold) {
  EXPECT_EQ(error_of(kRest + kShape),
            "x.yaml:1: key \"link\": is missing; expected a mapping, or the path of a YAML file");
}

TEST_F(MissingKeys, WhatDependsOnAMissingChoiceIsNotTold) {
  EXPECT_EQ(error_of(kRest + kLink + "shape: {dims: [2, 2]}\n"),
            "x.yaml:4: key \"shape.kind\": is missing; expected one of: ring, torus");
}

TEST_F(MissingKeys, AreToldBeforeWhatTheirAbsenceLeadsTo) {
  EXPECT_EQ(error_of(kRest + kLink + "shape: {kind: torus}\n"),
            "x.yaml:4: key \"shape.dims\": is missing; expected a list of whole numbers");
}

TEST_F(MissingKeys, AndUnknownOnesAreToldTogether) {
  EXPECT_EQ(error_of("prots: 2\nshare: 0.5\nzebra: 1\n" + kLink + kShape),
            "x.yaml: 2 keys are missing or unknown: \"prots\" is unknown on line 1 (did you mean "
            "\"ports\"?); \"zebra\" is unknown on line 3");
}

TEST_F(MissingKeys, OfOtherFilesNameTheFile) {
  write("l.yaml", "latency: 1 us\n");
  EXPECT_EQ(error_of("share: 0.5\nlink: l.yaml\n" + kShape),
            "x.yaml: 2 keys are missing or unknown: \"ports\" is missing (expected a whole "
            "number); l.yaml: \"bandwidth\" is missing (expected e.g. \"400 Gb/s\" or "
            "\"50 GB/s\")");
}

TEST_F(MissingKeys, ANameThatIsForTheReaderIsThatOfTheFile) {
  EXPECT_EQ(error_of(kRest + kLink + kShape), "");
  EXPECT_EQ(name_, "x");
  EXPECT_EQ(error_of("name: mine\n" + kRest + kLink + kShape), "");
  EXPECT_EQ(name_, "mine");
}

}  // namespace
}  // namespace exawarp::tests
