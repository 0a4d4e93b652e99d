// Two passes over what the ranks' traces were reduced to: communicators are sorted into families
// that programs can name, then each distinct program is written out.
#include "io/formats/chakra/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <optional>
#include <queue>
#include <set>

#include "core/check.h"
#include "core/error.h"
#include "io/formats/chakra/attributes.h"
#include "io/formats/chakra/communicator_families.h"
#include "io/formats/chakra/fingerprint.h"
#include "io/formats/chakra/mesh.h"
#include "io/formats/chakra/rank_program.h"

namespace exawarp::io {
namespace {

using core::InputError;
namespace schema = model::schema;

constexpr std::uint32_t kPeerStreamsMax = 8;  // receive streams of a device

struct SharedProgram {
  RankProgram program;                // of the first of its ranks
  std::vector<std::uint32_t> ranks;
};

// Emits the nodes of one program: streams, an order within them, dependencies as indices.
class Emitter {
 public:
  // `mesh`: nullptr where there is none.
  Emitter(const RankProgram& program, const CommunicatorFamilies& families, const Mesh* mesh,
          std::uint32_t ranks, const ChakraImportOptions& options,
          model::WorkloadBuilder& workload, std::string name)
      : program_(program),
        families_(families),
        mesh_(mesh),
        ranks_(ranks),
        options_(options),
        workload_(workload),
        out_(workload.add_program(std::move(name))) {}

  std::uint32_t emit(const std::string& place) {
    const bool ours = !program_.streams.empty() && !program_.nodes.empty() &&
                      std::ranges::all_of(program_.nodes, &RankNode::has_stream);
    make_streams(ours);
    const std::vector<std::uint32_t> order = ours ? stated_order() : order_by_dependency(place);
    EXAWARP_CHECK(order.size() == program_.nodes.size(), order.size(), program_.nodes.size());
    std::vector<std::uint32_t> index_of_node(program_.nodes.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) index_of_node[order[i]] = i;
    for (const std::uint32_t node : order) {
      emit_node(program_.nodes[node], ours, index_of_node, place);
    }
    if (ours && !program_.memory.empty()) set_memory(index_of_node);
    return out_.index();
  }

 private:
  void make_streams(bool ours) {
    if (ours) {
      for (const StreamFields& stream : program_.streams) out_.add_stream(stream.name, stream.kind);
      return;
    }
    out_.add_stream("compute", schema::StreamKind::COMPUTE);
    out_.add_stream("host", schema::StreamKind::COMPUTE);
    out_.add_stream("memory", schema::StreamKind::COMPUTE);
    out_.add_stream("collectives", schema::StreamKind::COMMUNICATION);
    out_.add_stream("send", schema::StreamKind::COMMUNICATION);
  }

  std::uint8_t stream_of(const RankNode& node) {
    switch (node.fields.kind) {
      case schema::NodeKind::COMPUTE: return node.fields.stream;
      case schema::NodeKind::MEMORY: return kMemoryStream;
      case schema::NodeKind::COLLECTIVE: return kCollectivesStream;
      case schema::NodeKind::SEND: return kSendStream;
      case schema::NodeKind::RECEIVE: break;
      default: return kHostStream;
    }
    // A message that is late holds up only those of the same peer, up to some number of peers.
    const auto [at, is_new] =
        receive_stream_.try_emplace(node.fields.peer, static_cast<std::uint8_t>(0));
    if (!is_new) return at->second;
    const std::size_t number = receive_stream_.size() - 1;
    at->second = static_cast<std::uint8_t>(kReceiveStream + number % kPeerStreamsMax);
    if (number < kPeerStreamsMax) {
      out_.add_stream(fmt::format("receive {}", number), schema::StreamKind::COMMUNICATION);
    }
    return at->second;
  }

  [[nodiscard]] std::uint32_t find(std::uint64_t id) const {
    return static_cast<std::uint32_t>(
        std::ranges::lower_bound(program_.nodes, id, {}, &RankNode::id) - program_.nodes.begin());
  }

  // By number, as exports have it, where that is each stream's order too.
  [[nodiscard]] std::vector<std::uint32_t> stated_order() const {
    std::vector<std::uint32_t> order(program_.nodes.size());
    std::iota(order.begin(), order.end(), 0u);
    std::vector<std::uint32_t> next(program_.streams.size());
    const bool as_numbered = std::ranges::all_of(
        program_.nodes, [&](const RankNode& node) { return node.position == next[node.stream]++; });
    if (as_numbered) return order;
    std::ranges::sort(order, {}, [&](std::uint32_t i) {
      return std::pair{program_.nodes[i].stream, program_.nodes[i].position};
    });
    return order;
  }

