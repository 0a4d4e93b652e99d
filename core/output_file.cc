// Writes through a temporary file in the same folder (core/temporary_files.h), synchronises it to
// the disk and renames it. Files that belong together are all written before the first is renamed.
#include "core/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/error.h"
#include "core/temporary_files.h"

namespace exawarp::core {
namespace {

// Of files that belong together, so many are brought to the disk one by one. Each costs a commit of
// the file system's journal, 16 ms on a disk that others use; beyond, one call for the whole file
// system costs less, unless others are writing much to it.
constexpr std::size_t kSyncedSinglyMax = 4;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool is_written_straight(const struct stat& facts) {
  return S_ISFIFO(facts.st_mode) || S_ISCHR(facts.st_mode);
}

// A copy of the descriptor of standard output or standard error where `facts` are of that file, as
// behind /dev/stdout; else -1.
int standard_descriptor_of(const struct stat& facts) {
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat standard {};
    if (::fstat(descriptor, &standard) != 0) continue;
    if (standard.st_dev != facts.st_dev || standard.st_ino != facts.st_ino) continue;
    return ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  }
  return -1;
}

// Some file systems cannot bring a file to the disk on demand, and say so.
bool is_refusal_to_sync(int error) {
  return error == EINVAL || error == ENOTSUP || error == ENOSYS;
}

// Brings `folder`, or the file system that it is in, to the disk. What a name needs to survive the
// machine's end: no reason to fail, for all readers see it.
class Folder {
 public:
  explicit Folder(const std::string& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  void sync() const {
    if (descriptor_ >= 0) ::fsync(descriptor_);
  }
  [[nodiscard]] bool sync_file_system() const {
    return descriptor_ < 0 || ::syncfs(descriptor_) == 0;
  }

 private:
  int descriptor_;
};

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  struct stat facts {};
  mode_t permissions = 0;  // none: what a new file gets
  if (::lstat(path_.c_str(), &facts) == 0) {
    const bool link = S_ISLNK(facts.st_mode);
    if (link && ::stat(path_.c_str(), &facts) != 0) fail("cannot write through a symbolic link");
    if (link && S_ISREG(facts.st_mode)) {
      descriptor_ = standard_descriptor_of(facts);
      if (descriptor_ >= 0) return;
      errno = ELOOP;
      fail("cannot write through a symbolic link; expected the name of the file itself");
    }
    if (is_written_straight(facts)) {
      descriptor_ = ::open(path_.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
      if (descriptor_ < 0 || ::fstat(descriptor_, &facts) != 0) fail("cannot write");
      if (is_written_straight(facts)) return;
      ::close(std::exchange(descriptor_, -1));  // another file took the name in between
      errno = EEXIST;
      fail("cannot write");
    }
    if (S_ISDIR(facts.st_mode)) errno = EISDIR;
    if (S_ISBLK(facts.st_mode) || S_ISSOCK(facts.st_mode)) errno = ENOTSUP;
    if (!S_ISREG(facts.st_mode) || ::access(path_.c_str(), W_OK) != 0) fail("cannot write");
    permissions = facts.st_mode & 0777;
  } else if (errno != ENOENT) {
    fail("cannot write");
  }
  TemporaryFile file = create_temporary(folder_of(path_), path_);
  temporary_ = std::move(file.path);
  descriptor_ = file.descriptor;
  if (permissions != 0) static_cast<void>(::fchmod(descriptor_, permissions));
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) remove_temporary(temporary_);
}

void OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot write");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void OutputFile::close(bool sync) {
  if (sync && !temporary_.empty() && ::fsync(descriptor_) != 0 && !is_refusal_to_sync(errno)) {
    fail("cannot write");
  }
  if (::close(std::exchange(descriptor_, -1)) != 0) fail("cannot write");
}

void OutputFile::commit() {
  close(true);
  if (temporary_.empty()) return;
  place_temporaries(std::vector<Placing>{{temporary_, path_}});
  temporary_.clear();
  Folder(folder_of(path_)).sync();
}

void OutputFile::fail(const char* what) const {
  throw SystemError(path_ + ": " + what + ": " + system_text(errno));
}

void OutputFiles::add(const std::string& path, std::string_view bytes) {
  OutputFile file(path);
  file.write(bytes);
  const bool sync = files_.size() < kSyncedSinglyMax;
  file.close(sync);
  if (!sync && !file.temporary_.empty()) folders_to_sync_.insert(folder_of(path));
  files_.push_back(std::move(file));
}

void OutputFiles::commit() {
  for (const std::string& folder : folders_to_sync_) {
    if (!Folder(folder).sync_file_system()) {
      throw SystemError(folder + ": cannot write: " + system_text(errno));
    }
  }
  std::vector<Placing> placings;
  std::set<std::string> folders;
  for (const OutputFile& file : files_) {
    if (file.temporary_.empty()) continue;
    placings.push_back({file.temporary_, file.path_});
    folders.insert(folder_of(file.path_));
  }
  place_temporaries(placings);
  files_.clear();  // what has its name is no temporary file any more
  for (const std::string& folder : folders) Folder(folder).sync();
}

void write_file(const std::string& path, std::string_view bytes) {
  OutputFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace exawarp::core
