// Joining a trace with its profile.
//
// A function of the profile is a node of the trace when both have one record function id; in older
// profiles, which have none, the k-th event of a name is the k-th node of that name. A kernel
// belongs to the node that launched it: the one with its external id, or the innermost one on whose
// thread the call of the runtime with the kernel's correlation id lies.
//
// Order. Nodes of a thread follow one another, in the order of their ids, which is that of their
// calls. A node also follows the last writer, on another thread, of a storage that it reads. What
// the device does follows its launch and what its stream did before; after the host waited for a
// transfer, kernels that it launches on other streams follow that transfer; after a call that
// synchronises, the thread's next node follows what the device had done by the call's end. The
// device's nodes are ordered by their launchers, so every dependency points to an earlier launch
// and no cycle can arise, whatever a damaged profile says.
#include "io/formats/pytorch/join_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/error.h"
#include "io/formats/chakra/attributes.h"

namespace exawarp::io::pytorch {
namespace {

using core::InputError;

constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

struct DeviceNode {
  const KinetoEvent* event;
  std::size_t launcher;  // into the trace's nodes; kNobody: not known
  std::uint64_t id = 0;
  std::size_t transfer = kNobody;  // the host node that announces it
};

chakra::Attribute& add(chakra::Node& node, const char* name) {
  chakra::Attribute& attribute = *node.add_attr();
  attribute.set_name(name);
  return attribute;
}

void set_duration(std::int64_t duration_ns, chakra::Node& node) {
  if (duration_ns <= 0) return;
  node.set_duration_micros(static_cast<std::uint64_t>(duration_ns + 500) / 1'000);
  add(node, kDurationAttribute).set_uint64_val(static_cast<std::uint64_t>(duration_ns));
}

bool is_nccl(const std::string& name) { return name.find("nccl") != std::string::npos; }

class Linker {
 public:
  Linker(const ExecutionTrace& trace, const std::vector<KinetoEvent>& events,
         const std::string& place, JoinReport& report)
      : trace_(trace), events_(events), place_(place), report_(report) {}

  std::vector<chakra::Node> run() {
    index();
    match_functions();
    find_launchers();
    find_transfers();
    nodes_.reserve(trace_.nodes.size() + device_.size());
    emit_host();
    emit_device();
    report_.host_nodes += trace_.nodes.size();
    report_.device_nodes += device_.size();
    return std::move(nodes_);
  }

 private:
  void index() {
    const auto& nodes = trace_.nodes;
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      if (nodes[i].node.id() == nodes[i - 1].node.id()) {
        throw InputError(place_, fmt::format("node {} is there twice", nodes[i].node.id()));
      }
    }
    event_of_.assign(nodes.size(), nullptr);
  }

  [[nodiscard]] std::size_t find(std::uint64_t id) const {
    const auto at = std::ranges::lower_bound(trace_.nodes, id, {},
                                             [](const HostNode& n) { return n.node.id(); });
    return at != trace_.nodes.end() && at->node.id() == id
               ? static_cast<std::size_t>(at - trace_.nodes.begin())
               : kNobody;
  }

  void match_functions() {
    std::map<std::uint64_t, std::size_t> by_record;
    std::map<std::string, std::vector<std::size_t>> by_name;
    for (std::size_t i = 0; i < trace_.nodes.size(); ++i) {
      const HostNode& node = trace_.nodes[i];
      if (node.record_function != 0) by_record.try_emplace(node.record_function, i);
      by_name[node.node.name()].push_back(i);
    }
    const bool by_id = std::ranges::any_of(
        events_, [](const KinetoEvent& e) { return e.record_function.value_or(0) != 0; });
    std::map<std::string, std::size_t> seen;
    for (const KinetoEvent& event : events_) {
      if (event.kind != KinetoEvent::Kind::function) continue;
      std::size_t node = kNobody;
      if (by_id) {
        const auto at = by_record.find(event.record_function.value_or(0));
        if (at != by_record.end()) node = at->second;
      } else if (const auto at = by_name.find(event.name); at != by_name.end()) {
        const std::size_t k = seen[event.name]++;
        if (k < at->second.size()) node = at->second[k];
      }
      if (node == kNobody || event_of_[node] != nullptr) continue;
      event_of_[node] = &event;
      node_of_[&event - events_.data()] = node;
      if (event.external) by_external_.try_emplace(*event.external, node);
    }
  }

  // One walk over all events in time, with the functions that each thread is in.
  void find_launchers() {
    std::map<std::string, std::vector<std::size_t>> running;  // by thread, the innermost last
    std::map<std::uint64_t, std::size_t> by_correlation;
    for (std::size_t e = 0; e < events_.size(); ++e) {
      const KinetoEvent& event = events_[e];
      if (event.kind == KinetoEvent::Kind::device) continue;
      std::vector<std::size_t>& stack = running[event.thread];
      while (!stack.empty() && end_of(events_[stack.back()]) <= event.start_ns) stack.pop_back();
      if (event.kind == KinetoEvent::Kind::function) {
        if (node_of_.contains(static_cast<std::ptrdiff_t>(e))) stack.push_back(e);
        continue;
      }
      if (stack.empty()) continue;
      const std::size_t node = node_of_[static_cast<std::ptrdiff_t>(stack.back())];
      if (event.correlation) by_correlation.try_emplace(*event.correlation, node);
      if (event.name.ends_with("Synchronize")) synchronises_.emplace(node, &event);
    }
    for (const KinetoEvent& event : events_) {
      if (event.kind != KinetoEvent::Kind::device) continue;
      DeviceNode node{.event = &event, .launcher = kNobody};
      if (const auto at = by_external_.find(event.external.value_or(0));
          event.external && at != by_external_.end()) {
        node.launcher = at->second;
      } else if (const auto launch = by_correlation.find(event.correlation.value_or(0));
                 event.correlation && launch != by_correlation.end()) {
        node.launcher = launch->second;
      }
      if (node.launcher == kNobody) ++report_.device_unlaunched;
      device_.push_back(node);
    }
    // What nobody launched comes first: it depends on nothing.
    std::ranges::stable_sort(device_, {}, [](const DeviceNode& n) { return n.launcher + 1; });
    std::uint64_t id = trace_.nodes.empty() ? 0 : trace_.nodes.back().node.id();
    for (DeviceNode& node : device_) node.id = ++id;
  }

  static std::int64_t end_of(const KinetoEvent& event) {
    return event.start_ns + event.duration_ns;
  }

  // A kernel of NCCL is the transfer that a caller of its launcher announces.
  void find_transfers() {
    constexpr int kCallersMax = 64;
    for (std::size_t d = 0; d < device_.size(); ++d) {
      if (!is_nccl(device_[d].event->name)) continue;
      std::size_t node = device_[d].launcher;
      for (int i = 0; i < kCallersMax && node != kNobody; ++i) {
        if (trace_.nodes[node].transfer) {
          device_[d].transfer = node;
          kernel_of_.try_emplace(node, d);
          break;
        }
        node = find(trace_.nodes[node].parent);
      }
    }
  }

  void emit_host() {
    struct Writer {
      std::size_t node;
      std::uint64_t thread;
    };
    std::map<std::uint64_t, Writer> writers;        // by storage
    std::map<std::uint64_t, std::size_t> previous;  // by thread
    const std::vector<std::int64_t> durations = exclusive_durations();
    waited_.assign(trace_.nodes.size(), 0);
    std::map<std::uint64_t, std::uint64_t> transfer, waited;  // by thread: ids
    for (std::size_t i = 0; i < trace_.nodes.size(); ++i) {
      const HostNode& in = trace_.nodes[i];
      chakra::Node& out = nodes_.emplace_back(in.node);
      std::set<std::uint64_t> after;
      if (const auto at = previous.find(in.thread); at != previous.end()) {
        after.insert(trace_.nodes[at->second].node.id());
        for (const std::uint64_t id : done_by(at->second)) after.insert(id);
      }
      for (const std::uint64_t storage : in.reads) {
        const auto at = writers.find(storage);
        if (at == writers.end() || at->second.thread == in.thread) continue;
        after.insert(trace_.nodes[at->second.node].node.id());
      }
      for (const std::uint64_t storage : in.writes) writers[storage] = {i, in.thread};
      const bool stands_for_transfer = in.transfer && !kernel_of_.contains(i);
      if (in.transfer) {
        transfer[in.thread] = stands_for_transfer ? in.node.id() : device_[kernel_of_[i]].id;
      }
      if (in.waits && transfer.contains(in.thread)) {
        waited[in.thread] = transfer[in.thread];
        if (events_.empty()) after.insert(transfer[in.thread]);
      }
      waited_[i] = waited[in.thread];
      for (const std::uint64_t id : after) out.add_data_deps(id);
      set_duration(durations[i], out);
      if (durations[i] > 0) ++report_.host_timed;
      add(out, "is_cpu_op").set_bool_val(!stands_for_transfer);
      if (stands_for_transfer) make_transfer(*in.transfer, out);
      if (!stands_for_transfer) previous[in.thread] = i;
    }
  }

  // Without what a function called.
  [[nodiscard]] std::vector<std::int64_t> exclusive_durations() const {
    std::vector<std::int64_t> durations(trace_.nodes.size());
    for (std::size_t i = 0; i < durations.size(); ++i) {
      if (event_of_[i] == nullptr) continue;
      durations[i] += event_of_[i]->duration_ns;
      const std::size_t caller = find(trace_.nodes[i].parent);
      if (caller != kNobody && caller != i && event_of_[caller] != nullptr &&
          event_of_[caller]->thread == event_of_[i]->thread) {
        durations[caller] -= event_of_[i]->duration_ns;
      }
    }
    return durations;
  }

  // What the device had done by the end of a call in `node` that waits for it.
  [[nodiscard]] std::vector<std::uint64_t> done_by(std::size_t node) const {
    std::vector<std::uint64_t> ids;
    const auto at = synchronises_.find(node);
    if (at == synchronises_.end()) return ids;
    std::set<std::uint64_t> streams;
    const auto end = std::ranges::upper_bound(device_, node + 1, {},
                                              [](const DeviceNode& n) { return n.launcher + 1; });
    for (auto d = end; d != device_.begin() && streams.size() < kStreamsMax;) {
      --d;
      const bool of_stream =
          !at->second->name.starts_with("cudaStream") || at->second->stream == d->event->stream;
      if (!of_stream || end_of(*d->event) > end_of(*at->second)) continue;
      if (streams.insert(d->event->stream).second) ids.push_back(d->id);
      if (end - d > kLookBackMax) break;
    }
    return ids;
  }

  void emit_device() {
    std::map<std::uint64_t, const DeviceNode*> previous;  // by stream
    for (const DeviceNode& in : device_) {
      chakra::Node& out = nodes_.emplace_back();
      out.set_id(in.id);
      out.set_name(in.event->name);
      out.set_type(chakra::COMP_NODE);
      std::set<std::uint64_t> after;
      if (in.launcher != kNobody) {
        after.insert(nodes_[in.launcher].id());
        const std::uint64_t waited = waited_[in.launcher];
        if (waited != 0 && waited < in.id && in.transfer == kNobody) after.insert(waited);
      }
      const DeviceNode*& before = previous[in.event->stream];
      if (before != nullptr) after.insert(before->id);
      before = &in;
      for (const std::uint64_t id : after) out.add_data_deps(id);
      set_duration(in.event->duration_ns, out);
      add(out, "is_cpu_op").set_bool_val(false);
      add(out, "stream").set_uint64_val(in.event->stream);
      if (in.transfer != kNobody) make_transfer(*trace_.nodes[in.transfer].transfer, out);
    }
  }

  void make_transfer(const Transfer& transfer, chakra::Node& out) {
    ++report_.transfers;
    add(out, "comm_size").set_uint64_val(transfer.bytes);
    add(out, "pg_name").set_string_val(transfer.group);
    if (transfer.kind == Transfer::Kind::collective) {
      out.set_type(chakra::COMM_COLL_NODE);
      add(out, "comm_type").set_int64_val(transfer.comm_type);
      return;
    }
    const bool send = transfer.kind == Transfer::Kind::send;
    out.set_type(send ? chakra::COMM_SEND_NODE : chakra::COMM_RECV_NODE);
    if (transfer.peer) add(out, send ? "comm_dst" : "comm_src").set_uint64_val(*transfer.peer);
  }

  static constexpr std::size_t kStreamsMax = 64;         // of a device that do something
  static constexpr std::ptrdiff_t kLookBackMax = 4'096;  // kernels under way at a time

  const ExecutionTrace& trace_;
  const std::vector<KinetoEvent>& events_;
  const std::string& place_;
  JoinReport& report_;
  std::vector<const KinetoEvent*> event_of_;                // by node
  std::map<std::ptrdiff_t, std::size_t> node_of_;           // by event
  std::map<std::uint64_t, std::size_t> by_external_;        // external id to node
  std::map<std::size_t, const KinetoEvent*> synchronises_;  // by node: a call that waits
  std::vector<DeviceNode> device_;                          // by launcher, then start
  std::map<std::size_t, std::size_t> kernel_of_;            // announcing node to device_
  std::vector<std::uint64_t> waited_;  // by node: the transfer its thread last waited for; 0: none
  std::vector<chakra::Node> nodes_;
};

}  // namespace

std::vector<chakra::Node> join_profile(const ExecutionTrace& trace,
                                       const std::vector<KinetoEvent>& events,
                                       const std::string& place, JoinReport& report) {
  return Linker(trace, events, place, report).run();
}

}  // namespace exawarp::io::pytorch
