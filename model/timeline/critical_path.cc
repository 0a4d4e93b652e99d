// The walk. Times of tasks are those of the timeline's slices; of tasks that it leaves out, as they
// took no time, they follow from the order of streams and from dependencies (PathDevice::ends()).
// Which send belongs to which receive, and which collective of one member to which of another,
// follows from counting, as it does where devices match them.
#include "model/timeline/critical_path.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/check.h"
#include "model/cluster.h"
#include "model/collective/ring.h"
#include "model/device/device.h"
#include "model/device/group_time.h"
#include "model/device/task_source.h"

namespace exawarp::model {
namespace {

using core::DeviceId;
using core::Time;
using Slice = Timeline::Slice;

constexpr Time kUnknown{-1};

struct Span {
  Time from, until, last_entry;
};

// A task of a device; nothing: the device began then.
struct At {
  std::uint32_t lp = 0, task = 0;
};

// The slices of streams, by device and task.
class Tasks {
 public:
  Tasks(std::size_t lps, std::span<const Slice> slices) : slices_(slices) {
    first_.resize(lps * kTracks + 1);
    for (const Slice& s : slices) ++first_[s.lp.value * kTracks + s.stream + 1];
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  }

  // Nothing: it took no time.
  [[nodiscard]] std::optional<Span> find(At at, std::uint32_t stream) const {
    const std::size_t track = std::size_t{at.lp} * kTracks + stream;
    const auto of_stream = slices_.subspan(first_[track], first_[track + 1] - first_[track]);
    const auto found = std::ranges::lower_bound(of_stream, at.task, {}, &Slice::task);
    if (found == of_stream.end() || found->task != at.task) return {};
    return Span{found->from, found->until, found->last_entry};
  }

 private:
  static constexpr std::size_t kTracks = Timeline::kDevice + 1;
  std::span<const Slice> slices_;   // by device, stream, and in the order of the stream's tasks
  std::vector<std::size_t> first_;  // by device and stream
};

// Which collective of a channel a task is.
class ChannelOrder {
 public:
  explicit ChannelOrder(const ProgramTable& table) : tasks_(table.channels.size()) {
    for (std::uint32_t i = 0; i < table.tasks.size(); ++i) {
      const std::uint8_t channel = table.tasks[i].channel;
      if (channel < tasks_.size()) tasks_[channel].push_back(i);
    }
  }
  [[nodiscard]] std::size_t ordinal(std::uint8_t channel, std::uint32_t task) const {
    const auto& all = tasks_[channel];
    return static_cast<std::size_t>(std::ranges::lower_bound(all, task) - all.begin());
  }
  [[nodiscard]] std::optional<std::uint32_t> task(std::uint8_t channel, std::size_t ordinal) const {
    if (channel >= tasks_.size() || ordinal >= tasks_[channel].size()) return {};
    return tasks_[channel][ordinal];
  }

 private:
  std::vector<std::vector<std::uint32_t>> tasks_;
};

// A device that the chain comes to.
class PathDevice {
 public:
  PathDevice(const DeviceModel& model, const Tasks& tasks, std::uint32_t lp)
      : tasks_(tasks),
        lp_(lp),
        place_(place_of(model, {lp})),
        table_(model.programs[place_.program]) {}

  [[nodiscard]] const DevicePlace& place() const { return place_; }
  [[nodiscard]] const ProgramTable& table() const { return table_; }
  [[nodiscard]] const Task& task(std::uint32_t index) const { return table_.tasks[index]; }

  [[nodiscard]] Span span(std::uint32_t task) {
    if (const auto known = tasks_.find({lp_, task}, stream_of(task))) return *known;
    const Time at = ends()[task];
    return {at, at, at};
  }

  // What `task` waited for last, on this device. Nothing: for nothing.
  [[nodiscard]] std::optional<std::uint32_t> before(std::uint32_t task) {
    std::optional<std::uint32_t> last;
    Time end;
    const auto consider = [&](std::uint32_t other) {
      const Time its_end = span(other).until;
      if (last && its_end <= end) return;
      last = other;
      end = its_end;
    };
    if (task != table_.first_task[stream_of(task)]) consider(task - 1);
    for (const Dependency& on : MappedProgram(table_).dependencies(table_.tasks[task])) {
      consider(table_.first_task[on.stream] + on.position);
    }
    return last;
  }

