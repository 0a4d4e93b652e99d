// How a device hands a message over at flow fidelity.
#pragma once

#include "model/network/flow/flow_events.h"
#include "model/network/flow/flow_network.h"
#include "model/network/packet/endpoint.h"

namespace exawarp::model {

// The way of one device to the region during one event; what an Endpoint is for packets. Its
// listener is told by FlowEvent::arrives and FlowEvent::left.
class FlowCarrier {
 public:
  FlowCarrier(const FlowNetwork& network, pdes::Context& ctx) : network_(network), ctx_(ctx) {}

  [[nodiscard]] static bool handles(pdes::EventKind kind) { return kind >= kFirstFlowEvent; }

  // Requires 0 <= bytes <= kFlowBytesMax. The overhead of its software is over before it starts.
  void send(const OutgoingMessage& message) {
    ctx_.send(network_.region(), core::sum_to_end(network_.notice(), message.overhead),
              kind_of(FlowEvent::starts),
              FlowStart{message.body, FlowStart::pack(message.to, message.bytes)});
  }
  // An event of the region's. Tells what the listener's functions of the same names are for; what
  // has left is said to leave 1 ps from now, as they want a time to come.
  template <class Listener>
  void handle(const pdes::Event& event, Listener& listener) {
    if (event.kind == kind_of(FlowEvent::arrives)) {
      const auto arrival = event.as<FlowArrival>();
      return listener.delivered({arrival.from}, arrival.body, 0);
    }
    if (event.kind == kind_of(FlowEvent::left)) {
      return listener.left(event.as<MessageBody>(), ctx_.now() + core::Time{1});
    }
    ctx_.check(false, "a device received an event that is for the region of a fabric");
  }

 private:
  const FlowNetwork& network_;
  pdes::Context& ctx_;
};

}  // namespace exawarp::model
