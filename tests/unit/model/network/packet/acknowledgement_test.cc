// Messages with a window that is answered for several packets at once: it may shrink below what is
// under way while the receiver waits for more, and then neither would send anything again.
#include <gtest/gtest.h>

#include "tests/support/traffic_fixture.h"

namespace exawarp::tests {
namespace {

using model::FlowControl;
using model::PacketOptions;
using model::TrafficOptions;
using model::TrafficPattern;

struct Answers {
  FlowControl control = FlowControl::none;
  const char* routing = "ecmp";
  std::uint32_t ack_every = 4;
};

// Eight devices below each of four leaves, which two spines join.
void expect_that_all_arrive(const Answers& of, TrafficPattern pattern, std::uint32_t concurrent) {
  SCOPED_TRACE(testing::Message() << "flow control " << static_cast<int>(of.control) << ", "
                                  << of.routing << ", an answer for " << of.ack_every
                                  << ", pattern " << static_cast<int>(pattern) << ", "
                                  << concurrent << " at once");
  const auto topology = tests::leaf_spine(32, 8, 2);
  PacketOptions o = tests::plain_packets();
  o.flow_control = of.control;
  if (of.control == FlowControl::credit) o.buffer_bytes = 32'000;
  o.transport = "window";
  o.parameters = {{"window.initial_packets", 16}};
  o.ack_every = of.ack_every;
  o.routing.policy = of.routing;
  const TrafficOptions traffic{.pattern = pattern,
                               .message_bytes = 60'000,
                               .messages = 4,
                               .concurrent = concurrent,
                               .seed = 3};
  const model::TrafficModel model(*topology, o, traffic, 0);
  const tests::TrafficRun run = tests::run_traffic(model);
  EXPECT_EQ(run.totals.unfinished, 0u);
  EXPECT_EQ(run.totals.received, model.messages());
}

TEST(Acknowledgements, KeepComingWhenAWindowShrinks) {
  for (const FlowControl control : {FlowControl::none, FlowControl::credit, FlowControl::pfc}) {
    for (const char* routing : {"ecmp", "spray"}) {
      for (const std::uint32_t ack_every : {1u, 4u, 8u}) {
        for (const TrafficPattern pattern : {TrafficPattern::permutation, TrafficPattern::incast}) {
          for (const std::uint32_t concurrent : {1u, 2u, 4u}) {
            expect_that_all_arrive({control, routing, ack_every}, pattern, concurrent);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace exawarp::tests
