// Whether the system can start as many threads as are wanted: limits of processes (ulimit -u, a
// control group's pids.max) and of memory (ulimit -v) may leave fewer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace exawarp::pdes {

// Throws core::SystemError where fewer than `threads` can run at once, the calling one included,
// each with a stack of `stack_bytes` and a few MiB more. Starts them on trial and ends them
// again, in some 30 us each.
// For threads that a library starts, where a failure cannot be caught.
void require_threads(std::uint32_t threads, std::size_t stack_bytes);

// The line that says so; `had` is 0 where there is no memory for them, `code` the system's error
// number.
[[noreturn]] void fail_for_threads(std::uint32_t had, std::uint32_t asked, int code);

}  // namespace exawarp::pdes
