#include "io/report/timeline_file.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/digest.h"
#include "io/formats/perfetto/trace_writer.h"
#include "io/report/node_name.h"
#include "io/report/results.h"
#include "model/device/device.h"
#include "model/workload/names.h"

namespace exawarp::io {
namespace {

using model::DeviceModel;
using model::DevicePlace;
using model::ProgramTable;
using model::Task;
using model::TaskKind;
using model::Timeline;

const model::PlacedJob* job_of(const DeviceModel& model, std::uint32_t program) {
  for (const model::PlacedJob& job : model.jobs) {
    const std::uint32_t end = job.first_program + job.graph->program_count();
    if (job.runs && job.first_program <= program && program < end) return &job;
  }
  return nullptr;
}

// The program of a device, and what its tasks are called and lead to.
class TracedDevice {
 public:
  TracedDevice(const DeviceModel& model, core::LpId lp)
      : model_(model),
        lp_(lp),
        place_(place_of(model, {lp.value})),
        table_(model.programs[place_.program]),
        job_(job_of(model, place_.program)) {
    number_messages();
  }

  // "device 5 (stage 1)".
  [[nodiscard]] std::string name() const {
    if (job_ == nullptr) return fmt::format("device {}", lp_.value);
    std::string what = model::printable(program().name());
    if (model_.jobs.size() > 1) {
      what =
          fmt::format("job {}, rank {}, {}", model::printable(job_->name), place_.rank.value, what);
    }
    if (model_.fold == nullptr) return fmt::format("device {} ({})", lp_.value, what);
    return fmt::format("device {} ({}) and {} alike", job_->device_of(place_.rank).value, what,
                       model_.fold->stand_ins()[lp_.value].count - 1);
  }
  // Of a job's device.
  [[nodiscard]] const model::Program& program() const {
    return job_->graph->program(place_.program - job_->first_program);
  }
  [[nodiscard]] std::uint32_t streams() const { return job_ == nullptr ? 0 : table_.streams(); }
  [[nodiscard]] const Task& task(std::uint32_t index) const { return table_.tasks[index]; }
  [[nodiscard]] std::string name_of_task(std::uint32_t index) const {
    return name_of_node(*job_->graph, program().node(task(index).node));
  }
  [[nodiscard]] std::string name_of_stream(std::uint32_t stream) const {
    const std::string name = model::printable(program().stream_name(stream));
    return name.empty() ? fmt::format("stream {}", stream) : name;
  }
  // The message that a task sends or receives, if its other end is on the timeline, too; else 0.
  [[nodiscard]] std::uint64_t message_of(std::uint32_t task) const {
    const auto found = messages_.find(task);
    return found == messages_.end() ? 0 : found->second;
  }

 private:
  // Messages of one sender, receiver and tag come in the order in which they are sent, and each
  // task runs once; so the i-th send there belongs to the i-th receive.
  void number_messages() {
    using Way = std::tuple<bool, std::uint32_t, std::uint32_t>;
    std::map<Way, std::uint64_t> sent;
    for (std::uint32_t i = 0; i < table_.tasks.size(); ++i) {
      const Task& task = table_.tasks[i];
      const bool sends = task.kind == TaskKind::send;
      if (!sends && task.kind != TaskKind::receive) continue;
      const std::uint32_t peer = table_.peer_of(task, place_.rank).value;
      if (peer >= model_.timeline.size() || model_.timeline[peer] == 0) continue;
      core::Hasher message;
      message.word(sends ? lp_.value : peer);
      message.word(sends ? peer : lp_.value);
      message.word(task.tag);
      message.word(sent[{sends, peer, task.tag}]++);
      messages_.emplace(i, message.value());
    }
  }

  const DeviceModel& model_;
  core::LpId lp_;
  DevicePlace place_;
  const ProgramTable& table_;
  const model::PlacedJob* job_;  // null: the device has none
  std::unordered_map<std::uint32_t, std::uint64_t> messages_;
};

class TimelineWriter {
 public:
  TimelineWriter(const DeviceModel& model, core::OutputFile& file)
      : model_(model), trace_(file), names_(model.programs.size()) {
    for (std::size_t c = 0; c < model::kTimeClassCount; ++c) {
      categories_[c] = trace_.add_category(model::kTimeClassNames[c]);
      class_names_[c] = trace_.add_name(model::kTimeClassNames[c]);
    }
    for (std::uint32_t lp = 0; lp < model.timeline.size(); ++lp) {
      if (model.timeline[lp] != 0) add({lp});
    }
  }

  // Of one device.
  void write(std::span<const Timeline::Slice> slices) {
    if (slices.empty()) return;
    const Tracks& tracks = tracks_[place_in_tracks_[slices.front().lp.value]];
    for (const Timeline::Slice& slice : slices) {
      trace_.add(slice.stream == Timeline::kDevice ? of_device(tracks, slice)
                                                   : of_stream(tracks, slice));
    }
  }

  // Ports of devices on the timeline, and those that lead to them.
  void write(const model::PacketNetwork& network, const model::PortCounters& counters,
             const model::TimelineOptions& options) {
    std::optional<CountedPort> port;
    core::Time filled;
    for (const model::PortCounters::Row& row : counters.rows()) {
      const core::Time from = row.index * counters.width(), until = from + counters.width();
      if (until <= options.from || options.until <= from) continue;
      const bool is_new = !port || port->lp != row.lp || port->port != row.port;
      // Buckets in which nothing happened are left out.
      if (port && (is_new || filled < from)) count(*port, filled, {0, 0});
      if (is_new) port = counted(network, row);
      count(*port, from, load_of(*port, row.bucket, counters.width()));
      filled = until;
    }
    if (port) count(*port, filled, {0, 0});
  }