  // Each node after all it depends on, the least id first: one order for all of its streams, so
  // that they cannot wait for each other in a circle.
  [[nodiscard]] std::vector<std::uint32_t> order_by_dependency(const std::string& place) const {
    const std::size_t n = program_.nodes.size();
    std::vector<std::vector<std::uint32_t>> children(n);
    std::vector<std::uint32_t> waits(n);
    for (std::uint32_t i = 0; i < n; ++i) {
      for (const auto* list : {&program_.nodes[i].data, &program_.nodes[i].control}) {
        for (const std::uint64_t id : *list) {
          children[find(id)].push_back(i);
          ++waits[i];
        }
      }
    }
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
    for (std::uint32_t i = 0; i < n; ++i) {
      if (waits[i] == 0) ready.push(i);
    }
    std::vector<std::uint32_t> order;
    while (!ready.empty()) {
      order.push_back(ready.top());
      ready.pop();
      for (const std::uint32_t child : children[order.back()]) {
        if (--waits[child] == 0) ready.push(child);
      }
    }
    if (order.size() < n) {
      const auto stuck = std::ranges::find_if(waits, [](std::uint32_t w) { return w > 0; });
      throw InputError(place, fmt::format("node {} is part of, or behind, a cycle of dependencies",
                                          program_.nodes[static_cast<std::size_t>(
                                              stuck - waits.begin())].id));
    }
    return order;
  }

  void set_memory(const std::vector<std::uint32_t>& index_of_node) {
    const std::vector<std::uint64_t>& values = program_.memory;
    out_.set_parameter_count(values[0]);
    model::ProgramMemory memory{
        .weights = values[1], .gradients = values[2], .optimizer = values[3], .timeline = {}};
    for (std::size_t i = kMemoryFields; i < values.size(); i += 2) {
      const std::uint32_t node = find(values[i]);
      if (node == program_.nodes.size()) continue;
      memory.timeline.push_back({index_of_node[node], values[i + 1]});
    }
    std::ranges::sort(memory.timeline, {}, &model::ProgramMemory::Point::node);
    out_.set_memory(std::move(memory));
  }

  // Group and peer along the mesh.
  void place_in_mesh(const RankNode& node, model::NodeFields& fields,
                     const std::string& place) const {
    const bool collective = fields.kind == schema::NodeKind::COLLECTIVE;
    if (!collective && !is_message(fields.kind)) return;
    const std::size_t count = collective ? mesh_->group_count() : mesh_->axis_count();
    const char* const name = collective ? kGroupAttribute : kPeerAxisAttribute;
    if (!node.mesh_place || *node.mesh_place >= count) {
      throw InputError(place, fmt::format("node {}: no {} below {}", node.id, name, count));
    }
    if (collective) {
      fields.group = static_cast<std::uint16_t>(*node.mesh_place);
      return;
    }
    const auto stride = static_cast<std::int32_t>(mesh_->stride(*node.mesh_place));
    if (fields.peer % stride != 0) {
      throw InputError(place, fmt::format("node {}: its peer does not lie along {} {}", node.id,
                                          name, *node.mesh_place));
    }
    fields.peer_axis = static_cast<std::uint8_t>(*node.mesh_place);
    fields.peer /= stride;
  }

  void emit_node(const RankNode& node, bool ours, const std::vector<std::uint32_t>& index_of_node,
                 const std::string& place) {
    model::NodeFields fields = node.fields;
    fields.stream = ours ? static_cast<std::uint8_t>(node.stream) : stream_of(node);
    if (!node.name.empty()) fields.name = workload_.name(node.name);
    if (fields.kind == schema::NodeKind::COLLECTIVE) {
      const std::uint32_t id = program_.communicators[node.communicator];
      if (mesh_ == nullptr) fields.group = families_.group_of(id);
      if (fields.sizes != 0) {
        fields.sizes = workload_.add_sizes(program_.size_tables[fields.sizes - 1]);
      }
      if (!ours) convert_size(id, fields);
    }
    if (mesh_ != nullptr) place_in_mesh(node, fields, place);
    std::vector<std::uint32_t> dependencies;
    std::set<std::uint32_t> added;  // one that is given twice counts once
    const auto add = [&](const std::vector<std::uint64_t>& ids) {
      const std::size_t before = dependencies.size();
      for (const std::uint64_t id : ids) {
        const std::uint32_t at = find(id);
        EXAWARP_CHECK(at < index_of_node.size(), id);  // what dangled is gone
        const std::uint32_t index = index_of_node[at];
        if (added.insert(index).second) dependencies.push_back(index);
      }
      return static_cast<std::uint32_t>(dependencies.size() - before);
    };
    add(node.data);
    const std::uint32_t control = add(node.control);
    out_.add_node(fields, dependencies);
    if (!ours) {
      out_.add_origin({.id = node.id, .record = workload_.record(node.record),
                       .control_count = control});
    }
  }

