// Makes any workload file safe to run; see validate.h.
//
// Order of the checks: what is counted before what is indexed, what is indexed before what uses it.
// A rule over one axis is checked as the interval it is; only what is listed device by device is
// looked at device by device, and its cost is then the file's own size.
#include "model/workload/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "core/digest.h"
#include "core/error.h"
#include "model/workload/validate_program.h"

namespace exawarp::model {
namespace {

constexpr std::uint32_t kProgramsMax = 1u << 20;
constexpr std::uint32_t kGroupsMax = 1u << 16;
constexpr double kModelFlopsMax = 1e30;  // 10,000 times all of any training run so far

template <class... Values>
[[noreturn]] void refuse(const std::string& place, fmt::format_string<Values...> text,
                         Values&&... values) {
  throw core::InputError(place, fmt::format(text, std::forward<Values>(values)...));
}

template <class List>
void check_count(const std::string& place, const char* what, const List& list,
                 std::uint64_t count_max) {
  if (list.size() > count_max) {
    refuse(place, "{}: too many: {}; expected at most {}", what, list.size(), count_max);
  }
}

void check_axes(const std::string& place, const schema::Workload::Reader& root) {
  const std::uint32_t devices = root.getDeviceCount();
  if (devices == 0 || devices > kDevicesMax) {
    refuse(place, "deviceCount: out of range: {}; expected 1 to {}", devices, kDevicesMax);
  }
  check_count(place, "axes", root.getAxes(), kAxesMax);
  std::uint64_t product = 1;
  std::uint32_t index = 0;
  for (const schema::Axis::Reader axis : root.getAxes()) {
    if (axis.getSize() == 0) {
      refuse(place, "axes[{}] \"{}\": size is 0; expected at least 1", index,
             printable(axis.getName().cStr()));
    }
    product *= axis.getSize();  // both factors fit 32 bits
    if (product > devices) break;
    ++index;
  }
  if (product != devices) {
    refuse(place, "deviceCount: {} is not the product of the axes' sizes; expected {}{}", devices,
           product > devices ? "at least " : "", product);
  }
}

void check_training(const std::string& place, const schema::Training::Reader& training) {
  const double flops = training.getModelFlopsPerStep();
  if (flops >= 0 && flops <= kModelFlopsMax) return;  // false of what is not a number
  refuse(place, "training: modelFlopsPerStep: out of range: {}; expected 0 to {}", flops,
         kModelFlopsMax);
}

void check_header(const WorkloadGraph& graph) {
  const schema::Workload::Reader root = graph.root();
  if (root.getVersion() != schema::FORMAT_VERSION) {
    refuse(graph.place(), "version: not a workload graph of this format: {}; expected {}",
           root.getVersion(), schema::FORMAT_VERSION);
  }
  check_axes(graph.place(), root);
  check_training(graph.place(), root.getTraining());
  check_count(graph.place(), "groups", root.getGroups(), kGroupsMax);
  check_count(graph.place(), "programs", root.getPrograms(), kProgramsMax);
  if (root.getPrograms().size() == 0) {
    refuse(graph.place(), "programs: there is none; expected at least one");
  }
  std::uint32_t index = 0;
  for (const schema::Group::Reader group : root.getGroups()) {
    if (!group.isAxes() && !group.isLists()) {
      refuse(graph.place(), "groups[{}]: neither axes nor lists", index);
    }
    ++index;
  }
  index = 0;
  for (const schema::Binding::Reader binding : root.getBindings()) {
    if (!binding.isRule() && !binding.isDevices()) {
      refuse(graph.place(), "bindings[{}]: neither a rule nor devices", index);
    }
    ++index;
  }
}

void check_group_axes(const WorkloadGraph& graph, const std::string& place,
                      const GroupTable& table) {
  if (table.axes.empty()) refuse(place, "axes: there is none; expected at least one");
  std::uint32_t seen = 0;
  for (const std::uint8_t axis : table.axes) {
    if (axis >= graph.axis_count()) {
      refuse(place, "axes: no such axis: {}; expected less than {}", axis, graph.axis_count());
    }
    if ((seen >> axis & 1u) != 0) refuse(place, "axes: axis {} is listed twice", axis);
    seen |= 1u << axis;
  }
}

void check_group_lists(const WorkloadGraph& graph, const std::string& place,
                       const GroupTable& table) {
  for (std::size_t i = 0; i < table.places.size(); ++i) {
    const GroupTable::Place& at = table.places[i];
    if (at.device >= graph.device_count()) {
      refuse(place, "lists[{}][{}]: no such device: {}; expected less than {}", at.list,
             at.position, at.device, graph.device_count());
    }
    if (i > 0 && table.places[i - 1].device == at.device) {
      refuse(place, "lists[{}][{}]: device {} is listed twice; expected once in all lists", at.list,
             at.position, at.device);
    }
  }
}

std::string group_place(const WorkloadGraph& graph, std::uint32_t group) {
  return fmt::format("{}: groups[{}] \"{}\"", graph.place(), group,
                     printable(graph.group(group).name));
}

void check_size_tables(const WorkloadGraph& graph) {
  for (std::size_t t = 0; t < graph.size_tables().size(); ++t) {
    std::uint64_t sum = 0;
    for (const std::uint64_t bytes : graph.size_tables()[t]) {
      sum += std::min(bytes, kCommBytesMax);
      if (bytes >= kCommBytesMax || sum >= kSizeMax) {
        refuse(graph.place(),
               "sizeTables[{}]: out of range: {}; expected less than {}, less than {} in all", t,
               bytes, kCommBytesMax, kSizeMax);
      }
    }
  }
}

// Of one shape; each in its range.
class ShapeCheck {
 public:
  ShapeCheck(const WorkloadGraph& graph, std::size_t index) : graph_(graph), index_(index) {}

