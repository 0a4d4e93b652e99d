// Of which parts a study's devices are made. What they do with an event stands in the parts
// (device_run.h), their state in device_layout.h, its start and description in device_start.cc.
#include "model/device/device.h"

#include <new>

#include "model/device/background_traffic.h"
#include "model/device/device_kinds.h"

namespace exawarp::model {

DeviceHandlers choose_parts(const DeviceModel& model) {
  const bool background = !model.backgrounds.empty();
  if (model.analytical) return analytical_device();
  if (model.packets != nullptr) return packet_device(background);
  return message_device({.troubled_links = model.trouble != nullptr, .background = background});
}

pdes::LpType device_type(const DeviceModel& model) {
  return {"device", model.slots.state_bytes(),
          [](void* state) { ::new (state) DeviceState{}; }, model.handlers.handle,
          model.slots.beside ? describe_with_background : describe_device};
}

}  // namespace exawarp::model
