#include "io/life/sweep_database.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "io/life/child_process.h"

namespace exawarp::tests {
namespace {

using io::PointState;
using io::SweepDatabase;
using io::SweepResults;

class SweepRows : public testing::Test {
 protected:
  SweepRows() {
    std::filesystem::create_directories(folder_);
    sweep_.name = "three";
    sweep_.identity = "a1";
    sweep_.axes = {{.key = "tensor", .values = {"1", "2", "4"}}};
    sweep_.points = {{"1"}, {"2"}, {"4"}};
  }
  ~SweepRows() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string error_of_opening() const {
    try {
      const SweepDatabase database(path_, sweep_);
      return "";
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  }
  [[nodiscard]] SweepResults results() const {
    return io::read_sweep_results({path_}, {io::measure_of("", "tokens_per_s")}, true);
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("exawarp_rows_" + std::to_string(getpid()));
  const std::string path_ = (folder_ / "s.db").string();
  io::Sweep sweep_;
};

TEST_F(SweepRows, KeepWhatBecameOfEachPoint) {
  {
    SweepDatabase database(path_, sweep_);
    EXPECT_EQ(database.pending(), (std::vector<std::int64_t>{1, 2, 3}));
    database.begin(1);
    database.finish(1, {.exit_code = 0,
                        .reason = "",
                        .wall_s = 0.5,
                        .digest = "d1",
                        .study = "study: x",
                        .summary = R"({"tokens_per_s": 12})"});
    database.begin(3);
    database.finish(3, {.exit_code = 4, .reason = "no memory", .wall_s = 1});
    EXPECT_EQ(database.count(PointState::failed), 1);
  }
  const SweepResults all = results();
  EXPECT_EQ(all.name, "three");
  EXPECT_EQ(all.keys, std::vector<std::string>{"tensor"});
  ASSERT_EQ(all.points.size(), 3U);
  EXPECT_EQ(all.points[0].state, PointState::done);
  EXPECT_EQ(all.points[0].outcome.digest, "d1");
  EXPECT_EQ(all.points[0].outcome.study, "study: x");
  EXPECT_EQ(all.points[0].figures, std::vector<std::optional<double>>{12.0});
  EXPECT_EQ(all.points[1].state, PointState::pending);
  EXPECT_EQ(all.points[1].values, std::vector<std::string>{"2"});
  EXPECT_EQ(all.points[2].outcome.reason, "no memory");
  EXPECT_EQ(all.points[2].outcome.exit_code, 4);
  EXPECT_EQ(all.points[2].figures, std::vector<std::optional<double>>{std::nullopt});
}

TEST_F(SweepRows, WhatWasBegunAndNotFinishedIsPendingAgain) {
  {
    SweepDatabase database(path_, sweep_);
    database.begin(1);
    database.begin(2);
    database.finish(2, {});
  }
  SweepDatabase database(path_, sweep_);
  EXPECT_EQ(database.pending(), (std::vector<std::int64_t>{1, 3}));
  database.begin(1);
  database.put_back(1);
  EXPECT_EQ(database.pending(), (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(results().points[0].starts, 2);
}

TEST_F(SweepRows, AreOfOneSweep) {
  { const SweepDatabase database(path_, sweep_); }
  sweep_.identity = "b2";
  EXPECT_EQ(error_of_opening(),
            path_ +
                ": holds another sweep, or other values of it: \"three\"; expected another "
                "file, -o FILE.db");
}

TEST_F(SweepRows, MayBeSharedAndAreReadTogether) {
  const std::vector<std::string> paths{path_, folder_.string() + "/t.db"};
  EXPECT_EQ(SweepDatabase(paths[0], sweep_, {.part = 1, .of = 2}).pending(),
            (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(SweepDatabase(paths[1], sweep_, {.part = 2, .of = 2}).pending(),
            (std::vector<std::int64_t>{2}));
  const SweepResults all = io::read_sweep_results(paths, {});
  ASSERT_EQ(all.points.size(), 3U);
  EXPECT_EQ(all.points[1].values, std::vector<std::string>{"2"});
  EXPECT_EQ(error_of_opening(), path_ +
                                    ": holds share 1/2 of the sweep; expected that of --share, "
                                    "which is 1/1");
  EXPECT_THROW(static_cast<void>(io::read_sweep_results({path_, path_}, {})), core::InputError);
  sweep_.identity = "b2";
  const std::string other = folder_.string() + "/u.db";
  { const SweepDatabase database(other, sweep_); }
  EXPECT_THROW(static_cast<void>(io::read_sweep_results({path_, other}, {})), core::InputError);
}

TEST_F(SweepRows, AreFilledByOneProcess) {
  const SweepDatabase database(path_, sweep_);
  io::ChildProcess other([this](std::string& result) {
    result = error_of_opening();
    return 0;
  });
  while (other.read()) {
  }
  EXPECT_EQ(other.wait().result, path_ + ": another process is filling it; one at a time can");
  EXPECT_EQ(results().points.size(), 3U);  // readers are welcome
}

TEST_F(SweepRows, RefuseOtherFiles) {
  std::ofstream(path_) << "plain text, long enough to be taken for the head of a database file. "
                          "It is none, though.\n";
  const std::string no_database = "is no database; expected one that `exawarp sweep` made";
  EXPECT_EQ(error_of_opening(), path_ + ": " + no_database);
  EXPECT_THROW(static_cast<void>(results()), core::InputError);
  std::filesystem::remove(path_);
  EXPECT_THROW(static_cast<void>(results()), core::InputError);
  io::Database(path_, io::Database::Use::fill).run("CREATE TABLE other(x)");
  EXPECT_EQ(error_of_opening(),
            path_ + ": is no sweep's database; expected one that `exawarp sweep` made");
  EXPECT_THROW(static_cast<void>(results()), core::InputError);
}

TEST_F(SweepRows, RefuseWhatSomebodyElseWroteIntoThem) {
  { const SweepDatabase database(path_, sweep_); }
  for (const char* const values : {"{", "[]", "{}", "{\"tensor\": 1}"}) {
    io::Database database(path_, io::Database::Use::fill);
    database.prepare("UPDATE point SET key_values = ?").bind(1, std::string_view(values)).run();
    EXPECT_THROW(static_cast<void>(results()), core::InputError) << values;
  }
}

TEST_F(SweepRows, NeedAFolder) {
  sweep_.name = "x";
  EXPECT_THROW(SweepDatabase(folder_.string() + "/none/s.db", sweep_), core::SystemError);
}

}  // namespace
}  // namespace exawarp::tests