  void operator()(std::monostate) const {}
  void operator()(const GemmShape& gemm) const {
    for (const std::uint64_t size : {gemm.m, gemm.n, gemm.k, gemm.batch}) check(size, 1);
  }
  void operator()(const AttentionShape& a) const {
    for (const std::uint64_t size :
         {a.batch, a.new_tokens, a.heads, a.key_value_heads, a.head_dim, a.value_dim}) {
      check(size, 1);
    }
    for (const std::uint64_t size : {a.past_tokens, a.window}) check(size, 0);
  }
  void operator()(const ExpertShape& e) const {
    for (const std::uint64_t size :
         {e.tokens, e.hidden, e.inner, e.top_k, e.experts, e.tensor, e.expert}) {
      check(size, 1);
    }
  }
  void operator()(const StreamShape& s) const {  // a kernel of a later version is not known: fine
    for (const std::uint64_t size : {s.rows, s.width}) check(size, 1);
  }

 private:
  void check(std::uint64_t size, std::uint64_t least) const {
    if (size >= least && size < kShapeSizeMax) return;
    refuse(graph_.place(), "shapes[{}]: out of range: {}; expected {} or more, less than {}",
           index_, size, least, kShapeSizeMax);
  }
  const WorkloadGraph& graph_;
  std::size_t index_;
};

void check_shapes(const WorkloadGraph& graph) {
  for (std::size_t i = 0; i < graph.shapes().size(); ++i) {
    std::visit(ShapeCheck(graph, i), graph.shapes()[i]);
  }
}

void check_groups(const WorkloadGraph& graph) {
  for (std::uint32_t group = 0; group < graph.group_count(); ++group) {
    const GroupTable& table = graph.group(group);
    const std::string place = group_place(graph, group);
    if (table.by_lists) {
      check_group_lists(graph, place, table);
      const std::size_t lists = table.list_first.size() - 1;
      if (!table.communicators.empty() && table.communicators.size() != lists) {
        refuse(place, "communicators: has {} entries; expected none, or one for each of {} lists",
               table.communicators.size(), lists);
      }
    } else {
      check_group_axes(graph, place, table);
    }
  }
}

void check_ranges(const WorkloadGraph& graph) {
  for (const BoundRange& range : graph.bound_ranges()) {
    if (range.program >= graph.program_count()) {
      refuse(graph.place(), "bindings: no such program: {}; expected less than {}", range.program,
             graph.program_count());
    }
    if (range.axis >= graph.axis_count()) {
      refuse(graph.place(), "bindings: rule over no such axis: {}; expected less than {}",
             range.axis, graph.axis_count());
    }
    const std::uint32_t size = graph.axis_size(range.axis);
    if (range.count == 0 || range.first >= size || range.count > size - range.first) {
      refuse(graph.place(),
             "bindings: rule over axis {}: coordinates {} to {} (exclusive); expected a part of 0 "
             "to {}",
             range.axis, range.first, std::uint64_t{range.first} + range.count, size);
    }
  }
  const std::vector<BoundRange>& ranges = graph.bound_ranges();
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    const BoundRange& before = ranges[i - 1];
    if (before.axis == ranges[i].axis && before.first + before.count > ranges[i].first) {
      refuse(graph.place(),
             "bindings: devices with coordinate {} on axis {} are bound twice: to programs {} and "
             "{}; expected once",
             ranges[i].first, ranges[i].axis, before.program, ranges[i].program);
    }
  }
}

bool rules_are_over_one_axis(const WorkloadGraph& graph) {
  const std::vector<BoundRange>& ranges = graph.bound_ranges();
  return ranges.empty() || ranges.front().axis == ranges.back().axis;
}

void check_listed(const WorkloadGraph& graph) {
  const std::vector<BoundDevice>& listed = graph.bound_devices();
  for (std::size_t i = 0; i < listed.size(); ++i) {
    if (listed[i].program >= graph.program_count()) {
      refuse(graph.place(), "bindings: no such program: {}; expected less than {}",
             listed[i].program, graph.program_count());
    }
    if (listed[i].device >= graph.device_count()) {
      refuse(graph.place(), "bindings: no such device: {}; expected less than {}", listed[i].device,
             graph.device_count());
    }
    if (i > 0 && listed[i].device == listed[i - 1].device) {
      refuse(graph.place(),
             "bindings: device {} is bound twice: to programs {} and {}; expected "
             "once",
             listed[i].device, listed[i - 1].program, listed[i].program);
    }
  }
}

// Rules over two or more axes always overlap: (c1, *) meets (*, c2).
void check_rule_axes(const WorkloadGraph& graph) {
  if (rules_are_over_one_axis(graph)) return;
  const BoundRange& a = graph.bound_ranges().front();
  const BoundRange& b = graph.bound_ranges().back();
  refuse(graph.place(),
         "bindings: devices with coordinate {} on axis {} and {} on axis {} are bound twice; "
         "expected rules over one axis",
         a.first, a.axis, b.first, b.axis);
}

// The program a rule binds `device` to. Requires sound rules, over one axis.
std::uint32_t rule_of(const WorkloadGraph& graph, std::uint32_t device) {
  const std::vector<BoundRange>& ranges = graph.bound_ranges();
  const std::uint32_t here = graph.coordinate({device}, ranges.front().axis);
  const auto after = std::upper_bound(
      ranges.begin(), ranges.end(), here,
      [](std::uint32_t value, const BoundRange& range) { return value < range.first; });
  if (after == ranges.begin()) return kNoProgram;
  const BoundRange& range = *(after - 1);
  return here - range.first < range.count ? range.program : kNoProgram;
}

void check_bound_once(const WorkloadGraph& graph) {
  check_ranges(graph);
  check_rule_axes(graph);
  check_listed(graph);
  const std::vector<BoundRange>& ranges = graph.bound_ranges();
  std::uint64_t bound = graph.bound_devices().size();
  for (const BoundRange& range : ranges) {
    bound += std::uint64_t{graph.device_count() / graph.axis_size(range.axis)} * range.count;
  }
  for (const BoundDevice& at : graph.bound_devices()) {
    const std::uint32_t by_rule = ranges.empty() ? kNoProgram : rule_of(graph, at.device);
    if (by_rule == kNoProgram) continue;
    refuse(graph.place(),
           "bindings: device {} is bound twice: by list to program {} and by rule to program {}; "
           "expected once",
           at.device, at.program, by_rule);
  }
  if (bound == graph.device_count()) return;
  std::uint32_t device = 0;  // none is bound twice, so some device is not bound
  while (graph.program_of({device}) != kNoProgram) ++device;
  refuse(graph.place(), "bindings: device {} is bound to no program; expected each device once",
         device);
}

// Every device that runs a collective on a group by lists is in it.
void check_list_membership(const WorkloadGraph& graph, const ProgramTables& tables) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> members;  // (group, program)
  for (std::uint32_t group = 0; group < graph.group_count(); ++group) {
    for (const std::uint32_t device : graph.group(group).members) {
      ++members[{group, graph.program_of({device})}];
    }
  }
  for (std::uint32_t p = 0; p < graph.program_count(); ++p) {
    for (const auto& [group, use] : tables.uses[p]) {
      if (!graph.group(group).by_lists) continue;
      const auto found = members.find({group, p});
      const std::uint64_t inside = found == members.end() ? 0 : found->second;
      if (inside == tables.devices[p]) continue;
      refuse(program_place(graph, p),
             "runs collectives on group {}, which has {} of the {} devices of the program; "
             "expected all",
             group, inside, tables.devices[p]);
    }
  }
}

