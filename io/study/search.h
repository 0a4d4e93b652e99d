// A search: all layouts of a training job on a number of devices (configs/searches/).
// docs/guide/search.md explains the file.
//
//   search: llama
//   study: llama3_70b_512
//   devices: [512]
//   over:
//     tensor: [2, 4, 8]
//     pipeline: [1, 2, 4]
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/names.h"
#include "io/study/sweep.h"

namespace exawarp::io {

enum class VerifyFidelity { message, folded_message, flow, packet };
inline constexpr core::Named<VerifyFidelity> kVerifyFidelityNames[] = {
    {"message", VerifyFidelity::message},
    {"folded_message", VerifyFidelity::folded_message},
    {"flow", VerifyFidelity::flow},
    {"packet", VerifyFidelity::packet}};
constexpr std::span<const core::Named<VerifyFidelity>> names_of(VerifyFidelity) {
  return kVerifyFidelityNames;
}
static_assert(core::names_each(kVerifyFidelityNames));

struct Search {
  // As written. Of `sweep`: name, study_file, overrides, where, names; its axes are those of
  // `over`.
  Sweep sweep;
  std::vector<std::uint32_t> devices;  // numbers of devices to lay the job out on; at least one
  // Layouts that have a second look, folded at `message`: at most so many and at least `best`; 0:
  // none. None either where `best` is 0.
  std::uint32_t look_again = 20;
  std::uint32_t best = 10;  // layouts that are verified, if not by the second look; 0: none
  VerifyFidelity fidelity = VerifyFidelity::message;

  // What follows. `sweep` then has one point for each layout that can be, and one axis more:
  // parallel.data, which the other axes and the number of devices leave no choice of.
  std::size_t combinations = 0;                   // of all values
  std::map<std::string, std::size_t> impossible;  // how many of them cannot be, by what forbids it
};

// Reads the file and its study, and finds the layouts. `overrides` of the study go behind the
// file's own. Throws core::InputError, also where no layout is possible.
Search read_search(const std::string& path, const std::vector<std::string>& overrides = {});

// How many layouts have a second look at most.
std::uint32_t second_looks(const Search& search);

// These points of the search's sweep folded at `message`, as the second look has them.
Sweep second_look_of(const Search& search, std::vector<std::vector<std::string>> points);

// These points of the search's sweep at its fidelity: each device simulated, unless that is folded.
Sweep verification_of(const Search& search, std::vector<std::vector<std::string>> points);

const Keys<Search>& search_keys();

}  // namespace exawarp::io
