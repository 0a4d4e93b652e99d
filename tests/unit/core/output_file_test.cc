// What a reader finds at each moment of writing, and what is left behind when writing fails.
#include "core/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "core/check.h"
#include "core/error.h"
#include "core/temporary_files.h"

namespace exawarp::tests {
namespace {

using namespace core;

namespace fs = std::filesystem;

class Writing : public testing::Test {
 protected:
  Writing() : folder_(testing::TempDir() + "exawarp_output_" + std::to_string(getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Writing() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string in(const std::string& name) const { return folder_ + "/" + name; }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(in(name), std::ios::binary) << text;
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ifstream file(in(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] std::ptrdiff_t entries() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }
  [[nodiscard]] std::string error(const std::string& path, std::string_view bytes) const {
    try {
      write_file(path, bytes);
    } catch (const SystemError& problem) {
      return problem.what();
    }
    return "";
  }

  const std::string folder_;
};

// As long as it lives, files of this process end at `bytes`.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit lower{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &lower);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;
  ~FileLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(Writing, AReaderFindsTheFileOfBeforeUntilTheNewOneIsWhole) {
  put("f", "old");
  OutputFile file(in("f"));
  file.write("new");
  EXPECT_EQ(text("f"), "old");
  file.commit();
  EXPECT_EQ(text("f"), "new");
  EXPECT_EQ(entries(), 1);
}

TEST_F(Writing, WhatIsNotCommittedLeavesNothing) {
  OutputFile(in("f")).write("part");
  EXPECT_EQ(entries(), 0);
}

TEST_F(Writing, AFullDiskLeavesTheFileOfBeforeAndSaysWhy) {
  put("f", "old");
  const FileLimit limit(100);
  EXPECT_EQ(error(in("f"), std::string(1'000, 'x')), in("f") + ": cannot write: File too large");
  EXPECT_EQ(text("f"), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(Writing, APipeIsWrittenStraightAndStaysOne) {
  ASSERT_EQ(mkfifo(in("pipe").c_str(), 0600), 0);
  const int reader = open(in("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  write_file(in("pipe"), "bytes");
  std::array<char, 8> got{};
  EXPECT_EQ(read(reader, got.data(), got.size()), 5);
  EXPECT_STREQ(got.data(), "bytes");
  close(reader);
  EXPECT_TRUE(fs::is_fifo(in("pipe")));
  EXPECT_EQ(entries(), 1);
}

TEST_F(Writing, ADeviceIsWrittenStraightAlsoBehindALink) {
  fs::create_symlink("/dev/full", in("full"));
  for (const std::string& path : {std::string("/dev/full"), in("full")}) {
    EXPECT_EQ(error(path, "x"), path + ": cannot write: No space left on device");
    EXPECT_TRUE(fs::is_character_file(path));
  }
  EXPECT_TRUE(fs::is_symlink(in("full")));
}

TEST_F(Writing, ALinkToAFileIsRefusedAndTheFileIntact) {
  put("behind", "old");
  fs::create_symlink("behind", in("link"));
  fs::create_symlink("absent", in("dangling"));
  EXPECT_TRUE(
      error(in("link"), "new")
          .starts_with(
              in("link") +
              ": cannot write through a symbolic link; expected the name of the file itself"));
  EXPECT_TRUE(error(in("dangling"), "new")
                  .starts_with(in("dangling") + ": cannot write through a symbolic link: "));
  EXPECT_EQ(text("behind"), "old");
  EXPECT_EQ(entries(), 3);
}

TEST_F(Writing, AnotherNameOfStandardErrorIsStandardError) {
  put("log", "");
  fs::create_symlink("log", in("link"));
  const int before = dup(STDERR_FILENO);
  const int log = open(in("log").c_str(), O_WRONLY);
  dup2(log, STDERR_FILENO);
  const std::string problem = error(in("link"), "line\n");
  dup2(before, STDERR_FILENO);
  close(before);
  close(log);
  EXPECT_EQ(problem, "");
  EXPECT_EQ(text("log"), "line\n");
}

TEST_F(Writing, ADirectoryIsRefused) {
  EXPECT_EQ(error(folder_, "x"), folder_ + ": cannot write: Is a directory");
}

TEST_F(Writing, PermissionsOfTheFileOfBeforeStay) {
  put("f", "old");
  fs::permissions(in("f"), fs::perms::owner_read | fs::perms::owner_write);
  write_file(in("f"), "new");
  EXPECT_EQ(fs::status(in("f")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Writing, FilesThatBelongTogetherGetTheirNamesTogether) {
  put("a", "old");
  {
    OutputFiles files;
    files.add(in("a"), "new");
    const FileLimit limit(100);
    EXPECT_THROW(files.add(in("b"), std::string(1'000, 'x')), SystemError);
    EXPECT_EQ(text("a"), "old");
  }
  EXPECT_EQ(entries(), 1);
  OutputFiles files;
  for (int i = 0; i < 20; ++i) files.add(in(std::to_string(i)), "new");
  files.add(in("a"), "new");
  files.commit();
  EXPECT_EQ(text("a"), "new");
  EXPECT_EQ(text("19"), "new");
  EXPECT_EQ(entries(), 21);
}

using WritingDeathTest = Writing;

TEST_F(WritingDeathTest, ASignalRemovesWhatIsNotCommittedAndEndsTheProcess) {
  for (const int number : {SIGTERM, SIGINT, SIGPIPE}) {
    EXPECT_EXIT(
        {
          remove_temporaries_on_signals();
          OutputFile file(in("f"));
          file.write("part");
          std::raise(number);
        },
        testing::KilledBySignal(number), "");
    EXPECT_EQ(entries(), 0);
  }
}

TEST_F(WritingDeathTest, AnIgnoredSignalStaysIgnored) {
  EXPECT_EXIT(
      {
        std::signal(SIGHUP, SIG_IGN);
        remove_temporaries_on_signals();
        OutputFile file(in("f"));
        std::raise(SIGHUP);
        file.commit();
        std::_Exit(fs::exists(in("f")) ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(WritingDeathTest, AFailedCheckRemovesWhatIsNotCommitted) {
  EXPECT_EXIT(
      {
        OutputFile file(in("f"));
        EXAWARP_CHECK(false);
      },
      testing::ExitedWithCode(1), "check failed");
  EXPECT_EQ(entries(), 0);
}

}  // namespace
}  // namespace exawarp::tests
