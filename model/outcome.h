// What a run says about the simulated cluster: final device states, aggregated over all ranks.
// All sums are integers, so they do not depend on the order or on the number of ranks.
//
//   Outcome outcome(cluster);
//   engine.visit([&](LpId lp, const void* state) { outcome.add(lp, state); });
//   outcome.combine(transport);   // afterwards complete on rank 0; sums and maxima on every rank
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/time.h"
#include "model/compute/pedigree.h"
#include "model/cluster.h"
#include "model/device/device_state.h"
#include "model/device/time_class.h"
#include "model/network/flow/flow_region.h"
#include "model/network/packet/packet_totals.h"
#include "model/network/packet/steady/steady_watch.h"

namespace exawarp::pdes {
class Transport;
}

namespace exawarp::model {

// A sum of picoseconds over devices: 64 bits would overflow at 100,000 devices and 184 s.
__extension__ typedef unsigned __int128 DeviceTime;

// A device class is a program (of a transformer: a pipeline stage) of a job, or, last, the devices
// without a job, if there are any.
struct ClassTotals {
  std::string name;
  core::Time start;  // of the job; before that its devices are idle
  std::uint64_t devices = 0;
  std::uint64_t finished = 0;
  // Index: TimeClass; idle: between the first and the last of what devices that serve were told.
  std::array<DeviceTime, kTimeClassCount> time_ps{};
  DeviceTime finish_ps = 0;                           // sum of the finished devices' finish times
  DeviceTime start_ps = 0;                            // sum of their start times
  core::Time last_finish;                             // maximum
  // Of passes of a schedule that runs some together: time without waits, by schema::Phase.
  std::array<DeviceTime, kPassCount> pass_ps{};

  void add(const ClassTotals& other);  // but for name and start
};

// A device that could not finish.
struct WaitingDevice {
  std::uint32_t device = 0;  // its LP
  std::string text;  // one line, see Outcome::waiting
};

// One job. Its time, and all shares of it, count from its start to its last device's end.
struct JobTotals {
  std::string name;
  ClassTotals totals;             // of its devices
  core::Time duration;            // 0 where a device did not finish
  core::Time step_time;           // of one of the workload's steps, at least one; 0: it serves
  bool finished = false;
  DeviceTime idle_ps = 0;         // of devices that wait for the job's last one to end
};

// Messages of background traffic, over all devices.
struct BackgroundTotals {
  std::uint64_t sent_messages = 0, sent_bytes = 0;
  std::uint64_t received_messages = 0, received_bytes = 0;
};

struct TrainingFigures {
  double tokens_per_s = 0;
  double tflops_per_device = 0;          // model FLOPs, 1e12 a second
  // Of the matrix peak of the type that most products are in (compute_times.h), bf16 where there
  // are none or the accelerator does not offer it; 0 where that is unknown.
  double model_flops_utilisation = 0;
};

constexpr std::size_t kWaitingDevicesMax = 20;

class Outcome {
 public:
  // `late`: the event that lies beyond the end of time (pdes::RunResult), if there is one. It
  // outlives the outcome.
  explicit Outcome(const Cluster& cluster, const pdes::Event* late = nullptr);

  // Adds the final state of `lp`; switches count at packet fidelity alone.
  void add(core::LpId lp, const void* state);
  // Adds up over all ranks; collective. Call once, after the last add().
  void combine(pdes::Transport& transport);

  // The same in words, for a caller that brings its own reduction: sums add, maxima take the
  // greater, element by element; waiting_from_bytes() takes the bytes of any number of ranks.
  [[nodiscard]] std::vector<std::uint64_t> sums_to_words() const;
  void sums_from_words(std::span<const std::uint64_t> words);
  [[nodiscard]] std::vector<std::uint64_t> maxima_to_words() const;
  void maxima_from_words(std::span<const std::uint64_t> words);
  [[nodiscard]] std::vector<std::byte> waiting_to_bytes() const;
  void waiting_from_bytes(std::span<const std::byte> bytes);