// All members of a communicator run the same collectives on it, in the same order: the programs
// `a` and `b` meet in a communicator of `group`.
void check_same(const WorkloadGraph& graph, const ProgramTables& tables, std::uint32_t group,
                std::uint32_t a, std::uint32_t b) {
  if (a == b) return;
  const auto of = [&](std::uint32_t p) {
    const auto found = tables.uses[p].find(group);
    return found == tables.uses[p].end() ? GroupUse{} : found->second;
  };
  if (of(a).hash == of(b).hash && of(a).count == of(b).count) return;
  refuse(program_place(graph, b),
         "runs {} collectives on group {}, which differ in number, order, type or size from the "
         "{} of programs[{}], a member of the same communicator; expected the same",
         of(b).count, group, of(a).count, a);
}

// Rules lie along one axis, so along a communicator all of them meet, or none.
void check_collectives_of_rules(const WorkloadGraph& graph, const ProgramTables& tables,
                                std::uint32_t group) {
  const std::vector<BoundRange>& ranges = graph.bound_ranges();
  const GroupTable& table = graph.group(group);
  if (std::find(table.axes.begin(), table.axes.end(), ranges.front().axis) == table.axes.end()) {
    return;
  }
  for (const BoundRange& range : ranges) {
    check_same(graph, tables, group, ranges.front().program, range.program);
  }
}

