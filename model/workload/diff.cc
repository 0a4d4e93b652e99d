// Compares devices program by program rather than one by one, and each pair of programs once;
// names and numbers that mean the same are resolved before they are compared.
#include "model/workload/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace exawarp::model {
namespace {

class Differ {
 public:
  Differ(const WorkloadGraph& a, const WorkloadGraph& b, std::size_t lines_max)
      : a_(a), b_(b), lines_max_(lines_max) {}

  std::vector<std::string> run() {
    if (a_.device_count() != b_.device_count()) {
      say("devices: {} against {}", a_.device_count(), b_.device_count());
      return lines_;
    }
    for (std::uint32_t device = 0; device < a_.device_count() && !full(); ++device) {
      compare_device(DeviceId{device});
    }
    return lines_;
  }

 private:
  [[nodiscard]] bool full() const { return lines_.size() >= lines_max_; }
  template <class... Values>
  void say(fmt::format_string<Values...> text, Values&&... values) {
    if (!full()) lines_.push_back(fmt::format(text, std::forward<Values>(values)...));
  }

  void compare_device(DeviceId device) {
    const std::uint32_t pa = a_.program_of(device), pb = b_.program_of(device);
    const Program& x = a_.program(pa);
    const Program& y = b_.program(pb);
    const std::size_t before = lines_.size();
    const auto [at, is_new] = compared_.insert({pa, pb});
    if (is_new) compare_programs(device, x, y);
    if (lines_.size() != before || broken_.contains({pa, pb})) {
      broken_.insert({pa, pb});
      return;
    }
    for (std::uint32_t s = 0; s < x.stream_count(); ++s) {
      for (std::uint32_t i = 0; i < x.stream_length(s) && !full(); ++i) {
        compare_partners(device, s, i, x.node(x.node_at(s, i)), y.node(y.node_at(s, i)));
      }
    }
  }

  void compare_programs(DeviceId device, const Program& x, const Program& y) {
    if (x.stream_count() != y.stream_count()) {
      return say("device {}: {} streams against {}", device.value, x.stream_count(),
                 y.stream_count());
    }
    for (std::uint32_t s = 0; s < x.stream_count() && !full(); ++s) {
      if (x.stream_length(s) != y.stream_length(s) ||
          x.stream(s).getKind() != y.stream(s).getKind() || x.stream_name(s) != y.stream_name(s)) {
        say("device {}: stream {} \"{}\" of {} nodes against \"{}\" of {}", device.value, s,
            printable(x.stream_name(s)), x.stream_length(s), printable(y.stream_name(s)),
            y.stream_length(s));
        continue;
      }
      for (std::uint32_t i = 0; i < x.stream_length(s) && !full(); ++i) {
        compare_nodes(device, s, i, x, y);
      }
    }
  }

  using Place = std::pair<std::uint32_t, std::uint32_t>;  // (stream, position)
  static std::vector<Place> dependencies(const Program& program,
                                         const schema::Node::Reader& node) {
    std::vector<Place> places;
    for (std::uint32_t i = 0; i < node.getDependencyCount(); ++i) {
      const auto on = program.node(program.dependency(node, i));
      places.emplace_back(on.getStream(), on.getPosition());
    }
    std::ranges::sort(places);
    return places;
  }

  void compare_nodes(DeviceId device, std::uint32_t s, std::uint32_t i, const Program& x,
                     const Program& y) {
    const schema::Node::Reader m = x.node(x.node_at(s, i)), n = y.node(y.node_at(s, i));
    const auto check = [&](const char* what, std::uint64_t left, std::uint64_t right) {
      if (left != right) {
        say("device {}: stream {} position {}: {} {} against {}", device.value, s, i, what, left,
            right);
      }
    };
    const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
    check("kind", number(m.getKind()), number(n.getKind()));
    check("operation", number(m.getOperation()), number(n.getOperation()));
    check("phase", number(m.getPhase()), number(n.getPhase()));
    check("dataType", number(m.getDataType()), number(n.getDataType()));
    check("place", number(m.getPlace()), number(n.getPlace()));
    check("microBatch", m.getMicroBatch(), n.getMicroBatch());
    check("layer", m.getLayer(), n.getLayer());
    check("flops", m.getFlops(), n.getFlops());
    check("bytesRead", m.getBytesRead(), n.getBytesRead());
    check("bytesWritten", m.getBytesWritten(), n.getBytesWritten());
    check("commBytes", m.getCommBytes(), n.getCommBytes());
    check("durationPs", m.getDurationPs(), n.getDurationPs());
    check("root", m.getRoot(), n.getRoot());
    if (m.getKind() == schema::NodeKind::COLLECTIVE) {
      check("collective", number(m.getCollective()), number(n.getCollective()));
    }
    if (sizes(a_, m) != sizes(b_, n)) {
      say("device {}: stream {} position {}: other sizes", device.value, s, i);
    }
    // Formats that others define have no place for shapes.
    if (m.getShape() != 0 && n.getShape() != 0 && a_.shape_of(m) != b_.shape_of(n)) {
      say("device {}: stream {} position {}: other shape", device.value, s, i);
    }
    if (is_message(m)) check("tag", m.getTag(), n.getTag());
    if (a_.node_name(m) != b_.node_name(n)) {
      say("device {}: stream {} position {}: name \"{}\" against \"{}\"", device.value, s, i,
          printable(a_.node_name(m)), printable(b_.node_name(n)));
    }
    if (dependencies(x, m) != dependencies(y, n)) {
      say("device {}: stream {} position {}: other dependencies", device.value, s, i);
    }
  }

  static std::vector<std::uint64_t> sizes(const WorkloadGraph& graph,
                                          const schema::Node::Reader& node) {
    if (node.getSizes() == 0) return {};
    return graph.size_tables()[node.getSizes() - 1];
  }

  static bool is_message(const schema::Node::Reader& node) {
    return node.getKind() == schema::NodeKind::SEND || node.getKind() == schema::NodeKind::RECEIVE;
  }

  // What depends on the device.
  void compare_partners(DeviceId device, std::uint32_t s, std::uint32_t i,
                        const schema::Node::Reader& m, const schema::Node::Reader& n) {
    if (is_message(m) && a_.peer(m, device) != b_.peer(n, device)) {
      say("device {}: stream {} position {}: peer {} against {}", device.value, s, i,
          a_.peer(m, device).value, b_.peer(n, device).value);
    }
    if (m.getKind() != schema::NodeKind::COLLECTIVE) return;
    const std::uint32_t ga = m.getGroup(), gb = n.getGroup();
    // Equal for one member is equal for all: compared once, at the first.
    const std::uint32_t first = a_.member(ga, device, 0).value;
    if (!groups_.insert({ga, gb, first, b_.member(gb, device, 0).value}).second) return;
    const Membership in = a_.membership(ga, device);
    bool equal = in.size == b_.membership(gb, device).size;
    for (std::uint32_t k = 0; equal && k < in.size; ++k) {
      equal = a_.member(ga, device, k) == b_.member(gb, device, k);
    }
    if (!equal) {
      say("device {}: stream {} position {}: another communicator", device.value, s, i);
    }
  }

  const WorkloadGraph& a_;
  const WorkloadGraph& b_;
  std::size_t lines_max_;
  std::vector<std::string> lines_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> compared_, broken_;  // pairs of programs
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>> groups_;
};

}  // namespace

std::vector<std::string> differences(const WorkloadGraph& a, const WorkloadGraph& b,
                                     std::size_t lines_max) {
  return Differ(a, b, lines_max).run();
}

}  // namespace exawarp::model
