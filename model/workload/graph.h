// The mapped view of a workload graph: what the simulator reads a program through.
//
// A .xwg file is mapped and read in place; ranks on one node share the pages, and no device has a
// copy of its program. Every accessor is a few loads. Only a validated graph (validate.h) is safe
// to read: accessors bound nothing.
// Thread safety: const methods from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "model/workload/shape.h"
#include "model/workload/workload.capnp.h"

namespace capnp {
class MessageBuilder;
}

namespace exawarp::model {

using core::DeviceId;

constexpr std::uint16_t kNoMicroBatch = 0xffff;
constexpr std::uint16_t kNoLayer = 0xffff;
constexpr std::uint32_t kNoProgram = 0xffffffff;  // a device that nothing binds

// A device's place in a communicator.
struct Membership {
  std::uint32_t size = 1;
  std::uint32_t position = 0;
};

// Bytes of device memory that a program holds (workload.capnp, Memory).
struct ProgramMemory {
  struct Point {
    std::uint32_t node = 0;
    std::uint64_t bytes = 0;
  };
  std::uint64_t weights = 0, gradients = 0, optimizer = 0;
  std::vector<Point> timeline;  // activations and buffers

  [[nodiscard]] Point largest() const;   // of the timeline; the first of equals
  [[nodiscard]] double peak() const;  // a double: a file may hold any numbers
};

// One program. Valid as long as its graph.
class Program {
 public:
  explicit Program(schema::Program::Reader reader);

  [[nodiscard]] std::uint32_t node_count() const { return nodes_.size(); }
  // Fields as in workload.capnp. commBytes, per device: all-reduce: the buffer; reduce-scatter: the
  // input; all-gather, gather: the input (the device's own shard); all-to-all: the input (nothing
  // where sizes are given); scatter: what a member gets; broadcast, reduce: the buffer; permute,
  // send and receive: the message.
  [[nodiscard]] schema::Node::Reader node(std::uint32_t index) const { return nodes_[index]; }
  [[nodiscard]] std::uint32_t stream_count() const { return streams_.size(); }
  [[nodiscard]] schema::Stream::Reader stream(std::uint32_t index) const { return streams_[index]; }
  [[nodiscard]] std::uint32_t stream_length(std::uint32_t stream) const {
    return extents_[stream].count;
  }
  // The node that stream issues at `position`.
  [[nodiscard]] std::uint32_t node_at(std::uint32_t stream, std::uint32_t position) const {
    return order_[extents_[stream].first + position];
  }
  // The i-th dependency of `node`: a node index.
  [[nodiscard]] std::uint32_t dependency(const schema::Node::Reader& node, std::uint32_t i) const {
    return dependencies_[node.getFirstDependency() + i];
  }
  // Entries of the shared lists, for validation.
  [[nodiscard]] std::uint32_t dependency_count() const { return dependencies_.size(); }
  [[nodiscard]] std::uint32_t dependency_entry(std::uint32_t i) const { return dependencies_[i]; }
  [[nodiscard]] std::uint32_t order_count() const { return order_.size(); }
  [[nodiscard]] std::string_view name() const { return name_; }  // any bytes: see printable()
  [[nodiscard]] std::string_view stream_name(std::uint32_t stream) const {
    return extents_[stream].name;
  }
  // Prefer the accessors above: what follows the file's pointers counts against a traversal limit.
  [[nodiscard]] schema::Program::Reader reader() const { return reader_; }
  [[nodiscard]] bool has_origins() const { return origins_.size() != 0; }
  // Of an imported node; requires has_origins().
  [[nodiscard]] schema::Origin::Reader origin(std::uint32_t node) const { return origins_[node]; }
  [[nodiscard]] std::uint32_t origin_count() const { return origins_.size(); }
  // What a device of this program holds, where the file says it.
  [[nodiscard]] const std::optional<ProgramMemory>& memory() const { return memory_; }
  // Parameters a device of this program holds.
  [[nodiscard]] std::uint64_t parameter_count() const { return reader_.getParameterCount(); }

