#include "model/recurrence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <tuple>

#include "model/device/device.h"
#include "model/device/device_model.h"
#include "model/network/message/message.h"
#include "model/workload/names.h"
#include "pdes/state_archive.h"

namespace exawarp::model {
namespace {

using core::LpId;
using core::Time;

// Devices made anew from what a cut has of them, by id.
class RestoredDevices {
 public:
  RestoredDevices(const Cluster& cluster, const Moment& moment) {
    bytes_ = cluster.devices().slots.state_bytes();
    for (const pdes::CutChunk& chunk : moment.chunks) {
      const pdes::CutContent content = pdes::content_of(chunk.bytes);
      for (const pdes::CutContent::Lp& lp : content.lps) {
        if (lp.id.value < cluster.device_lps()) add(lp);  // switches do nothing (switch.h)
      }
      events.insert(events.end(), content.events.begin(), content.events.end());
    }
    std::ranges::sort(events, [](const pdes::Event& a, const pdes::Event& b) {
      return std::tuple(a.destination, pdes::key_of(a)) <
             std::tuple(b.destination, pdes::key_of(b));
    });
    std::ranges::sort(all_, {}, &Restored::id);
  }

  [[nodiscard]] std::size_t size() const { return all_.size(); }
  [[nodiscard]] LpId id(std::size_t i) const { return all_[i].id; }
  [[nodiscard]] DeviceState& operator[](std::size_t i) const { return *all_[i].state; }
  // Requires that it is one of them.
  [[nodiscard]] DeviceState& of(LpId id) const {
    return *std::ranges::lower_bound(all_, id, {}, &Restored::id)->state;
  }

  std::vector<pdes::Event> events;  // pending, by destination and key

 private:
  struct Restored {
    LpId id;
    DeviceState* state;
  };
  void add(const pdes::CutContent::Lp& lp) {
    void* const memory =
        memory_.emplace_back(std::make_unique<std::byte[]>(bytes_)).get();
    auto* const state = ::new (memory) DeviceState{};
    pdes::StateReader reader(lp.state, blocks_);
    describe_device(state, reader);
    all_.push_back({lp.id, state});
  }

  std::size_t bytes_ = 0;
  pdes::BlockPool blocks_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::vector<Restored> all_;
};

bool is_same(const Collective& a, const Collective& b) {
  return std::tie(a.type, a.algorithm, a.bytes, a.members, a.root, a.shift, a.lanes, a.both_ways,
                  a.node_members) == std::tie(b.type, b.algorithm, b.bytes, b.members, b.root,
                                              b.shift, b.lanes, b.both_ways, b.node_members) &&
         std::ranges::equal(a.sizes, b.sizes);
}

// Of tasks that are stepped: what they do, and how long that takes at analytical fidelity.
bool does_the_same(const ProgramTable& in_a, const Task& a, const ProgramTable& in_b,
                   const Task& b) {
  const SteppedTask& x = in_a.stepped[a.tag];
  const SteppedTask& y = in_b.stepped[b.tag];
  const auto& groups = in_a.channels[a.channel].groups;
  const std::size_t classes = groups == nullptr ? 0 : groups->count();
  const auto times = [classes](const ProgramTable& table, const SteppedTask& task) {
    return std::span(table.times).subspan(task.first_time, classes);
  };
  return is_same(x.collective, y.collective) && x.choice == y.choice &&
         std::ranges::equal(times(in_a, x), times(in_b, y));
}

template <class IsSameWait>  // bool(const Dependency&, const Dependency&)
bool is_same(const ProgramTable& in_a, const Task& a, const ProgramTable& in_b, const Task& b,
             IsSameWait is_same_wait) {
  const bool alike = std::tie(a.wire, a.peer, a.steps, a.dependency_count, a.kind, a.time_class,
                              a.channel, a.collective, a.peer_is_absolute, a.rendezvous) ==
                     std::tie(b.wire, b.peer, b.steps, b.dependency_count, b.kind, b.time_class,
                              b.channel, b.collective, b.peer_is_absolute, b.rendezvous);
  if (!alike) return false;
  const Dependency* const waits_a = in_a.dependencies.data() + a.first_dependency;
  const Dependency* const waits_b = in_b.dependencies.data() + b.first_dependency;
  if (!std::equal(waits_a, waits_a + a.dependency_count, waits_b, is_same_wait)) return false;
  return a.kind == TaskKind::stepped ? does_the_same(in_a, a, in_b, b) : a.tag == b.tag;
}

// Reports take what a program computes to be so many times what a step does.
bool has_kernels_of_steps(const ProgramTable& shorter, const ProgramTable& longer) {
  const std::uint64_t more = longer.graph->training().getSteps(), less = more - 1;
  return std::ranges::equal(shorter.kernels, longer.kernels,
                            [&](const KernelUse& a, const KernelUse& b) {
                              return a.uses * more == b.uses * less;
                            });
}

std::string stream_name(const Cluster& cluster, std::size_t program, std::uint32_t stream) {
  const PlacedJob& job = cluster.jobs().front();
  const auto index = static_cast<std::uint32_t>(program) - job.first_program;
  return fmt::format("stream \"{}\"", printable(job.graph->program(index).stream_name(stream)));
}

// Of all devices of a program at the earlier moment, by stream.
struct ProgramProgress {
  std::vector<std::uint32_t> least, most;  // cursors
  std::uint32_t lp = 0;                    // one of them
};

class MomentComparison {
 public:
  MomentComparison(const Cluster& shorter, const Cluster& longer, const Moment& earlier,
                   const Moment& later)
      : shorter_(shorter),
        longer_(longer),
        period_(later.at - earlier.at),
        at_(earlier.at),
        earlier_(longer, earlier),
        later_(longer, later),
        progress_(longer.devices().programs.size()) {}