  // The one at the other end of a send or receive, on the device `peer`.
  [[nodiscard]] std::uint32_t number_of_message(std::uint32_t task) {
    const auto& all = messages()[key_of(task)];
    return static_cast<std::uint32_t>(std::ranges::lower_bound(all, task) - all.begin());
  }
  [[nodiscard]] std::optional<std::uint32_t> message(TaskKind kind, std::uint32_t peer,
                                                     std::uint32_t tag, std::uint32_t number) {
    const auto found = messages().find({kind, peer, tag});
    if (found == messages().end() || number >= found->second.size()) return {};
    return found->second[number];
  }
  [[nodiscard]] std::uint32_t peer_of(std::uint32_t task) const {
    return table_.peer_of(table_.tasks[task], place_.rank).value;
  }

 private:
  using Key = std::tuple<TaskKind, std::uint32_t, std::uint32_t>;  // peer, tag

  [[nodiscard]] std::uint32_t stream_of(std::uint32_t task) const {
    const auto after = std::ranges::upper_bound(table_.first_task, task);
    return static_cast<std::uint32_t>(after - table_.first_task.begin()) - 1;
  }
  [[nodiscard]] Key key_of(std::uint32_t task) const {
    return {table_.tasks[task].kind, peer_of(task), table_.tasks[task].tag};
  }
  std::map<Key, std::vector<std::uint32_t>>& messages() {
    if (!messages_) {
      messages_.emplace();
      for (std::uint32_t i = 0; i < table_.tasks.size(); ++i) {
        const TaskKind kind = table_.tasks[i].kind;
        if (kind == TaskKind::send || kind == TaskKind::receive)
          (*messages_)[key_of(i)].push_back(i);
      }
    }
    return *messages_;
  }
  // By task: when it was over; kUnknown where it never was.
  const std::vector<Time>& ends() {
    if (ends_.empty()) find_ends();
    return ends_;
  }
  void find_ends();
  [[nodiscard]] bool is_free(const Task& task, const std::vector<std::uint32_t>& cursors) const;

  const Tasks& tasks_;
  std::uint32_t lp_;
  DevicePlace place_;
  const ProgramTable& table_;
  std::vector<Time> ends_;
  std::optional<std::map<Key, std::vector<std::uint32_t>>> messages_;
};

bool PathDevice::is_free(const Task& task, const std::vector<std::uint32_t>& cursors) const {
  return std::ranges::all_of(MappedProgram(table_).dependencies(task), [&](const Dependency& on) {
    return cursors[on.stream] > on.position;
  });
}

void PathDevice::find_ends() {
  ends_.assign(table_.tasks.size(), kUnknown);
  std::vector<std::uint32_t> cursors(table_.streams());
  std::vector<Time> free_at(table_.streams(), place_.start);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t s = 0; s < table_.streams(); ++s) {
      for (; cursors[s] < table_.length(s); ++cursors[s], moved = true) {
        const std::uint32_t index = table_.first_task[s] + cursors[s];
        const Task& task = table_.tasks[index];
        if (!is_free(task, cursors)) break;
        Time begin = free_at[s];
        for (const Dependency& on : MappedProgram(table_).dependencies(task)) {
          begin = std::max(begin, ends_[table_.first_task[on.stream] + on.position]);
        }
        const auto known = tasks_.find({lp_, index}, s);
        free_at[s] = ends_[index] = known ? known->until : begin;
      }
    }
  }
}

// What a message or collective takes alone.
struct Alone {
  Time latency, wire;
};

// By closed forms, kept, as a program asks for the same again and again.
class AloneTimes {
 public:
  explicit AloneTimes(const DeviceModel& model) : model_(model) {}