  // From the size of the output, where traces give that, to ours.
  void convert_size(std::uint32_t communicator, model::NodeFields& fields) const {
    if (options_.comm_size != ChakraImportOptions::CommSize::output) return;
    const std::uint64_t n = communicator == 0 ? ranks_ : families_.members(communicator).size();
    EXAWARP_CHECK(n != 0, communicator);
    if (fields.collective == schema::CollectiveType::ALL_GATHER) fields.comm_bytes /= n;
    if (fields.collective == schema::CollectiveType::REDUCE_SCATTER) fields.comm_bytes *= n;
  }

  const RankProgram& program_;
  const CommunicatorFamilies& families_;
  const Mesh* mesh_;
  std::uint32_t ranks_;
  const ChakraImportOptions& options_;
  model::WorkloadBuilder& workload_;
  model::ProgramBuilder& out_;
  std::map<std::int32_t, std::uint8_t> receive_stream_;
};

class Importer {
 public:
  Importer(const TraceSource& source, const std::string& name, const ChakraImportOptions& options,
           ChakraImportReport& report)
      : source_(source),
        name_(name),
        options_(options),
        report_(report),
        ranks_(source.ranks),
        families_(ranks_) {}

  model::WorkloadGraph run() {
    report_ = {.ranks = ranks_};
    if (!options_.comm_groups.empty()) {
      for (CommunicatorList& list : read_comm_groups(options_.comm_groups)) {
        families_.define(std::move(list), options_.comm_groups);
      }
    }
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) read(rank);
    EXAWARP_CHECK(communicators_.size() == ranks_, communicators_.size(), ranks_);
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      for (const std::uint32_t id : communicators_[rank]) {
        families_.require(id, rank, source_.place(rank));
      }
    }
    find_mesh();
    if (!mesh_) unite();
    return write();
  }

 private:
  void read(std::uint32_t rank) {
    RankProgram program = read_rank(source_, rank, options_);
    if (!programs_.empty() && !counts_alike(program.counting, programs_[0].program.counting)) {
      throw InputError(source_.place(rank), "counts otherwise than the rank before; expected one "
                                            "way for all ranks");
    }
    report_.bytes += program.bytes;
    report_.nodes += program.nodes.size();
    report_.dangling += program.dangling;
    report_.control_given |= program.control_given;
    if (program.control_given && !program.control_used) ++report_.ranks_without_control;
    for (CommunicatorList& list : program.defined) {
      families_.define(std::move(list), source_.place(rank));
    }
    communicators_.push_back(program.communicators);
    const auto [at, is_new] = shared_.try_emplace(fingerprint(program), programs_.size());
    if (is_new) programs_.push_back({std::move(program), {}});
    programs_[at->second].ranks.push_back(rank);
  }

  // The mesh, where all traces tell the same one, and it agrees with their communicators.
  void find_mesh() {
    const RankProgram& first = programs_.front().program;
    for (const SharedProgram& shared : programs_) {
      const RankProgram& program = shared.program;
      if (program.axes != first.axes || program.groups != first.groups) return;
      if (program.streams.empty() || program.nodes.empty()) return;
      if (!std::ranges::all_of(program.nodes, &RankNode::has_stream)) return;
    }
    mesh_ = Mesh::parse(first.axes, first.groups, ranks_);
    if (mesh_ && !agrees(*mesh_)) mesh_.reset();
    if (!mesh_) return;
    std::ranges::stable_sort(programs_, {},
                             [](const SharedProgram& s) { return s.program.number; });
  }

