// How devices are split between prompts and decodes.
#include "io/life/splits.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace exawarp::tests {
namespace {

using namespace io;

std::vector<std::string> names_of(const std::vector<Split>& splits) {
  std::vector<std::string> out;
  for (const Split& split : splits) out.push_back(split.name());
  return out;
}

TEST(Splits, LeaveNoRoomForAnotherReplica) {
  const auto splits = splits_of(17, {{.tensor = 2, .pipeline = 1}}, {{.tensor = 2, .pipeline = 2}});
  // Of one to three for prompts three leave as many for decodes as two, and so on.
  EXPECT_EQ(names_of(splits), (std::vector<std::string>{"2 x 2x1 + 3 x 2x2", "4 x 2x1 + 2 x 2x2",
                                                        "6 x 2x1 + 1 x 2x2"}));
  EXPECT_EQ(splits[0].devices(), 16u);
}

TEST(Splits, AreOfEachPairOfLayouts) {
  const auto splits =
      splits_of(8, parse_layouts("--prompts", "2x1,4x1:90"), parse_layouts("--decodes", "4x1"));
  EXPECT_EQ(names_of(splits), (std::vector<std::string>{"2 x 2x1 + 1 x 4x1", "1 x 4x1 + 1 x 4x1"}));
  EXPECT_EQ(splits[1].overrides(3),
            (std::vector<std::string>{
                "jobs.3.serving.tensor=4", "jobs.3.serving.pipeline=1", "jobs.3.serving.replicas=1",
                "jobs.3.serving.scheduler.blocks=90", "jobs.3.serving.decode.tensor=4",
                "jobs.3.serving.decode.pipeline=1", "jobs.3.serving.decode.replicas=1"}));
}

TEST(Splits, RefuseWhatIsNoLayoutAndDevicesThatAreTooFew) {
  for (const char* text : {"", "4", "4x", "x2", "4x2:", "4x0", "4x2,", "4x2x1", "-4x2"}) {
    EXPECT_THROW(parse_layouts("--prompts", text), core::InputError) << text;
  }
  EXPECT_THROW(splits_of(7, {{.tensor = 4}}, {{.tensor = 4}}), core::InputError);
  EXPECT_THROW(splits_of(1 << 20, {{}}, {{}}), core::InputError);
}

}  // namespace
}  // namespace exawarp::tests