  void finish() { trace_.finish(); }

 private:
  struct Tracks {
    TracedDevice device;
    std::uint64_t whole = 0;  // of the device
    std::uint64_t group = 0;
    std::vector<std::uint64_t> streams = {};
  };
  struct CountedPort {
    core::LpId lp;
    std::uint32_t port = 0;
    std::uint64_t group = 0;  // 0: it is not on the timeline
    std::uint64_t use = 0, queue = 0;
    std::int64_t bytes_per_s = 0;
  };
  struct Load {
    std::int64_t use_percent = 0, queue_bytes = 0;
  };

  void add(core::LpId lp) {
    place_in_tracks_.resize(lp.value + 1);
    place_in_tracks_[lp.value] = tracks_.size();
    Tracks& tracks = tracks_.emplace_back(Tracks{TracedDevice(model_, lp)});
    tracks.group = trace_.add_group(tracks.device.name());
    tracks.whole = trace_.add_track(tracks.group, "whole device");
    for (std::uint32_t s = 0; s < tracks.device.streams(); ++s) {
      tracks.streams.push_back(trace_.add_track(tracks.group, tracks.device.name_of_stream(s)));
    }
  }

  [[nodiscard]] std::uint64_t group_of(model::VertexId v) const {
    const bool is_traced = v.value < model_.timeline.size() && model_.timeline[v.value] != 0;
    return is_traced ? tracks_[place_in_tracks_[v.value]].group : 0;
  }

  CountedPort counted(const model::PacketNetwork& network, const model::PortCounters::Row& row) {
    const model::Topology& topology = network.topology();
    const model::VertexId v = network.vertex_of(row.lp);
    const model::Link link = topology.link(v, row.port);
    CountedPort out{.lp = row.lp,
                    .port = row.port,
                    .group = group_of(v) != 0 ? group_of(v) : group_of(link.peer),
                    .bytes_per_s = topology.link_kinds()[link.kind].bandwidth_bytes_per_s};
    if (out.group == 0) return out;
    const std::string way = fmt::format("{} port {} to {}", vertex_name(topology, v), row.port,
                                        vertex_name(topology, link.peer));
    out.use = trace_.add_counter(out.group, way + ": use", "%");
    out.queue = trace_.add_counter(out.group, way + ": longest queue", "bytes");
    return out;
  }

  static Load load_of(const CountedPort& port, const model::PortCounters::Bucket& bucket,
                      core::Time width) {
    __extension__ using Wide = __int128;
    return {
        .use_percent = 100 * bucket.busy_ps / width.ps,
        .queue_bytes = static_cast<std::int64_t>(static_cast<Wide>(bucket.queue_peak_ps) *
                                                 port.bytes_per_s / core::kPicosecondsPerSecond)};
  }

  void count(const CountedPort& port, core::Time at, const Load& load) {
    if (port.group == 0) return;
    trace_.count(port.use, at, load.use_percent);
    trace_.count(port.queue, at, load.queue_bytes);
  }

  [[nodiscard]] TraceSlice of_device(const Tracks& tracks, const Timeline::Slice& slice) const {
    return {.track = tracks.whole,
            .name = class_names_[slice.task],
            .category = categories_[slice.task],
            .from = slice.from,
            .until = slice.until};
  }

  [[nodiscard]] TraceSlice of_stream(const Tracks& tracks, const Timeline::Slice& slice) {
    const Task& task = tracks.device.task(slice.task);
    TraceSlice out{.track = tracks.streams[slice.stream],
                   .name = name_of_task(tracks.device, slice),
                   .category = categories_[index_of(task.time_class)],
                   .from = slice.from,
                   .until = slice.until,
                   .ends = slice.ends};
    if (task.kind == TaskKind::send) out.flow_out = tracks.device.message_of(slice.task);
    if (task.kind == TaskKind::receive) out.flow_in = tracks.device.message_of(slice.task);
    return out;
  }

  std::uint64_t name_of_task(const TracedDevice& device, const Timeline::Slice& slice) {
    std::vector<std::uint64_t>& names = names_[slice.program];
    if (names.empty()) names.resize(model_.programs[slice.program].tasks.size());
    std::uint64_t& name = names[slice.task];
    if (name == 0) name = trace_.add_name(device.name_of_task(slice.task));
    return name;
  }

  const DeviceModel& model_;
  TraceWriter trace_;
  std::array<std::uint64_t, model::kTimeClassCount> categories_{}, class_names_{};
  std::vector<Tracks> tracks_;
  std::vector<std::size_t> place_in_tracks_;       // by LP
  std::vector<std::vector<std::uint64_t>> names_;  // by program and task; 0: not yet
};

}  // namespace

void write_timeline(const model::Cluster& cluster, const model::Timeline& timeline,
                    const model::PortCounters* counters, core::OutputFile& file) {
  TimelineWriter writer(cluster.devices(), file);
  timeline.visit([&](std::span<const Timeline::Slice> of_device) { writer.write(of_device); });
  if (counters != nullptr) writer.write(cluster.packet_network(), *counters, timeline.options());
  writer.finish();
  file.commit();
}

}  // namespace exawarp::io
