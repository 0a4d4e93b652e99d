#include "io/report/page/pictures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/names.h"
#include "model/device/device.h"
#include "model/energy/power_trace.h"
#include "model/network/packet/port_counters.h"
#include "model/timeline/timeline.h"
#include "model/workload/names.h"

namespace exawarp::io {
namespace {

using Json = nlohmann::ordered_json;
using model::Timeline;

constexpr std::size_t kParts = 900;           // of the time that a strip shows
constexpr std::int64_t kPausesOfTime = 500;
constexpr std::size_t kPassesMax = 30'000;    // of all devices
constexpr std::size_t kPortsShown = 2'048;    // of a tier
constexpr double kThousandth = 1e3;

double rounded(double value) { return std::round(value * kThousandth) / kThousandth; }

const model::PlacedJob* job_of(const model::DeviceModel& devices, std::uint32_t program) {
  for (const model::PlacedJob& job : devices.jobs) {
    const std::uint32_t end = job.first_program + job.graph->program_count();
    if (job.runs && job.first_program <= program && program < end) return &job;
  }
  return nullptr;
}

// What of equal parts of the time a device spends with what: the class that takes most of each.
class Strip {
 public:
  explicit Strip(core::Time end) : end_(end), spent_(kParts) {}

  void add(std::size_t time_class, core::Time from, core::Time until) {
    constexpr auto kAll = static_cast<double>(kParts);
    const double scale = kAll / static_cast<double>(end_.ps);
    const double first = static_cast<double>(from.ps) * scale;
    const double last = std::min(static_cast<double>(until.ps) * scale, kAll);
    for (auto part = static_cast<std::size_t>(first); part < kParts; ++part) {
      const auto begin = static_cast<double>(part);
      if (begin >= last) break;
      spent_[part].at(time_class) += std::min(last, begin + 1) - std::max(first, begin);
    }
  }
  [[nodiscard]] std::string text() const {
    std::string out;
    for (const auto& part : spent_) {
      out += static_cast<char>('a' + (std::ranges::max_element(part) - part.begin()));
    }
    return out;
  }

 private:
  core::Time end_;
  std::vector<std::array<double, model::kTimeClassCount>> spent_;
};

// A device of the timeline, slice by slice.
class DrawnDevice {
 public:
  DrawnDevice(const model::DeviceModel& devices, core::LpId lp, core::Time end)
      : devices_(devices), lp_(lp), pause_{end.ps / kPausesOfTime}, strip_(end) {}

  void add(const Timeline::Slice& slice) {
    if (slice.stream == Timeline::kDevice) return strip_.add(slice.task, slice.from, slice.until);
    const model::PlacedJob* const job = job_of(devices_, slice.program);
    if (job == nullptr) return;
    const model::Program& program = job->graph->program(slice.program - job->first_program);
    if (name_.empty()) name_ = model::printable(program.name());
    const model::Task& task = devices_.programs[slice.program].tasks[slice.task];
    if (task.kind != model::TaskKind::compute) return;
    const auto node = program.node(task.node);
    const int micro_batch =
        node.getMicroBatch() == model::kNoMicroBatch ? -1 : int{node.getMicroBatch()};
    const std::string phase(core::name_of(node.getPhase()));
    // What comes into the step's gradients does so in between, layer by layer.
    const bool goes_on = !passes_.empty() && passes_.back().micro_batch == micro_batch &&
                         (micro_batch >= 0 || slice.from - passes_.back().until <= pause_) &&
                         (passes_.back().phase == phase ||
                          node.getPhase() == model::schema::Phase::ACCUMULATE);
    if (goes_on) {
      passes_.back().until = slice.until;
    } else {
      passes_.push_back({phase, micro_batch, slice.from, slice.until});
    }
  }

  [[nodiscard]] std::size_t passes() const { return passes_.size(); }
  [[nodiscard]] Json json(std::size_t passes_most) const {
    Json passes = Json::array();
    for (const Pass& pass : std::span(passes_).first(std::min(passes_most, passes_.size()))) {
      passes.push_back({pass.phase, pass.micro_batch, pass.from.ps, pass.until.ps});
    }
    return {{"device", lp_.value},
            {"name", name_},
            {"doing", strip_.text()},
            {"passes", std::move(passes)}};
  }

 private:
  struct Pass {
    std::string phase;
    int micro_batch;
    core::Time from, until;
  };

  const model::DeviceModel& devices_;
  core::LpId lp_;
  core::Time pause_;  // that ends what belongs to no micro-batch
  std::string name_;
  Strip strip_;
  std::vector<Pass> passes_;
};

Json pipeline_of(const RunReport& report) {
  const core::Time end = std::max(report.result.last_event, core::Time{1});
  std::vector<std::pair<std::uint32_t, DrawnDevice>> drawn;
  report.timeline->visit([&](std::span<const Timeline::Slice> of_device) {
    if (of_device.empty()) return;
    const core::LpId lp = of_device.front().lp;
    auto& device =
        drawn.emplace_back(lp.value, DrawnDevice(report.cluster->devices(), lp, end)).second;
    for (const Timeline::Slice& slice : of_device) device.add(slice);
  });
  std::size_t passes = 0;
  for (const auto& [lp, device] : drawn) passes += device.passes();
  const std::size_t most =
      passes <= kPassesMax ? passes : kPassesMax / std::max<std::size_t>(1, drawn.size());
  Json devices = Json::array();
  for (const auto& [lp, device] : drawn) devices.push_back(device.json(most));
  return {{"end_ps", end.ps},
          {"all_passes", passes <= kPassesMax},
          {"classes", model::kTimeClassNames},
          {"devices", std::move(devices)}};
}

// Ports of one kind of link, in one direction where devices are at one end.
class Tier {
 public:
  explicit Tier(std::string name) : name_(std::move(name)) {}

