// Profiles of PyTorch's Kineto: when the host's functions and the device's kernels ran.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace exawarp::io::pytorch {

struct KinetoEvent {
  enum class Kind {
    function,  // on the host: an operator or an annotation
    launch,    // on the host: a call of the CUDA runtime
    device,    // a kernel or a copy
  };
  Kind kind = Kind::function;
  std::string name = {};
  std::int64_t start_ns = 0, duration_ns = 0;
  std::string thread = {};                            // host: process and thread
  std::optional<std::uint64_t> external = {};         // of a function, and of what it launched
  std::optional<std::uint64_t> correlation = {};      // of a launch, and of what it launched
  std::optional<std::uint64_t> record_function = {};  // the execution trace's rf_id
  std::uint64_t stream = 0;
};

// The events that linking needs, by start. Throws core::InputError that starts with `place`.
[[nodiscard]] std::vector<KinetoEvent> read_kineto(std::string_view text, const std::string& place);

}  // namespace exawarp::io::pytorch
