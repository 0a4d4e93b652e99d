// Tables of keys: what they read, what they refuse, and what they say of themselves.
#include "io/study/keys.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"

namespace exawarp::tests {
namespace {

using namespace io;

enum class Coat { bare, painted };
constexpr core::Named<Coat> kCoatNames[] = {{"bare", Coat::bare}, {"painted", Coat::painted}};
constexpr std::span<const core::Named<Coat>> names_of(Coat) { return kCoatNames; }

struct Cable {
  std::int64_t lanes = 4;
  core::Time latency{250'000};
  std::int64_t bytes_per_s = 0;
  Coat coat = Coat::bare;
  std::string colour = "grey";
  double loss = 0.5;
};

const Keys<Cable>& cable_keys() {
  using K = Keys<Cable>;
  static const K keys(
      "cable", "",
      {K::quantity("bandwidth", &Cable::bytes_per_s, {core::Dimension::bandwidth, 1}, "of all")
           .required(),
       K::integer("lanes", &Cable::lanes, {1, 16}, "side by side").required(),
       K::latency("latency", &Cable::latency, 1, "from end to end"),
       K::choice("coat", &Cable::coat, "against the weather"),
       K::text("colour", &Cable::colour, "of the coat").only_if("coat", {"painted"}),
       K::real("loss", &Cable::loss, {.min = 0, .max = 1}, "of the light")});
  return keys;
}

class KeysOfAFile : public testing::Test {
 protected:
  ~KeysOfAFile() override { std::filesystem::remove(path_); }

  Cable read(const std::string& text, const Keys<Cable>& keys = cable_keys()) {
    std::ofstream(path_, std::ios::binary) << text;
    YamlDocument document(path_.string());
    const Cable cable = keys.read(document.root());
    document.finish();
    return cable;
  }

  std::string error_of(const std::string& text, const Keys<Cable>& keys = cable_keys()) {
    try {
      read(text, keys);
    } catch (const core::InputError& error) {
      return std::string(error.what()).substr(path_.string().size());
    }
    return "";
  }

  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("exawarp_keys_" + std::to_string(getpid()));
};

TEST_F(KeysOfAFile, GoToTheirMembers) {
  const Cable cable = read(
      "bandwidth: 50 GB/s\nlanes: 2\nlatency: 1 us\ncoat: painted\n"
      "colour: blue\nloss: 0.25\n");
  EXPECT_EQ(cable.bytes_per_s, 50'000'000'000);
  EXPECT_EQ(cable.lanes, 2);
  EXPECT_EQ(cable.latency, core::Time{1'000'000});
  EXPECT_EQ(cable.coat, Coat::painted);
  EXPECT_EQ(cable.colour, "blue");
  EXPECT_EQ(cable.loss, 0.25);
}

TEST_F(KeysOfAFile, KeepTheSpecificationsDefaultsWhereAbsent) {
  const Cable cable = read("bandwidth: 1 B/s\nlanes: 1\n");
  EXPECT_EQ(cable.latency, Cable{}.latency);
  EXPECT_EQ(cable.coat, Cable{}.coat);
  EXPECT_EQ(cable.loss, Cable{}.loss);
}

TEST_F(KeysOfAFile, AreAllNamedWhereMissing) {
  EXPECT_EQ(error_of("loss: 0.5\n"),
            ": 2 keys are missing or unknown: \"bandwidth\" is missing (expected e.g. \"400 Gb/s\" "
            "or \"50 GB/s\"); \"lanes\" is missing (expected a whole number)");
}

TEST_F(KeysOfAFile, AreUnknownWhereTheirConditionFails) {
  const std::string error = error_of("bandwidth: 1 B/s\nlanes: 1\ncolour: blue\n");
  EXPECT_TRUE(error.starts_with(":3: key \"colour\": unknown key; expected one of: ")) << error;
}

TEST_F(KeysOfAFile, AreKnownWhereTheKeyThatDecidesIsMissing) {
  using K = Keys<Cable>;
  const K keys("cable", "",
               {K::choice("coat", &Cable::coat, "against the weather").required(),
                K::text("colour", &Cable::colour, "of the coat").only_if("coat", {"painted"})});
  EXPECT_EQ(error_of("colour: blue\n", keys),
            ":1: key \"coat\": is missing; expected one of: bare, painted");
}

TEST_F(KeysOfAFile, AreRefusedOutOfRange) {
  EXPECT_EQ(error_of("bandwidth: 1 B/s\nlanes: 17\n"),
            ":2: key \"lanes\": 17 is out of range; expected a whole number from 1 to 16");
}

TEST(KeySchema, HasTheDefaultOfTheSpecification) {
  const SectionSchema& schema = cable_keys().schema();
  EXPECT_EQ(schema.find("latency")->fallback, "250 ns");
  EXPECT_EQ(schema.find("coat")->fallback, "bare");
  EXPECT_EQ(schema.find("loss")->fallback, "0.5");
  EXPECT_EQ(schema.find("lanes")->fallback, "");
  EXPECT_TRUE(schema.find("lanes")->required);
  EXPECT_EQ(schema.find("length"), nullptr);
}

TEST(KeySchema, QuantitiesAreReadAsTheyWerePrinted) {
  using enum core::Dimension;
  for (const core::Dimension dimension : {time, size, bandwidth, rate}) {
    for (const std::int64_t value :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{999}, std::int64_t{4096},
          std::int64_t{10'000'000}, std::int64_t{25} << 20, std::int64_t{3} << 40,
          std::int64_t{55'000'000'000'000}}) {
      const core::ParsedQuantity parsed =
          core::parse_quantity(quantity_text(value, dimension), dimension);
      EXPECT_TRUE(parsed.ok()) << parsed.error;
      EXPECT_EQ(parsed.value, value);
    }
  }
  EXPECT_EQ(quantity_text(4096, size), "4 KiB");
  EXPECT_EQ(quantity_text(50'000'000, time), "50 us");
}

}  // namespace
}  // namespace exawarp::tests
