#include "model/sample/draw.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "core/check.h"
#include "core/random.h"
#include "model/workload/builder.h"
#include "model/workload/validate.h"

namespace exawarp::model {
namespace {

using schema::NodeKind;

// What is communicated needs no watching.
static_assert(std::uint64_t{kSampleNodesMax} * (kCommBytesMax - 1) < kSizeMax);

class Draws {
 public:
  explicit Draws(std::uint64_t stream) : stream_(stream) {}
  double uniform() { return core::unit_interval(core::random_bits(stream_, count_++)); }
  std::size_t below(std::size_t n) {  // n is small beside 2^64
    return static_cast<std::size_t>(core::random_bits(stream_, count_++) % n);
  }

 private:
  std::uint64_t stream_, count_ = 0;
};

// What the draws of one graph are for.
enum Purpose : std::uint64_t { kWhich, kStructure, kCosts, kMirroredCosts };
Draws draws_for(const SampleRequest& request, std::uint64_t index, Purpose purpose) {
  return Draws(core::stream_of(request.seed, index, purpose));
}

// Evenly spaced points on the line of all weights, from a random start.
const ProgramModel& choose(const SampleModel& model, const SampleRequest& request,
                           std::uint32_t index) {
  const double start = draws_for(request, 0, kWhich).uniform();
  double left = (start + index) / request.count;
  for (const ProgramModel& program : model.programs) {
    left -= program.weight;
    if (left < 0) return program;
  }
  return model.programs.back();
}

// The structure that both programs of a graph have.
struct DrawnNode {
  std::uint32_t sort = 0;
  std::vector<std::uint32_t> after;  // dependencies
  std::uint64_t message_bytes = 0;   // send, receive
};

class StructureDraw {
 public:
  StructureDraw(const ProgramModel& like, Draws draws) : like_(like), draws_(draws) {}

  std::vector<DrawnNode> run(std::uint32_t nodes) {
    std::vector<DrawnNode> drawn;
    drawn.reserve(nodes);
    issued_.resize(like_.streams.size());
    std::uint32_t last = kNoSort, before_last = kNoSort;
    for (std::uint64_t i = 0; i < nodes; ++i) {
      const auto segment = static_cast<std::uint32_t>(i * kSegments / nodes);
      const std::vector<std::uint32_t>& next = like_.steps_after(segment, last, before_last);
      const Step step = like_.steps[next[draws_.below(next.size())]];
      drawn.push_back(node_of(step));
      issued_[like_.sorts[step.sort].stream].push_back(static_cast<std::uint32_t>(i));
      before_last = last;
      last = step.sort;
    }
    return drawn;
  }

 private:
  DrawnNode node_of(const Step& step) {
    DrawnNode node{.sort = step.sort, .after = {}};
    for (const Lag& lag : like_.lags[step.lags]) {
      const std::vector<std::uint32_t>& stream = issued_[lag.stream];
      if (lag.back < stream.size()) node.after.push_back(stream[stream.size() - 1 - lag.back]);
    }
    const double rank = draws_.uniform(), place = draws_.uniform();
    node.message_bytes = like_.costs[step.sort].comm_bytes.draw(rank, place);
    return node;
  }

