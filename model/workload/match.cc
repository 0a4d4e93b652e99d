// Sends and receives that cannot meet: find_unmatched() of validate.h.
//
// A message is matched by (sender, receiver, tag), in posted order, so what must agree is, for each
// such triple, how many are sent and received and how many bytes they carry in all. Devices of one
// program send the same, so the question is asked once for each pair of programs: a rule's interval
// of coordinates, moved by the peer's offset, falls on the intervals of the programs that receive.
// Devices bound by list are followed one by one, but only to learn which programs meet. Only where
// a peer is an absolute device are messages themselves counted device by device.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "model/workload/validate.h"

namespace exawarp::model {
namespace {

// One end of messages, as a program writes it.
struct End {
  bool is_send;
  std::uint32_t tag;
  std::uint8_t axis;
  std::int32_t peer;
  friend constexpr auto operator<=>(const End&, const End&) = default;
};
struct Amount {
  std::uint64_t count = 0, bytes = 0;
  friend constexpr bool operator==(const Amount&, const Amount&) = default;
  void add(const Amount& other) { count += other.count, bytes += other.bytes; }
};
using Ends = std::map<End, Amount>;
using Offset = std::pair<std::uint8_t, std::int32_t>;  // (axis, peer)

class Matcher {
 public:
  Matcher(const WorkloadGraph& graph, std::size_t findings_max)
      : graph_(graph), findings_max_(findings_max) {
    ends_.reserve(graph.program_count());
    offsets_.resize(graph.program_count());
    for (std::uint32_t p = 0; p < graph.program_count(); ++p) {
      ends_.push_back(ends_of(p));
      for (const auto& [end, amount] : ends_[p]) offsets_[p].insert({end.axis, end.peer});
    }
  }

  std::vector<std::string> run() {
    if (has_absolute_) {
      for (std::uint32_t device = 0; device < graph_.device_count(); ++device) {
        match_device({device});
      }
    } else {
      if (graph_.bound_devices().empty()) {
        for (const BoundRange& range : graph_.bound_ranges()) meet_range(range);
      } else {
        meet_devices();
      }
      match_programs();
    }
    if (found_ > findings_.size()) {
      findings_.push_back(fmt::format("... and {} more", found_ - findings_.size()));
    }
    return std::move(findings_);
  }

 private:
  Ends ends_of(std::uint32_t program);
  void meet_range(const BoundRange& range);
  void meet_devices();
  void match_programs();
  void match_device(DeviceId device);
  [[nodiscard]] Amount opposite(const End& end, DeviceId device, DeviceId peer) const;
  void report(std::uint32_t program, std::uint32_t peer_program, const End& end, const Amount& here,
              const Amount& there);
  [[nodiscard]] std::string show(std::uint32_t program) const {
    return fmt::format("programs[{}] \"{}\"", program, printable(graph_.program(program).name()));
  }

