// `run --messages`: a row for each message, the same in every mode, with the amounts that the
// workload has.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

using Words = std::vector<std::string>;

struct MessageRow {
  std::string kind, tag;
  std::int64_t source = 0, destination = 0, bytes = 0, start_ps = 0, end_ps = 0;
};

class MessagesOfARun : public testing::Test {
 protected:
  MessagesOfARun() {
    workspace.write("study.yaml", small_study());
    workspace.write("workload.yaml", small_workload());
  }
  Ran run(Words more) const {
    Words words{"run", "study.yaml", "--quiet", "--force", "--out", "r", "--messages", "m.csv"};
    words.insert(words.end(), more.begin(), more.end());
    return workspace.run(words);
  }
  std::vector<MessageRow> rows(const Words& more) const {
    const Ran ran = run(more);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    std::istringstream lines(workspace.read("m.csv"));
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(line, "source,destination,kind,tag,bytes,start_ps,end_ps");
    std::vector<MessageRow> all;
    while (std::getline(lines, line)) {
      std::vector<std::string> fields(1);
      for (const char c : line) {
        if (c == ',') fields.emplace_back();
        else fields.back() += c;
      }
      EXPECT_EQ(fields.size(), 7u) << line;
      all.push_back({fields[2], fields[3], std::stoll(fields[0]), std::stoll(fields[1]),
                     std::stoll(fields[4]), std::stoll(fields[5]), std::stoll(fields[6])});
    }
    return all;
  }
  const Workspace workspace;
};

TEST_F(MessagesOfARun, AreThoseOfItsSends) {
  for (const char* fidelity : {"analytical", "message", "packet"}) {
    SCOPED_TRACE(fidelity);
    const auto all = rows({"--set", std::string("network.fidelity=") + fidelity});
    std::int64_t sent = 0, bytes = 0;
    std::map<std::int64_t, std::int64_t> balance;
    for (const MessageRow& row : all) {
      EXPECT_LT(row.start_ps, row.end_ps);
      EXPECT_NE(row.source, row.destination);
      if (row.kind != "message") continue;
      ++sent;
      bytes += row.bytes;
      ++balance[row.source];
      --balance[row.destination];
    }
    EXPECT_GT(sent, 0);
    // Activations one way, gradients of the same size the other.
    for (const auto& [device, surplus] : balance) EXPECT_EQ(surplus, 0) << device;
    EXPECT_EQ(bytes % sent, 0);
    EXPECT_EQ(all.front().bytes > 0, true);
  }
}

TEST_F(MessagesOfARun, OfPacketsAreThoseOfCollectivesToo) {
  const auto all = rows({"--set", "network.fidelity=packet", "--set",
                         "network.inside_nodes=packet"});
  std::map<std::string, std::size_t> kinds;
  for (const MessageRow& row : all) ++kinds[row.kind];
  EXPECT_GT(kinds["collective"], kinds["message"]);
  EXPECT_GT(kinds["message"], 0u);
}

TEST_F(MessagesOfARun, AreTheSameInEveryMode) {
  for (const char* fidelity : {"message", "packet"}) {
    SCOPED_TRACE(fidelity);
    const Words study{"--set", std::string("network.fidelity=") + fidelity};
    std::string first;
    for (const Words& mode : {Words{"--sync", "sequential"},
                              {"--sync", "conservative", "--threads", "2"},
                              {"--threads", "2", "--partitions", "4", "--audit", "0.05"}}) {
      Words words = study;
      words.insert(words.end(), mode.begin(), mode.end());
      EXPECT_FALSE(rows(words).empty());
      if (first.empty()) first = workspace.read("m.csv");
      EXPECT_EQ(workspace.read("m.csv"), first);
    }
  }
}

TEST_F(MessagesOfARun, NeedEachDevice) {
  const Ran ran = run({"--set", "network.fidelity=analytical", "--set", "fold=auto"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.err.find("expected study.yaml with fold: none"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace exawarp::tests
