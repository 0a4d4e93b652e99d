#include "model/device/task_messages.h"

#include <fmt/core.h>

#include "core/error.h"
#include "model/device/supported.h"
#include "model/network/flow/flow_network.h"
#include "model/network/packet/packet_network.h"

namespace exawarp::model {

std::array<core::Time, kInterfaceCount> wires_of(const ProgramTableInputs& inputs,
                                                 std::int64_t bytes) {
  std::array<core::Time, kInterfaceCount> wires;
  for (const Interface interface : {Interface::node, Interface::scale_out}) {
    const auto i = static_cast<std::size_t>(interface);
    wires[i] = inputs.by_packets[i] ? core::Time{bytes}
                                    : inputs.network.wire_time(bytes, interface);
  }
  return wires;
}

void check_message(const ProgramTableInputs& inputs, std::uint32_t program, std::uint32_t node,
                   std::int64_t bytes) {
  const bool by_flows = inputs.packets == nullptr &&
                        inputs.by_packets[static_cast<std::size_t>(Interface::scale_out)];
  if (by_flows && bytes > kFlowBytesMax) {
    throw core::InputError(
        node_place(inputs.graph, program, node),
        fmt::format("a message of {} bytes; expected at most {} at network.fidelity flow", bytes,
                    kFlowBytesMax));
  }
  if (inputs.packets == nullptr || inputs.packets->options().can_carry(bytes)) return;
  throw core::InputError(
      node_place(inputs.graph, program, node),
      fmt::format("a message of {} bytes is {} packets or more; expected larger packets, or a "
                  "smaller message",
                  bytes, kPacketsMax));
}

}  // namespace exawarp::model