  std::optional<Difference> find() {
    for (std::size_t i = 0; i < earlier_.size(); ++i) {
      if (auto what = difference(earlier_[i], later_[i])) return {{earlier_.id(i).value, *what}};
      note(earlier_.id(i), earlier_[i]);
    }
    if (auto found = event_difference()) return found;
    for (std::size_t p = 0; p < progress_.size(); ++p) {
      if (progress_[p].least.empty()) continue;
      if (auto what = difference(p, progress_[p])) return {{progress_[p].lp, *what}};
    }
    return {};
  }

 private:
  using Parts = DeviceParts<DeviceState>;

  [[nodiscard]] const ProgramTable& table(const DeviceState& device) const {
    return longer_.devices().programs[device.program];
  }
  [[nodiscard]] std::uint32_t tasks_of_step(const DeviceState& device, std::uint32_t stream) const {
    return table(device).length(stream) -
           shorter_.devices().programs[device.program].length(stream);
  }
  [[nodiscard]] bool moved(Time a, Time b) const { return b == a + period_; }
  [[nodiscard]] bool moved(std::int64_t a, std::int64_t b) const { return moved(Time{a}, Time{b}); }
  // Of times that are overwritten before they are used, if nothing has happened for a period.
  [[nodiscard]] bool moved_or_unused(Time a, Time b) const { return a == b || moved(a, b); }
  // An interface that was not used for a period is free: no message takes as long as that.
  [[nodiscard]] bool is_same_clock(Time a, Time b) const {
    return moved(a, b) || (a == b && a <= at_);
  }

  // Cursors at the earlier moment, for what programs have left.
  void note(LpId lp, DeviceState& device) {
    ProgramProgress& progress = progress_[device.program];
    const Parts parts(device);
    const std::uint32_t streams = table(device).streams();
    if (progress.least.empty()) {
      progress.lp = lp.value;
      progress.least.assign(streams, ~std::uint32_t{0});
      progress.most.assign(streams, 0);
    }
    for (std::uint32_t s = 0; s < streams; ++s) {
      progress.least[s] = std::min(progress.least[s], parts.streams[s].cursor);
      progress.most[s] = std::max(progress.most[s], parts.streams[s].cursor);
    }
  }

  std::optional<std::string> difference(DeviceState& a, DeviceState& b) const {
    if (std::tie(a.busy, a.program, a.unfinished, a.time_class, a.rank) !=
        std::tie(b.busy, b.program, b.unfinished, b.time_class, b.rank)) {
      return "what it is at";
    }
    const Parts x(a), y(b);
    if (x.account->finish >= Time{0} || y.account->finish >= Time{0}) return "it has finished";
    if (!clocks_are_same(x, y)) return "when an interface is free";
    for (std::uint32_t s = 0; s < table(a).streams(); ++s) {
      if (!is_same_stream(x, y, s)) return stream_name(longer_, a.program, s);
    }
    for (std::uint32_t c = 0; c < table(a).channels.size(); ++c) {
      if (!is_same_channel(x.channels[c], y.channels[c])) return fmt::format("channel {}", c);
    }
    if (!moved_or_unused(x.account->since, y.account->since)) return "since when it is at that";
    if (!early_are_same(x, y)) return "messages that came early";
    if (x.passes != nullptr && x.passes->pass != y.passes->pass) return "its pass";
    return {};
  }