 private:
  struct Extent {
    std::uint32_t first, count;
    std::string_view name;
  };
  schema::Program::Reader reader_;
  std::string_view name_;
  capnp::List<schema::Node>::Reader nodes_;
  capnp::List<schema::Stream>::Reader streams_;
  capnp::List<std::uint32_t>::Reader dependencies_;
  capnp::List<std::uint32_t>::Reader order_;
  capnp::List<schema::Origin>::Reader origins_;
  std::vector<Extent> extents_;  // streams_, decoded once
  std::optional<ProgramMemory> memory_;
};

// A communicator family, decoded once (schema::Group).
struct GroupTable {
  struct Place {
    std::uint32_t device, list, position;
    friend constexpr auto operator<=>(const Place&, const Place&) = default;
  };
  std::string_view name;
  bool by_lists = false;
  std::vector<std::uint8_t> axes;
  std::uint32_t size = 1;                 // by axes: members of each communicator
  std::vector<std::uint32_t> list_first;  // by lists: into members, one more than lists
  std::vector<std::uint32_t> members;
  std::vector<Place> places;  // members, sorted by device
  std::vector<std::uint32_t> communicators;  // by lists: the source's name of each; or empty
};

// Devices whose coordinate on `axis` lies in [first, first + count) run `program`.
struct BoundRange {
  std::uint32_t axis, first, count, program;
};
struct BoundDevice {
  std::uint32_t device, program;
  friend constexpr auto operator<=>(const BoundDevice&, const BoundDevice&) = default;
};

// The place() of a graph that comes from no file.
constexpr std::string_view kGeneratedPlace = "generated workload";

class WorkloadGraph {
 public:
  // Maps `path`. Throws core::InputError when it is no Cap'n Proto message of this schema;
  // everything else about its content is validate()'s to say.
  static WorkloadGraph open(const std::string& path);
  // Takes over a message built in memory (a generator's, a test's).
  static WorkloadGraph from_message(std::unique_ptr<capnp::MessageBuilder> message);

  WorkloadGraph(WorkloadGraph&&) noexcept;
  WorkloadGraph& operator=(WorkloadGraph&&) noexcept;
  ~WorkloadGraph();

  // Writes a .xwg file as core::OutputFile does, and returns its size in bytes. Throws
  // core::SystemError.
  std::uint64_t write(const std::string& path) const;

  // Derives the small tables below. validate() calls it; accessors other than root() and place()
  // require it. Safe on any message; what it decodes is sound only once validate() says so.
  // Throws core::InputError where the message is no readable workload.
  void index();

  // For what precedes index(), and for copies. It follows pointers of the file, which may throw
  // kj::Exception where index() has not been there: the accessors below never do.
  [[nodiscard]] schema::Workload::Reader root() const { return root_; }
  // What messages about this graph start with: the file name, or "generated workload".
  [[nodiscard]] const std::string& place() const { return place_; }

  [[nodiscard]] std::uint32_t device_count() const { return device_count_; }
  [[nodiscard]] std::uint32_t axis_count() const {
    return static_cast<std::uint32_t>(axis_size_.size());
  }
  [[nodiscard]] std::uint32_t axis_size(std::uint32_t axis) const { return axis_size_[axis]; }
  [[nodiscard]] std::string_view name() const { return name_; }  // any bytes: see printable()
  [[nodiscard]] std::string_view axis_name(std::uint32_t axis) const { return axis_name_[axis]; }
  [[nodiscard]] schema::Training::Reader training() const { return training_; }
  [[nodiscard]] std::uint32_t axis_stride(std::uint32_t axis) const { return axis_stride_[axis]; }
  [[nodiscard]] std::uint32_t coordinate(DeviceId device, std::uint32_t axis) const {
    const AxisBits& bits = axis_bits_[axis];
    if (bits.are_all) [[likely]] return device.value >> bits.shift & bits.mask;
    return device.value / axis_stride_[axis] % axis_size_[axis];
  }
  [[nodiscard]] std::uint32_t program_count() const {
    return static_cast<std::uint32_t>(programs_.size());
  }
  [[nodiscard]] const Program& program(std::uint32_t index) const { return programs_[index]; }
  // The program `device` runs, kNoProgram where none does (in a graph that is not valid).
  // O(axes * log bindings).
  [[nodiscard]] std::uint32_t program_of(DeviceId device) const;

