// `--stats`: the time series of a run as a file.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;
using Row = std::map<std::string, std::string>;  // by column

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields;
  std::string::size_type from = 0;
  for (std::string::size_type to; (to = line.find(',', from)) != std::string::npos; from = to + 1)
    fields.push_back(line.substr(from, to - from));
  fields.push_back(line.substr(from));
  return fields;
}

std::vector<Row> rows_of(const std::string& csv) {
  std::istringstream in(csv);
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> columns = split(line);
  std::vector<Row> rows;
  while (std::getline(in, line)) {
    const std::vector<std::string> fields = split(line);
    EXPECT_EQ(fields.size(), columns.size()) << line;
    Row& row = rows.emplace_back();
    for (std::size_t i = 0; i < fields.size() && i < columns.size(); ++i)
      row[columns[i]] = fields[i];
  }
  return rows;
}

class Stats : public testing::Test {
 protected:
  Stats() {
    workspace.write("study.yaml", small_study());
    workspace.write("workload.yaml", small_workload());
  }

  json run(std::vector<std::string> arguments) const {
    const Ran ran = workspace.run(arguments);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return json::parse(ran.out);
  }
  json study(std::vector<std::string> more) const {
    more.insert(more.begin(), {"run", "study.yaml", "--json"});
    return run(more);
  }

  const Workspace workspace;
};

TEST_F(Stats, TheLastRowIsOfTheWholeRunAndAgreesWithTheSummary) {
  const json summary = study({"--stats", "deep/er/stats.csv", "--stats-interval", "1 us"});
  const std::vector<Row> rows = rows_of(workspace.read("deep/er/stats.csv"));
  ASSERT_FALSE(rows.empty());
  Row last = rows.back();
  EXPECT_EQ(last["scope"], "run");
  for (const auto& [column, key] : {std::pair{"committed", "committed_events"},
                                    {"processed", "processed_events"},
                                    {"rolled_back", "rolled_back_events"}}) {
    EXPECT_EQ(std::stoull(last[column]), summary[key].get<std::uint64_t>()) << column;
  }
  // The end has no GVT; the last event stands for it, unless GVT had been beyond it.
  const auto last_event_ps = summary["engine"]["last_event_ps"].get<std::uint64_t>();
  EXPECT_GE(std::stoull(last["gvt_ps"]), last_event_ps);
  EXPECT_LT(std::stoull(last["gvt_ps"]), 2 * last_event_ps);
}

TEST_F(Stats, EveryMomentHasARowForEachPartitionAndTheirTotal) {
  const json summary = study(
      {"--threads", "2", "--partitions", "2", "--stats", "s.csv", "--stats-interval", "1 us"});
  std::uint64_t committed = 0, partitions = 0, moments = 0, epoch = 0;
  double host_s = 0;
  for (Row& row : rows_of(workspace.read("s.csv"))) {
    if (row["scope"] == "partition") {
      committed += std::stoull(row["committed"]);
      ++partitions;
    }
    if (row["scope"] != "run") continue;
    EXPECT_EQ(std::stoull(row["committed"]), committed);
    EXPECT_GE(std::stod(row["host_s"]), host_s);
    EXPECT_GE(std::stoull(row["epoch"]), epoch);
    host_s = std::stod(row["host_s"]);
    epoch = std::stoull(row["epoch"]);
    committed = 0;
    ++moments;
  }
  EXPECT_EQ(partitions, moments * summary["partitions"].get<std::uint64_t>());
  EXPECT_GE(moments, 2u);
}

TEST_F(Stats, AskingForThemChangesNoDigest) {
  for (const char* sync : {"sequential", "conservative", "optimistic"}) {
    const json without = study({"--sync", sync});
    const json with = study({"--sync", sync, "--stats", "s.csv", "--stats-interval", "1 us"});
    EXPECT_EQ(with["digest"], without["digest"]) << sync;
    EXPECT_EQ(with["committed_events"], without["committed_events"]) << sync;
  }
}

TEST_F(Stats, PholdWritesThemToo) {
  const json out = run({"phold", "--lps", "64", "--start-events", "2", "--remote", "0.5", "--end",
                        "20", "--threads", "2", "--json", "--stats", "p.csv"});
  const std::vector<Row> rows = rows_of(workspace.read("p.csv"));
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(std::stoull(rows.back().at("committed")), out["committed_events"]);
}