  const ProgramModel& like_;
  Draws draws_;
  std::vector<std::vector<std::uint32_t>> issued_;  // nodes, by stream
};

bool has_messages(const ProgramModel& like) {
  return std::ranges::any_of(like.sorts, [](const NodeSort& sort) {
    return sort.kind == NodeKind::SEND || sort.kind == NodeKind::RECEIVE;
  });
}

// As many as the graph that it is like has. Where messages need pairs, about as many: each half of
// the devices is a multiple of all groups that fit it, as far as there is one of that size.
std::uint32_t usual_ranks(const ProgramModel& like) {
  if (!has_messages(like)) return std::min(like.devices, kSampleRanksMax);
  const std::uint64_t half = (std::uint64_t{like.devices} + 1) / 2;
  std::uint64_t multiple = 1;
  for (const NodeSort& sort : like.sorts) {
    if (sort.members == 0 || sort.members > half) continue;
    const std::uint64_t both = std::lcm(multiple, sort.members);
    if (both <= half) multiple = both;
  }
  const std::uint64_t replicas = (half + multiple / 2) / multiple * multiple;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(2 * replicas, kSampleRanksMax));
}

// The divisor of `total` that is nearest to `members` by ratio; the lower of two.
std::uint32_t nearest_divisor(std::uint32_t total, std::uint32_t members) {
  std::uint32_t best = 1;
  double best_distance = std::abs(std::log2(members));
  for (std::uint32_t d = 2; d <= total; ++d) {
    if (total % d != 0) continue;
    const double distance = std::abs(std::log2(d) - std::log2(members));
    if (distance < best_distance) best = d, best_distance = distance;
  }
  return best;
}

class SampleWriter {
 public:
  SampleWriter(const ProgramModel& like, std::uint32_t ranks, std::uint32_t index)
      : like_(like), mirrored_(has_messages(like) && ranks % 2 == 0),
        replicas_(mirrored_ ? ranks / 2 : ranks), workload_("sample " + std::to_string(index)) {
    workload_.add_axis("replica", replicas_);
    if (mirrored_) workload_.add_axis("side", 2);
    for (const NodeSort& sort : like.sorts) {
      groups_.push_back(sort.kind == NodeKind::COLLECTIVE ? group_of(sort) : Communicator{});
    }
  }

  WorkloadGraph write(const std::vector<DrawnNode>& nodes, const SampleRequest& request,
                      std::uint32_t index) {
    write_program(nodes, draws_for(request, index, kCosts), 0);
    if (mirrored_) write_program(nodes, draws_for(request, index, kMirroredCosts), 1);
    WorkloadGraph graph = workload_.build();
    validate(graph);
    return graph;
  }

 private:
  struct Communicator {
    std::uint16_t group = 0;
    std::uint32_t members = 1;
  };

  // Collectives of a family share a stream, as validate() asks.
  Communicator group_of(const NodeSort& sort) {
    const std::uint32_t members = nearest_divisor(replicas_, std::max(sort.members, 1u));
    const auto [at, is_new] = families_.try_emplace({sort.stream, members, sort.spread});
    if (is_new) {
      const std::string name = "group " + std::to_string(families_.size());
      at->second = {workload_.add_group_lists(name, lists(members, sort.spread)), members};
    }
    return at->second;
  }

  [[nodiscard]] std::vector<std::vector<std::uint32_t>> lists(std::uint32_t members,
                                                              bool spread) const {
    const std::uint32_t groups = replicas_ / members;
    std::vector<std::vector<std::uint32_t>> lists;
    for (std::uint32_t side = 0; side < (mirrored_ ? 2u : 1u); ++side) {
      for (std::uint32_t g = 0; g < groups; ++g) {
        std::vector<std::uint32_t>& list = lists.emplace_back();
        for (std::uint32_t m = 0; m < members; ++m) {
          list.push_back(side * replicas_ + (spread ? g + m * groups : g * members + m));
        }
      }
    }
    return lists;
  }

  void write_program(const std::vector<DrawnNode>& nodes, Draws draws, std::uint32_t side) {
    ProgramBuilder& program = workload_.add_program("program " + std::to_string(side));
    for (std::size_t s = 0; s < like_.streams.size(); ++s) {
      program.add_stream("stream " + std::to_string(s), like_.streams[s]);
    }
    flops_ = bytes_read_ = bytes_written_ = duration_ps_ = kSizeMax - 1;
    for (const DrawnNode& node : nodes) {
      program.add_node(fields(node, draws, side, program.node_count()), node.after);
    }
    const auto axis = static_cast<std::uint8_t>(mirrored_ ? 1 : 0);
    workload_.bind_range(program.index(), {.axis = axis, .first = mirrored_ ? side : 0,
                                           .count = mirrored_ ? 1 : replicas_});
  }