  const WorkloadGraph& graph_;
  std::size_t findings_max_;
  std::vector<Ends> ends_;                 // by program
  std::vector<std::set<Offset>> offsets_;  // by program: of its peers
  std::set<std::tuple<std::uint32_t, Offset, std::uint32_t>>
      meetings_;  // (program, offset, peer's)
  bool has_absolute_ = false;
  std::map<std::tuple<std::uint32_t, std::uint32_t, End>, bool> reported_;
  std::vector<std::string> findings_;
  std::size_t found_ = 0;
};

Ends Matcher::ends_of(std::uint32_t program) {
  Ends ends;
  const Program& nodes = graph_.program(program);
  for (std::uint32_t i = 0; i < nodes.node_count(); ++i) {
    const schema::Node::Reader node = nodes.node(i);
    const bool is_send = node.getKind() == schema::NodeKind::SEND;
    if (!is_send && node.getKind() != schema::NodeKind::RECEIVE) continue;
    has_absolute_ |= node.getPeerAxis() == schema::NO_AXIS;
    ends[{is_send, node.getTag(), node.getPeerAxis(), node.getPeer()}].add(
        {1, node.getCommBytes()});
  }
  return ends;
}

// Rules are over one axis, and validation leaves offsets along no other one: each would leave it.
void Matcher::meet_range(const BoundRange& range) {
  const std::vector<BoundRange>& ranges = graph_.bound_ranges();
  for (const Offset& offset : offsets_[range.program]) {
    const std::uint32_t first = range.first + static_cast<std::uint32_t>(offset.second);
    auto at = std::upper_bound(
        ranges.begin(), ranges.end(), first,
        [](std::uint32_t value, const BoundRange& other) { return value < other.first; });
    for (--at; at != ranges.end() && at->first < first + range.count; ++at) {
      meetings_.insert({range.program, offset, at->program});
    }
  }
}

void Matcher::meet_devices() {
  for (std::uint32_t device = 0; device < graph_.device_count(); ++device) {
    const std::uint32_t program = graph_.program_of({device});
    for (const Offset& offset : offsets_[program]) {
      const DeviceId peer = graph_.shifted({device}, offset.first, offset.second);
      meetings_.insert({program, offset, graph_.program_of(peer)});
    }
  }
}

// Two devices differ by one offset at most, along one axis, so a program's messages to a peer are
// those with that offset.
void Matcher::match_programs() {
  for (std::uint32_t program = 0; program < graph_.program_count(); ++program) {
    for (const auto& [end, amount] : ends_[program]) {
      const Offset offset{end.axis, end.peer};
      for (auto at = meetings_.lower_bound({program, offset, 0});
           at != meetings_.end() && std::get<0>(*at) == program && std::get<1>(*at) == offset;
           ++at) {
        const Ends& theirs = ends_[std::get<2>(*at)];
        const auto found = theirs.find({!end.is_send, end.tag, end.axis, -end.peer});
        const Amount there = found == theirs.end() ? Amount{} : found->second;
        report(program, std::get<2>(*at), end, amount, there);
      }
    }
  }
}

// What `peer` posts for `device` with the tag of `end` and the other direction: by its number, or
// by the one offset along each axis that leads to it.
Amount Matcher::opposite(const End& end, DeviceId device, DeviceId peer) const {
  const Ends& theirs = ends_[graph_.program_of(peer)];
  Amount sum;
  const auto add = [&](std::uint8_t axis, std::int32_t offset) {
    const auto found = theirs.find({!end.is_send, end.tag, axis, offset});
    if (found != theirs.end()) sum.add(found->second);
  };
  add(schema::NO_AXIS, static_cast<std::int32_t>(device.value));
  const std::int64_t distance = std::int64_t{device.value} - peer.value;
  for (std::uint32_t axis = 0; axis < graph_.axis_count(); ++axis) {
    const std::int64_t stride = graph_.axis_stride(axis);
    if (distance % stride != 0) continue;
    add(static_cast<std::uint8_t>(axis), static_cast<std::int32_t>(distance / stride));
  }
  return sum;
}

void Matcher::match_device(DeviceId device) {
  const std::uint32_t program = graph_.program_of(device);
  std::map<std::tuple<bool, std::uint32_t, DeviceId>, std::pair<End, Amount>> sums;
  for (const auto& [end, amount] : ends_[program]) {
    const DeviceId peer = graph_.shifted(device, end.axis, end.peer);
    auto& [first_end, sum] = sums[{end.is_send, end.tag, peer}];
    if (sum.count == 0) first_end = end;
    sum.add(amount);
  }
  for (const auto& [key, entry] : sums) {
    const DeviceId peer = std::get<2>(key);
    report(program, graph_.program_of(peer), entry.first, entry.second,
           opposite(entry.first, device, peer));
  }
}

void Matcher::report(std::uint32_t program, std::uint32_t peer_program, const End& end,
                     const Amount& here, const Amount& there) {
  if (here == there) return;
  if (!end.is_send && there.count > 0) return;  // the sender's side tells it
  if (!reported_.try_emplace({program, peer_program, end}, true).second) return;
  ++found_;
  if (findings_.size() >= findings_max_) return;
  findings_.push_back(fmt::format(
      "{} {} {} message(s), {} bytes in all, {} {} with tag {}; the peer {} {} of them, {} bytes",
      show(program), end.is_send ? "sends" : "receives", here.count, here.bytes,
      end.is_send ? "to" : "from", show(peer_program), end.tag, end.is_send ? "receives" : "sends",
      there.count, there.bytes));
}

}  // namespace

std::vector<std::string> find_unmatched(const WorkloadGraph& graph, std::size_t findings_max) {
  return Matcher(graph, findings_max).run();
}

}  // namespace exawarp::model
