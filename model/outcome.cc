// Adds the states of devices and switches to totals by class, combines the totals between ranks as
// words, and words the first lines about devices that cannot finish (Explainer).
#include "model/outcome.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "core/check.h"
#include "core/error.h"
#include "core/units.h"
#include "model/compute/roofline.h"
#include "model/compute_times.h"
#include "model/device/background_traffic.h"
#include "model/device/device.h"
#include "model/network/message/message.h"
#include "pdes/transport.h"

namespace exawarp::model {
namespace {

using core::DeviceId;
using core::Time;

constexpr std::size_t kWordsPerTime = 3;  // 32 + 32 + 64 bits, each of which sums over 2^32 ranks
constexpr std::size_t kTimes = kTimeClassCount + kPassCount + 2;
constexpr std::size_t kBackgroundWords = 4;
constexpr std::size_t kWordsPerClass = 2 + kTimes * kWordsPerTime;
constexpr std::uint32_t kNotLate = 2;  // Outcome::distance_to_late

void put(std::vector<std::uint64_t>& words, DeviceTime t) {
  words.push_back(static_cast<std::uint64_t>(t & 0xffffffff));
  words.push_back(static_cast<std::uint64_t>(t >> 32 & 0xffffffff));
  words.push_back(static_cast<std::uint64_t>(t >> 64));
}

DeviceTime get(const std::uint64_t* words) {
  return static_cast<DeviceTime>(words[0]) + (static_cast<DeviceTime>(words[1]) << 32) +
         (static_cast<DeviceTime>(words[2]) << 64);
}

DeviceTime to_sum(Time t) { return static_cast<DeviceTime>(t.ps); }

// The job that a program is of. Requires that it is one's: idle devices finish.
const PlacedJob& job_of(const Cluster& cluster, std::uint32_t program) {
  const PlacedJob* job = nullptr;
  for (const PlacedJob& j : cluster.jobs()) {
    if (j.runs && j.first_program <= program) job = &j;
  }
  EXAWARP_CHECK(job != nullptr, program);
  return *job;
}

// Says why one device did not finish.
class Explainer {
 public:
  Explainer(const Cluster& cluster, DeviceId device, const DeviceState& state)
      : model_(cluster.devices()),
        table_(model_.programs[state.program]),
        job_(job_of(cluster, state.program)),
        graph_(*job_.graph),
        device_(placed(device)),
        rank_(table_.ranks == nullptr ? device : state.get_rank()),
        state_(state),
        parts_(state),
        program_(graph_.program(state.program - job_.first_program)),
        many_(cluster.jobs().size() > 1) {}

  // A stream that waits for another device says more than one that waits for its own.
  [[nodiscard]] std::string text() const {
    if (state_.serves) return who() + "is in the middle of what its scheduler told it";
    if (state_.busy != 0) {
      return who() + in_progress(static_cast<std::uint32_t>(std::countr_zero(state_.busy)));
    }
    for (std::uint32_t s = 0; s < table_.streams(); ++s) {
      if (parts_.streams[s].cursor < table_.length(s)) return who() + waits_for_stream(s);
    }
    return who() + "is unfinished";
  }

  // The same with how much there is to do; of the stream that `late` is about, where it says so.
  [[nodiscard]] std::string late_text(const pdes::Event& late) const {
    if (state_.busy == 0 || state_.serves) return text();
    auto stream = static_cast<std::uint32_t>(std::countr_zero(state_.busy));
    if (static_cast<DeviceEvent>(late.kind) == DeviceEvent::node_done) {
      const std::uint32_t named = late.as<NodeDone>().stream;
      if (named < table_.streams() && (state_.busy >> named & 1) != 0) stream = named;
    }
    return who() + in_progress(stream) + amount(table_.task(stream, parts_.streams[stream].cursor));
  }

