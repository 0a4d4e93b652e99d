// Which node of a program a device's event is about follows from its payload: a node that is over
// is named by its stream and position, a chunk by its channel and how many collectives came before.
#include "model/event_text.h"

#include <fmt/core.h>

#include "model/device/device.h"
#include "model/device/device_frame.h"
#include "model/network/flow/flow_events.h"
#include "model/network/message/message.h"
#include "model/network/packet/packet.h"

namespace exawarp::model {
namespace {

using core::DeviceId;

class DeviceEventText {
 public:
  DeviceEventText(const Cluster& cluster, DeviceId device)
      : model_(cluster.devices()),
        place_(place_of(model_, device)),
        table_(model_.programs[place_.program]) {}

  [[nodiscard]] std::string of(const pdes::Event& event) const {
    switch (static_cast<DeviceEvent>(event.kind)) {
      case DeviceEvent::node_done:
        return of_node(event.as<NodeDone>(), "ends");
      case DeviceEvent::steps_begin:
        return of_node(event.as<NodeDone>(), "begins");
      case DeviceEvent::chunk_arrives:
      case DeviceEvent::step_arrives:
        return of_chunk(event.as<Chunk>(), "arrives");
      case DeviceEvent::chunk_received:
      case DeviceEvent::step_received:
        return of_chunk(event.as<Chunk>(), "is received");
      case DeviceEvent::message_arrives:
        return of_message(event.as<Message>(), "arrives");
      case DeviceEvent::message_received:
        return of_message(event.as<Message>(), "is received");
      case DeviceEvent::request_arrives:
        return of_message(event.as<Message>(), "is announced");
      case DeviceEvent::ready_arrives:
        return "a receiver is ready for a long message";
      case DeviceEvent::job_starts:
        return "its job starts";
      case DeviceEvent::iteration_begins:
        return "its scheduler tells it the next iteration";
      case DeviceEvent::transfer_due:
      case DeviceEvent::keys_due:
        return "its scheduler tells it to send keys and values";
      case DeviceEvent::background_due:
      case DeviceEvent::background_arrives:
      case DeviceEvent::census:
        return "background traffic";
    }
    return fmt::format("an event of kind {}", event.kind);
  }

 private:
  [[nodiscard]] std::string name_of(const Task& task) const {
    const auto& program = table_.graph->program(place_.program - first_program());
    const std::string name = table_.graph->node_name(program.node(task.node));
    return name.empty() ? fmt::format("node {}", task.node)
                        : fmt::format("\"{}\"", printable(name));
  }
  [[nodiscard]] std::uint32_t first_program() const {
    std::uint32_t first = 0;
    for (const PlacedJob& job : model_.jobs) {
      if (job.runs && job.first_program <= place_.program) first = job.first_program;
    }
    return first;
  }
  [[nodiscard]] std::string of_node(const NodeDone& node, const char* what) const {
    const bool known = table_.served == nullptr && node.stream < table_.streams() &&
                       node.position < table_.length(node.stream);
    if (!known) return fmt::format("node {} {}", node.position, what);
    return fmt::format("{} {}", name_of(table_.task(node.stream, node.position)), what);
  }
  // Of the collective that `chunk` is of; null where it is none of this program's.
  [[nodiscard]] const Task* task_of(const Chunk& chunk) const {
    if (chunk.channel >= table_.channel_by_number.size()) return nullptr;
    const std::uint8_t local = table_.channel_by_number[chunk.channel];
    if (local == kNoChannel) return nullptr;
    std::uint32_t before = 0;
    const std::uint32_t stream = table_.channels[local].stream;
    for (std::uint32_t p = 0; p < table_.length(stream); ++p) {
      const Task& task = table_.task(stream, p);
      if (task.channel == local && before++ == chunk.ordinal) return &task;
    }
    return nullptr;
  }
  [[nodiscard]] std::string of_chunk(const Chunk& chunk, const char* what) const {
    const Task* const task = task_of(chunk);
    if (task == nullptr) return fmt::format("a chunk of a collective {}", what);
    return fmt::format("a chunk of {} {}", name_of(*task), what);
  }
  [[nodiscard]] std::string of_message(const Message& message, const char* what) const {
    std::string text =
        fmt::format("a message from device {}, tag {}, {}", message.source, message.tag, what);
    for (const Task& task : table_.tasks) {
      if (task.kind != TaskKind::receive || task.tag != message.tag) continue;
      if (table_.peer_of(task, place_.rank).value != message.source) continue;
      return text + ", for " + name_of(task);
    }
    return text;
  }