  [[nodiscard]] const GroupTable& group(std::uint32_t index) const { return groups_[index]; }
  [[nodiscard]] std::uint32_t group_count() const {
    return static_cast<std::uint32_t>(groups_.size());
  }
  [[nodiscard]] std::uint32_t name_count() const {
    return static_cast<std::uint32_t>(names_.size());
  }
  // Bytes between members (Node.sizes - 1 is the index).
  [[nodiscard]] const std::vector<std::vector<std::uint64_t>>& size_tables() const {
    return size_tables_;
  }
  // Of a valid node: what Node.shape says.
  [[nodiscard]] Shape shape_of(const schema::Node::Reader& node) const {
    return node.getShape() == 0 ? Shape{} : shapes_[node.getShape() - 1u];
  }
  [[nodiscard]] const std::vector<Shape>& shapes() const { return shapes_; }
  // What importers keep of foreign nodes (schema::Origin). Any bytes.
  [[nodiscard]] const std::vector<std::string_view>& records() const { return records_; }
  // Devices by rule, sorted by (axis, first); and by list, sorted by (device, program).
  [[nodiscard]] const std::vector<BoundRange>& bound_ranges() const { return ranges_; }
  [[nodiscard]] const std::vector<BoundDevice>& bound_devices() const { return listed_; }

  // `device` in its communicator of family `group`; {1, 0} where lists leave it out.
  [[nodiscard]] Membership membership(std::uint32_t group, DeviceId device) const;
  // The member at `position` of the communicator of family `group` that `device` is in.
  [[nodiscard]] DeviceId member(std::uint32_t group, DeviceId device, std::uint32_t position) const;
  // All members of that communicator, by position.
  [[nodiscard]] std::vector<DeviceId> members(std::uint32_t group, DeviceId device) const;
  // The peer of a send or receive node run by `device`.
  [[nodiscard]] DeviceId peer(const schema::Node::Reader& node, DeviceId device) const {
    return shifted(device, node.getPeerAxis(), node.getPeer());
  }
  // The device `offset` further along `axis`, or device number `offset` for schema::NO_AXIS.
  [[nodiscard]] DeviceId shifted(DeviceId device, std::uint8_t axis, std::int32_t offset) const;
  // The name of a node, or "" where it has none. Any bytes: printable() is for messages.
  [[nodiscard]] std::string node_name(const schema::Node::Reader& node) const;

 private:
  struct Storage;
  explicit WorkloadGraph(std::unique_ptr<Storage> storage);
  void index_bindings();
  std::unique_ptr<Storage> storage_;
  schema::Workload::Reader root_;
  std::string place_;
  std::string_view name_;
  schema::Training::Reader training_;
  std::uint32_t device_count_ = 0;
  std::vector<std::string_view> axis_name_;
  // Where an axis has a power of two of places, as far apart: a coordinate without divisions.
  struct AxisBits {
    bool are_all = false;
    std::uint8_t shift = 0;
    std::uint32_t mask = 0;
  };
  std::vector<std::uint32_t> axis_size_, axis_stride_;
  std::vector<AxisBits> axis_bits_;
  std::vector<Program> programs_;
  std::vector<GroupTable> groups_;
  std::vector<BoundRange> ranges_;
  std::vector<BoundDevice> listed_;
  std::vector<std::string_view> names_;
  std::vector<std::string_view> records_;
  std::vector<std::vector<std::uint64_t>> size_tables_;
  std::vector<Shape> shapes_;
};

// `text` of unknown origin for a message: what is not printable becomes '?', what is long is cut.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace exawarp::model