 private:
  // Where devices are folded: of a stand-in, the device that it is.
  [[nodiscard]] DeviceId placed(DeviceId lp) const {
    if (model_.fold == nullptr) return lp;
    return job_.device_of(model_.fold->stand_ins()[lp.value].rank);
  }
  [[nodiscard]] std::string who() const {
    if (!many_) {
      return fmt::format("device {} ({}): ", device_.value, printable(program_.name()));
    }
    return fmt::format("device {} (job \"{}\" rank {}, {}): ", device_.value,
                       printable(job_.name), rank_.value, printable(program_.name()));
  }
  // " (1 GiB at 50 GiB/s)"; of a collective the slowest interface to some of its members.
  [[nodiscard]] std::string amount(const Task& task) const {
    if (task.kind == TaskKind::compute) {
      return fmt::format(" ({})", core::format_time(task.wire[0]));
    }
    std::vector<DeviceId> peers;
    if (task.kind == TaskKind::send || task.kind == TaskKind::receive) {
      peers = {placed(table_.peer_of(task, rank_))};
    } else {
      const Channel& channel = table_.channels[task.channel];
      const std::uint32_t last = table_.membership(channel, rank_).size - 1;
      peers = {placed(table_.member(channel, rank_, 0)),
               placed(table_.member(channel, rank_, last))};
    }
    std::int64_t rate = std::numeric_limits<std::int64_t>::max();
    for (const DeviceId peer : peers) {
      if (peer == device_) continue;
      const Interface interface = interface_of(model_.network.tier_between(device_, peer));
      rate = std::min(rate, model_.network.bandwidth(interface));
    }
    return fmt::format(" ({} at {}/s)",
                       core::format_bytes(program_.node(task.node).getCommBytes()),
                       core::format_bytes(static_cast<std::uint64_t>(rate)));
  }
  [[nodiscard]] std::string node(std::uint32_t index) const {
    const std::string name = graph_.node_name(program_.node(index));
    return name.empty() ? fmt::format("node {}", index)
                        : fmt::format("node {} \"{}\"", index, printable(name));
  }
  [[nodiscard]] std::string at(std::uint32_t stream, const Task& task) const {
    return fmt::format("stream \"{}\" waits at {}", printable(program_.stream_name(stream)),
                       node(task.node));
  }

  [[nodiscard]] std::string in_progress(std::uint32_t s) const {
    const Task& task = table_.task(s, parts_.streams[s].cursor);
    if (task.kind == TaskKind::receive) {
      return fmt::format("{} for a message from device {}, tag {}", at(s, task),
                         placed(table_.peer_of(task, rank_)).value, task.tag);
    }
    const bool is_collective = task.kind == TaskKind::stepped || task.kind == TaskKind::collective;
    if (is_collective && parts_.channel_packets != nullptr &&
        parts_.channels[task.channel].steps == 0 &&
        parts_.channel_packets[task.channel].leaving != 0) {
      return at(s, task) + " for the network to take its last messages";
    }
    if (task.kind == TaskKind::stepped) {
      return fmt::format("{} in group \"{}\" for the other members", at(s, task),
                         printable(graph_.group(table_.channels[task.channel].among.group).name));
    }
    if (task.kind != TaskKind::collective) return at(s, task) + " for its end";
    const Channel& ring = table_.channels[task.channel];
    const Membership in = table_.membership(ring, rank_);
    const std::uint32_t before = in.position == 0 ? in.size - 1 : in.position - 1;
    const ChannelState& channel = parts_.channels[task.channel];
    return fmt::format("{} in group \"{}\" for chunk {} of {} from device {}", at(s, task),
                       printable(graph_.group(ring.among.group).name), channel.arrived + 1,
                       channel.steps, table_.member(ring, rank_, before).value);
  }

  [[nodiscard]] std::string waits_for_stream(std::uint32_t s) const {
    const Task& task = table_.task(s, parts_.streams[s].cursor);
    for (std::uint32_t i = 0; i < task.dependency_count; ++i) {
      const Dependency& on = table_.dependencies[task.first_dependency + i];
      if (parts_.streams[on.stream].cursor > on.position) continue;
      return fmt::format("{} for {} on stream \"{}\"", at(s, task),
                         node(table_.task(on.stream, on.position).node),
                         printable(program_.stream_name(on.stream)));
    }
    return at(s, task);
  }

