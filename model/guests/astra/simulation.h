// One run with the semantics of ASTRA-sim's analytical simulator, exactly (docs/guide/astra.md).
//
// It is a sequential event loop of its own, not a model on pdes: ASTRA-sim's answers depend on the
// order in which simultaneous events were inserted, which no order of pdes reproduces
// (docs/decisions/0011). The parts, bottom up:
//   event_queue.h  events in order of time and insertion
//   network.h      messages
//   timers.h       delays of a rank
//   memory_bus.h   what a packet passes instead of a delay under model-shared-bus
//   usage.h        what a rank was busy with
//   streams.cc     a collective as chunks, in phases, through the queues of each dimension
//   algorithm.cc   one phase: ring, direct, halving-doubling, double binary tree
//   custom.cc      one collective as a graph
//   workload.cc    a rank's trace: what is ready, which slot is free
//   unfinished.cc  who waits for whom when events run out
// Memory: O(ranks + messages in flight) besides the traces, whose equal ones are shared.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/guests/astra/config.h"
#include "model/guests/astra/memory_bus.h"
#include "model/guests/astra/network.h"
#include "model/guests/astra/timers.h"
#include "model/guests/astra/usage.h"

namespace exawarp::model::astra {

struct Finish {
  Rank rank = 0;
  Ns cycles = 0;
  Ns compute = 0;  // of the accelerator, summed over its nodes
  const Usage& usage;
};

struct Result {
  std::uint32_t finished = 0;       // ranks; fewer than all: a deadlock
  bool stopped = false;             // was told to, before all was done
  std::vector<std::string> unfinished;   // the first of those that did not, with what they wait for
  std::string late;                 // not empty: time ran out, for want of which work of which rank
  Ns end = 0;  // when a rank last did something; messages nobody receives may arrive later
  std::uint64_t events = 0;
  std::uint64_t messages = 0;
};

// Requires check(job). `finish` is called for each rank as it finishes, in order. `stop` is asked
// every kEventsUnasked events, where it is there, whether that is all.
constexpr std::uint64_t kEventsUnasked = 1 << 14;
Result simulate(const Job& job, const std::function<void(const Finish&)>& finish,
                const std::function<bool()>& stop = nullptr);

// The members of a logical ring: by rule along one dimension, or listed.
struct Ring {
  std::uint32_t size = 1, index = 0;  // of the rank whose ring it is
  Rank first = 0;
  std::uint32_t stride = 1;
  const CommGroup* group = nullptr;  // listed: a communicator of some of the ranks
  [[nodiscard]] Rank member(std::uint32_t position) const {
    return group != nullptr ? group->members[position] : first + position * stride;
  }
  // `distance` (< size) further along, or back.
  [[nodiscard]] std::uint32_t ahead(std::uint32_t distance) const {
    return (index + distance) % size;
  }
  [[nodiscard]] std::uint32_t behind(std::uint32_t distance) const {
    return (index + size - distance) % size;
  }
};

// One step of a chunk: a collective over one dimension.
struct Phase {
  CollectiveKind kind = CollectiveKind::all_reduce;
  Algorithm algorithm = Algorithm::ring;
  std::uint32_t window = 0;
  std::uint32_t queue = 0;
  bool anticlockwise = false;  // ring and direct: sends backwards
  bool second_tree = false;  // double binary tree: whose root is the first rank, not the last
  Ring ring{};
  std::uint64_t bytes = 0;   // at its start
};

// A place in a double binary tree: two complementary in-order trees over the ring's positions.
struct TreePlace {
  static constexpr std::uint32_t kNone = 0xffffffff;
  std::uint32_t parent = kNone, left = kNone, right = kNone;  // positions
};
[[nodiscard]] TreePlace tree_place(std::uint32_t size, std::uint32_t position, bool second_tree);

class Simulation final : public Completions {
 public:
  Simulation(const Job& job, const std::function<void(const Finish&)>& finish);
  Result run(const std::function<bool()>& stop);
  void complete(const Callback& callback) override;

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  enum class Slot : std::uint8_t { host, compute, communication, unlimited };
  static constexpr std::size_t kSlotCount = 4;

  // A graph's progress: a rank's trace or a custom collective.
  struct Progress {
    const Trace* trace = nullptr;
    std::vector<std::uint32_t> waits;  // by node: dependencies left, or one of the two below
    static constexpr std::uint32_t kInFlight = 0xffffffff, kDone = 0xfffffffe;
    std::array<std::vector<std::uint32_t>, kSlotCount> ready;  // heaps, the smallest node first
    std::vector<std::uint32_t> freed;  // while sweeping: ready from the next sweep on
    std::uint32_t left = 0;            // nodes not done
    bool sweeping = false;
  };