  [[nodiscard]] Tier tier(std::uint32_t from, std::uint32_t to) const {
    return model_.fold != nullptr ? model_.fold->tier(from, to)
                                  : model_.network.tier_between({from}, {to});
  }
  // From when it can leave until it has come; `notices`: so many before it.
  [[nodiscard]] Alone message(const Task& send, Tier tier, std::int64_t notices) const {
    const Interface interface = interface_of(tier);
    Time wire = send.wire[static_cast<std::size_t>(interface)];
    if (model_.wire_is_bytes(interface)) {
      wire = model_.network.wire_time(wire.ps, interface);
    }
    const Time latency = model_.network.latency(tier);
    const Time lag = model_.network.travel(tier, wire) - latency;
    return {(notices + 1) * latency, wire + lag};
  }
  [[nodiscard]] Alone collective(const PathDevice& device, std::uint32_t index);

 private:
  // Program, channel, its first member; of the collective what it is: its bytes, or its chunks'.
  using Key = std::tuple<std::uint32_t, std::uint8_t, std::uint32_t, std::uint32_t, std::int64_t,
                         std::uint64_t, const void*>;
  [[nodiscard]] static Key key_of(const PathDevice& device, const Task& task, DeviceId first);
  // Real devices by position, where devices are folded, too.
  struct Group {
    const ProgramTable& table;
    const Channel& channel;
    const PlacedJob& job;
    DeviceId rank;
    Membership in;
    [[nodiscard]] DeviceId at(std::uint32_t position) const {
      return job.device_of(channel.among.member(*table.graph, rank, position));
    }
  };
  [[nodiscard]] Group group_of(const PathDevice& device, const Task& task) const;
  [[nodiscard]] Alone ring(const Group& group, const Task& task) const;
  [[nodiscard]] Alone steps(const Group& group, const Task& task) const;

  const DeviceModel& model_;
  std::map<Key, Alone> known_;
};

AloneTimes::Group AloneTimes::group_of(const PathDevice& device, const Task& task) const {
  const auto is_its = [&](const PlacedJob& job) {
    return job.runs && job.first_program <= device.place().program &&
           device.place().program < job.first_program + job.graph->program_count();
  };
  const auto job = std::ranges::find_if(model_.jobs, is_its);
  EXAWARP_CHECK(job != model_.jobs.end(), device.place().program);
  const Channel& channel = device.table().channels[task.channel];
  const DeviceId rank = device.place().rank;
  return {device.table(), channel, *job, rank, device.table().membership(channel, rank)};
}

AloneTimes::Key AloneTimes::key_of(const PathDevice& device, const Task& task, DeviceId first) {
  const std::uint32_t program = device.place().program;
  if (task.kind == TaskKind::collective) {
    return {program,    task.channel,    first.value,
            task.steps, task.wire[0].ps, static_cast<std::uint64_t>(task.wire[1].ps),
            nullptr};
  }
  const Collective& c = device.table().stepped[task.tag].collective;
  const auto kind =
      static_cast<std::uint32_t>(c.type) << 8 | static_cast<std::uint32_t>(c.algorithm);
  const std::uint64_t shape = std::uint64_t{c.root + c.shift} << 32 | c.lanes;
  return {program, task.channel, first.value, kind, c.bytes, shape, c.sizes.data()};
}

Alone AloneTimes::collective(const PathDevice& device, std::uint32_t index) {
  const Task& task = device.task(index);
  const Group group = group_of(device, task);
  const DeviceId first = group.channel.among.member(*group.table.graph, group.rank, 0);
  const auto [known, is_new] = known_.try_emplace(key_of(device, task, first));
  if (is_new && group.in.size > 1) {
    known->second = task.kind == TaskKind::collective ? ring(group, task) : steps(group, task);
  }
  return known->second;
}