  const DeviceModel& model_;
  const ProgramTable& table_;
  const PlacedJob& job_;
  const WorkloadGraph& graph_;
  DeviceId device_, rank_;
  const DeviceState& state_;
  DeviceParts<const DeviceState> parts_;
  const Program& program_;
  bool many_;  // jobs
};

// Of a device that serves, between what its scheduler told it.
DeviceTime idle_between(const DeviceAccount& account, Time finish, Time start) {
  DeviceTime busy = 0;
  for (const Time spent : account.spent) busy += to_sum(spent);
  const DeviceTime all = to_sum(finish - start);
  return all > busy ? all - busy : 0;
}

}  // namespace

Outcome::Outcome(const Cluster& cluster, const pdes::Event* late)
    : cluster_(&cluster), late_(late) {
  for (const PlacedJob& job : cluster.jobs()) {
    if (!job.runs) continue;
    for (std::uint32_t p = 0; p < job.graph->program_count(); ++p) {
      const std::string name = printable(job.graph->program(p).name());
      ClassTotals& totals = classes_.emplace_back();
      totals.name = cluster.jobs().size() > 1 ? printable(job.name) + ": " + name : name;
      totals.start = job.start;
    }
  }
  if (cluster.devices().programs.size() > classes_.size()) classes_.emplace_back().name = "no job";
}

void Outcome::add(core::LpId lp, const void* memory) {
  if (lp.value >= cluster_->device_lps()) {
    if (cluster_->is_scheduler(lp)) return;
    if (cluster_->has_packets() && cluster_->packet_network().is_watch(lp)) {
      skips_ = static_cast<const SteadyWatchState*>(memory)->totals;
      return;
    }
    if (cluster_->has_packets()) packets_.add(*static_cast<const PacketSwitchState*>(memory));
    if (cluster_->has_flows()) flows_ = static_cast<const FlowRegionState*>(memory)->totals;
    return;
  }
  const auto& state = *static_cast<const DeviceState*>(memory);
  const DeviceParts<const DeviceState> parts(state);
  if (parts.endpoint != nullptr) packets_.add(*parts.endpoint);
  ClassTotals& totals = classes_[state.program];
  const Fold* fold = cluster_->devices().fold.get();
  const std::uint64_t count = fold != nullptr ? fold->stand_ins()[lp.value].count : 1;
  totals.devices += count;
  for (std::size_t c = 0; c < parts.account->spent.size(); ++c) {
    totals.time_ps[c] += count * to_sum(parts.account->spent[c]);
  }
  for (std::size_t p = 0; parts.passes != nullptr && p < kPassCount; ++p) {
    totals.pass_ps[p] += count * to_sum(parts.passes->spent[p]);
  }
  if (!cluster_->devices().backgrounds.empty()) {
    const BackgroundState& b = background_of(state);
    background_.sent_messages += b.sent_messages;
    background_.sent_bytes += b.sent_bytes;
    background_.received_messages += b.received_messages;
    background_.received_bytes += b.received_bytes;
  }
  if (parts.account->finish >= Time{0}) {
    Time finish = parts.account->finish;
    if (state.serves) {
      finish = std::max(finish, totals.start);
      totals.time_ps[index_of(TimeClass::idle)] +=
          idle_between(*parts.account, finish, totals.start);
    }
    totals.finished += count;
    totals.finish_ps += count * to_sum(finish);
    totals.start_ps += count * to_sum(totals.start);
    totals.last_finish = std::max(totals.last_finish, parts.account->finish);
    return;
  }
  // Ids ascend within a rank, so the first twenty are the lowest.
  const bool is_late = distance_to_late(lp.value) < kNotLate;
  if (waiting_.size() >= kWaitingDevicesMax && !is_late) return;
  const Explainer explainer(*cluster_, DeviceId{lp.value}, state);
  waiting_.push_back({lp.value, is_late ? explainer.late_text(*late_) : explainer.text()});
}

void Outcome::combine(pdes::Transport& transport) {
  auto sums = sums_to_words();
  transport.all_reduce_sum(sums);
  sums_from_words(sums);
  auto maxima = maxima_to_words();
  transport.all_reduce_max(maxima);
  maxima_from_words(maxima);
  packets_.combine(transport);
  flows_.combine(transport);
  skips_.combine(transport);
  const auto gathered = transport.gather(waiting_to_bytes());
  waiting_.clear();
  waiting_from_bytes(gathered);
}

std::vector<std::uint64_t> Outcome::sums_to_words() const {
  std::vector<std::uint64_t> words;
  words.reserve(classes_.size() * kWordsPerClass);
  for (const ClassTotals& c : classes_) {
    words.push_back(c.devices);
    words.push_back(c.finished);
    for (const DeviceTime t : c.time_ps) put(words, t);
    for (const DeviceTime t : c.pass_ps) put(words, t);
    put(words, c.finish_ps);
    put(words, c.start_ps);
  }
  words.insert(words.end(), {background_.sent_messages, background_.sent_bytes,
                             background_.received_messages, background_.received_bytes});
  return words;
}

void Outcome::sums_from_words(std::span<const std::uint64_t> words) {
  EXAWARP_CHECK(words.size() == classes_.size() * kWordsPerClass + kBackgroundWords,
                words.size());
  const std::uint64_t* at = words.data();
  for (ClassTotals& c : classes_) {
    c.devices = *at++;
    c.finished = *at++;
    for (const std::span<DeviceTime> times : {std::span<DeviceTime>(c.time_ps), {c.pass_ps}}) {
      for (DeviceTime& t : times) {
        t = get(at);
        at += kWordsPerTime;
      }
    }
    c.finish_ps = get(at);
    at += kWordsPerTime;
    c.start_ps = get(at);
    at += kWordsPerTime;
  }
  background_ = {at[0], at[1], at[2], at[3]};
}

std::vector<std::uint64_t> Outcome::maxima_to_words() const {
  std::vector<std::uint64_t> words;
  for (const ClassTotals& c : classes_) {
    words.push_back(static_cast<std::uint64_t>(c.last_finish.ps));
  }
  return words;
}

void Outcome::maxima_from_words(std::span<const std::uint64_t> words) {
  EXAWARP_CHECK(words.size() == classes_.size(), words.size());
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    classes_[c].last_finish = Time{static_cast<std::int64_t>(words[c])};
  }
}

