// Builds a workload graph in memory; see builder.h.
//
// The message is allocated as one segment of a size computed beforehand: a generated file then has
// one segment, and writing it is one copy.
#include "model/workload/builder.h"

#include <capnp/message.h>

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace exawarp::model {
namespace {

constexpr std::uint64_t kCountedFurther = 16;  // times bytes_max: what is counted after it
constexpr std::uint64_t kShapeWords = 10;  // the schema's Shape has 9 and no pointers
constexpr std::uint64_t kNodeWords = 13;  // generous: the schema's Node has 12 and no pointers
constexpr std::uint64_t kNodeBytes = 96;  // what it has there

std::uint64_t text_words(const std::string& text) { return 2 + text.size() / 8; }
unsigned size_of(const auto& container) { return static_cast<unsigned>(container.size()); }

void write_list(capnp::List<std::uint32_t>::Builder out, std::span<const std::uint32_t> values,
                unsigned first = 0) {
  for (unsigned i = 0; i < values.size(); ++i) out.set(first + i, values[i]);
}

void write_node(schema::Node::Builder out, const NodeFields& in) {
  out.setKind(in.kind);
  out.setStream(in.stream);
  out.setOperation(in.operation);
  out.setCollective(in.collective);
  out.setPhase(in.phase);
  out.setDataType(in.data_type);
  out.setPlace(in.place);
  out.setPeerAxis(in.peer_axis);
  out.setGroup(in.group);
  out.setMicroBatch(in.micro_batch);
  out.setLayer(in.layer);
  out.setPeer(in.peer);
  out.setTag(in.tag);
  out.setName(in.name);
  out.setFlops(in.flops);
  out.setBytesRead(in.bytes_read);
  out.setBytesWritten(in.bytes_written);
  out.setCommBytes(in.comm_bytes);
  out.setDurationPs(in.duration_ps);
  out.setRoot(in.root);
  out.setSizes(in.sizes);
  out.setShape(in.shape);
}

void write_memory(schema::Memory::Builder out, const ProgramMemory& in) {
  out.setWeights(in.weights);
  out.setGradients(in.gradients);
  out.setOptimizer(in.optimizer);
  auto timeline = out.initTimeline(size_of(in.timeline));
  for (unsigned i = 0; i < in.timeline.size(); ++i) {
    timeline[i].setNode(in.timeline[i].node);
    timeline[i].setBytes(in.timeline[i].bytes);
  }
}

}  // namespace

std::uint8_t ProgramBuilder::add_stream(std::string name, schema::StreamKind kind) {
  streams_.push_back({std::move(name), kind, {}});
  return static_cast<std::uint8_t>(streams_.size() - 1);
}

std::uint32_t ProgramBuilder::add_node(const NodeFields& fields,
                                       std::span<const std::uint32_t> dependencies) {
  const std::uint32_t index = node_count();
  SizeBudget& size = *budget_;
  size.bytes += kNodeBytes + sizeof(std::uint32_t) * (1 + dependencies.size());
  if (size.bytes > size.bytes_max) {
    if (size.bytes / kCountedFurther > size.bytes_max) throw WorkloadTooLarge(size.bytes, false);
    counted_.push_back(fields.stream);
    return index;
  }
  EXAWARP_CHECK(fields.stream < streams_.size(), fields.stream, streams_.size());
  std::vector<std::uint32_t>& order = streams_[fields.stream].order;
  nodes_.push_back({fields, static_cast<std::uint32_t>(dependencies_.size()),
                    static_cast<std::uint32_t>(dependencies.size()),
                    static_cast<std::uint32_t>(order.size())});
  dependencies_.insert(dependencies_.end(), dependencies.begin(), dependencies.end());
  order.push_back(index);
  return index;
}

std::uint64_t ProgramBuilder::size_words() const {
  std::uint64_t words = 32 + text_words(name_) + nodes_.size() * kNodeWords + nodes_.size() / 2 +
                        dependencies_.size() / 2 + 2 * origins_.size();
  for (const Stream& stream : streams_) words += 4 + text_words(stream.name);
  if (memory_) words += 8 + 2 * memory_->timeline.size();
  return words;
}

void ProgramBuilder::write(schema::Program::Builder out) const {
  out.setName(name_);
  out.setParameterCount(parameter_count_);
  auto streams = out.initStreams(size_of(streams_));
  auto order = out.initOrder(size_of(nodes_));
  unsigned first = 0;
  for (unsigned i = 0; i < streams_.size(); ++i) {
    streams[i].setName(streams_[i].name);
    streams[i].setKind(streams_[i].kind);
    streams[i].setFirst(first);
    streams[i].setCount(size_of(streams_[i].order));
    write_list(order, streams_[i].order, first);
    first += size_of(streams_[i].order);
  }
  EXAWARP_CHECK(first == nodes_.size(), first, nodes_.size());  // each node is in one stream
  write_list(out.initDependencies(size_of(dependencies_)), dependencies_);
  auto nodes = out.initNodes(size_of(nodes_));
  for (unsigned i = 0; i < nodes_.size(); ++i) {
    schema::Node::Builder node = nodes[i];
    write_node(node, nodes_[i].fields);
    node.setFirstDependency(nodes_[i].first_dependency);
    node.setDependencyCount(nodes_[i].dependency_count);
    node.setPosition(nodes_[i].position);
  }
  if (memory_) write_memory(out.initMemory(), *memory_);
  if (origins_.empty()) return;
  EXAWARP_CHECK(origins_.size() == nodes_.size(), origins_.size(), nodes_.size());
  auto origins = out.initOrigins(size_of(origins_));
  for (unsigned i = 0; i < origins_.size(); ++i) {
    origins[i].setId(origins_[i].id);
    origins[i].setRecord(origins_[i].record);
    origins[i].setControlCount(origins_[i].control_count);
  }
}

std::uint8_t WorkloadBuilder::add_axis(std::string name, std::uint32_t size) {
  axes_.push_back({std::move(name), size});
  return static_cast<std::uint8_t>(axes_.size() - 1);
}

std::uint16_t WorkloadBuilder::add_group(std::string name, std::vector<std::uint8_t> axes) {
  groups_.push_back({std::move(name), false, std::move(axes), {}, {}});
  return static_cast<std::uint16_t>(groups_.size() - 1);
}

std::uint16_t WorkloadBuilder::add_group_lists(std::string name,
                                               std::vector<std::vector<std::uint32_t>> lists,
                                               std::vector<std::uint32_t> communicators) {
  groups_.push_back({std::move(name), true, {}, std::move(lists), std::move(communicators)});
  return static_cast<std::uint16_t>(groups_.size() - 1);
}

ProgramBuilder& WorkloadBuilder::add_program(std::string name) {
  return programs_.emplace_back(static_cast<std::uint32_t>(programs_.size()), std::move(name),
                                budget_);
}

void WorkloadBuilder::bind_range(std::uint32_t program, Range range) {
  EXAWARP_CHECK(program < programs_.size(), program, programs_.size());
  bindings_.push_back({program, false, range, {}});
}

void WorkloadBuilder::bind_devices(std::uint32_t program, std::vector<std::uint32_t> devices) {
  EXAWARP_CHECK(program < programs_.size(), program, programs_.size());
  bindings_.push_back({program, true, {}, std::move(devices)});
}

std::uint32_t WorkloadBuilder::name(const std::string& text) {
  const auto [at, is_new] = name_index_.try_emplace(text, size_of(names_));
  if (is_new) names_.push_back(&at->first);
  return at->second;
}

std::uint32_t WorkloadBuilder::add_sizes(std::vector<std::uint64_t> bytes) {
  const auto [at, is_new] = size_index_.try_emplace(std::move(bytes), size_of(sizes_));
  if (is_new) sizes_.push_back(&at->first);
  return 1 + at->second;
}

std::uint16_t WorkloadBuilder::add_shape(const Shape& shape) {
  if (std::holds_alternative<std::monostate>(shape)) return 0;
  if (const auto at = shape_index_.find(shape); at != shape_index_.end()) return at->second;
  if (shapes_.size() == std::numeric_limits<std::uint16_t>::max()) return 0;
  const auto index = static_cast<std::uint16_t>(shapes_.size() + 1);
  shapes_.push_back(&shape_index_.emplace(shape, index).first->first);
  return index;
}

std::uint32_t WorkloadBuilder::record(const std::string& bytes) {
  const auto [at, is_new] = record_index_.try_emplace(bytes, size_of(records_));
  if (is_new) records_.push_back(&at->first);
  return at->second;
}

std::uint64_t WorkloadBuilder::size_words() const {
  std::uint64_t words = 64 + text_words(name_);
  for (const Axis& axis : axes_) words += 4 + text_words(axis.name);
  for (const Group& group : groups_) {
    words += 8 + text_words(group.name) + group.axes.size() / 8;
    for (const auto& list : group.lists) words += 2 + list.size() / 2;
  }
  for (const ProgramBuilder& program : programs_) words += program.size_words();
  for (const Binding& binding : bindings_) words += 8 + binding.devices.size() / 2;
  for (const std::string* text : names_) words += 1 + text_words(*text);
  for (const std::string* bytes : records_) words += 1 + text_words(*bytes);
  for (const auto* table : sizes_) words += 2 + table->size();
  words += 1 + kShapeWords * shapes_.size();
  return words;
}

void WorkloadBuilder::write_groups(schema::Workload::Builder root) const {
  auto groups = root.initGroups(size_of(groups_));
  for (unsigned i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    groups[i].setName(group.name);
    if (!group.by_lists) {
      auto axes = groups[i].initAxes(size_of(group.axes));
      for (unsigned j = 0; j < group.axes.size(); ++j) axes.set(j, group.axes[j]);
      continue;
    }
    auto lists = groups[i].initLists(size_of(group.lists));
    for (unsigned j = 0; j < group.lists.size(); ++j) {
      write_list(lists.init(j, size_of(group.lists[j])), group.lists[j]);
    }
    if (!group.communicators.empty()) {
      write_list(groups[i].initCommunicators(size_of(group.communicators)), group.communicators);
    }
  }
}

void WorkloadBuilder::write_bindings(schema::Workload::Builder root) const {
  auto bindings = root.initBindings(size_of(bindings_));
  for (unsigned i = 0; i < bindings_.size(); ++i) {
    const Binding& binding = bindings_[i];
    bindings[i].setProgram(binding.program);
    if (binding.by_devices) {
      write_list(bindings[i].initDevices(size_of(binding.devices)), binding.devices);
      continue;
    }
    auto rule = bindings[i].initRule();
    rule.setAxis(binding.range.axis);
    rule.setFirst(binding.range.first);
    rule.setCount(binding.range.count);
  }
}

void WorkloadBuilder::write_training(schema::Training::Builder out) const {
  out.setTokensPerStep(training_.tokens_per_step);
  out.setModelFlopsPerStep(training_.model_flops_per_step);
  out.setParameters(training_.parameters);
  out.setSequencesPerStep(training_.sequences_per_step);
  out.setMicroBatches(training_.micro_batches);
  out.setSteps(training_.steps);
}

WorkloadGraph WorkloadBuilder::build() const {
  if (budget_->bytes > budget_->bytes_max) throw WorkloadTooLarge(budget_->bytes, true);
  constexpr std::uint64_t kSegmentWordsMax = 1 << 28;  // larger messages take several segments
  auto message = std::make_unique<capnp::MallocMessageBuilder>(
      static_cast<unsigned>(std::min(size_words(), kSegmentWordsMax)));
  auto root = message->initRoot<schema::Workload>();
  root.setVersion(schema::FORMAT_VERSION);
  root.setName(name_);
  std::uint32_t devices = 1;
  auto axes = root.initAxes(size_of(axes_));
  for (unsigned i = 0; i < axes_.size(); ++i) {
    axes[i].setName(axes_[i].name);
    axes[i].setSize(axes_[i].size);
    devices *= axes_[i].size;
  }
  root.setDeviceCount(devices);
  write_groups(root);
  auto programs = root.initPrograms(size_of(programs_));
  for (unsigned i = 0; i < programs_.size(); ++i) programs_[i].write(programs[i]);
  write_bindings(root);
  auto names = root.initNames(size_of(names_));
  for (unsigned i = 0; i < names_.size(); ++i) names.set(i, *names_[i]);
  auto records = root.initRecords(size_of(records_));
  for (unsigned i = 0; i < records_.size(); ++i) {
    const std::string& bytes = *records_[i];
    records.set(i, {reinterpret_cast<const capnp::byte*>(bytes.data()), bytes.size()});
  }
  write_training(root.initTraining());
  if (!sizes_.empty()) {
    auto tables = root.initSizeTables(size_of(sizes_));
    for (unsigned i = 0; i < sizes_.size(); ++i) {
      auto table = tables.init(i, size_of(*sizes_[i]));
      for (unsigned j = 0; j < sizes_[i]->size(); ++j) table.set(j, (*sizes_[i])[j]);
    }
  }
  if (!shapes_.empty()) {
    auto shapes = root.initShapes(size_of(shapes_));
    for (unsigned i = 0; i < shapes_.size(); ++i) write_shape(shapes[i], *shapes_[i]);
  }
  return WorkloadGraph::from_message(std::move(message));
}

}  // namespace exawarp::model
