// The collectives of a program as tasks, one for each stage. Nodes that say the same have the same
// tasks, which are found once a program; their stages, once for all programs.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "core/words_hash.h"
#include "model/device/collective_stages.h"
#include "model/device/program_table.h"
#include "model/device/task.h"
#include "model/workload/graph.h"

namespace exawarp::model {

// A task of a collective, and what it adds to its program.
struct CollectiveTask {
  Task task;  // without node and dependencies
  std::uint64_t events = 0, messages = 0, bytes = 0;  // the latter as Sent
  std::uint32_t steps = 0;  // of a plain ring, each of `chunk_bytes`; 0: no such ring
  std::int64_t chunk_bytes = 0;
};

class ProgramCollectives {
 public:
  // The inputs outlive it.
  explicit ProgramCollectives(const ProgramTableInputs& inputs);

  // At least one. Valid until the next call.
  const std::vector<CollectiveStage>& stages_of(const schema::Node::Reader& node);

  // The node of a program, with the program's table as far as it is: channels and stepped tasks
  // that are new are added to it. Valid until the next call. Throws core::InputError, naming the
  // node, where data is too large or channels are too many.
  const std::vector<CollectiveTask>& tasks_of(std::uint32_t program, std::uint32_t node,
                                              std::uint32_t stream, ProgramTable& table);
  // The next node is of another program.
  void finish();

  // Channels get their numbers in order of first use, the same on every rank.
  [[nodiscard]] std::uint32_t channel_numbers() const {
    return static_cast<std::uint32_t>(numbers_.size());
  }

 private:
  using Identity = std::array<std::uint64_t, 3>;  // type and group; bytes; root and sizes
  static Identity identity_of(const schema::Node::Reader& node);

  struct ChannelKey {
    Among among;
    bool stepped;
    auto operator<=>(const ChannelKey&) const = default;
  };
  // The node whose tasks are being found.
  struct Place {
    std::uint32_t program, node, stream;
  };
  std::uint8_t channel_of(const ChannelKey& key, const Place& place, ProgramTable& table);
  [[nodiscard]] CollectiveTask task_of(const CollectiveStage& stage, const Place& place,
                                       ProgramTable& table);
  void make_stepped(CollectiveTask& out, const CollectiveStage& stage, const Place& place,
                    ProgramTable& table) const;
  void make_ring(CollectiveTask& out, const CollectiveStage& stage, const Place& place) const;

  const ProgramTableInputs& in_;
  CollectiveStages stages_;
  std::vector<TimeClass> group_class_;
  // Looked up only.
  std::unordered_map<Identity, std::vector<CollectiveStage>, core::WordsHash> known_stages_;
  std::unordered_map<Identity, std::vector<CollectiveTask>, core::WordsHash> known_tasks_;
  std::map<ChannelKey, std::uint16_t> numbers_;  // of all programs so far
  std::map<ChannelKey, std::uint8_t> local_channel_;
};

}  // namespace exawarp::model
