// Messages of the ASTRA-sim mode against the formulas of its documentation.
#include "model/guests/astra/network.h"

#include <gtest/gtest.h>

#include <vector>

namespace exawarp::tests {
namespace {

using namespace model::astra;

constexpr double kGiB = static_cast<double>(1 << 30) / 1e9;  // bytes per ns of "1 GB/s"

// A network on its own, with the time at which each callback came.
class Wire final : public Completions {
 public:
  explicit Wire(NetworkConfig config, bool rendezvous = false)
      : network(config, rendezvous, events, *this) {}
  void complete(const Callback& callback) override {
    if (callback.kind == Callback::Kind::none) return;
    if (times.size() <= callback.index) times.resize(callback.index + 1);
    times[callback.index] = events.now();
  }
  static Callback tell(std::uint32_t index) {
    return {.kind = Callback::Kind::node, .rank = 0, .index = index};
  }
  void run() {
    for (Event event{}; events.pop(event);) {
      switch (event.kind) {
        case Event::Kind::hop:
          network.hop(event.index);
          break;
        case Event::Kind::link_free:
          network.link_free(event.index);
          break;
        case Event::Kind::late_receive:
          network.late_receive(event.index);
          break;
        case Event::Kind::tick:
          break;
      }
    }
  }
  EventQueue events;
  Network network;
  std::vector<Ns> times;
};

NetworkConfig one(Topology topology, std::uint32_t npus, bool aware) {
  return {aware, {{topology, npus, 50, 500}}};
}

TEST(Network, AnUnawareMessageTakesItsHopsAndItsSize) {
  const Wire ring(one(Topology::ring, 8, false));
  EXPECT_EQ(ring.network.delay_ns(0, 1, 1'000), static_cast<Ns>(500 + 1'000 / (50 * kGiB)));
  EXPECT_EQ(ring.network.delay_ns(0, 4, 0), 2'000u);
  EXPECT_EQ(ring.network.delay_ns(0, 6, 0), 1'000u);  // the shorter way round
  const Wire switched(one(Topology::switched, 8, false));
  EXPECT_EQ(switched.network.delay_ns(0, 5, 0), 1'000u);
}

TEST(Network, OnlyTheLowestDifferingDimensionCosts) {
  const Wire wire({false, {{Topology::ring, 4, 50, 100}, {Topology::switched, 2, 25, 1'000}}});
  EXPECT_EQ(wire.network.delay_ns(0, 5, 0), 100u);
  EXPECT_EQ(wire.network.delay_ns(0, 4, 0), 2'000u);
}

TEST(Network, AnAwareLinkTakesOneMessageAfterTheOther) {
  Wire wire(one(Topology::ring, 4, true));
  constexpr std::uint64_t kBytes = 1 << 20;
  for (std::uint32_t i = 0; i < 2; ++i) {
    wire.network.send({0, 1, i, kBytes}, Wire::tell(i));
    wire.network.receive({0, 1, i, kBytes}, {});
  }
  wire.run();
  const auto serial = static_cast<Ns>(kBytes / (50 * kGiB));
  EXPECT_EQ(wire.times[0], static_cast<Ns>(500 + kBytes / (50 * kGiB)));
  EXPECT_EQ(wire.times[1], serial + wire.times[0]);
}

TEST(Network, SizesAndTagsHaveToAgree) {
  Wire wire(one(Topology::ring, 4, false));
  wire.network.send({0, 1, 7, 100}, Wire::tell(0));
  wire.network.receive({0, 1, 7, 101}, Wire::tell(1));
  wire.network.receive({0, 1, 8, 100}, Wire::tell(2));
  wire.network.receive({0, 1, 7, 100}, Wire::tell(3));
  wire.run();
  ASSERT_EQ(wire.times.size(), 4u);
  EXPECT_EQ(wire.times[1], 0u);
  EXPECT_EQ(wire.times[2], 0u);
  EXPECT_EQ(wire.times[3], wire.times[0]);
}

TEST(Network, ARendezvousAsksFirst) {
  Wire wire(one(Topology::ring, 4, false), true);
  wire.network.send({0, 1, 7, 100}, Wire::tell(0));
  wire.network.receive({0, 1, 7, 100}, Wire::tell(1));
  wire.run();
  EXPECT_EQ(wire.times[1], wire.network.delay_ns(1, 0, 8'192) + wire.network.delay_ns(0, 1, 100));
}

}  // namespace
}  // namespace exawarp::tests