void check_collectives_of_lists(const WorkloadGraph& graph, const ProgramTables& tables,
                                std::uint32_t group) {
  const GroupTable& table = graph.group(group);
  for (std::size_t list = 0; list + 1 < table.list_first.size(); ++list) {
    for (std::uint32_t i = table.list_first[list] + 1; i < table.list_first[list + 1]; ++i) {
      check_same(graph, tables, group, graph.program_of({table.members[i - 1]}),
                 graph.program_of({table.members[i]}));
    }
  }
}

// Where devices are bound one by one: each device against its communicator's first member.
void check_collectives_of_devices(const WorkloadGraph& graph, const ProgramTables& tables,
                                  std::uint32_t group) {
  for (std::uint32_t device = 0; device < graph.device_count(); ++device) {
    const DeviceId first = graph.member(group, {device}, 0);
    check_same(graph, tables, group, graph.program_of(first), graph.program_of({device}));
  }
}

void check_collectives(const WorkloadGraph& graph, const ProgramTables& tables) {
  constexpr std::uint64_t kComparisonsMax = 1ull << 30;
  check_list_membership(graph, tables);
  std::vector<bool> used(graph.group_count());
  for (const auto& uses : tables.uses) {
    for (const auto& [group, use] : uses) used[group] = true;
  }
  const bool by_rules = graph.bound_devices().empty();
  const std::uint64_t each = by_rules ? graph.bound_ranges().size() : graph.device_count();
  const auto groups = static_cast<std::uint64_t>(std::count(used.begin(), used.end(), true));
  if (groups * each > kComparisonsMax) {
    refuse(graph.place(),
           "groups: {} in use by {} bindings are too many to check; expected at "
           "most {} in all",
           groups, each, kComparisonsMax);
  }
  for (std::uint32_t group = 0; group < graph.group_count(); ++group) {
    if (!used[group]) continue;
    if (graph.group(group).by_lists) {
      check_collectives_of_lists(graph, tables, group);
    } else if (by_rules) {
      check_collectives_of_rules(graph, tables, group);
    } else {
      check_collectives_of_devices(graph, tables, group);
    }
  }
}

ProgramTables make_tables(const WorkloadGraph& graph) {
  ProgramTables tables;
  tables.uses.resize(graph.program_count());
  tables.devices.resize(graph.program_count());
  tables.spans.resize(graph.program_count());
  const auto widen = [&](std::uint32_t program, std::uint32_t axis, std::uint32_t first,
                         std::uint32_t last) {
    CoordinateSpan& span = tables.spans[program][axis];
    span.first = std::min(span.first, first);
    span.last = std::max(span.last, last);
  };
  for (const BoundRange& range : graph.bound_ranges()) {
    tables.devices[range.program] +=
        std::uint64_t{graph.device_count() / graph.axis_size(range.axis)} * range.count;
    for (std::uint32_t axis = 0; axis < graph.axis_count(); ++axis) {
      const bool along = axis == range.axis;
      widen(range.program, axis, along ? range.first : 0,
            along ? range.first + range.count - 1 : graph.axis_size(axis) - 1);
    }
  }
  for (const BoundDevice& at : graph.bound_devices()) {
    ++tables.devices[at.program];
    for (std::uint32_t axis = 0; axis < graph.axis_count(); ++axis) {
      const std::uint32_t here = graph.coordinate({at.device}, axis);
      widen(at.program, axis, here, here);
    }
  }
  return tables;
}

}  // namespace

void validate(WorkloadGraph& graph) {
  decoding(graph.place(), [&graph] { check_header(graph); });
  graph.index();
  decoding(graph.place(), [&graph] {
    check_groups(graph);
    check_size_tables(graph);
    check_shapes(graph);
    check_bound_once(graph);
    ProgramTables tables = make_tables(graph);
    for (std::uint32_t p = 0; p < graph.program_count(); ++p) check_program(graph, p, tables);
    check_collectives(graph, tables);
  });
}

}  // namespace exawarp::model
