// Of which parts a study's devices are made, and that streams run whatever source they are given.
#include <gtest/gtest.h>

#include <array>
#include <new>
#include <set>
#include <vector>

#include "model/device/account.h"
#include "model/device/device.h"
#include "model/device/streams.h"
#include "tests/support/cluster_fixture.h"

namespace exawarp::tests {
namespace {

using namespace model;
using core::LpId;
using core::Time;

constexpr std::uint32_t kPrompts = 100;

// What a scheduler would know: prompts to prefill, 5 ns each, and to decode once they are.
struct Prompts {
  Prompts() {
    prefill.kind = TaskKind::compute;
    prefill.time_class = TimeClass::compute;
    prefill.wire[0] = Time{5'000};
    for (std::uint32_t p = 0; p < kPrompts; ++p) {
      is_prefilled[p] = {.stream = 0, .position = p};
      decode[p] = {.wire = {Time{2'000}},
                   .first_dependency = p,
                   .dependency_count = 1,
                   .kind = TaskKind::compute,
                   .time_class = TimeClass::other};
    }
  }
  Task prefill;
  std::array<Task, kPrompts> decode;
  std::array<Dependency, kPrompts> is_prefilled;
};

// A source that is no program: one task that is given out again and again on stream 0.
class PromptSource {
 public:
  explicit PromptSource(const Prompts& prompts) : prompts_(prompts) {}
  [[nodiscard]] std::uint32_t streams() const { return 2; }
  [[nodiscard]] std::uint32_t length(std::uint32_t) const { return kPrompts; }
  [[nodiscard]] const Task& task(std::uint32_t stream, std::uint32_t position) const {
    return stream == 0 ? prompts_.prefill : prompts_.decode[position];
  }
  [[nodiscard]] std::span<const Dependency> dependencies(const Task& task) const {
    return {prompts_.is_prefilled.data() + task.first_dependency, task.dependency_count};
  }

 private:
  const Prompts& prompts_;
};
static_assert(TaskSource<PromptSource>);

// One LP: a device's streams over prompts, with its account.
class Server final : public pdes::Model {
 public:
  static inline DeviceAccount last_account;  // that was digested

  explicit Server(const DeviceModel& shared) : shared_(shared) {}

  [[nodiscard]] std::span<const pdes::LpType> types() const override { return types_; }
  [[nodiscard]] std::span<const pdes::LpRange> ranges() const override { return ranges_; }
  [[nodiscard]] Time lookahead() const override { return Time{1}; }
  void initialise(LpId, void* memory, pdes::Context& ctx) const override {
    auto& state = *::new (memory) DeviceState{};
    state.stream_slots = 2;
    state.unfinished = 2;
    DeviceFrame frame(shared_, state, ctx);
    for (std::uint32_t s = 0; s < 2; ++s) ::new (&frame.parts.streams[s]) StreamState{};
    ::new (frame.parts.account) DeviceAccount{};
    Streams<PromptSource> streams(frame, PromptSource(prompts_));
    streams.begin();
    settle(streams, frame);
  }

 private:
  static void handle(void* memory, const pdes::Event& event, pdes::Context& ctx) {
    const auto& self = ctx.model<Server>();
    DeviceFrame frame(self.shared_, *static_cast<DeviceState*>(memory), ctx);
    Streams<PromptSource> streams(frame, PromptSource(self.prompts_));
    const auto done = event.as<NodeDone>();
    ctx.check(streams.is_running(done.stream, done.position), "a task ended that did not run");
    streams.complete(done.stream);
    settle(streams, frame);
  }
  static void settle(Streams<PromptSource>& streams, DeviceFrame& frame) {
    streams.settle([&](std::uint32_t stream, const Task& task) {
      streams.complete_in(task.wire[0], stream);
      return false;
    });
    TimeAccount(frame).close(streams.doing());
  }
  static void describe(void* memory, pdes::StateArchive& archive) {
    const DeviceParts<DeviceState> parts(*static_cast<DeviceState*>(memory));
    last_account = *parts.account;
    describe_device(memory, archive);
  }

  const DeviceModel& shared_;
  Prompts prompts_;
  std::array<pdes::LpType, 1> types_{
      {{"server", DeviceSlots{.stream_slots = 2}.state_bytes(),
        [](void* memory) { ::new (memory) DeviceState{}; }, handle, describe}}};
  std::array<pdes::LpRange, 1> ranges_{{{LpId{0}, 1, 0}}};
};

TEST(Streams, TakeTasksFromASourceThatIsNoProgram) {
  const WorkloadGraph graph = tests::two_stage_pipeline({.forward = Time{1}, .backward = Time{1}});
  const Cluster cluster(graph, tests::round_accelerator(), tests::round_fabric(), {});
  const Server server(cluster.devices());
  const tests::MatrixModel model{&server, tests::blocks_of(1, 0)};
  const auto sequential = tests::run_case(model, {});
  const DeviceAccount account = Server::last_account;
  EXPECT_EQ(account.finish, Time{kPrompts * 5'000 + 2'000});
  EXPECT_EQ(account.spent[index_of(TimeClass::compute)], Time{kPrompts * 5'000});
  EXPECT_EQ(account.spent[index_of(TimeClass::other)], Time{2'000});
  const auto audited = tests::run_case(
      model, {.sync = pdes::Sync::optimistic, .window = Time{10'000}, .audit_probability = 1});
  EXPECT_EQ(sequential.total.committed_events(), 2 * kPrompts);
  EXPECT_EQ(audited.digest, sequential.digest);
}

using Handler = void (*)(void*, const pdes::Event&, pdes::Context&);

// What devices of a study with these options do with an event.
Handler handler_of(const ClusterOptions& options) {
  static const WorkloadGraph graph =
      tests::two_stage_pipeline({.forward = Time{1}, .backward = Time{1}, .bytes = 1'000});
  const Cluster cluster(graph, tests::round_accelerator(), tests::round_fabric(), options);
  return cluster.types()[0].handle;
}

TEST(DeviceParts, WhatDiffersByStudyIsADifferentHandlerChosenOnce) {
  const ClusterOptions message{};
  const ClusterOptions analytical{.analytical_network = true};
  const ClusterOptions packets{.packets = PacketOptions{}};
  const ClusterOptions packets_everywhere{.packets = PacketOptions{}, .packets_inside_nodes = true};
  const ClusterOptions troubled{.latency_jitter = {.mean = Time{1'000}}};
  const std::vector<BackgroundSpec> uniform{{.load_ppm = 100'000}};
  const ClusterOptions background{.backgrounds = uniform};
  const ClusterOptions faulty_background{.latency_jitter = {.mean = Time{1'000}},
                                           .backgrounds = uniform};
  const ClusterOptions packet_background{.packets = PacketOptions{}, .backgrounds = uniform};
  const ClusterOptions packets_everywhere_background{
      .packets = PacketOptions{}, .packets_inside_nodes = true, .backgrounds = uniform};
  std::set<Handler> kinds;
  for (const ClusterOptions& options :
       {message, analytical, packets, packets_everywhere, troubled, background, faulty_background,
        packet_background, packets_everywhere_background}) {
    kinds.insert(handler_of(options));
  }
  EXPECT_EQ(kinds.size(), 9u);
}

TEST(DeviceParts, FiguresOfAStudyChooseNoOtherHandler) {
  EXPECT_EQ(handler_of({.compute_jitter = 0.1, .seed = 3}), handler_of({}));
  EXPECT_EQ(handler_of({.packets = PacketOptions{}, .seed = 3}),
            handler_of({.packets = PacketOptions{}}));
}

}  // namespace
}  // namespace exawarp::tests
