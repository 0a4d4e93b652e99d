// Writing a file, in the only way in which the program does it.
//
// A reader finds either the old file or all of the new one, never a part: the bytes go to a
// temporary file in the same folder, to the disk, and then get the name. A failure in between (a
// full disk, a signal) leaves the old file. Devices and pipes are written directly.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace exawarp::core {

// Owner: one thread. All functions throw SystemError, `path: what failed: the system's words`.
class OutputFile {
 public:
  // Finds out at once whether `path` can be written: a file or a free name in a folder that is
  // there, a pipe (waits for its reader, as any program does), or a character device. A symbolic
  // link must lead to a pipe or such a device, or be another name of standard output or standard
  // error: one to a file is refused, as whoever made the link may not be allowed to write the file.
  explicit OutputFile(std::string path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();  // removes what has not been committed

  [[nodiscard]] const std::string& path() const { return path_; }
  void write(std::string_view bytes);
  // Gives the file its name. Nothing may be written after this.
  void commit();

 private:
  friend class OutputFiles;
  [[noreturn]] void fail(const char* what) const;
  void close(bool sync);

  std::string path_;
  std::string temporary_;  // empty: written straight, or committed
  int descriptor_ = -1;
};

// Files that belong together. None gets its name before all of them are whole and on the disk, and
// a signal finds either none of them named or all.
class OutputFiles {
 public:
  // Holds no descriptor of it afterwards, so there may be more files than can be open.
  void add(const std::string& path, std::string_view bytes);
  void commit();

 private:
  std::vector<OutputFile> files_;
  std::set<std::string> folders_to_sync_;  // of files that are not known to be on the disk
};

// All at once.
void write_file(const std::string& path, std::string_view bytes);

}  // namespace exawarp::core
