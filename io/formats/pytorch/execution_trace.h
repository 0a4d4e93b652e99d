// PyTorch's execution traces (ExecutionTraceObserver): what the host called, with its tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/chakra.pb.h"

namespace exawarp::io::pytorch {

// What record_param_comms tells of a transfer.
struct Transfer {
  enum class Kind { collective, send, receive };
  Kind kind = Kind::collective;
  std::uint32_t comm_type = 0;             // Chakra's; collective
  std::uint64_t bytes = 0;                 // of its input tensors
  std::string group = {};                  // pg_name; empty: all ranks
  std::optional<std::uint64_t> peer = {};  // send, receive: rank of the group
};

struct HostNode {
  chakra::Node node;                  // id, name, attributes, inputs, outputs; no dependencies
  std::uint64_t parent = 0;           // its caller
  std::uint64_t record_function = 0;  // 0: unknown
  std::uint64_t thread = 0;
  std::vector<std::uint64_t> reads, writes;  // storages
  std::optional<Transfer> transfer;
  bool waits = false;  // for the transfer before it in its thread
};

struct ExecutionTrace {
  chakra::GlobalMetadata metadata;
  std::vector<HostNode> nodes;  // in ascending order of id: as they were called
};

// Throws core::InputError that starts with `place`.
[[nodiscard]] ExecutionTrace read_execution_trace(std::string_view text, const std::string& place);

}  // namespace exawarp::io::pytorch
