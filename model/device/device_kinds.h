// The devices of each network, compiled each in a file of its own: what choose_parts() chooses of.
#pragma once

#include "model/device/device_model.h"

namespace exawarp::model {

struct MessageParts {
  bool faulty_links = false;
  bool background = false;  // background_traffic.h
  bool serving = false;     // some devices serve (served_program.h); not beside background
};
// Troubled links across nodes are the packet network's own business.
struct PacketParts {
  bool inside_nodes = false;  // packets there as well
  bool faulty_links = false;  // of messages inside nodes
  bool background = false;
  bool serving = false;
  bool outgrow_caches = false;  // so that foreseeing what events touch pays
};

DeviceHandlers analytical_device(bool serving);            // device_analytical.cc
DeviceHandlers folded_device(bool messages);               // of fold.h, there too
DeviceHandlers message_device(const MessageParts& parts);  // device_messages.cc
DeviceHandlers packet_device(const PacketParts& parts);    // device_packets.cc
DeviceHandlers flow_device(bool serving);                  // device_flows.cc

}  // namespace exawarp::model
