// Builds a workload graph in memory, node by node, as generators, importers and tests do.
//
//   WorkloadBuilder workload("two devices");
//   const auto axis = workload.add_axis("device", 2);
//   ProgramBuilder& sender = workload.add_program("sender");
//   const auto stream = sender.add_stream("send", schema::StreamKind::COMMUNICATION);
//   sender.add_node({.kind = schema::NodeKind::SEND, .stream = stream, .comm_bytes = 8, ...});
//   workload.bind_range(sender.index(), {.axis = axis, .first = 0, .count = 1});
//   WorkloadGraph graph = workload.build();   // then validate(graph)
//
// The builder checks nothing about content: validate() does, and tests of it build bad graphs here.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/workload/graph.h"
#include "model/workload/shape.h"

namespace exawarp::model {

// A node's fields (workload.capnp, Node), less those the builder fills in.
struct NodeFields {
  schema::NodeKind kind = schema::NodeKind::COMPUTE;
  std::uint8_t stream = 0;
  schema::Operation operation = schema::Operation::OTHER;
  schema::CollectiveType collective = schema::CollectiveType::ALL_REDUCE;
  schema::Phase phase = schema::Phase::NONE;
  schema::DataType data_type = schema::DataType::NONE;
  schema::MemoryPlace place = schema::MemoryPlace::DEVICE;
  std::uint8_t peer_axis = schema::NO_AXIS;
  std::uint16_t group = 0;
  std::uint32_t root = 0;   // collective: its root, or a permutation's shift
  std::uint32_t sizes = 0;  // all-to-all: from WorkloadBuilder::add_sizes(); 0: equal shares
  std::uint16_t micro_batch = kNoMicroBatch;
  std::uint16_t layer = kNoLayer;
  std::uint16_t shape = 0;  // compute: from WorkloadBuilder::add_shape(); 0: unknown
  std::int32_t peer = 0;
  std::uint32_t tag = 0;
  std::uint32_t name = schema::NO_NAME;  // from WorkloadBuilder::name()
  std::uint64_t flops = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t comm_bytes = 0;
  std::uint64_t duration_ps = schema::NO_DURATION;
};

// Where an imported node comes from (workload.capnp, Origin).
struct NodeOrigin {
  std::uint64_t id = 0;
  std::uint32_t record = 0;  // from WorkloadBuilder::record()
  std::uint32_t control_count = 0;
};

constexpr std::uint64_t kNoSizeMax = std::numeric_limits<std::uint64_t>::max();

// Thrown by a builder whose file would be larger than it may be.
struct WorkloadTooLarge : std::runtime_error {
  WorkloadTooLarge(std::uint64_t the_bytes, bool is_all)
      : std::runtime_error("the workload is too large"), bytes(the_bytes), all(is_all) {}
  std::uint64_t bytes;  // of the file
  bool all;             // false: at least so many
};

// The size of a file, as its nodes are added. Beyond `bytes_max` nodes are counted and no longer
// kept, so that the whole size can be told; far beyond that, adding one throws.
struct SizeBudget {
  std::uint64_t bytes_max = kNoSizeMax;
  std::uint64_t bytes = 0;
};

class ProgramBuilder {
 public:
  ProgramBuilder(std::uint32_t index, std::string name,
                 std::shared_ptr<SizeBudget> budget = std::make_shared<SizeBudget>())
      : index_(index), name_(std::move(name)), budget_(std::move(budget)) {}