  void add_port(std::uint64_t port) { use_.emplace(port, 0); }
  void add(std::uint64_t port, std::uint32_t index, double busy, std::int64_t queue_ps) {
    use_[port] += busy;
    if (index >= over_time_.size()) over_time_.resize(index + 1);
    Moment& moment = over_time_[index];
    moment.sum += busy;
    moment.most = std::max(moment.most, busy);
    moment.queue_ps = std::max(moment.queue_ps, queue_ps);
  }

  [[nodiscard]] Json json(std::size_t moments) const {
    Json mean = Json::array(), most = Json::array(), queue = Json::array(), use = Json::array();
    const auto ports = static_cast<double>(use_.size());
    for (std::size_t i = 0; i < moments; ++i) {
      const Moment moment = i < over_time_.size() ? over_time_[i] : Moment{};
      mean.push_back(rounded(moment.sum / ports));
      most.push_back(rounded(moment.most));
      queue.push_back(moment.queue_ps);
    }
    const std::size_t together = (use_.size() + kPortsShown - 1) / kPortsShown;
    std::size_t position = 0;
    for (const auto& [port, busy] : use_) {
      const double value = rounded(busy / static_cast<double>(std::max<std::size_t>(1, moments)));
      if (position++ % together == 0) {
        use.push_back(value);
      } else {
        use.back() = std::max(use.back().get<double>(), value);
      }
    }
    return {{"name", name_}, {"ports", use_.size()}, {"together", together}, {"mean", mean},
            {"most", most},  {"queue_ps", queue},    {"use", use}};
  }
  [[nodiscard]] std::size_t moments() const { return over_time_.size(); }

 private:
  struct Moment {
    double sum = 0, most = 0;
    std::int64_t queue_ps = 0;
  };

  std::string name_;
  std::map<std::uint64_t, double> use_;  // by port; in widths
  std::vector<Moment> over_time_;
};

class Tiers {
 public:
  explicit Tiers(const model::PacketNetwork& network) : network_(network) {
    const model::Topology& t = network.topology();
    for (std::uint32_t lp = 0; lp < network.lp_count(); ++lp) {
      const model::VertexId v = network.vertex_of({lp});
      for (std::uint32_t port = 0; port < t.ports(v); ++port) {
        of(v, port).add_port(port_of({lp}, port));
      }
    }
  }

  void add(const model::PortCounters::Row& row, core::Time width) {
    of(network_.vertex_of(row.lp), row.port)
        .add(port_of(row.lp, row.port), row.index,
             static_cast<double>(row.bucket.busy_ps) / static_cast<double>(width.ps),
             row.bucket.queue_peak_ps);
  }
  [[nodiscard]] Json json() const {
    std::size_t moments = 0;
    for (const auto& [key, tier] : tiers_) moments = std::max(moments, tier.moments());
    Json out = Json::array();
    for (const auto& [key, tier] : tiers_) out.push_back(tier.json(moments));
    return out;
  }

 private:
  enum class Way { up, down, between };  // from devices, to devices, among switches

  static std::uint64_t port_of(core::LpId lp, std::uint32_t port) {
    return std::uint64_t{lp.value} << 32 | port;
  }
  Tier& of(model::VertexId v, std::uint32_t port) {
    const model::Topology& t = network_.topology();
    const model::Link link = t.link(v, port);
    const Way way = t.is_device(v) ? Way::up : t.is_device(link.peer) ? Way::down : Way::between;
    const auto found = tiers_.find({link.kind, way});
    if (found != tiers_.end()) return found->second;
    static constexpr const char* kWays[] = {" links, from devices", " links, to devices", " links"};
    const std::string name =
        t.link_kinds()[link.kind].name + kWays[static_cast<std::size_t>(way)];
    return tiers_.emplace(std::pair(link.kind, way), Tier(name)).first->second;
  }

  const model::PacketNetwork& network_;
  std::map<std::pair<std::uint8_t, Way>, Tier> tiers_;
};

Json links_of(const RunReport& report) {
  Tiers tiers(report.cluster->packet_network());
  const core::Time width = report.counters->width();
  for (const model::PortCounters::Row& row : report.counters->rows()) tiers.add(row, width);
  return {{"width_ps", width.ps}, {"tiers", tiers.json()}};
}

}  // namespace

nlohmann::ordered_json pictures_of(const RunReport& report) {
  Json out{{"fidelity", core::name_of(report.study->network_fidelity)},
           {"step_ps", report.result.last_event.ps},
           {"pipeline", pipeline_of(report)}};
  if (report.cluster->has_packets() && report.counters != nullptr) out["links"] = links_of(report);
  if (report.power != nullptr && !report.power->series().empty()) {
    Json watts = Json::array();
    for (const double w : report.power->series().front().watts) watts.push_back(std::round(w));
    out["power"] = {{"width_ps", report.power->width().ps}, {"watts", std::move(watts)}};
  }
  return out;
}

}  // namespace exawarp::io
