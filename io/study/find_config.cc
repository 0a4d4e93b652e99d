#include "io/study/find_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>

#include "core/error.h"
#include "core/input_file.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVariable = "EXAWARP_CONFIGS";
constexpr std::string_view kConfigs = "configs/";
constexpr std::string_view kExtension = ".yaml";

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_name(std::string_view given) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !given.empty() && given.front() != '.' && std::ranges::all_of(given, plain);
}

std::string without_extension(std::string_view name) {
  if (name.ends_with(kExtension)) name.remove_suffix(kExtension.size());
  return std::string(name);
}

void add_names(const fs::path& folder, std::set<std::string>& names) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator{}; entries.increment(error)) {
    const fs::path& file = entries->path();
    if (file.extension() == kExtension && is_file(file)) names.insert(file.stem().string());
  }
}

// The folder that the program is in, links followed; empty where the system does not say.
fs::path program_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) return program.parent_path();
  const auto* const executed = reinterpret_cast<const char*>(getauxval(AT_EXECFN));  // no /proc
  if (executed == nullptr) return {};
  return fs::canonical(executed, error).parent_path();
}

// Folders, by name, that have a file of that name: other commands read it.
std::set<std::string> folders_with(const std::string& name) {
  std::set<std::string> folders;
  for (const std::string& place : config_places()) {
    std::error_code error;
    fs::directory_iterator entries(place, error);
    for (; !error && entries != fs::directory_iterator{}; entries.increment(error)) {
      if (is_file(entries->path() / (name + std::string(kExtension)))) {
        folders.insert(entries->path().filename().string());
      }
    }
  }
  return folders;
}

// What somebody may have meant who gave the name of nothing in `folders`.
std::string hint(const std::string& name, std::span<const std::string_view> folders) {
  const std::vector<std::string> all = config_names(folders), close = close_names(name, all);
  if (!close.empty()) return fmt::format("did you mean {}?", fmt::join(close, " or "));
  const std::set<std::string> others = folders_with(name);
  if (!others.empty()) return fmt::format("it is one in {}", fmt::join(others, " and "));
  return fmt::format("expected a file, or one of: {}", fmt::join(all, ", "));
}

[[noreturn]] void fail(const std::string& name, std::span<const std::string_view> folders) {
  const std::vector<std::string> places = config_places();
  if (places.empty()) {
    throw core::InputError(in_quotes(name),
                           fmt::format("there is no such file; expected one, or the name of a "
                                       "configuration and {} to say where those are",
                                       kVariable));
  }
  throw core::InputError(
      in_quotes(name),
      fmt::format("there is no such file, nor is it a name in {} of {}; {}",
                  fmt::join(folders, " or "), fmt::join(places, ", "), hint(name, folders)));
}

}  // namespace

std::vector<std::string> config_places() {
  std::vector<std::string> places;
  std::error_code ignored;
  if (const char* const given = std::getenv(kVariable); given != nullptr && *given != '\0') {
    if (!fs::is_directory(given, ignored)) {
      throw core::InputError(kVariable, in_quotes(given) +
                                            " is no directory; expected one that "
                                            "holds studies/ and so on");
    }
    places.emplace_back(given);
  }
  const fs::path program = program_folder();
  if (program.empty()) return places;
  for (const char* const place : {"configs", "../share/exawarp/configs"}) {
    const fs::path there = fs::canonical(program / place, ignored);
    if (!ignored && fs::is_directory(there, ignored)) places.push_back(there.string());
  }
  return places;
}

std::vector<std::string> config_names(std::span<const std::string_view> folders) {
  std::set<std::string> names;
  for (const std::string& place : config_places()) {
    for (const std::string_view folder : folders) add_names(fs::path(place) / folder, names);
  }
  return {names.begin(), names.end()};
}

std::string find_below_configs(const std::string& path) {
  if (!path.starts_with(kConfigs) || is_file(path)) return path;
  for (const std::string& place : config_places()) {
    const fs::path there = fs::path(place) / path.substr(kConfigs.size());
    if (is_file(there)) return there.lexically_normal().string();
  }
  return path;
}

std::string find_config(const std::string& given, std::span<const std::string_view> folders) {
  if (given == core::kStandardInput || is_file(given)) return given;
  if (!is_name(given)) return find_below_configs(given);
  const std::string name = without_extension(given);
  for (const std::string& place : config_places()) {
    for (const std::string_view folder : folders) {
      const fs::path there = fs::path(place) / folder / (name + std::string(kExtension));
      if (is_file(there)) return there.string();
    }
  }
  std::error_code ignored;
  // What has an extension or is there is meant as a file: who opens it says what is wrong with it.
  if (fs::path(given).has_extension() || fs::exists(given, ignored)) return given;
  fail(given, folders);
}

}  // namespace exawarp::io