// Chunks pass all edges in turn, and each step takes as long as the slowest does.
Alone AloneTimes::ring(const Group& group, const Task& task) const {
  const std::uint32_t n = group.in.size;
  core::WidePs latencies = 0;
  Time slowest;
  std::uint32_t steps = task.steps;
  std::array<Time, kInterfaceCount> wires = task.wire;
  if (steps == kStepsVary) {
    const RingPlan plan =
        ring_plan(static_cast<schema::CollectiveType>(task.collective), task.wire[0].ps, n);
    steps = plan.steps;
    for (std::size_t i = 0; i < wires.size(); ++i) {
      wires[i] = model_.network.wire_time(plan.chunk_bytes, static_cast<Interface>(i));
    }
  } else {
    for (std::size_t i = 0; i < wires.size(); ++i) {
      const auto interface = static_cast<Interface>(i);
      if (model_.wire_is_bytes(interface)) {
        wires[i] = model_.network.wire_time(wires[i].ps, interface);
      }
    }
  }
  for (std::uint32_t p = 0; p < n; ++p) {
    const Tier tier = model_.network.tier_between(group.at(p), group.at(next_in_ring(p, n)));
    latencies += model_.network.latency(tier).ps;
    slowest = std::max(slowest, wires[static_cast<std::size_t>(interface_of(tier))]);
  }
  return {core::time_to_end(latencies * steps / n), core::product_to_end(steps, slowest)};
}

// On the group's own network, as analytical fidelity has it; latency is what it takes without data.
Alone AloneTimes::steps(const Group& group, const Task& task) const {
  constexpr std::uint64_t kMessagesMax = std::uint64_t{1} << 14;  // carried out: 5 ms
  const SteppedTask& what = group.table.stepped[task.tag];
  Collective c = what.collective;
  c.members = group.in.size;
  std::vector<DeviceId> devices(c.members);
  for (std::uint32_t p = 0; p < c.members; ++p) devices[p] = group.at(p);
  const GroupNetwork network(model_.network, std::move(devices), group.job.ranks != nullptr);
  const auto time = [&] {
    return group_time(c, what.choice, group.channel.number, network, kMessagesMax);
  };
  const Time whole = model_.analytical ? Time{0} : time();
  c.bytes = 0;
  c.sizes = {};
  const Time latency = time();
  return {core::sum_to_end(what.choice.start, latency), std::max(Time{0}, whole - latency)};
}

// From the end to the start.
class Walk {
 public:
  Walk(const Cluster& cluster, std::span<const Slice> slices)
      : cluster_(cluster),
        model_(cluster.devices()),
        tasks_(model_.timeline.size(), slices),
        alone_(model_) {}

  // The elements from the end of `last` back to `start`, the latest first; nothing where they do
  // not get there.
  [[nodiscard]] std::optional<std::vector<PathElement>> back_to(Time start, At last) {
    for (At at = last;;) {
      const std::optional<At> begun = cause(at);
      if (!begun) return {};
      const Time since = device(begun->lp).span(begun->task).from;
      const auto before = device(begun->lp).before(begun->task);
      if (!before) return since == start ? std::optional(std::move(path_)) : std::nullopt;
      if (device(begun->lp).span(*before).until != since) return {};
      at = {begun->lp, *before};
    }
  }

 private:
  PathDevice& device(std::uint32_t lp) {
    return devices_.try_emplace(lp, model_, tasks_, lp).first->second;
  }
  const ChannelOrder& order_of(const PathDevice& device) {
    return orders_.try_emplace(device.place().program, device.table()).first->second;
  }

  // Adds the elements of a task; returns the one, on whatever device, whose beginning they begin
  // with.
  std::optional<At> cause(At at);
  std::optional<At> of_compute(At at, const Span& span);
  std::optional<At> of_collective(At at, const Span& span);
  std::optional<At> of_receive(At at, const Span& span);
  std::optional<At> of_send(At at, const Span& span);
  std::optional<At> other_end(At at);
  void split(At at, Time since, Time until, const Alone& alone);
  void add(At at, PathPart part, Time& until, Time length);

  const Cluster& cluster_;
  const DeviceModel& model_;
  Tasks tasks_;
  AloneTimes alone_;
  std::unordered_map<std::uint32_t, PathDevice> devices_;
  std::unordered_map<std::uint32_t, ChannelOrder> orders_;  // by program
  std::vector<PathElement> path_;
};