  [[nodiscard]] std::uint32_t index() const { return index_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint32_t node_count() const {
    return static_cast<std::uint32_t>(nodes_.size() + counted_.size());
  }
  // Returns the stream's index. At most 256 streams.
  std::uint8_t add_stream(std::string name, schema::StreamKind kind);
  // Appends a node to its stream's order and returns its index. `dependencies` are node indices,
  // those of nodes still to come included. Throws WorkloadTooLarge.
  std::uint32_t add_node(const NodeFields& fields,
                         std::span<const std::uint32_t> dependencies = {});
  std::uint32_t add_node(const NodeFields& fields,
                         std::initializer_list<std::uint32_t> dependencies) {
    return add_node(fields, std::span(dependencies.begin(), dependencies.size()));
  }
  [[nodiscard]] std::uint8_t stream_of(std::uint32_t node) const {
    return node < nodes_.size() ? nodes_[node].fields.stream : counted_[node - nodes_.size()];
  }
  // For the node added last; of a program, all nodes have one or none has.
  void add_origin(const NodeOrigin& origin) { origins_.push_back(origin); }
  void set_parameter_count(std::uint64_t count) { parameter_count_ = count; }
  void set_memory(ProgramMemory memory) { memory_ = std::move(memory); }

  // An upper bound of the words write() takes from the message.
  [[nodiscard]] std::uint64_t size_words() const;
  void write(schema::Program::Builder out) const;

 private:
  struct Node {
    NodeFields fields;
    std::uint32_t first_dependency, dependency_count, position;
  };
  struct Stream {
    std::string name;
    schema::StreamKind kind;
    std::vector<std::uint32_t> order;
  };
  std::uint32_t index_;
  std::string name_;
  std::shared_ptr<SizeBudget> budget_;  // of the whole workload
  std::vector<std::uint8_t> counted_;   // streams of the nodes that are not kept
  std::vector<Stream> streams_;
  std::deque<Node> nodes_;  // never moved as it grows: it is most of what generating costs
  std::vector<std::uint32_t> dependencies_;
  std::vector<NodeOrigin> origins_;
  std::uint64_t parameter_count_ = 0;
  std::optional<ProgramMemory> memory_;
};

class WorkloadBuilder {
 public:
  struct Range {
    std::uint8_t axis = 0;
    std::uint32_t first = 0, count = 1;
  };
  struct Training {
    std::uint64_t tokens_per_step = 0;
    double model_flops_per_step = 0;
    std::uint64_t parameters = 0;
    std::uint64_t sequences_per_step = 0;
    std::uint32_t micro_batches = 0;
    std::uint32_t steps = 0;
  };

  explicit WorkloadBuilder(std::string name, std::uint64_t bytes_max = kNoSizeMax)
      : name_(std::move(name)),
        budget_(std::make_shared<SizeBudget>(SizeBudget{.bytes_max = bytes_max})) {}

  // Axes, groups and programs are numbered in the order they are added.
  std::uint8_t add_axis(std::string name, std::uint32_t size);
  std::uint16_t add_group(std::string name, std::vector<std::uint8_t> axes);
  // `communicators`: what the source calls each list; may be empty.
  std::uint16_t add_group_lists(std::string name, std::vector<std::vector<std::uint32_t>> lists,
                                std::vector<std::uint32_t> communicators = {});
  // Bytes between the members of a group (workload.capnp, Node.sizes); equal tables share one.
  // Returns NodeFields::sizes.
  std::uint32_t add_sizes(std::vector<std::uint64_t> bytes);
  // Returns NodeFields::shape; equal shapes share one. 0, unknown, past 65,535 different ones.
  std::uint16_t add_shape(const Shape& shape);
  // The reference stays valid as long as the builder.
  ProgramBuilder& add_program(std::string name);
  void bind_range(std::uint32_t program, Range range);
  void bind_devices(std::uint32_t program, std::vector<std::uint32_t> devices);
  // The index of `text` among the names; equal texts share one.
  std::uint32_t name(const std::string& text);
  // The index of `bytes` among the records; equal ones share one.
  std::uint32_t record(const std::string& bytes);
  void set_training(const Training& training) { training_ = training; }

  // A graph of what was added; not validated, not indexed. Throws WorkloadTooLarge.
  [[nodiscard]] WorkloadGraph build() const;

 private:
  struct Axis {
    std::string name;
    std::uint32_t size;
  };
  struct Group {
    std::string name;
    bool by_lists;
    std::vector<std::uint8_t> axes;
    std::vector<std::vector<std::uint32_t>> lists;
    std::vector<std::uint32_t> communicators;
  };
  struct Binding {
    std::uint32_t program;
    bool by_devices;
    Range range;
    std::vector<std::uint32_t> devices;
  };
  [[nodiscard]] std::uint64_t size_words() const;
  void write_groups(schema::Workload::Builder root) const;
  void write_bindings(schema::Workload::Builder root) const;
  void write_training(schema::Training::Builder out) const;

  std::string name_;
  std::shared_ptr<SizeBudget> budget_;
  std::vector<Axis> axes_;
  std::vector<Group> groups_;
  std::map<std::vector<std::uint64_t>, std::uint32_t> size_index_;
  std::vector<const std::vector<std::uint64_t>*> sizes_;  // keys of size_index_, by index
  std::map<Shape, std::uint16_t> shape_index_;
  std::vector<const Shape*> shapes_;  // keys of shape_index_, by index
  std::deque<ProgramBuilder> programs_;
  std::vector<Binding> bindings_;
  std::map<std::string, std::uint32_t> name_index_;
  std::vector<const std::string*> names_;  // keys of name_index_, by index
  std::map<std::string, std::uint32_t> record_index_;
  std::vector<const std::string*> records_;  // keys of record_index_, by index
  Training training_;
};

}  // namespace exawarp::model
