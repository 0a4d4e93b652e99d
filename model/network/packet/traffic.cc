// Synthetic traffic: devices send by a plan, and receive; checks that a plan's messages have a way,
// a size and a rate that the network can have.
#include "model/network/packet/traffic.h"

#include <fmt/format.h>

#include <cmath>
#include <new>

#include "core/error.h"
#include "core/exponential.h"
#include "core/random.h"
#include "model/network/flow/flow_carrier.h"
#include "model/network/flow/flow_region.h"
#include "model/switch/packet_switch.h"

namespace exawarp::model {
namespace {

using core::DeviceId;
using core::Time;
using pdes::Context;

constexpr pdes::EventKind kPost = 0;  // to itself: time for the next message
constexpr std::uint64_t kStarts = 0x57a7;
constexpr std::uint64_t kIntervals = 0x147;

// One device during one event.
class Sender : public EndpointListener {
 public:
  Sender(const TrafficModel& traffic, TrafficDevice& state, Context& ctx)
      : plan_(traffic.plan()),
        mean_interval_(traffic.mean_interval()),
        state_(state),
        ctx_(ctx) {}

  void on_own_event(const pdes::Event& event) {
    if (event.kind != kPost) {
      return ctx_.check(false, "a device received an event of no known kind");
    }
    if (plan_.is_listed()) return post_listed();
    post();
  }

  void start() {
    const std::uint32_t messages = plan_.messages_of(self());
    if (messages == 0) return;
    if (plan_.is_listed()) return post_listed();
    const Time spread = plan_.options().start_spread;
    const std::uint64_t bits =
        core::random_bits(core::stream_of(plan_.options().seed, self().value, kStarts), 0);
    __extension__ using Wide = unsigned __int128;
    const Time delay{static_cast<std::int64_t>(Wide{bits} * static_cast<std::uint64_t>(spread.ps) >>
                                               64)};
    if (plan_.is_open()) return post_in(delay + interval());
    for (std::uint32_t k = 0; k < std::min(plan_.options().concurrent, messages); ++k) {
      if (delay.ps == 0) {
        post();
      } else {
        post_in(delay);
      }
    }
  }

  void delivered(DeviceId from, const MessageBody& body, std::uint64_t) override {
    ctx_.set(state_.received, state_.received + 1);
    ctx_.set(state_.last_received, ctx_.now());
    ctx_.emit(kTrafficChannel, std::uint64_t{from.value} << 32 | self().value, body.words[0],
              static_cast<std::uint64_t>(
                  plan_.bytes(from, static_cast<std::uint32_t>(body.words[1]))));
  }
  void left(const MessageBody&, Time at) override {
    if (state_.last_left < at) ctx_.set(state_.last_left, at);
    if (plan_.is_open() || plan_.is_listed()) return;
    if (state_.posted < plan_.messages_of(self())) post_in(at - ctx_.now());
  }

 private:
  virtual void hand_over(const OutgoingMessage& message) = 0;
  [[nodiscard]] DeviceId self() const { return {ctx_.self().value}; }
  void post_in(Time delay) { ctx_.send(ctx_.self(), delay, kPost); }
  [[nodiscard]] Time interval() const {
    const std::uint64_t stream = core::stream_of(plan_.options().seed, self().value, kIntervals);
    return core::exponential(mean_interval_, core::random_bits(stream, state_.posted));
  }
  // Those that are due, and time for the next.
  void post_listed() {
    const std::uint32_t messages = plan_.messages_of(self());
    const auto next = [&] {
      return plan_.start(self(), static_cast<std::uint32_t>(state_.posted));
    };
    while (state_.posted < messages && next() <= ctx_.now()) post();
    if (state_.posted < messages) post_in(next() - ctx_.now());
  }
  void post() {
    const std::uint64_t k = state_.posted;
    if (k >= plan_.messages_of(self())) return;
    ctx_.set(state_.posted, k + 1);
    if (plan_.is_open() && k + 1 < plan_.messages_of(self())) post_in(interval());
    hand_over({.to = plan_.destination(self(), static_cast<std::uint32_t>(k)),
               .bytes = plan_.bytes(self(), static_cast<std::uint32_t>(k)),
               .body = {{static_cast<std::uint64_t>(ctx_.now().ps), k,
                         plan_.options().one_by_one ? MessageBody::kOneByOneBit : 0}}});
  }

  const TrafficPlan& plan_;
  Time mean_interval_;
  TrafficDevice& state_;
  Context& ctx_;
};

class PacketSender final : public Sender {
 public:
  PacketSender(const TrafficModel& traffic, TrafficDevice& state, Context& ctx)
      : Sender(traffic, state, ctx),
        endpoint_(traffic.packet_network(), state.endpoint(), ctx, *this) {}
  void handle(const pdes::Event& event) {
    if (Endpoint::handles(event.kind)) return endpoint_.handle(event);
    endpoint_.settle();
    on_own_event(event);
  }

