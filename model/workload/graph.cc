// The mapped view of a workload graph; see graph.h.
//
// A file is hostile until validate() has seen it. Cap'n Proto checks each pointer when it is
// followed and throws kj::Exception; none leaves this file (reading() below). A pointer may lead
// to what another one leads to, so a small file can look huge: the traversal limit, a multiple of
// the file's size, bounds all work and memory by O(file). To stay within it, and to keep pointers
// out of the simulation, index() follows each pointer once and keeps plain tables.
#include "model/workload/graph.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>

#include "core/check.h"
#include "core/error.h"
#include "core/mapped_file.h"
#include "core/output_file.h"

namespace exawarp::model {
namespace {

constexpr std::uint64_t kTraversalsOfFile = 16;  // a sound file is read twice or so
constexpr std::uint64_t kTraversalSlackWords = 1 << 16;
constexpr int kNestingMax = 16;  // the schema nests 5 deep

[[noreturn]] void unreadable(const std::string& place, const std::string& why) {
  throw core::InputError(
      place, "not a workload graph: " + why + "; expected a whole file made by `exawarp workload`");
}

// Runs `read`, turning Cap'n Proto's exceptions into the user's error.
template <class Function>
auto reading(const std::string& place, const Function& read) {
  try {
    return read();
  } catch (const kj::Exception& problem) {
    unreadable(place, printable(problem.getDescription().cStr()));
  }
}

std::string_view view(capnp::Text::Reader text) { return {text.begin(), text.size()}; }

GroupTable decode(const schema::Group::Reader& group) {
  GroupTable table;
  table.name = view(group.getName());
  table.by_lists = group.isLists();
  if (group.isAxes()) {
    for (const std::uint8_t axis : group.getAxes()) table.axes.push_back(axis);
  }
  if (!table.by_lists) return table;
  table.list_first.push_back(0);
  std::uint32_t list_index = 0;
  for (const capnp::List<std::uint32_t>::Reader list : group.getLists()) {
    for (std::uint32_t position = 0; position < list.size(); ++position) {
      table.members.push_back(list[position]);
      table.places.push_back({list[position], list_index, position});
    }
    table.list_first.push_back(static_cast<std::uint32_t>(table.members.size()));
    ++list_index;
  }
  for (const std::uint32_t id : group.getCommunicators()) table.communicators.push_back(id);
  std::sort(table.places.begin(), table.places.end());
  return table;
}

// The table of segments that precedes a message in a stream: count - 1, each size in words, padded
// to a whole word (capnproto.org/encoding.html, "Serialization Over a Stream").
std::vector<std::uint32_t> segment_table(
    kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments) {
  std::vector<std::uint32_t> table;
  EXAWARP_CHECK(segments.size() != 0);
  table.push_back(static_cast<std::uint32_t>(segments.size() - 1));
  for (const auto& segment : segments) {
    table.push_back(static_cast<std::uint32_t>(segment.size()));
  }
  if (table.size() % 2 != 0) table.push_back(0);
  return table;
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr std::size_t kLengthMax = 160;
  std::string out{text.substr(0, kLengthMax)};
  for (char& c : out) {
    if (c < ' ' || c > '~') c = '?';
  }
  if (text.size() > kLengthMax) out += "...";
  return out;
}

Program::Program(schema::Program::Reader reader)
    : reader_(reader),
      name_(view(reader.getName())),
      nodes_(reader.getNodes()),
      streams_(reader.getStreams()),
      dependencies_(reader.getDependencies()),
      order_(reader.getOrder()),
      origins_(reader.getOrigins()) {
  extents_.reserve(streams_.size());
  for (const schema::Stream::Reader stream : streams_) {
    extents_.push_back({stream.getFirst(), stream.getCount(), view(stream.getName())});
  }
  if (!reader.hasMemory()) return;
  const schema::Memory::Reader memory = reader.getMemory();
  memory_ = ProgramMemory{memory.getWeights(), memory.getGradients(), memory.getOptimizer(), {}};
  for (const schema::MemoryPoint::Reader point : memory.getTimeline()) {
    memory_->timeline.push_back({point.getNode(), point.getBytes()});
  }
}

ProgramMemory::Point ProgramMemory::largest() const {
  Point largest;
  for (const Point& point : timeline) {
    if (point.bytes > largest.bytes) largest = point;
  }
  return largest;
}

double ProgramMemory::peak() const {
  return static_cast<double>(weights) + static_cast<double>(gradients) +
         static_cast<double>(optimizer) + static_cast<double>(largest().bytes);
}

struct WorkloadGraph::Storage {
  core::MappedFile file;                           // a mapped graph, or
  std::unique_ptr<capnp::MessageReader> reader;    // (reads `file`)
  std::unique_ptr<capnp::MessageBuilder> message;  // one built in memory
};

WorkloadGraph::WorkloadGraph(std::unique_ptr<Storage> storage) : storage_(std::move(storage)) {}
WorkloadGraph::WorkloadGraph(WorkloadGraph&&) noexcept = default;
WorkloadGraph& WorkloadGraph::operator=(WorkloadGraph&&) noexcept = default;
WorkloadGraph::~WorkloadGraph() = default;

WorkloadGraph WorkloadGraph::open(const std::string& path) {
  auto storage = std::make_unique<Storage>();
  storage->file = core::MappedFile(path);
  const std::span<const std::byte> bytes = storage->file.bytes();
  if (bytes.empty()) unreadable(path, "the file is empty");
  if (bytes.size() % sizeof(capnp::word) != 0) {
    unreadable(path, "its size, " + std::to_string(bytes.size()) +
                         " bytes, is no multiple of 8: it is cut off or of another kind");
  }
  return reading(path, [&] {
    // Sound: a mapping starts on a page boundary, and Cap'n Proto reads words as raw bytes.
    const kj::ArrayPtr<const capnp::word> words(reinterpret_cast<const capnp::word*>(bytes.data()),
                                                bytes.size() / sizeof(capnp::word));
    capnp::ReaderOptions options;
    options.traversalLimitInWords = words.size() * kTraversalsOfFile + kTraversalSlackWords;
    options.nestingLimit = kNestingMax;
    auto reader = std::make_unique<capnp::FlatArrayMessageReader>(words, options);
    if (reader->getEnd() != words.end()) {
      unreadable(path, "bytes follow the end of the message");
    }
    storage->reader = std::move(reader);
    WorkloadGraph graph(std::move(storage));
    graph.place_ = path;
    graph.root_ = graph.storage_->reader->getRoot<schema::Workload>();
    return graph;
  });
}

WorkloadGraph WorkloadGraph::from_message(std::unique_ptr<capnp::MessageBuilder> message) {
  auto storage = std::make_unique<Storage>();
  storage->message = std::move(message);
  WorkloadGraph graph(std::move(storage));
  graph.place_ = kGeneratedPlace;
  graph.root_ = graph.storage_->message->getRoot<schema::Workload>().asReader();
  return graph;
}

std::uint64_t WorkloadGraph::write(const std::string& path) const {
  core::OutputFile out(path);
  std::uint64_t size = 0;
  const auto write = [&](const void* data, std::size_t bytes) {
    out.write({static_cast<const char*>(data), bytes});
    size += bytes;
  };
  if (storage_->message == nullptr) {
    write(storage_->file.bytes().data(), storage_->file.bytes().size());
  } else {
    const auto segments = storage_->message->getSegmentsForOutput();
    const std::vector<std::uint32_t> table = segment_table(segments);
    write(table.data(), table.size() * sizeof(std::uint32_t));
    for (const auto& segment : segments) {
      write(segment.begin(), segment.size() * sizeof(capnp::word));
    }
  }
  out.commit();
  return size;
}

void WorkloadGraph::index() {
  reading(place_, [this] {
    device_count_ = root_.getDeviceCount();
    name_ = view(root_.getName());
    training_ = root_.getTraining();
    axis_name_.clear();
    axis_size_.clear();
    axis_stride_.clear();
    axis_bits_.clear();
    std::uint32_t stride = 1;
    for (const schema::Axis::Reader axis : root_.getAxes()) {
      axis_name_.push_back(view(axis.getName()));
      axis_size_.push_back(axis.getSize());
      axis_stride_.push_back(stride);
      axis_bits_.push_back(
          {.are_all = std::has_single_bit(stride) && std::has_single_bit(axis.getSize()),
           .shift = static_cast<std::uint8_t>(std::countr_zero(stride)),
           .mask = axis.getSize() - 1});
      stride *= axis.getSize();
    }
    groups_.clear();
    for (const schema::Group::Reader group : root_.getGroups()) {
      groups_.push_back(decode(group));
      GroupTable& table = groups_.back();
      for (const std::uint8_t axis : table.axes) {
        table.size *= axis < axis_size_.size() ? axis_size_[axis] : 0;
      }
    }
    programs_.clear();
    for (const schema::Program::Reader program : root_.getPrograms()) {
      programs_.emplace_back(program);
    }
    names_.clear();
    for (const capnp::Text::Reader name : root_.getNames()) {
      names_.push_back(view(name));
    }
    records_.clear();
    for (const capnp::Data::Reader record : root_.getRecords()) {
      records_.emplace_back(reinterpret_cast<const char*>(record.begin()), record.size());
    }
    size_tables_.clear();
    for (const capnp::List<std::uint64_t>::Reader table : root_.getSizeTables()) {
      std::vector<std::uint64_t>& bytes = size_tables_.emplace_back();
      for (const std::uint64_t b : table) bytes.push_back(b);
    }
    shapes_.clear();
    for (const schema::Shape::Reader shape : root_.getShapes()) {
      shapes_.push_back(read_shape(shape));
    }
    index_bindings();
  });
}

void WorkloadGraph::index_bindings() {
  ranges_.clear();
  listed_.clear();
  for (const schema::Binding::Reader binding : root_.getBindings()) {
    if (binding.isRule()) {
      const schema::Rule::Reader rule = binding.getRule();
      ranges_.push_back({rule.getAxis(), rule.getFirst(), rule.getCount(), binding.getProgram()});
    } else if (binding.isDevices()) {
      for (const std::uint32_t device : binding.getDevices()) {
        listed_.push_back({device, binding.getProgram()});
      }
    }
  }
  std::sort(ranges_.begin(), ranges_.end(), [](const BoundRange& a, const BoundRange& b) {
    return std::tie(a.axis, a.first, a.program) < std::tie(b.axis, b.first, b.program);
  });
  std::sort(listed_.begin(), listed_.end());
}

std::uint32_t WorkloadGraph::program_of(DeviceId device) const {
  for (auto begin = ranges_.begin(); begin != ranges_.end();) {
    const std::uint32_t axis = begin->axis;
    const auto end = std::find_if(begin, ranges_.end(),
                                  [axis](const BoundRange& range) { return range.axis != axis; });
    const std::uint32_t here = coordinate(device, axis);
    const auto after = std::upper_bound(
        begin, end, here,
        [](std::uint32_t value, const BoundRange& range) { return value < range.first; });
    if (after != begin && here - (after - 1)->first < (after - 1)->count) {
      return (after - 1)->program;
    }
    begin = end;
  }
  const auto found = std::lower_bound(listed_.begin(), listed_.end(), BoundDevice{device.value, 0});
  return found != listed_.end() && found->device == device.value ? found->program : kNoProgram;
}

namespace {

const GroupTable::Place* find_place(const GroupTable& table, DeviceId device) {
  const auto found = std::lower_bound(table.places.begin(), table.places.end(),
                                      GroupTable::Place{device.value, 0, 0});
  return found != table.places.end() && found->device == device.value ? &*found : nullptr;
}

}  // namespace

Membership WorkloadGraph::membership(std::uint32_t group, DeviceId device) const {
  EXAWARP_DCHECK(group < groups_.size(), group, groups_.size());
  const GroupTable& table = groups_[group];
  if (table.by_lists) {
    const GroupTable::Place* const place = find_place(table, device);
    if (place == nullptr) return {};
    return {table.list_first[place->list + 1] - table.list_first[place->list], place->position};
  }
  Membership result{table.size, 0};
  std::uint32_t weight = 1;
  for (const std::uint8_t axis : table.axes) {
    result.position += coordinate(device, axis) * weight;
    weight *= axis_size_[axis];
  }
  return result;
}

DeviceId WorkloadGraph::member(std::uint32_t group, DeviceId device, std::uint32_t position) const {
  EXAWARP_DCHECK(group < groups_.size(), group, groups_.size());
  const GroupTable& table = groups_[group];
  if (table.by_lists) {
    const GroupTable::Place* const place = find_place(table, device);
    return place == nullptr ? device
                            : DeviceId{table.members[table.list_first[place->list] + position]};
  }
  std::uint32_t id = device.value;
  for (const std::uint8_t axis : table.axes) {
    id -= coordinate(device, axis) * axis_stride_[axis];
    const std::uint32_t size = axis_size_[axis];
    const std::uint32_t here = position < size ? position : position % size;
    id += here * axis_stride_[axis];
    position = position < size ? 0 : position / size;
  }
  return {id};
}

std::vector<DeviceId> WorkloadGraph::members(std::uint32_t group, DeviceId device) const {
  EXAWARP_DCHECK(group < groups_.size(), group, groups_.size());
  const GroupTable& table = groups_[group];
  std::vector<DeviceId> all;
  if (table.by_lists) {
    const GroupTable::Place* const place = find_place(table, device);
    if (place == nullptr) return {device};
    for (std::uint32_t i = table.list_first[place->list]; i < table.list_first[place->list + 1];
         ++i) {
      all.push_back({table.members[i]});
    }
    return all;
  }
  all.reserve(table.size);
  all.push_back(member(group, device, 0));
  for (const std::uint8_t axis : table.axes) {  // the first axis goes by fastest
    const std::size_t inner = all.size();
    for (std::uint32_t c = 1; c < axis_size_[axis]; ++c) {
      for (std::size_t i = 0; i < inner; ++i) {
        all.push_back({all[i].value + c * axis_stride_[axis]});
      }
    }
  }
  return all;
}

DeviceId WorkloadGraph::shifted(DeviceId device, std::uint8_t axis, std::int32_t offset) const {
  const auto distance = static_cast<std::uint32_t>(offset);  // modulo 2^32, as the sum is
  if (axis == schema::NO_AXIS) return {distance};
  EXAWARP_DCHECK(axis < axis_stride_.size(), axis, axis_stride_.size());
  return {device.value + distance * axis_stride_[axis]};
}

std::string WorkloadGraph::node_name(const schema::Node::Reader& node) const {
  if (node.getName() >= names_.size()) return {};
  return std::string(names_[node.getName()]);
}

}  // namespace exawarp::model