  const DeviceModel& model_;
  DevicePlace place_;
  const ProgramTable& table_;
};

// Of an event between ports and endpoints.
std::string text_of_packets(const PacketNetwork& network, const pdes::Event& event) {
  switch (static_cast<PacketEvent>(event.kind)) {
    case PacketEvent::reply:
    case PacketEvent::packet: {
      const auto packet = event.as<Packet>();
      const bool is_data = packet.type() == PacketType::data;
      return fmt::format("{} {} of message {} from d{} to d{} arrives",
                         is_data ? "packet" : "an answer to packet", packet.number, packet.message,
                         packet.source, packet.destination);
    }
    case PacketEvent::credit:
      return fmt::format("credit for port {}", event.as<CreditReturn>().port);
    case PacketEvent::pause:
      return fmt::format("port {} is to {}", event.as<Pause>().port,
                         event.as<Pause>().on != 0 ? "pause" : "go on");
    case PacketEvent::wake:
      return fmt::format("the line of port {} is free", event.as<PortWake>().port);
    case PacketEvent::header:
      return fmt::format("message {} from {} begins", event.as<MessageHeader>().message,
                         vertex_name(network.topology(), network.vertex_of(event.source)));
    case PacketEvent::timeout:
      return fmt::format("a timer of message {}", event.as<Timeout>().message);
    case PacketEvent::freeze:
      return fmt::format("a line of port {} is to stand still", event.as<Freeze>().port);
    case PacketEvent::thaw:
      return fmt::format("a line of port {} is to go on", event.as<Thaw>().port);
    case PacketEvent::skip:
    case PacketEvent::skipped:
      return fmt::format("{} packets of message {} are skipped", event.as<Skip>().packets,
                         event.as<Skip>().message);
    case PacketEvent::train: {
      const auto train = event.as<Train>();
      return fmt::format("a train of {} packets from {} on of message {} from d{} to d{} arrives",
                         train.count, train.number, train.message, train.source,
                         train.destination);
    }
    case PacketEvent::cut: {
      const auto cut = event.as<TrainCut>();
      return fmt::format("packets from {} on of message {} from d{} to d{} come later", cut.number,
                         cut.message, cut.source, cut.destination);
    }
  }
  return fmt::format("an event of kind {}", event.kind);
}

std::string text_of_flows(const pdes::Event& event) {
  switch (static_cast<FlowEvent>(event.kind)) {
    case FlowEvent::starts:
      return fmt::format("a message from d{} to d{} starts", event.source.value,
                         event.as<FlowStart>().to().value);
    case FlowEvent::arrives:
      return fmt::format("a message from device {} arrives", event.as<FlowArrival>().from);
    case FlowEvent::left:
      return "a message has left";
    case FlowEvent::due:
      return fmt::format("flow {} is over", event.as<FlowDue>().flow);
    case FlowEvent::changed:
      return "shares of links change";
  }
  return fmt::format("an event of kind {}", event.kind);
}

}  // namespace

bool are_alike(const pdes::Event& a, const pdes::Event& b) {
  if (a.destination != b.destination || a.kind != b.kind) return false;
  switch (a.kind) {
    case kind_of(DeviceEvent::chunk_arrives):
    case kind_of(DeviceEvent::chunk_received):
    case kind_of(DeviceEvent::step_arrives):
    case kind_of(DeviceEvent::step_received): {
      const auto x = a.as<Chunk>(), y = b.as<Chunk>();
      return a.source == b.source && x.ordinal == y.ordinal && x.step == y.step &&
             x.channel == y.channel && x.lane == y.lane;
    }
    case kind_of(DeviceEvent::message_arrives):
    case kind_of(DeviceEvent::message_received): {
      const auto x = a.as<Message>(), y = b.as<Message>();
      return x.source == y.source && x.tag == y.tag;
    }
    case kind_of(PacketEvent::packet): {
      const auto x = a.as<Packet>(), y = b.as<Packet>();
      return x.type() == y.type() && x.source == y.source && x.destination == y.destination &&
             x.message == y.message && x.number == y.number;
    }
    default:
      return a.payload == b.payload;
  }
}

EventText text_of(const Cluster& cluster, const pdes::Event& event) {
  const core::LpId lp = event.destination;
  EventText out;
  if (lp.value < cluster.device_lps()) {
    out.where = fmt::format("device {}", lp.value);
  } else if (cluster.has_flows()) {
    out.where = "the fabric";
  } else if (cluster.has_packets()) {
    const PacketNetwork& network = cluster.packet_network();
    out.where = network.is_watch(lp)
                    ? "the watch of steady flows"
                    : "switch " + vertex_name(network.topology(), network.vertex_of(lp));
  } else {
    out.where = fmt::format("switch {}", lp.value - cluster.ranges().back().first.value);
  }
  if (cluster.has_packets() && cluster.packet_network().is_watch(lp)) {
    out.what = "a message that begins, ends or leaves evenly, or a stretch that is over";
  } else if (event.kind >= kFirstFlowEvent) {
    out.what = text_of_flows(event);
  } else if (cluster.has_packets() && event.kind >= kFirstPacketEvent) {
    out.what = text_of_packets(cluster.packet_network(), event);
  } else if (lp.value < cluster.device_lps()) {
    out.what = DeviceEventText(cluster, DeviceId{lp.value}).of(event);
  } else {
    out.what = "a collective that the network carries out";
  }
  return out;
}

}  // namespace exawarp::model
