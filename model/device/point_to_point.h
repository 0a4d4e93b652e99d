// Messages from one device's send to another's receive.
//
// A message up to the eager limit is sent at once. A longer one is announced first: the sender's
// request travels to the receiver and waits there like an early message; when a receive asks for
// it, an answer goes back, and then the message itself leaves. Both notices take a message's
// latency and no time on an interface.
#pragma once

#include <cstdint>
#include <optional>

#include "model/device/device_frame.h"
#include "model/device/program_table.h"
#include "model/device/streams.h"
#include "model/network/message_trace.h"

namespace exawarp::model {

template <class Source, class Port>
class PointToPoint {
 public:
  PointToPoint(DeviceFrame& frame, Streams<Source>& streams, Port& port)
      : frame_(frame), streams_(streams), port_(port) {}

  // `task`, a send at the head of `stream`, is reached. It is not over at once.
  void start_send(std::uint32_t stream, const Task& task) {
    if (!task.rendezvous) return transmit(stream, task);
    port_.send_request(peer_of(task), task.tag, stream);
  }

  // Its message leaves; the task ends when it has left.
  void transmit(std::uint32_t stream, const Task& task) {
    const core::DeviceId peer = peer_of(task);
    const Tier tier = port_.tier_to(peer);
    const core::Time wire = task.wire[static_cast<std::size_t>(interface_of(tier))];
    if (frame_.model.traces_messages && port_.has_clock(interface_of(tier))) [[unlikely]] {
      MessageTrace::sent(frame_.ctx, peer, task.tag,
                         bytes_of_send(frame_.model.jobs, frame_.state.program, task));
    }
    const auto left = port_.send_message({peer, tier, wire, task.tag}, stream);
    if (!left || *left == core::Time::max()) return;
    streams_.complete_in(*left - frame_.now(), stream);
  }

  // A receive is reached. Returns whether it is over, as its message has come before.
  bool start_receive(const Task& task) {
    auto& early = frame_.parts.account->early;
    const core::DeviceId source = peer_of(task);
    for (std::uint32_t i = 0; i < early.size(); ++i) {
      const EarlyMessage message = early[i];
      if (message.source != source.value || message.tag != task.tag) continue;
      early.erase(frame_.ctx, i);
      if (message.request == 0) return true;
      port_.send_ready(source, message.request - 1);
      return false;
    }
    return false;
  }

  // A message has come. Returns the stream whose receive waited for it; none: it is kept.
  std::optional<std::uint32_t> take(const Message& message) {
    const std::uint32_t stream = waiting_for(message);
    if (stream != Streams<Source>::kNone) return stream;
    frame_.parts.account->early.push_back(frame_.ctx, {message.source, message.tag, 0});
    return {};
  }

  void take_request(const Message& request) {
    if (waiting_for(request) != Streams<Source>::kNone) {
      return port_.send_ready({request.source}, request.stream);
    }
    frame_.parts.account->early.push_back(frame_.ctx,
                                          {request.source, request.tag, request.stream + 1});
  }

  void take_ready(const Ready& ready) {
    const bool expected =
        streams_.is_running(ready.stream) && streams_.head(ready.stream).kind == TaskKind::send;
    frame_.ctx.check(expected, "a receiver is ready for a message that its sender is not at");
    if (expected) transmit(ready.stream, streams_.head(ready.stream));
  }

 private:
  [[nodiscard]] core::DeviceId peer_of(const Task& task) const {
    const ProgramTable& program = streams_.source().table();
    return program.peer_of(task, frame_.rank_in(program));
  }
  [[nodiscard]] std::uint32_t waiting_for(const Message& message) const {
    return streams_.receiving([&](const Task& task) {
      return task.tag == message.tag && peer_of(task).value == message.source;
    });
  }

  DeviceFrame& frame_;
  Streams<Source>& streams_;
  Port& port_;
};

}  // namespace exawarp::model
