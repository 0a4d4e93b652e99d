#include "model/device/supported.h"

#include <fmt/core.h>

#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/digest.h"
#include "core/error.h"
#include "model/collective/ring.h"
#include "model/device/program_table.h"

namespace exawarp::model {
namespace {

constexpr std::size_t kChannelNumbersMax = 65'536;  // they travel in 16 bits

const char* collective_name(schema::CollectiveType type) {
  switch (type) {
    case schema::CollectiveType::ALL_TO_ALL: return "all-to-all";
    case schema::CollectiveType::BROADCAST: return "broadcast";
    case schema::CollectiveType::REDUCE: return "reduce";
    default: return "unknown";
  }
}

std::string program_place(const WorkloadGraph& graph, std::uint32_t program) {
  return fmt::format("{}: programs[{}] \"{}\"", graph.place(), program,
                     graph.program(program).reader().getName().cStr());
}

// Per program and group: a hash of the collectives it runs there, stream by stream, in order.
// Streams count by their rank among those that use the group, not by their index.
using Signatures = std::vector<std::map<std::uint32_t, std::uint64_t>>;

class Checker {
 public:
  explicit Checker(const WorkloadGraph& graph) : graph_(graph) {}

  void run() {
    for (std::uint32_t p = 0; p < graph_.program_count(); ++p) check_program(p);
    check_groups();
  }

 private:
  void check_program(std::uint32_t p) {
    const Program& program = graph_.program(p);
    if (program.stream_count() > kStreamSlotsMax) {
      throw core::InputError(program_place(graph_, p),
                             fmt::format("streams: {}; expected at most {}",
                                         program.stream_count(), kStreamSlotsMax));
    }
    std::map<std::uint32_t, core::Hasher> hashes;   // by group
    std::map<std::uint32_t, std::uint32_t> ranks;   // streams that use the group so far
    std::size_t channels = 0;
    receivers_.clear();
    for (std::uint32_t s = 0; s < program.stream_count(); ++s) {
      std::set<std::uint32_t> groups_here;
      const std::uint32_t length = program.stream_length(s);
      for (std::uint32_t i = 0; i < length; ++i) {
        const std::uint32_t index = program.node_at(s, i);
        const auto node = program.node(index);
        if (node.getKind() == schema::NodeKind::RECEIVE) check_receive(p, index, node);
        if (node.getKind() != schema::NodeKind::COLLECTIVE) continue;
        check_collective(p, index, node);
        const std::uint32_t group = node.getGroup();
        if (groups_here.insert(group).second) {
          all_channels_.insert({ranks[group]++, group});
          ++channels;
        }
        core::Hasher& hash = hashes[group];
        hash.word(std::uint64_t{ranks[group]} << 32 |
                  static_cast<std::uint64_t>(node.getCollective()));
        hash.word(node.getCommBytes());
      }
    }
    if (channels > kChannelSlotsMax || all_channels_.size() > kChannelNumbersMax) {
      throw core::InputError(
          program_place(graph_, p),
          fmt::format("too many pairs of a stream and a group it runs collectives in: {}, {} with "
                      "the programs before; expected at most {} and {}",
                      channels, all_channels_.size(), kChannelSlotsMax,
                      kChannelNumbersMax));
    }
    auto& signatures = signatures_.emplace_back();
    for (const auto& [group, hash] : hashes) signatures[group] = hash.value();
  }

  void check_collective(std::uint32_t p, std::uint32_t index, const schema::Node::Reader& node) {
    if (ring_supports(node.getCollective())) return;
    throw core::InputError(
        node_place(graph_, p, index),
        fmt::format("collective that network fidelity \"message\" does not run yet: \"{}\"; "
                    "expected all-reduce, reduce-scatter, all-gather or barrier",
                    collective_name(node.getCollective())));
  }

  void check_receive(std::uint32_t p, std::uint32_t index, const schema::Node::Reader& node) {
    const auto [it, fresh] = receivers_.try_emplace(
        {node.getPeerAxis(), node.getPeer(), node.getTag()}, node.getStream());
    if (fresh || it->second == node.getStream()) return;
    throw core::InputError(
        node_place(graph_, p, index),
        fmt::format("receives from a peer and with a tag that stream {} receives too, so which "
                    "message is whose is open: tag {}; expected another tag",
                    it->second, node.getTag()));
  }

  // Members of one communicator must agree. Only where programs differ are devices looked at.
  void check_groups() {
    const std::uint32_t groups = graph_.root().getGroups().size();
    for (std::uint32_t g = 0; g < groups; ++g) {
      if (all_agree(g)) continue;
      for (std::uint32_t d = 0; d < graph_.device_count(); ++d) {
        if (graph_.membership(g, DeviceId{d}).size == 1) continue;
        const DeviceId first = graph_.member(g, DeviceId{d}, 0);
        const std::uint32_t mine = graph_.program_of(DeviceId{d});
        const std::uint32_t other = graph_.program_of(first);
        if (signature(mine, g) == signature(other, g)) continue;
        throw core::InputError(
            program_place(graph_, mine),
            fmt::format("runs other collectives in group \"{}\" than program \"{}\": devices {} "
                        "and {} are in one group; expected the same types and sizes in the same "
                        "order, split over streams in the same way",
                        graph_.root().getGroups()[g].getName().cStr(),
                        graph_.program(other).reader().getName().cStr(), d, first.value));
      }
    }
  }

  [[nodiscard]] std::uint64_t signature(std::uint32_t program, std::uint32_t group) const {
    const auto it = signatures_[program].find(group);
    return it == signatures_[program].end() ? 0 : it->second;
  }

  [[nodiscard]] bool all_agree(std::uint32_t group) const {
    for (std::uint32_t p = 1; p < graph_.program_count(); ++p) {
      if (signature(p, group) != signature(0, group)) return false;
    }
    return true;
  }

  const WorkloadGraph& graph_;
  Signatures signatures_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> all_channels_;
  std::map<std::tuple<std::uint32_t, std::int32_t, std::uint32_t>, std::uint32_t> receivers_;
};

}  // namespace

std::string node_place(const WorkloadGraph& graph, std::uint32_t program, std::uint32_t node) {
  std::string place = fmt::format("{} nodes[{}]", program_place(graph, program), node);
  const std::string name = graph.node_name(graph.program(program).node(node));
  if (!name.empty()) place += fmt::format(" \"{}\"", name);
  return place;
}

void check_supported(const WorkloadGraph& graph) { Checker(graph).run(); }

}  // namespace exawarp::model
