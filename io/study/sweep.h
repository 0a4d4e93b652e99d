// A sweep: one study at many points (configs/sweeps/). docs/guide/sweeps.md explains the file.
//
//   sweep: layouts
//   study: llama3_405b_1k
//   over:
//     workload.transformer.parallel.tensor: [2, 4, 8]
//     workload.transformer.parallel.pipeline: {from: 4, to: 16, factor: 2}
//   where: ["divides(tensor * pipeline, devices)"]
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/names.h"
#include "io/study/keys.h"

namespace exawarp::model {
class KernelTables;
}  // namespace exawarp::model

namespace exawarp::io {

struct Study;

enum class SweepOrder { grid, list, random };
inline constexpr core::Named<SweepOrder> kSweepOrderNames[] = {
    {"grid", SweepOrder::grid}, {"list", SweepOrder::list}, {"random", SweepOrder::random}};
constexpr std::span<const core::Named<SweepOrder>> names_of(SweepOrder) { return kSweepOrderNames; }
static_assert(core::names_each(kSweepOrderNames));

// A key of the study, and what it is at one point after the other.
struct SweepAxis {
  std::string key;                  // "workload.transformer.parallel.tensor"
  std::vector<std::string> values;  // as --set takes them
};

struct Sweep {
  // As written.
  std::string file;
  std::string name;                    // safe as the name of a file
  std::string study_file;              // of every point
  std::vector<std::string> overrides;  // of every point's study, before its own
  bool ignore_memory = false;          // simulates what does not fit the accelerator, too
  std::vector<SweepAxis> axes;
  SweepOrder order = SweepOrder::grid;
  std::uint32_t samples = 0;                               // of `random`
  std::uint64_t seed = 1;                                  // of `random`
  std::vector<std::string> where;                          // conditions that points have to hold
  std::vector<std::pair<std::string, std::string>> names;  // for keys, in conditions

  // What follows.
  std::vector<std::vector<std::string>> points;  // a value for each axis; at least one
  std::string text;                              // resolved
  // Of the study and of all points: two sweeps of one identity have the same results.
  std::string identity;
  // Kernel tables of the study without what points replace: most points have the same, and need
  // not read them again.
  std::vector<std::shared_ptr<const model::KernelTables>> tables;
};

constexpr std::size_t kSweepCombinationsMax = 1'000'000;
constexpr std::size_t kSweepPointsMax = 100'000;

// Reads the file and its study, and finds the points. `overrides` of the study go behind the file's
// own. Throws core::InputError.
Sweep read_sweep(const std::string& path, const std::vector<std::string>& overrides = {});

// Reads the study's kernel tables, for share_tables().
void keep_tables(const Study& base, Sweep& sweep);
// Gives a point's study those of the sweep where it would read the same.
void share_tables(const Sweep& sweep, Study& point);

// What a point's study replaces, path.to.key=value, in the order of application.
std::vector<std::string> overrides_of(const Sweep& sweep, const std::vector<std::string>& point);

// Of all that decides what the points are; `study_hash`: of the study without what points replace.
std::string sweep_identity(const Sweep& sweep, const std::string& study_hash);

// Of the mapping at `root`: the file of a study, from the mapping's own or by its name in
// configs/studies; and settings, path.to.key=value, whose values may name files beside `file`.
std::string study_file_at(const YamlSection& root, const std::string& key);
std::vector<std::string> settings_at(const YamlSection& root, const std::string& key,
                                     const std::string& file);
// The study in `file` with `overrides`. What is wrong with one of them that the mapping lists at
// `set` is so there.
Study study_with(const YamlSection& root, const std::string& file,
                 const std::vector<std::string>& overrides);

const Keys<Sweep>& sweep_keys();

}  // namespace exawarp::io
