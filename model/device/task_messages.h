// The messages of a program's tasks: what they take on the wire, and what no network can carry.
#pragma once

#include <array>
#include <cstdint>

#include "core/time.h"
#include "model/device/program_table.h"

namespace exawarp::model {

// Of a message by each interface, as Task::wire.
std::array<core::Time, kInterfaceCount> wires_of(const ProgramTableInputs& inputs,
                                                 std::int64_t bytes);

// Throws core::InputError, naming the node, where a message is too long for packets or flows.
void check_message(const ProgramTableInputs& inputs, std::uint32_t program, std::uint32_t node,
                   std::int64_t bytes);

}  // namespace exawarp::model
