// Slices become events, a begin and an end each, in order of time; of one track they keep the order
// that they have in the timeline, so that an end goes before a begin at the same instant.
#include "io/report/timeline_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/digest.h"
#include "core/names.h"
#include "io/formats/perfetto/trace_writer.h"
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

// What one node of a program is called: "forward qkv, layer 3, micro-batch 1".
std::string name_of(const model::WorkloadGraph& graph, const model::schema::Node::Reader& node) {
  std::string out = model::printable(graph.node_name(node));
  if (out.empty()) {
    out = node.getKind() == model::schema::NodeKind::COLLECTIVE
              ? core::name_of(node.getCollective())
              : core::name_of(node.getKind());
  }
  if (node.getPhase() != model::schema::Phase::NONE) {
    out = fmt::format("{} {}", core::name_of(node.getPhase()), out);
  }
  if (node.getLayer() != model::kNoLayer) out += fmt::format(", layer {}", node.getLayer());
  if (node.getMicroBatch() != model::kNoMicroBatch) {
    out += fmt::format(", micro-batch {}", node.getMicroBatch());
  }
  return out;
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
  [[nodiscard]] std::string name_of_task(const Task& task) const {
    return name_of(*job_->graph, program().node(task.node));
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
      if (peer >= model_.timeline.size() || !model_.timeline[peer]) continue;
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
  TimelineWriter(const DeviceModel& model, core::OutputFile& file) : model_(model), trace_(file) {
    for (std::uint32_t lp = 0; lp < model.timeline.size(); ++lp) {
      if (model.timeline[lp]) add({lp});
    }
  }

  void write(const std::vector<Timeline::Slice>& slices) {
    struct Event {
      core::Time at;
      std::uint64_t order;  // of the slice, times two; and one: its end
      auto operator<=>(const Event&) const = default;
    };
    std::vector<Event> events;
    events.reserve(2 * slices.size());
    for (std::uint64_t i = 0; i < slices.size(); ++i) {
      events.push_back({slices[i].from, 2 * i});
      if (slices[i].ends) events.push_back({slices[i].until, 2 * i + 1});
    }
    std::ranges::sort(events);
    for (const Event& event : events) {
      const Timeline::Slice& slice = slices[event.order / 2];
      event.order % 2 == 0 ? begin(slice) : end(slice);
    }
    trace_.finish();
  }

 private:
  struct Tracks {
    TracedDevice device;
    std::uint64_t whole = 0;  // of the device
    std::vector<std::uint64_t> streams = {};
  };

  void add(core::LpId lp) {
    Tracks& tracks = tracks_.try_emplace(lp.value, Tracks{TracedDevice(model_, lp)}).first->second;
    const std::uint64_t group = trace_.add_group(tracks.device.name());
    tracks.whole = trace_.add_track(group, "whole device");
    for (std::uint32_t s = 0; s < tracks.device.streams(); ++s) {
      tracks.streams.push_back(
          trace_.add_track(group, model::printable(tracks.device.program().stream_name(s))));
    }
  }

  void begin(const Timeline::Slice& slice) {
    const Tracks& tracks = tracks_.at(slice.lp.value);
    if (slice.stream == Timeline::kDevice) {
      const std::string_view what = model::kTimeClassNames[slice.task];
      return trace_.begin(tracks.whole, {what, what, slice.from, slice.until});
    }
    const Task& task = tracks.device.task(slice.task);
    const auto [name, is_new] = names_.try_emplace({slice.program, slice.task});
    if (is_new) name->second = tracks.device.name_of_task(task);
    trace_.begin(
        tracks.streams[slice.stream],
        {.name = name->second,
         .category = model::kTimeClassNames[index_of(task.time_class)],
         .from = slice.from,
         .until = slice.until,
         .flow_out = task.kind == TaskKind::send ? tracks.device.message_of(slice.task) : 0});
  }

  void end(const Timeline::Slice& slice) {
    const Tracks& tracks = tracks_.at(slice.lp.value);
    if (slice.stream == Timeline::kDevice) return trace_.end(tracks.whole, slice.until);
    const bool receives = tracks.device.task(slice.task).kind == TaskKind::receive;
    trace_.end(tracks.streams[slice.stream], slice.until,
               receives ? tracks.device.message_of(slice.task) : 0);
  }

  const DeviceModel& model_;
  TraceWriter trace_;
  std::map<std::uint32_t, Tracks> tracks_;                                // by LP
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> names_;  // of program and task
};

}  // namespace

void write_timeline(const model::Cluster& cluster, const model::Timeline& timeline,
                    core::OutputFile& file) {
  TimelineWriter(cluster.devices(), file).write(timeline.slices());
  file.commit();
}

}  // namespace exawarp::io