  // What is left of the sum that a program may have.
  static std::uint64_t taken(std::uint64_t& left, std::uint64_t value) {
    value = std::min(value, left);
    left -= value;
    return value;
  }

  NodeFields fields(const DrawnNode& drawn, Draws& draws, std::uint32_t side, std::uint32_t index) {
    const NodeSort& sort = like_.sorts[drawn.sort];
    const SortCosts& costs = like_.costs[drawn.sort];
    NodeFields out{.kind = sort.kind, .stream = sort.stream, .operation = sort.operation,
                   .phase = sort.phase, .data_type = sort.data_type, .place = sort.place};
    const double rank = draws.uniform();
    const auto draw = [&](const Costs& from, std::uint64_t& left) {
      return taken(left, from.draw(rank, draws.uniform()));
    };
    out.flops = draw(costs.flops, flops_);
    out.bytes_read = draw(costs.bytes_read, bytes_read_);
    out.bytes_written = draw(costs.bytes_written, bytes_written_);
    const std::uint64_t comm_bytes = costs.comm_bytes.draw(rank, draws.uniform());
    const std::uint64_t duration_ps = draw(costs.duration_ps, duration_ps_);
    if (sort.timed) out.duration_ps = duration_ps;
    if (sort.kind == NodeKind::COLLECTIVE) {
      const Communicator& group = groups_[drawn.sort];
      out.collective = sort.collective;
      out.group = group.group;
      const bool shifts = sort.collective == schema::CollectiveType::PERMUTE && group.members > 1;
      out.root = shifts ? 1 : 0;
      out.comm_bytes = std::min(comm_bytes, kCommBytesMax - 1);
    } else if (sort.kind == NodeKind::SEND || sort.kind == NodeKind::RECEIVE) {
      write_message(out, drawn.message_bytes, side, index);
    }
    return out;
  }

  void write_message(NodeFields& out, std::uint64_t bytes, std::uint32_t side,
                     std::uint32_t index) {
    if (!mirrored_) {
      out = NodeFields{.kind = NodeKind::MARKER, .stream = out.stream, .phase = out.phase};
      return;
    }
    const bool sends = (out.kind == NodeKind::SEND) == (side == 0);
    out.kind = sends ? NodeKind::SEND : NodeKind::RECEIVE;
    out.peer_axis = 1;
    out.peer = side == 0 ? 1 : -1;
    out.tag = index;  // one of its own, so that streams may pass each other
    out.comm_bytes = std::min(bytes, kCommBytesMax - 1);
  }

  const ProgramModel& like_;
  bool mirrored_;
  std::uint32_t replicas_;  // devices of a program
  WorkloadBuilder workload_;
  std::map<std::tuple<std::uint8_t, std::uint32_t, bool>, Communicator> families_;
  std::vector<Communicator> groups_;  // by sort
  std::uint64_t flops_ = 0, bytes_read_ = 0, bytes_written_ = 0, duration_ps_ = 0;  // left
};

}  // namespace

WorkloadGraph draw_sample(const SampleModel& model, const SampleRequest& request,
                          std::uint32_t index) {
  EXAWARP_CHECK(!model.programs.empty() && index < request.count, index, request.count);
  const ProgramModel& like = choose(model, request, index);
  Draws draws = draws_for(request, index, kStructure);
  // Within an eighth of an octave of the number that it is like.
  const double octaves = (2 * draws.uniform() - 1) / 8;
  const double near = std::round(like.nodes * std::exp2(octaves));
  const std::uint32_t nodes = request.nodes.value_or(
      static_cast<std::uint32_t>(std::clamp(near, 1.0, double{kSampleNodesMax})));
  const std::uint32_t ranks = request.ranks.value_or(usual_ranks(like));
  SampleWriter writer(like, ranks, index);
  return writer.write(StructureDraw(like, draws).run(nodes), request, index);
}

}  // namespace exawarp::model