  [[nodiscard]] bool clocks_are_same(const Parts& x, const Parts& y) const {
    for (std::size_t i = 0; i < kInterfaceCount + x.further_count(); ++i) {
      const auto interface = static_cast<Interface>(i);
      if (!is_same_clock(x.tx_free(interface), y.tx_free(interface))) return false;
      if (!is_same_clock(x.rx_free(interface), y.rx_free(interface))) return false;
      if (!x.state.lines) continue;
      if (!is_same_sending(x, y, interface)) return false;
      if (!is_same_receiving(x.line(interface).receives, y.line(interface).receives)) return false;
    }
    return true;
  }

  // Who shares a line that is free does not matter.
  [[nodiscard]] bool is_same_sending(const Parts& x, const Parts& y, Interface interface) const {
    if (x.tx_free(interface) <= at_) return true;
    const SendLine& a = x.line(interface).sends;
    const SendLine& b = y.line(interface).sends;
    if (a.sender != b.sender || a.shares.size() != b.shares.size()) return false;
    if (a.shares.empty()) return true;
    const auto alike = [](const LineShare& c, const LineShare& d) {
      return c.sender == d.sender && c.until == d.until;
    };
    return moved(a.at, b.at) && a.served == b.served &&
           std::equal(a.shares.begin(), a.shares.end(), b.shares.begin(), alike);
  }
  [[nodiscard]] bool is_same_receiving(const ReceiveLine& a, const ReceiveLine& b) const {
    return a.busy == b.busy && a.worked == b.worked && moved_or_unused(a.from, b.from);
  }

  [[nodiscard]] bool is_same_stream(const Parts& x, const Parts& y, std::uint32_t s) const {
    const StreamState& a = x.streams[s];
    const StreamState& b = y.streams[s];
    if (b.cursor - a.cursor != tasks_of_step(x.state, s)) return false;
    if (a.waiters != b.waiters || a.time_class != b.time_class) return false;
    for (std::uint32_t t = 0; t < table(x.state).streams(); ++t) {
      if ((a.waiters >> t & 1) == 0) continue;
      if (y.streams[t].awaited - x.streams[t].awaited != tasks_of_step(x.state, s)) return false;
    }
    return true;
  }

  [[nodiscard]] bool is_same_channel(const ChannelState& a, const ChannelState& b) const {
    return a.next_and_tier == b.next_and_tier && a.arrived == b.arrived && a.steps == b.steps &&
           moved_or_unused(a.wire, b.wire) && moved_or_unused(a.last_entry, b.last_entry);
  }
  // Collectives that the device went through on the channel of that number from one moment to the
  // other.
  [[nodiscard]] std::uint32_t collectives(const Parts& x, const Parts& y,
                                          std::uint16_t number) const {
    const std::uint8_t local = table(x.state).channel_by_number[number];
    if (local == kNoChannel) return 0;
    return y.channels[local].ordinal - x.channels[local].ordinal;
  }

  [[nodiscard]] bool early_are_same(const Parts& x, const Parts& y) const {
    const auto& a = x.account->early;
    const auto& b = y.account->early;
    if (a.size() != b.size()) return false;
    for (std::uint32_t i = 0; i < a.size(); ++i) {
      if (std::tie(a[i].source, a[i].tag, a[i].request) !=
          std::tie(b[i].source, b[i].tag, b[i].request)) {
        return false;
      }
    }
    return x.stepped == nullptr || stepped_are_same(x, y);
  }

  [[nodiscard]] bool stepped_are_same(const Parts& x, const Parts& y) const {
    const SteppedState& a = *x.stepped;
    const SteppedState& b = *y.stepped;
    if (a.lanes.size() != b.lanes.size() || a.early.size() != b.early.size()) return false;
    for (std::uint32_t i = 0; i < a.lanes.size(); ++i) {
      const SteppedLane& m = a.lanes[i];
      const SteppedLane& n = b.lanes[i];
      if (std::tie(m.channel, m.lane, m.phase, m.arrived) !=
          std::tie(n.channel, n.lane, n.phase, n.arrived)) {
        return false;
      }
    }
    for (std::uint32_t i = 0; i < a.early.size(); ++i) {
      const EarlySteps& m = a.early[i];
      const EarlySteps& n = b.early[i];
      if (std::tie(m.phase, m.count, m.channel, m.lane) !=
              std::tie(n.phase, n.count, n.channel, n.lane) ||
          !moved(m.entry_ps, n.entry_ps) ||
          n.ordinal - m.ordinal != collectives(x, y, m.channel)) {
        return false;
      }
    }
    return true;
  }

  std::optional<Difference> event_difference() const {
    const auto& a = earlier_.events;
    const auto& b = later_.events;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      if (!is_same_event(a[i], b[i])) {
        return {{std::min(a[i].destination, b[i].destination).value, "messages under way"}};
      }
    }
    if (a.size() == b.size()) return {};
    return {{(a.size() > b.size() ? a[b.size()] : b[a.size()]).destination.value,
             "messages under way"}};
  }