std::vector<std::byte> Outcome::waiting_to_bytes() const {
  std::vector<std::byte> bytes;
  const auto append = [&bytes](const void* data, std::size_t size) {
    const auto* p = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), p, p + size);
  };
  for (const WaitingDevice& w : waiting_) {
    const auto length = static_cast<std::uint32_t>(w.text.size());
    append(&w.device, sizeof w.device);
    append(&length, sizeof length);
    append(w.text.data(), length);
  }
  return bytes;
}

void Outcome::waiting_from_bytes(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    std::uint32_t head[2];
    EXAWARP_CHECK(bytes.size() >= sizeof head, bytes.size());
    std::memcpy(head, bytes.data(), sizeof head);
    bytes = bytes.subspan(sizeof head);
    EXAWARP_CHECK(bytes.size() >= head[1], bytes.size(), head[1]);
    waiting_.push_back({head[0], std::string(reinterpret_cast<const char*>(bytes.data()),
                                             head[1])});
    bytes = bytes.subspan(head[1]);
  }
  std::sort(waiting_.begin(), waiting_.end(),
            [this](const auto& a, const auto& b) {
              return std::pair(distance_to_late(a.device), a.device) <
                     std::pair(distance_to_late(b.device), b.device);
            });
  if (waiting_.size() > kWaitingDevicesMax) waiting_.resize(kWaitingDevicesMax);
}

