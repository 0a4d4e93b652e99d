// Checkpoints on disk: a cut of a simulation (pdes/cut.h) from which `--restart` goes on.
//
//   DIR/checkpoint-000007/   whole, since it has this name
//     manifest.json            what it is of, what was reached, its parts and their checksums
//     study.resolved.yaml      the study, where there is one
//     rank-00000.part ...      what each rank had: states, pending events, what sinks gathered
//   DIR/.partial-000008/     being written; removed by the next one
//
// Each rank writes its part, zstd in chunks with a checksum each. The directory gets its name when
// all of it is on the disk; the one before is kept, and older ones go.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/time.h"
#include "io/life/directory_lock.h"
#include "io/study/settings.h"
#include "pdes/cut.h"
#include "pdes/emission.h"
#include "pdes/engine.h"
#include "pdes/transport.h"

namespace exawarp::io {

// Where to write them, and how often.
struct CheckpointOptions {
  std::string directory = {};  // empty: none
  double every_s = 600;        // host time; 0: only where the run is stopped
  core::Time every{0};         // simulated time; 0: by host time
};

// What is simulated.
struct CheckpointFacts {
  std::string command;  // of exawarp: run, traffic, goal or phold
  std::string study;    // resolved; empty: there is none
  Settings arguments;   // what the command is given besides
  Settings identity;    // what has to be the same for a restart to go on, by name
};

// A sink whose content belongs to a checkpoint, by name.
struct NamedSink {
  std::string name;  // the option that asks for it
  pdes::EmissionSink* sink;
};

// Writes the checkpoints of one run. Owner: the rank's main thread.
class CheckpointWriter {
 public:
  // Makes the directory on rank 0. Throws core::SystemError where that cannot be done, or another
  // run writes there and does not end within kPatience, core::InputError where it holds checkpoints
  // of something else. Collective.
  CheckpointWriter(std::string directory, CheckpointFacts facts, std::vector<NamedSink> sinks,
                   pdes::Transport& transport);

  // Throws core::SystemError on the lowest rank that could not write, OtherRankFailed elsewhere;
  // the whole ones stay. Collective.
  void write(pdes::RankCut&& cut);

  // Of the newest that this run wrote; empty: none yet.
  [[nodiscard]] const std::string& newest() const { return newest_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }  // of that one; on rank 0

 private:
  std::string directory_;
  CheckpointFacts facts_;
  std::vector<NamedSink> sinks_;
  pdes::Transport& transport_;
  std::unique_ptr<const DirectoryLock> lock_;  // on rank 0
  std::uint32_t next_ = 1;
  std::string newest_;
  std::uint64_t bytes_ = 0;
};

// How long a run waits for one that still writes where it wants to. Ranks that lose another, or
// their launcher, end within ten seconds, and until then they may write.
inline constexpr std::chrono::seconds kPatience{15};

// What all ranks go on from: of a directory of checkpoints rank 0's newest, else `directory` as it
// is, and "" for "". Waits for a run that still writes there. Collective.
std::string newest_checkpoint(const std::string& directory, pdes::Transport& transport);

// A checkpoint to go on from.
class Checkpoint {
 public:
  // `directory`: a checkpoint, or what holds some, of which it takes the newest. Reads all but the
  // states. Throws core::InputError, `path: what is wrong`, that also names an older checkpoint
  // which is whole; SystemError where files cannot be read.
  Checkpoint(const std::string& directory, const std::string& command);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const CheckpointFacts& facts() const { return facts_; }
  // The file of the resolved study.
  [[nodiscard]] std::string study_file() const;
  // Of `arguments`. Throws core::InputError where it has none of that name.
  [[nodiscard]] const std::string& argument(std::string_view name) const;
  [[nodiscard]] const pdes::CutTotals& totals() const { return totals_; }

  // Throws core::InputError where it is of something else.
  void require(const Settings& identity) const;
  // The engine's LPs and the sinks' content. Throws as the constructor does.
  void restore(pdes::Engine& engine, const std::vector<NamedSink>& sinks, core::RankId rank,
               std::uint32_t ranks) const;

 private:
  struct Part {
    std::string file;
    std::uint64_t bytes = 0;
    std::uint64_t checksum = 0;  // of its head
  };
  void read_manifest();
  // The error with a place, and with the checkpoint before this one.
  [[noreturn]] void refuse(const core::InputError& error) const;
  void restore_part(const Part& part, bool with_sinks, pdes::Engine& engine,
                    const std::vector<NamedSink>& sinks) const;

  std::string path_;
  CheckpointFacts facts_;
  pdes::CutTotals totals_;
  std::vector<Part> parts_;
  std::vector<std::string> sinks_;  // names
};

// Checkpoints in a directory that have their name, ascending; none where there is no such
// directory.
std::vector<std::string> checkpoints_in(const std::string& directory);

}  // namespace exawarp::io