  [[nodiscard]] bool is_same_event(const pdes::Event& a, const pdes::Event& b) const {
    if (std::tie(a.destination, a.source, a.kind) != std::tie(b.destination, b.source, b.kind) ||
        !moved(a.receive_time, b.receive_time)) {
      return false;
    }
    const Parts x(earlier_.of(a.destination)), y(later_.of(b.destination));
    switch (static_cast<DeviceEvent>(a.kind)) {
      case DeviceEvent::node_done:
      case DeviceEvent::steps_begin: {
        const auto m = a.as<NodeDone>(), n = b.as<NodeDone>();
        return m.stream == n.stream && n.position - m.position == tasks_of_step(x.state, m.stream);
      }
      case DeviceEvent::chunk_arrives:
      case DeviceEvent::chunk_received:
      case DeviceEvent::step_arrives:
      case DeviceEvent::step_received:
        return is_same_chunk(a.as<Chunk>(), b.as<Chunk>(), x, y);
      case DeviceEvent::message_arrives:
      case DeviceEvent::message_received:
      case DeviceEvent::request_arrives:
        return is_same_message(a.as<Message>(), b.as<Message>());
      case DeviceEvent::ready_arrives:
        return a.as<Ready>().stream == b.as<Ready>().stream;
      case DeviceEvent::job_starts:
      case DeviceEvent::background_due:
      case DeviceEvent::background_arrives:
      case DeviceEvent::census:
      case DeviceEvent::iteration_begins:
      case DeviceEvent::transfer_due:
      case DeviceEvent::keys_due:
        return false;
    }
    return false;
  }
  [[nodiscard]] bool is_same_chunk(const Chunk& m, const Chunk& n, const Parts& x,
                                   const Parts& y) const {
    return std::tie(m.wire_ps, m.step, m.channel, m.interface, m.lane) ==
               std::tie(n.wire_ps, n.step, n.channel, n.interface, n.lane) &&
           moved(m.entry_ps, n.entry_ps) && n.ordinal - m.ordinal == collectives(x, y, m.channel);
  }
  [[nodiscard]] bool is_same_message(const Message& m, const Message& n) const {
    return std::tie(m.wire_ps, m.source, m.tag, m.interface, m.stream) ==
               std::tie(n.wire_ps, n.source, n.tag, n.interface, n.stream) &&
           moved(m.start_ps, n.start_ps);
  }

  // What was begun by the earlier moment is the same in both programs; and from the device that is
  // least far on, all that is left of the shorter one is what is left of the longer one a step
  // further. A dependency is that of a step further, or has been met in both.
  std::optional<std::string> difference(std::size_t program,
                                        const ProgramProgress& progress) const {
    const ProgramTable& a = shorter_.devices().programs[program];
    const ProgramTable& b = longer_.devices().programs[program];
    if (!has_kernels_of_steps(a, b)) return "steps compute different things";
    const auto step = [&](std::uint32_t s) { return b.length(s) - a.length(s); };
    const auto is_same_wait = [](const Dependency& x, const Dependency& y) {
      return x.stream == y.stream && x.position == y.position;
    };
    const auto is_later_wait = [&](const Dependency& x, const Dependency& y) {
      const std::uint32_t met = progress.least[x.stream];
      return x.stream == y.stream &&
             (y.position == x.position + step(x.stream) ||
              (x.position < met && y.position < met + step(x.stream)));
    };
    for (std::uint32_t s = 0; s < a.streams(); ++s) {
      const std::string name = stream_name(longer_, program, s);
      for (std::uint32_t i = 0; i < std::min(a.length(s), progress.most[s] + 1); ++i) {
        if (!is_same(a, a.task(s, i), b, b.task(s, i), is_same_wait)) return "the past of " + name;
      }
      for (std::uint32_t i = progress.least[s]; i < a.length(s); ++i) {
        if (!is_same(a, a.task(s, i), b, b.task(s, i + step(s)), is_later_wait)) {
          return "what is left of " + name;
        }
      }
    }
    return {};
  }

  const Cluster& shorter_;
  const Cluster& longer_;
  Time period_, at_;
  RestoredDevices earlier_, later_;
  std::vector<ProgramProgress> progress_;
};

}  // namespace

std::optional<Difference> first_difference(const Cluster& shorter, const Cluster& longer,
                                           const Moment& earlier, const Moment& later) {
  return MomentComparison(shorter, longer, earlier, later).find();
}

}  // namespace exawarp::model
