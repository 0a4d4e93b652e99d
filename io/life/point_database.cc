#include "io/life/point_database.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "core/check.h"
#include "core/error.h"

namespace exawarp::io {
namespace {

constexpr const char* kPointTables =
    "CREATE TABLE sweep(name TEXT NOT NULL, file TEXT NOT NULL, identity TEXT NOT NULL,"
    " share TEXT NOT NULL, keys TEXT NOT NULL);"
    "CREATE TABLE point(number INTEGER PRIMARY KEY, state TEXT NOT NULL,"
    " starts INTEGER NOT NULL DEFAULT 0, key_values TEXT NOT NULL, reason TEXT, exit_code INTEGER,"
    " wall_s REAL, digest TEXT, study TEXT, summary TEXT);";

// Far behind all bytes that SQLite locks.
constexpr off_t kLockedByte = off_t{1} << 60;
// A process that was killed this moment may have a child that has yet to notice.
constexpr int kLockAttempts = 20;
constexpr std::chrono::milliseconds kLockPause{20};

}  // namespace

FillLock::FillLock(const std::string& path)
    : descriptor_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) {
    throw core::SystemError(path + ": cannot write: " + core::system_text(errno));
  }
  struct flock lock {
    .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = kLockedByte, .l_len = 1, .l_pid = 0
  };
  for (int attempt = 0; fcntl(descriptor_, F_OFD_SETLK, &lock) != 0; ++attempt) {
    const int error = errno;
    const bool taken = error == EACCES || error == EAGAIN;
    if (taken && attempt < kLockAttempts) {
      std::this_thread::sleep_for(kLockPause);
      continue;
    }
    close(descriptor_);
    throw core::SystemError(path + (taken ? ": another process is filling it; one at a time can"
                                          : ": cannot lock: " + core::system_text(error)));
  }
}

FillLock::~FillLock() { close(descriptor_); }

PointDatabase::PointDatabase(const std::string& path)
    : lock_(path), database_(path, Database::Use::fill) {}

bool PointDatabase::is_empty() {
  return !database_.prepare("SELECT 1 FROM sqlite_schema").next();
}

void PointDatabase::create(const PointsHead& head, const std::function<void()>& add_points) {
  database_.run("BEGIN IMMEDIATE");
  database_.run(kPointTables);
  database_.prepare("INSERT INTO sweep VALUES (?, ?, ?, ?, ?)")
      .bind(1, head.name)
      .bind(2, head.file)
      .bind(3, head.identity)
      .bind(4, head.share)
      .bind(5, head.keys)
      .run();
  add_points();
  database_.run("COMMIT");
}

void PointDatabase::resume() {
  database_.run("UPDATE point SET state = 'pending' WHERE state = 'running'");
}

// From the one state that the statement asks for, so that nothing is run or recorded twice.
void PointDatabase::move(Statement& change) {
  change.run();
  EXAWARP_CHECK(database_.changes() == 1, database_.changes());
}

void PointDatabase::begin(std::int64_t number) {
  Statement change = database_.prepare(
      "UPDATE point SET state = 'running', starts = starts + 1 WHERE number = ? AND state = "
      "'pending'");
  move(change.bind(1, number));
}

void PointDatabase::put_back(std::int64_t number) {
  Statement change = database_.prepare(
      "UPDATE point SET state = 'pending' WHERE number = ? AND state = 'running'");
  move(change.bind(1, number));
}

void PointDatabase::finish(std::int64_t number, const PointOutcome& outcome) {
  Statement change = database_.prepare(
      "UPDATE point SET state = ?, reason = ?, exit_code = ?, wall_s = ?, digest = ?, study = ?, "
      "summary = ? WHERE number = ? AND state = 'running'");
  const PointState state = outcome.reason.empty() ? PointState::done : PointState::failed;
  move(change.bind(1, core::name_of(state))
           .bind(2, outcome.reason)
           .bind(3, std::int64_t{outcome.exit_code})
           .bind(4, outcome.wall_s)
           .bind(5, outcome.digest)
           .bind(6, outcome.study)
           .bind(7, outcome.summary)
           .bind(8, number));
}

}  // namespace exawarp::io
