// Where a device's streams take their tasks from.
//
// A source holds the tasks of one device, stream by stream. Streams ask it for the task at a
// cursor, for how many there are, and for what that task waits for; they keep what is theirs (the
// cursor, who waits) in the device's state. So a source is read-only during an event, and a task
// that it has given out stays as it is until the stream is past it.
//
// The kind of source is a parameter of the device's parts, bound when they are compiled: a
// scheduler that composes batches is another type here, not a question at every task.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "model/device/program_table.h"
#include "model/device/task.h"

namespace exawarp::model {

// Streams are numbered 0 .. streams() - 1, positions in a stream 0 .. length() - 1. A dependency is
// on another stream.
template <class S>
concept TaskSource = requires(const S& source, std::uint32_t stream, std::uint32_t position,
                              const Task& task) {
  { source.streams() } -> std::same_as<std::uint32_t>;
  { source.length(stream) } -> std::same_as<std::uint32_t>;
  { source.task(stream, position) } -> std::same_as<const Task&>;
  { source.dependencies(task) } -> std::same_as<std::span<const Dependency>>;
};

// A program of a workload file, decoded before time zero.
class MappedProgram {
 public:
  static constexpr bool kServes = false;

  explicit MappedProgram(const ProgramTable& table) : table_(table) {}

  [[nodiscard]] std::uint32_t streams() const { return table_.streams(); }
  [[nodiscard]] std::uint32_t length(std::uint32_t stream) const { return table_.length(stream); }
  [[nodiscard]] const Task& task(std::uint32_t stream, std::uint32_t position) const {
    return table_.task(stream, position);
  }
  [[nodiscard]] std::span<const Dependency> dependencies(const Task& task) const {
    return {table_.dependencies.data() + task.first_dependency, task.dependency_count};
  }
  // Channels, collectives and peers that its tasks name.
  [[nodiscard]] const ProgramTable& table() const { return table_; }

 private:
  const ProgramTable& table_;
};
static_assert(TaskSource<MappedProgram>);

}  // namespace exawarp::model
