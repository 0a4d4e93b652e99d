// The one place that asks what a study wants of its devices.
#include "model/device/device_kinds.h"

#include "model/device/device.h"

namespace exawarp::model {

DeviceHandlers choose_parts(const DeviceModel& model) {
  const bool background = !model.backgrounds.empty();
  const bool serving = model.slots.served;
  if (model.fold != nullptr) return folded_device(!model.analytical);
  if (model.analytical) return analytical_device(serving);
  if (model.flows != nullptr) return flow_device(serving);
  if (model.packets != nullptr) {
    return packet_device({.inside_nodes = model.packets->inside_nodes,
                          .faulty_links = model.message_faults != nullptr,
                          .background = background,
                          .serving = serving,
                          .outgrow_caches = model.packets->network.outgrows_caches()});
  }
  return message_device({.faulty_links = model.message_faults != nullptr,
                         .background = background,
                         .serving = serving});
}

}  // namespace exawarp::model