  // Collects the lists of the mesh's groups that are lists, too.
  [[nodiscard]] bool agrees(const Mesh& mesh) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> compared;  // group, communicator
    std::vector<std::uint32_t> all(ranks_);
    std::iota(all.begin(), all.end(), 0u);
    for (const SharedProgram& shared : programs_) {
      std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;  // group, place of the communicator
      for (const RankNode& node : shared.program.nodes) {
        if (node.communicator == kNoCommunicator) continue;
        if (node.mesh_place.value_or(kNoCommunicator) >= mesh.group_count()) return false;
        pairs.insert({*node.mesh_place, node.communicator});
      }
      for (const std::uint32_t rank : shared.ranks) {
        for (const auto& [group, at] : pairs) {
          const std::uint32_t id = communicators_[rank][at];
          if (!compared.insert({group, id}).second) continue;
          const std::vector<std::uint32_t>& members = id == 0 ? all : families_.members(id);
          if (mesh.is_lists(group)) {
            mesh_lists_[group].insert(members);
          } else if (mesh.members(group, rank) != members) {
            return false;
          }
        }
      }
    }
    return true;
  }

  // Ranks of one program use communicators of one family at one place. Where that would put a
  // device into a family twice, those communicators stay apart and the program is split.
  void unite() {
    for (const SharedProgram& shared : programs_) {
      for (const std::uint32_t rank : shared.ranks) {
        for (std::size_t i = 0; i < communicators_[rank].size(); ++i) {
          const std::uint32_t a = communicators_[shared.ranks[0]][i], b = communicators_[rank][i];
          if (a != 0 && b != 0) families_.unite(a, b);
        }
      }
    }
    families_.separate(families_.overlapping_roots());
    std::set<std::uint32_t> used;
    for (const auto& ids : communicators_) used.insert(ids.begin(), ids.end());
    families_.pack_unused(used);
    std::vector<SharedProgram> split;
    for (SharedProgram& shared : programs_) {
      std::map<std::vector<std::uint32_t>, std::vector<std::uint32_t>> by_family;
      for (const std::uint32_t rank : shared.ranks) {
        std::vector<std::uint32_t> roots;
        for (const std::uint32_t id : communicators_[rank]) {
          roots.push_back(id == 0 ? 0 : families_.root(id));
        }
        by_family[roots].push_back(rank);
      }
      for (auto& [roots, ranks] : by_family) {
        split.push_back({shared.program, std::move(ranks)});
        split.back().program.communicators = communicators_[split.back().ranks[0]];
      }
    }
    std::ranges::sort(split, {}, [](const SharedProgram& s) { return s.ranks[0]; });
    programs_ = std::move(split);
  }

  model::WorkloadGraph write() {
    model::WorkloadBuilder workload(name_);
    report_.communicators = static_cast<std::uint32_t>(families_.communicators());
    if (mesh_) {
      mesh_->write(workload, mesh_lists_);
      report_.group_families = static_cast<std::uint32_t>(mesh_->group_count());
    } else {
      const std::uint8_t axis = workload.add_axis("rank", ranks_);
      report_.group_families = static_cast<std::uint32_t>(families_.write(workload, axis));
    }
    report_.programs = static_cast<std::uint32_t>(programs_.size());
    const std::string counting = counting_record(programs_.front().program.counting);
    if (!counting.empty()) workload.record(counting);
    set_training(workload);
    for (const SharedProgram& shared : programs_) {
      Emitter emitter(shared.program, families_, mesh_ ? &*mesh_ : nullptr, ranks_,
                      shared.program.counting,
                      workload,
                      fmt::format("ranks like {}", shared.ranks[0]));
      const std::uint32_t index = emitter.emit(source_.place(shared.ranks[0]));
      report_.program_nodes += shared.program.nodes.size();
      bind(workload, index, shared.ranks);
    }
    return workload.build();
  }

  // Axis 0 is that of all ranks, but in a mesh.
  void bind(model::WorkloadBuilder& workload, std::uint32_t program,
            const std::vector<std::uint32_t>& ranks) const {
    EXAWARP_CHECK(!ranks.empty(), program);
    const auto count = static_cast<std::uint32_t>(ranks.size());
    const bool block = ranks.back() - ranks.front() + 1 == count;
    if (mesh_ && count == ranks_) {
      workload.bind_range(program, {.axis = 0, .first = 0, .count = mesh_->axis_size(0)});
    } else if (block && !mesh_) {
      workload.bind_range(program, {.axis = 0, .first = ranks.front(), .count = count});
    } else {
      workload.bind_devices(program, ranks);
    }
  }

  void set_training(model::WorkloadBuilder& workload) const {
    const std::vector<std::uint64_t>& values = programs_.front().program.training;
    if (values.empty()) return;
    workload.set_training({.tokens_per_step = values[0],
                           .model_flops_per_step = std::bit_cast<double>(values[1]),
                           .parameters = values[2],
                           .sequences_per_step = values[3],
                           .micro_batches = static_cast<std::uint32_t>(values[4]),
                           .steps = static_cast<std::uint32_t>(values[5])});
  }

  const TraceSource& source_;
  const std::string& name_;
  const ChakraImportOptions& options_;
  ChakraImportReport& report_;
  std::uint32_t ranks_;
  CommunicatorFamilies families_;
  std::optional<Mesh> mesh_;
  std::map<std::size_t, Mesh::Lists> mesh_lists_;  // by group
  std::map<Fingerprint, std::size_t> shared_;
  std::vector<SharedProgram> programs_;
  std::vector<std::vector<std::uint32_t>> communicators_;  // by rank
};

}  // namespace

model::WorkloadGraph import_traces(const TraceSource& source, const std::string& name,
                                   const ChakraImportOptions& options,
                                   ChakraImportReport& report) {
  return Importer(source, name, options, report).run();
}

model::WorkloadGraph import_chakra(const std::string& prefix, const ChakraImportOptions& options,
                                   ChakraImportReport& report) {
  return import_traces(trace_files(prefix), prefix, options, report);
}

}  // namespace exawarp::io