std::uint32_t Outcome::distance_to_late(std::uint32_t device) const {
  if (late_ == nullptr) return kNotLate;
  return device == late_->destination.value ? 0 : device == late_->source.value ? 1 : kNotLate;
}

std::string Outcome::late_work() const {
  return waiting_.empty() ? "what the network or other traffic has left to do"
                          : waiting_.front().text;
}

void ClassTotals::add(const ClassTotals& other) {
  devices += other.devices;
  finished += other.finished;
  for (std::size_t i = 0; i < kTimeClassCount; ++i) time_ps[i] += other.time_ps[i];
  for (std::size_t i = 0; i < kPassCount; ++i) pass_ps[i] += other.pass_ps[i];
  finish_ps += other.finish_ps;
  start_ps += other.start_ps;
  last_finish = std::max(last_finish, other.last_finish);
}

void Outcome::repeat(const Outcome& shorter, std::int64_t steps) {
  EXAWARP_CHECK(steps_ == 0 && cluster_->jobs().size() == 1, steps_, cluster_->jobs().size());
  const std::int64_t simulated = steps_of(cluster_->jobs().front());
  const std::int64_t more = steps - simulated;
  const Time step = simulated_time() - shorter.simulated_time();
  if (step.ps > 0 && more > (core::kEndOfTime - simulated_time()).ps / step.ps) {
    throw core::InputError(fmt::format("{} steps of {} pass {}; expected fewer", steps,
                                       core::format_time(step), core::kEndOfTimeText));
  }
  const auto times = static_cast<DeviceTime>(more);
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    ClassTotals& totals = classes_[c];
    const ClassTotals& before = shorter.classes_[c];
    for (std::size_t i = 0; i < kTimeClassCount; ++i) {
      totals.time_ps[i] += times * (totals.time_ps[i] - before.time_ps[i]);
    }
    for (std::size_t p = 0; p < kPassCount; ++p) {
      totals.pass_ps[p] += times * (totals.pass_ps[p] - before.pass_ps[p]);
    }
    totals.finish_ps += times * (totals.finish_ps - before.finish_ps);
    totals.last_finish =
        totals.last_finish + Time{more * (totals.last_finish - before.last_finish).ps};
  }
  steps_ = steps;
  repeated_ = static_cast<double>(steps) / static_cast<double>(simulated);
}

std::int64_t Outcome::steps_of(const PlacedJob& job) const {
  if (steps_ != 0) return steps_;
  return std::max<std::int64_t>(1, job.graph->training().getSteps());
}

ClassTotals Outcome::total() const {
  ClassTotals all;
  all.name = "all";
  for (const ClassTotals& c : classes_) all.add(c);
  return all;
}

double Outcome::idle_share() const {
  double computing = 0, whole = 0;
  for (const ClassTotals& c : classes_) {
    computing += static_cast<double>(c.time_ps[index_of(TimeClass::compute)]);
    for (const DeviceTime ps : c.time_ps) whole += static_cast<double>(ps);
  }
  return whole > 0 ? 1 - computing / whole : 0;
}

std::uint64_t Outcome::devices() const { return total().devices; }

std::uint64_t Outcome::unfinished() const {
  const ClassTotals all = total();
  return all.devices - all.finished;
}

Time Outcome::simulated_time() const { return total().last_finish; }

Time Outcome::iteration_time() const {
  Time longest;
  for (const JobTotals& job : jobs()) longest = std::max(longest, job.step_time);
  return longest;
}

JobTotals Outcome::job(std::size_t index) const {
  const PlacedJob& placed = cluster_->jobs()[index];
  JobTotals job{.name = placed.name, .totals = {}, .duration = {}, .step_time = {}};
  job.totals.start = placed.start;
  for (std::uint32_t p = 0; p < placed.graph->program_count(); ++p) {
    job.totals.add(classes_[placed.first_program + p]);
  }
  job.finished = job.totals.finished == job.totals.devices;
  const Time last = job.totals.last_finish;
  job.duration = std::max(Time{0}, last - placed.start);
  job.idle_ps = job.totals.finished * to_sum(last) - job.totals.finish_ps +
                job.totals.time_ps[index_of(TimeClass::idle)];
  if (placed.pool == nullptr) job.step_time = Time{job.duration.ps / steps_of(placed)};
  return job;
}

