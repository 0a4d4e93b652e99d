// The devices of each network, compiled each in a file of its own: what choose_parts() chooses of.
#pragma once

#include "model/device/device_model.h"

namespace exawarp::model {

// Parts that a study asks for.
struct AskedParts {
  bool troubled_links = false;
  bool background = false;  // background_traffic.h
};

DeviceHandlers analytical_device();                      // device_analytical.cc
DeviceHandlers message_device(const AskedParts& parts);  // device_messages.cc
// Links are the packet network's own business.
DeviceHandlers packet_device(bool background);  // device_packets.cc

}  // namespace exawarp::model