  // Becomes the outcome of `steps` steps. Requires that it is that of one job's workload, complete,
  // `shorter` that of one step less, and that all further steps are as its last (recurrence.h).
  // Throws core::InputError, without a place, where that would be after the end of time.
  void repeat(const Outcome& shorter, std::int64_t steps);
  // Of a job's workload, at least one.
  [[nodiscard]] std::int64_t steps_of(const PlacedJob& job) const;
  // What workloads and programs say counts so many times.
  [[nodiscard]] double repeated() const { return repeated_; }

  [[nodiscard]] std::span<const ClassTotals> classes() const { return classes_; }  // by program
  [[nodiscard]] ClassTotals total() const;
  // Of the devices' time, in which nothing is computed; 0 where no time has passed.
  [[nodiscard]] double idle_share() const;
  [[nodiscard]] const BackgroundTotals& background() const { return background_; }
  [[nodiscard]] std::uint64_t devices() const;
  // What the network counted; zeros but at packet fidelity.
  [[nodiscard]] const PacketTotals& packets() const { return packets_; }
  // What the fabric's region did; zeros but at flow fidelity.
  [[nodiscard]] const FlowTotals& flows() const { return flows_; }
  // What packet.fast_forward left out; zeros without it.
  [[nodiscard]] const SkipTotals& skips() const { return skips_; }
  [[nodiscard]] std::uint64_t unfinished() const;  // > 0: the simulated system deadlocked
  // The unfinished devices of lowest id, at most kWaitingDevicesMax; on rank 0. E.g.
  // `device 17 (stage 2): stream "recv_fwd" waits at node 153 "forward 3" for a message from
  // device 9, tag 4`.
  [[nodiscard]] std::span<const WaitingDevice> waiting() const { return waiting_; }
  // With a late event, on rank 0: what it is about, e.g. `device 0 (first): stream "send" waits at
  // node 0 for its end (931 GiB at 97.7 KiB/s)`.
  [[nodiscard]] std::string late_work() const;

  // When the last device finished: what a report calls simulated time.
  [[nodiscard]] core::Time simulated_time() const;
  // Time per training step (the workload's `steps`, at least one); of the job with the longest.
  [[nodiscard]] core::Time iteration_time() const;
  // As many as the cluster has, in order; ClusterOptions::only_job alone where that is set.
  [[nodiscard]] std::vector<JobTotals> jobs() const;
  // Of the job's devices and duration, in [0, 1]; 0 where no time passed.
  [[nodiscard]] static double fraction(const JobTotals& job, TimeClass c);
  // Time in `c` of `totals`, with idle measured to the end of the simulation, so that all classes
  // add up to devices x simulated_time() where every device finished.
  [[nodiscard]] DeviceTime time_in(const ClassTotals& totals, TimeClass c) const;
  // time_in over devices x simulated_time(), in [0, 1]; 0 where no time passed.
  [[nodiscard]] double fraction(const ClassTotals& totals, TimeClass c) const;
  // Zeros where no workload is a training step or no time passed. Of several jobs: tokens and FLOPs
  // of all, each over its own step time; per device of these jobs.
  [[nodiscard]] TrainingFigures training() const;
  [[nodiscard]] TrainingFigures training_of(std::size_t job) const;
  // Of what all devices computed, jitter and slow devices left out.
  [[nodiscard]] Pedigree pedigree() const;
  // By how much errors of compute times may move the simulated time, relative: those of the compute
  // time, times its share of the devices' time.
  [[nodiscard]] double step_time_error() const;

 private:
  [[nodiscard]] JobTotals job(std::size_t index) const;
  // FLOP/s that a device peaks at in the products of a job.
  [[nodiscard]] double peak_of(const PlacedJob& job) const;

  const Cluster* cluster_;
  std::vector<ClassTotals> classes_;
  BackgroundTotals background_;
  PacketTotals packets_;
  FlowTotals flows_;
  SkipTotals skips_;
  // 0 for whom the late event is for, 1 for whom it is of, 2 for others.
  [[nodiscard]] std::uint32_t distance_to_late(std::uint32_t device) const;

  std::int64_t steps_ = 0;  // after repeat()
  double repeated_ = 1;
  const pdes::Event* late_;
  std::vector<WaitingDevice> waiting_;  // ascending by distance to the late event and by device
};

}  // namespace exawarp::model