std::optional<At> Walk::cause(At at) {
  const Span span = device(at.lp).span(at.task);
  if (span.from == span.until) return at;
  switch (device(at.lp).task(at.task).kind) {
    case TaskKind::collective:
    case TaskKind::stepped:
      return of_collective(at, span);
    case TaskKind::send:
      return of_send(at, span);
    case TaskKind::receive:
      return of_receive(at, span);
    case TaskKind::compute:
    case TaskKind::instant:
    case TaskKind::mark:
      break;
  }
  return of_compute(at, span);
}

// Before `until`, which moves there.
void Walk::add(At at, PathPart part, Time& until, Time length) {
  if (length.ps <= 0) return;
  const Time from = until - length;
  path_.push_back({{at.lp}, device(at.lp).place().program, at.task, part, from, until});
  until = from;
}

std::optional<At> Walk::of_compute(At at, const Span& span) {
  const PathDevice& here = device(at.lp);
  const Task& task = here.task(at.task);
  const Time took = span.until - span.from, usual = task.wire[0];
  if (task.is_of_host()) {
    Time until = span.until;
    add(at, PathPart::host, until, took);
    return at;
  }
  constexpr std::int64_t kBillion = 1'000'000'000;
  const std::int64_t lag = here.table().lag_ppb;
  const Time even{static_cast<std::int64_t>(core::WidePs{usual.ps} * kBillion / (kBillion + lag))};
  const WorkloadGraph& graph = *here.table().graph;
  const auto node = graph.program(graph.program_of(here.place().rank)).node(task.node);
  const bool launched = even.ps > 0 && node.getKind() == schema::NodeKind::COMPUTE &&
                        node.getDurationPs() == schema::NO_DURATION;
  const Time launch = launched ? std::min(even, cluster_.accelerator().launch_latency) : Time{0};
  // What makes a task longer or shorter makes all of it so.
  const Time launch_took =
      launched ? Time{static_cast<std::int64_t>(core::WidePs{took.ps} * launch.ps / even.ps)}
               : Time{0};
  const Time work = std::min(took - launch_took, even - launch);
  const Time noise = std::min(took - launch_took - work, usual - even);
  Time until = span.until;
  add(at, PathPart::variation, until, took - launch_took - work - noise);
  add(at, PathPart::noise, until, noise);
  add(at, PathPart::work, until, work);
  add(at, PathPart::launch, until, launch_took);
  return at;
}

// Waits for links come first, then interfaces, then the way.
void Walk::split(At at, Time since, Time until, const Alone& alone) {
  const Time took = until - since;
  // The member that comes last finds the others' messages there, and has its own to send.
  const Time wire =
      model_.analytical ? took - std::min(took, alone.latency) : std::min(took, alone.wire);
  const Time latency = std::min(took - wire, alone.latency);
  add(at, PathPart::latency, until, latency);
  add(at, PathPart::bandwidth, until, wire);
  add(at, PathPart::queue, until, until - since);
}

std::optional<At> Walk::of_collective(At at, const Span& span) {
  PathDevice& here = device(at.lp);
  const Task& task = here.task(at.task);
  const Alone alone = alone_.collective(here, at.task);
  split(at, span.last_entry, span.until, alone);
  if (span.last_entry == span.from) return at;
  const Channel& channel = here.table().channels[task.channel];
  const std::size_t ordinal = order_of(here).ordinal(task.channel, at.task);
  const Fold::Group* const folded =
      model_.fold != nullptr ? &model_.fold->group(at.lp, task.channel) : nullptr;
  const std::size_t members = folded != nullptr
                                  ? folded->members.size()
                                  : here.table().membership(channel, here.place().rank).size;
  std::optional<At> last;
  for (std::uint32_t i = 0; i < members; ++i) {
    const std::uint32_t lp = folded != nullptr
                                 ? folded->members[i]
                                 : here.table().member(channel, here.place().rank, i).value;
    if (lp == at.lp || (last && last->lp < lp)) continue;
    PathDevice& member = device(lp);
    const auto& known = member.table().channel_by_number;
    if (channel.number >= known.size() || known[channel.number] == kNoChannel) continue;
    const auto its = order_of(member).task(known[channel.number], ordinal);
    if (its && member.span(*its).from == span.last_entry) last = At{lp, *its};
  }
  return last;
}

