#include "io/life/host_facts.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

#include "core/error.h"
#include "io/study/find_config.h"

namespace exawarp::io {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::uint64_t soft_limit(int resource) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) return kUnlimited;
  return limit.rlim_cur == RLIM_INFINITY ? kUnlimited : limit.rlim_cur;
}

LimitFacts read_limits() {
  return {.open_files = soft_limit(RLIMIT_NOFILE),
          .processes = soft_limit(RLIMIT_NPROC),
          .address_space_bytes = soft_limit(RLIMIT_AS),
          .data_bytes = soft_limit(RLIMIT_DATA),
          .file_bytes = soft_limit(RLIMIT_FSIZE),
          .processor_s = soft_limit(RLIMIT_CPU)};
}

FolderFacts read_folder(const std::string& path) {
  FolderFacts facts{.path = path, .writable = access(path.c_str(), W_OK | X_OK) == 0};
  struct statvfs room {};
  if (statvfs(path.c_str(), &room) == 0) {
    facts.free_bytes = std::uint64_t{room.f_bavail} * room.f_frsize;
    facts.size_bytes = std::uint64_t{room.f_blocks} * room.f_frsize;
  }
  return facts;
}

// Whether a list as "0-3,8" has one of the processors.
bool has_any(const std::string& list, const std::vector<std::uint32_t>& cpus) {
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at < end) {
    std::uint32_t first = 0;
    const auto [after, error] = std::from_chars(at, end, first);
    if (error != std::errc{}) return false;
    std::uint32_t last = first;
    at = after;
    if (at < end && *at == '-') at = std::from_chars(at + 1, end, last).ptr;
    if (std::ranges::any_of(cpus, [&](auto cpu) { return first <= cpu && cpu <= last; })) {
      return true;
    }
    if (at < end) ++at;  // the comma
  }
  return false;
}

void read_numa(const fs::path& root, HostFacts& facts) {
  std::uint32_t all = 0, used = 0;
  std::error_code error;
  fs::directory_iterator entries(root / "sys/devices/system/node", error);
  for (; !error && entries != fs::directory_iterator{}; entries.increment(error)) {
    if (!entries->path().filename().string().starts_with("node")) continue;
    const std::string cpus = first_line(entries->path() / "cpulist");
    if (cpus.empty()) continue;  // memory alone
    ++all;
    if (has_any(cpus, facts.machine.cpus)) ++used;
  }
  facts.numa_domains = std::max(all, 1u);
  facts.numa_domains_used = std::max(used, 1u);
}

// The word in brackets of "always [madvise] never".
std::string chosen_word(const std::string& line) {
  const std::size_t open = line.find('['), close = line.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return {};
  return line.substr(open + 1, close - open - 1);
}

bool found_in_path(const char* program) {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    if (access(fmt::format("{}/{}", folder, program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

bool is_set(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

void read_launcher(const pdes::Transport& transport, HostFacts& facts) {
  facts.ranks = transport.ranks();
  facts.machine_ranks = transport.machine_ranks();
  facts.library = transport.library();
  if (const char* const text = std::getenv("SLURM_STEP_NUM_TASKS"); text != nullptr) {
    std::from_chars(text, text + std::strlen(text), facts.launched);
  }
  facts.mpirun_found = found_in_path("mpirun");
  facts.root_is_refused = geteuid() == 0 && !(is_set("OMPI_ALLOW_RUN_AS_ROOT") &&
                                              is_set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"));
}

}  // namespace

HostFacts read_host_facts(const pdes::Transport& transport, const fs::path& root) {
  HostFacts facts;
  facts.host = first_line(root / "proc/sys/kernel/hostname");
  read_launcher(transport, facts);
  facts.machine = core::discover_machine();
  facts.cpus_online = static_cast<std::uint32_t>(std::max(1l, sysconf(_SC_NPROCESSORS_ONLN)));
  read_numa(root, facts);
  facts.huge_pages = chosen_word(first_line(root / "sys/kernel/mm/transparent_hugepage/enabled"));
  facts.counts_reserved_memory = first_line(root / "proc/sys/vm/overcommit_memory") == "2";
  facts.memory_limit_bytes = core::read_control_group_limits(root).memory_bytes;
  facts.limits = read_limits();
  std::error_code error;
  if (fs::is_directory("/dev/shm", error)) facts.shared_memory = read_folder("/dev/shm");
  const fs::path temporary = fs::temp_directory_path(error);
  facts.temporary = read_folder(error ? "/tmp" : temporary.string());
  facts.here = read_folder(fs::current_path(error).string());
  try {
    facts.config_places = config_places();
  } catch (const core::InputError&) {
    // EXAWARP_CONFIGS names no directory: none are found, which is what there is to say.
  }
  return facts;
}

}  // namespace exawarp::io