std::vector<JobTotals> Outcome::jobs() const {
  std::vector<JobTotals> all;
  for (std::size_t j = 0; j < cluster_->jobs().size(); ++j) {
    if (cluster_->jobs()[j].runs) all.push_back(job(j));
  }
  return all;
}

double Outcome::fraction(const JobTotals& job, TimeClass c) {
  const DeviceTime whole = job.totals.devices * to_sum(job.duration);
  const DeviceTime part = c == TimeClass::idle ? job.idle_ps : job.totals.time_ps[index_of(c)];
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

DeviceTime Outcome::time_in(const ClassTotals& totals, TimeClass c) const {
  if (c != TimeClass::idle) return totals.time_ps[index_of(c)];
  return totals.finished * to_sum(simulated_time()) - totals.finish_ps + totals.start_ps +
         totals.time_ps[index_of(TimeClass::idle)];
}

double Outcome::fraction(const ClassTotals& totals, TimeClass c) const {
  const DeviceTime whole = totals.devices * to_sum(simulated_time());
  return whole == 0 ? 0 : static_cast<double>(time_in(totals, c)) / static_cast<double>(whole);
}

double Outcome::peak_of(const PlacedJob& job) const {
  const auto peak = [this](schema::DataType type) {
    return peak_flops_per_s(cluster_->accelerator(), schema::Operation::GEMM, type);
  };
  const double own = peak(products_type(*cluster_, job));
  return own > 0 ? own : peak(schema::DataType::BF16);
}

namespace {

// Rates of one job, or of several.
struct Rates {
  double tokens_per_s = 0, flops_per_s = 0, peak_flops_per_s = 0;
  std::uint64_t devices = 0;
};

TrainingFigures figures_of(const Rates& r) {
  TrainingFigures figures{.tokens_per_s = r.tokens_per_s};
  if (r.devices == 0) return figures;
  figures.tflops_per_device = r.flops_per_s / static_cast<double>(r.devices) / 1e12;
  if (r.peak_flops_per_s > 0) figures.model_flops_utilisation = r.flops_per_s / r.peak_flops_per_s;
  return figures;
}

void add_rates(Rates& rates, const PlacedJob& job, const JobTotals& totals, double peak) {
  const auto training = job.graph->training();
  const double step_s = core::to_seconds(totals.step_time);
  if (step_s <= 0) return;
  rates.tokens_per_s += static_cast<double>(training.getTokensPerStep()) / step_s;
  rates.flops_per_s += training.getModelFlopsPerStep() / step_s;
  rates.peak_flops_per_s += peak * static_cast<double>(totals.totals.devices);
  rates.devices += totals.totals.devices;
}

}  // namespace

TrainingFigures Outcome::training_of(std::size_t index) const {
  Rates rates;
  const PlacedJob& placed = cluster_->jobs()[index];
  add_rates(rates, placed, job(index), peak_of(placed));
  return figures_of(rates);
}

TrainingFigures Outcome::training() const {
  Rates rates;
  for (std::size_t j = 0; j < cluster_->jobs().size(); ++j) {
    const PlacedJob& placed = cluster_->jobs()[j];
    if (placed.runs) add_rates(rates, placed, job(j), peak_of(placed));
  }
  return figures_of(rates);
}

Pedigree Outcome::pedigree() const {
  std::vector<DeviceKernels> programs;
  for (std::size_t p = 0; p < classes_.size(); ++p) {
    programs.push_back({classes_[p].devices, cluster_->devices().programs[p].kernels});
  }
  return pedigree_of(programs);
}

double Outcome::step_time_error() const {
  return pedigree().relative_error() * fraction(total(), TimeClass::compute);
}

}  // namespace exawarp::model