std::optional<At> Walk::other_end(At at) {
  PathDevice& here = device(at.lp);
  const Task& task = here.task(at.task);
  const TaskKind other = task.kind == TaskKind::send ? TaskKind::receive : TaskKind::send;
  const std::uint32_t peer = here.peer_of(at.task);
  const auto its = device(peer).message(other, at.lp, task.tag, here.number_of_message(at.task));
  if (!its) return {};
  return At{peer, *its};
}

std::optional<At> Walk::of_receive(At at, const Span& span) {
  const std::optional<At> sent = other_end(at);
  if (!sent) return {};
  const Task& send = device(sent->lp).task(sent->task);
  const Time left = device(sent->lp).span(sent->task).from;
  const Tier tier = alone_.tier(sent->lp, at.lp);
  if (left > span.until) return {};
  const bool asked = send.rendezvous && left + model_.network.latency(tier) <= span.from;
  const Time since = asked ? span.from : left;
  const std::int64_t notices = !send.rendezvous ? 0 : asked ? 1 : 2;
  split(at, since, span.until, alone_.message(send, tier, notices));
  return asked ? at : *sent;
}

std::optional<At> Walk::of_send(At at, const Span& span) {
  const Task& send = device(at.lp).task(at.task);
  Alone alone;
  std::optional<At> since = at;
  Time begun = span.from;
  const Tier tier = alone_.tier(at.lp, device(at.lp).peer_of(at.task));
  alone.wire = alone_.message(send, tier, 0).wire;
  if (send.rendezvous) {
    const Time latency = model_.network.latency(tier);
    alone.latency = 2 * latency;
    const std::optional<At> received = other_end(at);
    if (!received) return {};
    const Time asked = device(received->lp).span(received->task).from;
    if (span.from + latency < asked && asked <= span.until) {
      since = received;
      begun = asked;
      alone.latency = latency;
    }
  }
  split(at, begun, span.until, alone);
  return since;
}

// The slice of a stream that ends last; of those that do, the first by device and stream.
const Slice* last_of(std::span<const Slice> slices) {
  const Slice* last = nullptr;
  for (const Slice& s : slices) {
    if (last == nullptr || last->until < s.until) last = &s;
  }
  return last;
}

std::uint32_t job_of(const DeviceModel& model, std::uint32_t program) {
  for (std::uint32_t j = 0; j < model.jobs.size(); ++j) {
    const PlacedJob& job = model.jobs[j];
    if (job.runs && job.first_program <= program &&
        program < job.first_program + job.graph->program_count()) {
      return j;
    }
  }
  return 0;
}

}  // namespace

std::optional<CriticalPath> critical_path(const Cluster& cluster, const Timeline& timeline) {
  const DeviceModel& model = cluster.devices();
  const TimelineOptions& options = timeline.options();
  const bool has_all = options.tasks_alone && options.from.ps == 0 &&
                       options.until == core::kEndOfTime && !timeline.cut() &&
                       std::ranges::none_of(model.timeline, [](auto is) { return is == 0; });
  if (!has_all) return {};
  const std::vector<Slice> slices = timeline.slices();
  const Slice* const last = last_of(slices);
  if (last == nullptr || !std::ranges::all_of(slices, &Slice::ends)) return {};
  CriticalPath out;
  out.job = job_of(model, last->program);
  out.from = model.jobs[out.job].start;
  out.until = last->until;
  auto elements = Walk(cluster, slices).back_to(out.from, {last->lp.value, last->task});
  if (!elements) return {};
  out.elements = std::move(*elements);
  std::ranges::reverse(out.elements);
  return out;
}

}  // namespace exawarp::model
