// Configurations by name, from any directory: `exawarp run llama3_405b_32k`.
//
// A name is looked for as
//   1. the file of that path;
//   2. NAME.yaml in the folder that EXAWARP_CONFIGS names, laid out as configs/ is;
//   3. in configs/ beside the program, which a build's folder has as a link to its checkout's;
//   4. in share/exawarp/configs of where the program is installed.
// Paths that start with configs/ are looked for in the same places, wherever they stand: on the
// command line, and in files, so that anyone's study may say `system: configs/systems/x.yaml`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace exawarp::io {

// Folders of configs/ that a command reads from.
inline constexpr std::string_view kStudyFolders[] = {"studies"};
inline constexpr std::string_view kSweepFolders[] = {"sweeps"};
inline constexpr std::string_view kSearchFolders[] = {"searches"};
inline constexpr std::string_view kTrafficFolders[] = {"traffic"};
inline constexpr std::string_view kServingFolders[] = {"serving"};
inline constexpr std::string_view kCapacityFolders[] = {"serving", "studies"};
inline constexpr std::string_view kForkFolders[] = {"forks"};
inline constexpr std::string_view kNetworkFolders[] = {"studies", "traffic"};
inline constexpr std::string_view kWorkloadFolders[] = {"workloads"};
inline constexpr std::string_view kAcceleratorFolders[] = {"accelerators"};

// The path of what is `given`: a path, which comes back as it is where it is one of a file or
// nothing is known of it, or the name of a file in one of the `folders`, with .yaml or without.
// Throws core::InputError for a name of nothing, with those that come close.
std::string find_config(const std::string& given, std::span<const std::string_view> folders);

// The same of paths alone: where `path` is of no file and starts with configs/, the file of the
// first place that has one; else `path`.
std::string find_below_configs(const std::string& path);

// All names in the folders, in order, each once.
std::vector<std::string> config_names(std::span<const std::string_view> folders);

// The places that there are, in the order of search. Throws core::InputError where EXAWARP_CONFIGS
// names no directory.
std::vector<std::string> config_places();

}  // namespace exawarp::io