 private:
  void hand_over(const OutgoingMessage& message) override { endpoint_.send(message); }
  Endpoint endpoint_;
};

class FlowSender final : public Sender {
 public:
  FlowSender(const TrafficModel& traffic, TrafficDevice& state, Context& ctx)
      : Sender(traffic, state, ctx), carrier_(traffic.flow_network(), ctx) {}
  void handle(const pdes::Event& event) {
    if (FlowCarrier::handles(event.kind)) return carrier_.handle(event, *this);
    on_own_event(event);
  }

 private:
  void hand_over(const OutgoingMessage& message) override { carrier_.send(message); }
  FlowCarrier carrier_;
};

template <class SomeSender>
void handle_device(void* memory, const pdes::Event& event, Context& ctx) {
  SomeSender(ctx.model<TrafficModel>(), *static_cast<TrafficDevice*>(memory), ctx).handle(event);
}

std::uint32_t foresee_at_device(void* memory, const pdes::Event& event, Context&) {
  Endpoint::prefetch_for(event, static_cast<TrafficDevice*>(memory)->endpoint());
  return 0;
}

void describe_head(void* memory, pdes::StateArchive& archive) {
  archive.bytes(static_cast<TrafficDevice*>(memory));
}

void describe_device(void* memory, pdes::StateArchive& archive) {
  auto& state = *static_cast<TrafficDevice*>(memory);
  archive.bytes(&state);
  Endpoint::describe(archive, state.endpoint());
}

}  // namespace

TrafficModel::TrafficModel(const Topology& topology, const PacketOptions& network,
                 const TrafficOptions& traffic, std::uint32_t atom_shift,
                 TrafficFidelity fidelity)
    : network_(topology, network, atom_shift), plan_(traffic, topology.devices()) {
  check_routes();
  check_sizes(fidelity);
  const Link first = topology.link({0}, 0);
  const Time wire = core::transfer_time(std::max<std::int64_t>(traffic.message_bytes, 1),
                                        network_.figures(first.kind).bytes_per_s);
  check_intervals(first);
  if (plan_.is_open()) {
    mean_interval_ = Time{std::llround(static_cast<double>(wire.ps) / traffic.load)};
  }
  if (fidelity == TrafficFidelity::flow) {
    add_flow_processes(atom_shift);
  } else {
    add_packet_processes();
  }
}

// Whatever is wrong on the way is the packets' own business; the caller refuses it here.
void TrafficModel::add_flow_processes(std::uint32_t atom_shift) {
  const Topology& topology = network_.topology();
  const std::uint32_t atom = 1u << atom_shift;
  const core::LpId region{(topology.devices() + atom - 1) / atom * atom};
  Time least = Time::max();
  for (const Distance& d : topology.distances()) least = std::min(least, d.latency + d.endpoint);
  flows_ = std::make_unique<const FlowNetwork>(topology, network_.options(), region,
                                               flow_notice(least));
  types_.push_back({"device", static_cast<std::uint32_t>(sizeof(TrafficDevice)),
                    [](void* state) { ::new (state) TrafficDevice{}; }, handle_device<FlowSender>,
                    describe_head});
  types_.push_back(flow_region_type<TrafficModel>());
  ranges_ = {{core::LpId{0}, topology.devices(), 0}, {region, 1, 1}};
}

void TrafficModel::add_packet_processes() {
  const Topology& topology = network_.topology();
  types_.push_back({"device",
                    static_cast<std::uint32_t>(sizeof(TrafficDevice)) +
                        Endpoint::state_bytes(network_),
                    [](void* state) { ::new (state) TrafficDevice{}; },
                    handle_device<PacketSender>, describe_device, foresee_at_device});
  ranges_.push_back({core::LpId{0}, topology.devices(), 0});
  for (const SwitchRun& run : network_.switch_runs()) {
    ranges_.push_back({run.first_lp, run.count, static_cast<std::uint32_t>(types_.size())});
    types_.push_back(packet_switch_type<TrafficModel>(network_, run.ports));
  }
  if (!network_.skips()) return;
  steady_ = std::make_unique<const SteadyNetwork>(network_);
  ranges_.push_back({network_.watch(), 1, static_cast<std::uint32_t>(types_.size())});
  types_.push_back(steady_watch_type<TrafficModel>());
}

// A message has fewer than kPacketsMax packets, and what a device sends can leave it in simulated
// time: all its ports sending all the time.
void TrafficModel::check_sizes(TrafficFidelity fidelity) const {
  const std::int64_t bytes = plan_.longest();
  if (fidelity == TrafficFidelity::flow) {
    if (bytes > kFlowBytesMax) {
      throw core::InputError(
          fmt::format("traffic: {}: \"{} B\"; expected at most {} B at fidelity flow",
                      plan_.is_listed() ? "flows" : "size", bytes, kFlowBytesMax));
    }
  } else if (!network_.options().can_carry(bytes)) {
    throw core::InputError(
        fmt::format("traffic: {}: \"{} B\" is {} packets or more; expected larger packets, or a "
                    "smaller message",
                    plan_.is_listed() ? "flows" : "size", bytes, kPacketsMax));
  }
  const Topology& t = network_.topology();
  for (std::uint32_t d = 0; d < t.devices(); ++d) {
    const core::WidePs second_bytes = plan_.bytes_of({d}) * core::kPicosecondsPerSecond;
    core::WidePs bytes_per_s = 0;
    bool fits = second_bytes == 0;
    for (std::uint32_t p = 0; p < t.ports({d}) && !fits; ++p) {  // one port will do, most often
      bytes_per_s += network_.figures(t.link({d}, p).kind).bytes_per_s;
      fits = second_bytes / std::max<core::WidePs>(1, bytes_per_s) < core::kEndOfTime.ps;
    }
    if (fits) continue;
    const std::uint32_t messages = plan_.messages_of({d});
    throw core::InputError(fmt::format(
        "traffic: simulated time passes {}: device {} sends {} messages of {} bytes{} at {} B/s; "
        "expected less to send, or faster links",
        core::kEndOfTimeText, d, messages, bytes, plan_.is_listed() ? " at most" : "",
        static_cast<std::int64_t>(bytes_per_s)));
  }
}

// No time overflows: an interval is 45 times its mean at most (core/exponential.h).
void TrafficModel::check_intervals(const Link& first) const {
  if (!plan_.is_open()) return;
  constexpr double kSecondsMax = 86'400;
  const TrafficOptions& o = plan_.options();
  const double wire_s = static_cast<double>(std::max<std::int64_t>(o.message_bytes, 1)) /
                        static_cast<double>(network_.figures(first.kind).bytes_per_s);
  if (wire_s / o.load * plan_.messages_of({0}) <= kSecondsMax) return;
  throw core::InputError(
      fmt::format("traffic: load: \"{}\" spreads {} messages of a device over more than a day; "
                  "expected a greater load, or less to send",
                  o.load, plan_.messages_of({0})));
}

// All of it goes through the region.
Traffic TrafficModel::graph_of_flows() const {
  constexpr std::uint64_t kEventsOfRegion = 3, kEventsOfDevice = 2;  // a message
  TrafficBuilder builder(lp_count());
  for (std::uint32_t d = 0; d < network_.topology().devices(); ++d) {
    const std::uint32_t messages = plan_.messages_of({d});
    builder.add_work(d, kEventsOfDevice * messages);
    builder.add_work(flows_->region().value, kEventsOfRegion * messages);
    builder.add_edge(d, flows_->region().value, messages);
  }
  return builder.build();
}

Traffic TrafficModel::graph() const {
  if (has_flows()) return graph_of_flows();
  constexpr std::uint32_t kSampled = 16;
  TrafficBuilder builder(network_.lp_count());
  PacketPaths paths(network_, 0, builder);
  const auto packet_bytes = static_cast<std::uint64_t>(network_.options().packet_bytes);
  for (std::uint32_t d = 0; d < network_.topology().devices(); ++d) {
    const std::uint32_t messages = plan_.messages_of({d});
    const std::uint32_t sampled = std::min(messages, kSampled);
    for (std::uint64_t i = 0; i < sampled; ++i) {
      const auto k = static_cast<std::uint32_t>(i * messages / sampled);
      const std::uint64_t stands_for = messages / sampled;
      const std::uint64_t bytes = stands_for * static_cast<std::uint64_t>(plan_.bytes({d}, k));
      builder.add_work(d, stands_for + bytes / packet_bytes);
      paths.add({d}, plan_.destination({d}, k), stands_for, bytes);
    }
  }
  return builder.build();
}

// Whoever sends has to have a way at some time; what failures leave of it later is for the run.
void TrafficModel::check_routes() const {
  const LiveRoutes* routes = network_.routes();
  if (routes == nullptr || !routes->faults().any_failure()) return;
  for (std::uint32_t d = 0; d < network_.topology().devices(); ++d) {
    const std::uint32_t messages = plan_.messages_of({d});
    for (std::uint32_t k = 0; k < messages; ++k) {
      const DeviceId to = plan_.destination({d}, k);
      if (routes->connected_from({d}, to, Time{0}) != Time::max()) continue;
      throw core::InputError(
          network_.options().link_faults.front().place,
          fmt::format("devices {} and {} have no way to each other at any time; expected faults "
                      "that leave one",
                      d, to.value));
    }
  }
}

void TrafficModel::initialise(core::LpId lp, void* memory, Context& context) const {
  if (has_flows()) {
    if (lp == flows_->region()) return start_flow_region(*flows_, memory, context);
    return FlowSender(*this, *::new (memory) TrafficDevice{}, context).start();
  }
  if (network_.is_device(lp)) {
    auto& device = *::new (memory) TrafficDevice{};
    Endpoint::initialise(network_, {lp.value}, device.endpoint());
    PacketSender(*this, device, context).start();
    return;
  }
  if (network_.is_watch(lp)) return start_steady_watch(*steady_, memory, context);
  start_packet_switch(network_, lp, memory);
}

std::uint64_t TrafficModel::messages() const {
  std::uint64_t sum = 0;
  for (std::uint32_t d = 0; d < network_.topology().devices(); ++d) {
    sum += plan_.messages_of({d});
  }
  return sum;
}

}  // namespace exawarp::model
