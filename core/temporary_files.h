// Files that nobody should find: what is being written, until it gets its name. However the process
// ends, short of SIGKILL, they are removed.
//
// Why a lock with signals held off: a signal's handler may only unlink, and must not find the list
// half changed. So a thread that changes it holds off signals for itself, and a handler that runs
// in another thread waits for it.
// Thread safety: all functions from any thread.
#pragma once

#include <span>
#include <string>

namespace exawarp::core {

struct TemporaryFile {
  std::string path;
  int descriptor = -1;  // for writing; the caller's to close
};

// Makes a file with a random name in `folder`, with the permissions that the user's mask leaves of
// 0666. Throws SystemError that starts with `place`.
TemporaryFile create_temporary(const std::string& folder, const std::string& place);

// Removes one. Does nothing where it has been placed.
void remove_temporary(const std::string& path) noexcept;

// Gives temporary files their names, over what is there: all of them or, where a signal ends the
// process, none. Throws SystemError where the system refuses one; those before it have their names.
struct Placing {
  const std::string& temporary;
  const std::string& path;
};
void place_temporaries(std::span<const Placing> files);

// Removes all of them; for a process that ends without unwinding. No more can be made or placed:
// a thread that tries waits for the end. Async-signal-safe.
void remove_all_temporaries() noexcept;

// What a handler of a signal does that ends the process: removes all of them, and lets the signal
// have its way. Async-signal-safe.
extern "C" void end_by_signal(int number);

// Lets the signals that end a process by a user's or a system's wish, or by a broken pipe, remove
// them first; the process then ends by that signal. Leaves alone what is ignored. Call once.
void remove_temporaries_on_signals();

}  // namespace exawarp::core
