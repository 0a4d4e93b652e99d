// Inside the generators: writes one program node by node, in the order of its time line.
// Dependencies are stated where data crosses streams; the order of each stream does the rest.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/time.h"
#include "model/generate/launch_queue.h"
#include "model/generate/transformer_costs.h"
#include "model/workload/builder.h"

namespace exawarp::model {

// Streams are made when first used. One for each communicator and for each direction of pipeline
// transfers, so that no transfer waits behind one that needs it.
enum StreamRole {
  kCompute,
  kTensor,
  kData,
  kPipeline,
  kEmbedding,
  kContext,
  kExpert,
  kExpertNodes,
  kExpertTensor,
  kExpertData,
  kDataGather,
  kExpertGather,
  kDataReplica,
  kExpertReplica,
  kReceiveForward,
  kSendForward,
  kReceiveGradient,
  kSendGradient,
  kReceiveForwardFar,
  kSendForwardFar,
  kReceiveGradientFar,
  kSendGradientFar,
  kStorage,
  kHost,
  kStreamRoles
};

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b);

class ProgramWriter {
 public:
  using Node = std::optional<std::uint32_t>;  // none: nothing to wait for

  struct Collective {
    const char* name;
    schema::CollectiveType type;
    StreamRole stream;
    std::uint16_t group;
    std::uint64_t bytes;
    schema::DataType data_type;
    std::uint32_t root = 0;
    std::uint32_t sizes = 0;
  };

  ProgramWriter(WorkloadBuilder& workload, ProgramBuilder& program)
      : workload_(workload), program_(program) {}

  std::uint32_t compute(const OperationCost& cost, std::initializer_list<Node> after = {});
  std::uint32_t collective(const Collective& collective, std::initializer_list<Node> after);
  // Bytes read from, or written to, the host's side, on the storage stream.
  std::uint32_t storage(const char* name, std::uint64_t read, std::uint64_t written,
                        std::initializer_list<Node> after);
  std::uint32_t marker(const char* text, std::initializer_list<Node> after);
  std::uint32_t add(const NodeFields& fields, std::initializer_list<Node> after);
  // The compute stream waits for the host, a time that no accelerator changes.
  std::uint32_t host_wait(const char* name, std::uint64_t picoseconds,
                          std::initializer_list<Node> after);
  // From here on the host launches computations, collectives and messages in the order in which
  // they are added, each in the time `each`, and at most `pending` ahead of the compute stream.
  // Time{}: all has been launched before.
  void launch(core::Time each, std::uint64_t pending) { launched_ = {each, pending}; }
  // The host launches nothing more before `node` is over.
  void host_waits_for(std::uint32_t node) {
    if (launched_.is_used()) by_host_.push_back(node);
  }
  // Two parts of the program, which may be passes of different micro-batches, in turn: where one
  // would wait for communication, the other goes on, and its communication runs meanwhile. Numbers
  // of nodes that a part got while it was written stay valid. Not nested.
  void together(const std::function<void()>& first, const std::function<void()>& second);
  // The next computation also waits for `node`.
  void wait_for(Node node) {
    if (node) awaited_.push_back(*node);
  }
  std::uint8_t stream(StreamRole role);
  std::uint32_t name(const char* text);

  [[nodiscard]] Node last_compute() const { return last_compute_; }
  // Not while parts are written together.
  [[nodiscard]] std::uint32_t node_count() const { return program_.node_count(); }
  [[nodiscard]] ProgramBuilder& program() { return program_; }
  // Phase, micro-batch, layer and data type of the nodes being added.
  [[nodiscard]] NodeFields& context() { return context_; }

 private:
  struct KnownShape {
    const char* name;
    Shape shape;
    std::uint16_t index;
  };
  using Nodes = std::span<const std::uint32_t>;
  // What a node waits for, as its caller said and as wait_for() did, and what the host launches of
  // it and waits for before. No launches: the host has no part in it.
  struct Before {
    Nodes after, awaited, by_host;
    std::uint32_t launches = 0;
  };
  // A node that is not in the program yet.
  struct Held {
    NodeFields fields;
    std::vector<std::uint32_t> after, awaited, by_host;
    std::uint32_t launches = 0;
  };
  // A part of a program; nodes have the numbers kHeld + index into placed_ until they are in it.
  struct Part {
    std::vector<Held> nodes;
    std::uint32_t first = 0;               // into placed_
    std::vector<std::size_t> pieces = {};  // where they begin: computations that wait
    Node last_compute = {};
    std::vector<std::uint32_t> awaited = {};  // by the computation after the part
    std::vector<std::uint32_t> by_host = {};  // before what is launched after it
  };
  static constexpr std::uint32_t kHeld = 1u << 31;

  std::uint16_t shape(const OperationCost& cost);
  std::uint32_t add_launched(const NodeFields& fields, std::initializer_list<Node> after,
                             std::uint32_t launches);
  std::uint32_t put(const NodeFields& fields, const Before& before);
  std::uint32_t put_launch(const NodeFields& fields, const Before& before);
  std::uint32_t hold(const NodeFields& fields, const Before& before);
  [[nodiscard]] Part written(const std::function<void()>& write, Node after);
  void place(const Part& part, std::size_t piece);
  [[nodiscard]] std::uint32_t placed(std::uint32_t node) const {
    return node < kHeld ? node : placed_[node - kHeld];
  }

  WorkloadBuilder& workload_;
  ProgramBuilder& program_;
  std::array<std::optional<std::uint8_t>, kStreamRoles> streams_;
  // By a hash of the pointer: the latest that fell there.
  std::array<std::pair<const char*, std::uint32_t>, 256> names_{};
  std::vector<KnownShape> shapes_;
  std::vector<std::uint32_t> awaited_;
  LaunchQueue launched_;
  std::vector<std::uint32_t> by_host_;  // that the host waits for before it launches more
  Part* held_ = nullptr;               // the part that is being written
  std::vector<std::uint32_t> placed_;  // numbers in the program of nodes that were held
  NodeFields context_;
  Node last_compute_;
};

}  // namespace exawarp::model
