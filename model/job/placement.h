// Which device of the cluster runs which rank of which job: functions both ways, without a table
// over the cluster. What a user asks for is a PlacementSpec for each job; an Allocation is what
// comes of all of them together. docs/guide/jobs.md has the rules with examples.
//
//   linear   ranks on ascending free devices, or on consecutive ones from `first` on
//   list     rank r on devices[r]
//   nodes    whole free nodes, in ascending or random order or from each leaf switch in turn;
//            ranks fill node after node, or are distributed over the nodes in turn
//   random   ranks on free devices in random order
//
// Lists are served first, then linear placements with a `first`, linear ones, nodes, and random
// ones last; within a kind in the order of the jobs. Jobs with `nodes` of the same order and seed
// that stand next to each other share one order, as do random ones of the same seed.
//
// Memory: O(jobs + runs of consecutive ids in lists). Time of a question: O(log of that), and one
// permutation (core/permutation.h) for each random or leaf order up to the job's own.
// Thread safety: const methods from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/names.h"
#include "core/permutation.h"
#include "model/job/intervals.h"

namespace exawarp::model {

enum class PlacementKind : std::uint8_t { linear, random, nodes, list };

inline constexpr core::Named<PlacementKind> kPlacementKindNames[] = {
    {"linear", PlacementKind::linear}, {"random", PlacementKind::random},
    {"nodes", PlacementKind::nodes}, {"list", PlacementKind::list}};
constexpr std::span<const core::Named<PlacementKind>> names_of(PlacementKind) {
  return kPlacementKindNames;
}
static_assert(core::names_each(kPlacementKindNames));
enum class NodeOrder : std::uint8_t { ascending, random, leaves };

inline constexpr core::Named<NodeOrder> kNodeOrderNames[] = {
    {"ascending", NodeOrder::ascending}, {"random", NodeOrder::random},
    {"leaves", NodeOrder::leaves}};
constexpr std::span<const core::Named<NodeOrder>> names_of(NodeOrder) { return kNodeOrderNames; }
static_assert(core::names_each(kNodeOrderNames));

struct PlacementSpec {
  PlacementKind kind = PlacementKind::linear;
  std::optional<std::uint32_t> first = {};      // linear
  std::vector<std::uint32_t> devices = {};      // list: by rank
  NodeOrder order = NodeOrder::ascending;  // nodes
  bool round_robin = false;                // nodes: rank r is on the (r modulo nodes)-th node
  std::uint64_t seed = 1;                  // random; nodes in random order
};

struct PlacementRequest {
  std::string place = {};  // what an error starts with
  std::string job = {};
  std::uint32_t ranks = 0;
  PlacementSpec placement = {};
};

struct ClusterShape {
  std::uint32_t devices = 0;
  std::uint32_t node_devices = 1;
  std::uint32_t leaf_devices = 0;  // below a leaf switch; 0: there are none
};

// The devices that the requests need where nothing else says how many there are.
std::uint32_t devices_needed(std::span<const PlacementRequest> requests,
                             std::uint32_t node_devices);

class Allocation {
 public:
  struct Seat {
    std::uint32_t job = 0;
    std::uint32_t rank = 0;
    friend constexpr bool operator==(const Seat&, const Seat&) = default;
  };

  // Throws core::InputError where a request cannot be met together with the others.
  Allocation(const ClusterShape& shape, std::span<const PlacementRequest> requests);

  // Requires rank < the job's ranks.
  [[nodiscard]] core::DeviceId device_of(std::uint32_t job, std::uint32_t rank) const;
  // Who runs on `device`, if anyone does. Requires device < devices.
  [[nodiscard]] std::optional<Seat> seat_of(core::DeviceId device) const;

  // Whether each rank's number is its device's.
  [[nodiscard]] bool is_identity(std::uint32_t job) const;
  // The most a for which every a ranks from a multiple of a on share a node, and a divides the
  // devices of a node. What placement breaks up is 1.
  [[nodiscard]] std::uint32_t ranks_in_node(std::uint32_t job) const;
  [[nodiscard]] std::uint32_t devices() const { return shape_.devices; }
  [[nodiscard]] std::uint32_t idle_devices() const { return idle_; }

 private:
  // Consecutive ranks on consecutive devices.
  struct Run {
    std::uint32_t rank, device, count, job;
  };
  // An order of the nodes, or of the devices, that the stages before leave; jobs take the first
  // ones of it, one after the other.
  struct Stage {
    PlacementSpec how;
    core::Permutation permutation;  // random
    std::uint32_t size;             // nodes or devices to put in order
    std::uint32_t used = 0;
    std::vector<std::uint32_t> jobs = {};
    std::uint32_t leaf_nodes = 1;  // order leaves: nodes below a leaf switch
  };
  struct Job {
    std::uint32_t ranks = 0;
    PlacementKind kind = PlacementKind::linear;
    bool round_robin = false;
    std::uint32_t stage = 0;  // nodes, random: index into node_stages_ or device_stages_
    std::uint32_t slot = 0;   // first slot of the stage
    std::uint32_t slots = 0;
    std::vector<Run> runs = {};  // linear, list: by rank
  };

  void place_list(std::uint32_t job, const PlacementRequest& request);
  void place_run(std::uint32_t job, const PlacementRequest& request);
  void place_linear(std::uint32_t job, const PlacementRequest& request);
  void place_in_stage(std::uint32_t job, const PlacementRequest& request);
  void claim(std::uint32_t job, const PlacementRequest& request, const Run& run);
  void sort_claims();
  void divide_free_devices(bool by_nodes);
  [[nodiscard]] Intervals free_devices() const;
  [[nodiscard]] std::uint32_t nodes_left() const;
  [[nodiscard]] std::uint32_t node_at(std::uint32_t stage, std::uint32_t slot) const;
  [[nodiscard]] std::uint32_t device_at(std::uint32_t position) const;
  [[nodiscard]] Seat seat_in_nodes(const Stage& stage, std::uint32_t slot,
                                   std::uint32_t in_node) const;
  static std::uint32_t forward(const Stage& stage, std::uint32_t slot);
  static std::uint32_t inverse(const Stage& stage, std::uint32_t index);

  ClusterShape shape_;
  std::span<const PlacementRequest> requests_;  // while constructing
  std::vector<Job> jobs_;
  std::vector<Run> claims_;  // of linear and list jobs, by device
  Intervals free_nodes_;     // whole nodes, where a job wants nodes
  Intervals free_rest_;      // free devices outside them
  std::vector<Stage> node_stages_, device_stages_;
  std::uint32_t idle_ = 0;
};

// One job's part of an allocation: what a device asks for its peers.
class RankMap {
 public:
  RankMap(const Allocation& allocation, std::uint32_t job) : allocation_(&allocation), job_(job) {}
  // Of a folded job (device/fold.h): by rank what stands in for its device.
  explicit RankMap(std::vector<std::uint32_t> devices) : devices_(std::move(devices)) {}
  [[nodiscard]] core::DeviceId device_of(core::DeviceId rank) const {
    if (allocation_ == nullptr) return {devices_[rank.value]};
    return allocation_->device_of(job_, rank.value);
  }

 private:
  const Allocation* allocation_ = nullptr;
  std::uint32_t job_ = 0;
  std::vector<std::uint32_t> devices_;
};

}  // namespace exawarp::model