  enum class TreeState : std::uint8_t {
    begin,
    one_child_left,
    two_children_left,
    to_parent,
    from_parent,
    to_children,
    leaf_end,
  };
  struct Stream {
    Rank rank = 0;
    bool initialised = false;  // its phase runs
    std::uint64_t id = 0;
    std::int64_t priority = 0;
    std::vector<Phase> phases;
    std::uint32_t phase = 0;
    bool has_phase = false;
    // Packets of the phase: inserted in turn, sent when their delays are over.
    std::uint32_t parallel = 1, free_packets = 0, received = 0;
    std::uint64_t sends_left = 0, sends_at_middle = 0;
    std::uint64_t inserted = 0, sent = 0;
    std::uint64_t plain_left = 0, reducing_left = 0;  // packets until the turn changes
    bool toggle = false;
    std::uint64_t message_bytes = 0;
    std::uint32_t distance = 1;    // halving-doubling: to the partner
    bool distance_grows = true;
    std::uint64_t packet_bytes = 0;    // halving-doubling: of the packet not sent yet
    std::uint32_t packet_distance = 0;
    TreeState tree = TreeState::begin;
    std::uint32_t tree_reductions = 0;
    std::unique_ptr<Progress> custom;
    std::shared_ptr<const CustomCollective> custom_collective;
  };
  struct Queue {
    std::vector<std::uint32_t> streams;  // those that run first, then by priority
    std::uint32_t running = 0;
  };
  struct Allocator {  // of a dimension's queues
    std::uint32_t any = 0, first_half = 0, second_half = 0;
    std::array<bool, kSimulatedCount> second_tree{};  // of the next tree, by collective
  };
  struct Memory {  // remote; serves its requests one after the other
    struct Request {
      Rank rank = 0;
      std::uint32_t node = 0;
    };
    bool busy = false;
    std::deque<Request> waiting;
  };
  struct Collective {  // a rank has at most one in flight
    std::uint32_t node = kNone;
    std::uint64_t streams = 0, finished = 0;
  };
  struct RankState {
    Progress progress;
    std::array<bool, kSlotCount> busy{};
    bool finished = false;
    Ns compute = 0;
    Usage usage;
    Collective collective;
    std::int64_t priority = 0;
    std::uint64_t next_stream = 0;
    std::vector<std::pair<std::uint32_t, std::uint64_t>> next_stream_of_group;  // by group id
    std::vector<Queue> queues;
    std::vector<Allocator> allocators;  // by dimension
  };

  // workload.cc
  void load(Progress& progress, const Trace& trace) const;
  static Slot slot_of(const TraceNode& node);
  static Ns recorded_ns(const TraceNode& node);
  static void make_ready(Progress& progress, std::uint32_t node);
  static void finish_node(Progress& progress, std::uint32_t node);
  void node_done(Rank rank, std::uint32_t node);
  void sweep(Rank rank);
  void issue(Rank rank, std::uint32_t node);
  void issue_compute(Rank rank, std::uint32_t node);
  void issue_memory(Rank rank, std::uint32_t node);
  void access_memory(std::uint32_t memory, Rank rank, std::uint32_t node);
  void memory_done(std::uint32_t memory);
  void issue_collective(Rank rank, std::uint32_t node);
  void replay(Rank rank, std::uint32_t node);
  void skip(Rank rank, std::uint32_t node);
  void finish_if_done(Rank rank);

  // streams.cc
  void start_collective(Rank rank, std::uint32_t node);
  void plan(Rank rank, const TraceNode& node, std::uint64_t chunk, std::vector<Phase>& phases);
  void plan_group(Rank rank, const TraceNode& node, const CommGroup& group, std::uint64_t chunk,
                  std::vector<Phase>& phases);
  void plan_reduction(Rank rank, std::uint32_t involved, std::uint64_t chunk,
                      std::vector<Phase>& phases);
  void add_phase(Rank rank, std::uint32_t dimension, CollectiveKind kind, Simulated family,
                 int half, std::uint64_t& bytes, std::vector<Phase>& phases);
  [[nodiscard]] std::uint32_t nodes_in(std::uint32_t dimension, Simulated family) const;
  void choose_queue(Rank rank, std::uint32_t dimension, int half, Phase& phase);
  std::uint32_t new_stream();
  void enqueue(std::uint32_t stream);
  void start_waiting(Rank rank, std::uint32_t queue);
  void next_phase(std::uint32_t stream);
  void stream_finished(Rank rank);

  // algorithm.cc
  void start_phase(std::uint32_t stream);
  void packet_ready(std::uint32_t stream);
  void packet_received(std::uint32_t stream);
  void insert_packet(std::uint32_t stream);
  bool send_packet(std::uint32_t stream);
  void end_if_done(std::uint32_t stream);
  struct Packet {
    bool reduces = false;
    std::uint64_t bytes = 0;
    BusTrip trip{};
  };
  void delay_packet(std::uint32_t stream, const Packet& packet);
  void tree_step(std::uint32_t stream, bool received);
  void tree_send(std::uint32_t stream, std::uint32_t position);
  void tree_receive(std::uint32_t stream, std::uint32_t position);
  [[nodiscard]] Ns reduction_ns(std::uint64_t bytes) const;

  // custom.cc
  void start_custom(std::uint32_t stream);
  void custom_sweep(std::uint32_t stream);
  void custom_issue(std::uint32_t stream, std::uint32_t node);
  void custom_done(std::uint32_t stream, std::uint32_t node);

  // unfinished.cc
  void report_unfinished(Result& result) const;
  [[nodiscard]] std::string late_work() const;
  [[nodiscard]] std::string waits_for(Rank rank) const;
  [[nodiscard]] std::string collective_waits_for(Rank rank) const;

  void run_timer(Rank rank, const Timer& timer);

  const Job& job_;
  const std::function<void(const Finish&)>& finish_;
  std::vector<std::uint32_t> stride_;  // by dimension
  std::uint32_t ranks_;
  std::uint32_t running_max_;  // streams of a queue
  EventQueue events_;
  Network network_;
  Timers timers_;
  std::optional<MemoryBus> bus_;
  std::vector<RankState> rank_;
  std::vector<Stream> streams_;
  std::vector<std::uint32_t> free_streams_;
  std::vector<Memory> memories_;  // shared ones
  std::uint32_t finished_ = 0;
  Ns last_act_ = 0;
};

}  // namespace exawarp::model::astra