TEST_F(Stats, ABadIntervalIsRefusedAndNothingIsWritten) {
  const std::map<std::vector<std::string>, std::string> cases{
      {{"--stats", "s.csv", "--stats-interval", "often"}, "--stats-interval: \"often\" "},
      {{"--stats", "s.csv", "--stats-interval", "10"},
       "--stats-interval: \"10\" has no unit; expected e.g. \"3.6 us\" or \"250 ns\"\n"},
      {{"--stats", "s.csv", "--stats-interval", "0 ms"},
       "--stats-interval: \"0 ms\" is too short; expected e.g. \"10 ms\"\n"},
      {{"--stats-interval", "10 ms"}, "--stats-interval: has no effect without --stats FILE\n"}};
  for (const auto& [more, text] : cases) {
    std::vector<std::string> arguments{"run", "study.yaml"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = workspace.run(arguments);
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_EQ(ran.err.rfind(text, 0), 0u) << ran.err;
  }
  EXPECT_FALSE(workspace.has("s.csv"));
  EXPECT_FALSE(workspace.has("results"));
}

TEST_F(Stats, AFileThatCannotBeWrittenEndsWithCodeFourBeforeTheRun) {
  workspace.write("file", "");
  for (const char* path : {"file/below/s.csv", "."}) {
    const Ran ran = workspace.run({"run", "study.yaml", "--stats", path});
    EXPECT_EQ(ran.exit_code, 4) << path;
    EXPECT_EQ(ran.err.rfind(std::string(path) + ": cannot ", 0), 0u) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_FALSE(workspace.has("results/tiny/summary.json"));
  }
}

// Runs scripts/plot; what it prints goes to the files "out" and "err".
int plot(const std::string& arguments) {
  const std::string command =
      "python3 '" EXAWARP_SOURCE_DIR "/scripts/plot' " + arguments + " > out 2> err";
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(Stats, ThePlotShowsAllOfThem) {
  study({"--threads", "2", "--stats", "s.csv", "--stats-interval", "100 us"});
  EXPECT_EQ(plot("s.csv"), 0) << workspace.read("err");
  EXPECT_EQ(workspace.read("out"), "s.svg\n");
  const std::string picture = workspace.read("s.svg");
  EXPECT_EQ(picture.rfind("<svg ", 0), 0u);
  EXPECT_EQ(picture.substr(picture.size() - 7), "</svg>\n");
  for (const char* title : {"GVT", "Window", "Events, ", "Efficiency", "Events held", "memory",
                            "Workers' time", "Load"})
    EXPECT_NE(picture.find(title), std::string::npos) << title;
}

TEST_F(Stats, ThePlotOfSomethingElseIsRefusedInOneLine) {
  EXPECT_EQ(plot("study.yaml"), 2);
  EXPECT_EQ(workspace.read("err"),
            "study.yaml: no table of --stats: column 'scope' is missing\n");
  EXPECT_EQ(plot("absent.csv"), 2);
  EXPECT_FALSE(workspace.has("study.svg"));
}

TEST_F(Stats, NothingButTheFileRemains) {
  study({"--stats", "here/s.csv"});
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("here")) ++files;
  EXPECT_EQ(files, 1u);
}

TEST_F(Stats, TheSummaryAccountsForAllOfTheWorkersTime) {
  const json t = study({"--threads", "2"})["engine"]["host_time"];
  double sum = 0;
  for (const char* part :
       {"executing", "mailboxes", "fossil_collection", "gvt_and_exchange", "waiting"}) {
    EXPECT_GE(t[part].get<double>(), 0) << part;
    sum += t[part].get<double>();
  }
  EXPECT_NEAR(sum, 1.0, 1e-9);
  EXPECT_GE(t["heaviest_partition"]["busy_s"], t["lightest_partition"]["busy_s"]);
  EXPECT_GE(t["heaviest_partition"]["times_mean"].get<double>(), 1.0);
  const Ran text = workspace.run({"run", "study.yaml", "--threads", "2"});
  for (const char* words : {"Worker time", "executing events", "times the mean"})
    EXPECT_NE(text.out.find(words), std::string::npos) << text.out;
}

}  // namespace
}  // namespace exawarp::tests
