// `serve` and `run --requests --requests-series`, and times between tokens: tables that agree with
// each other and with the summary, the same in every mode, and errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/e2e/jobs_study.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;

const std::string kServe = R"(study: chat
serving: {policy: sarathi, blocks: 60, request_tokens_max: 256, replicas: 2}
requests: {arrivals: poisson, rate: 40, count: 150, prompt: {lengths: uniform, least: 8, most: 200},
           output: {lengths: uniform, least: 1, most: 50}}
objectives: {first_token: "100 ms"}
)";

const std::string kJobs = R"(jobs:
  - {name: training, workload: workload.yaml}
  - name: chat
    serving:
      model: {name: small, layers: 2, hidden: 64, ffn: 128, heads: 4, vocabulary: 100}
      by_formula: true
      scheduler: {policy: vllm, blocks: 40, request_tokens_max: 128, latency: 1 us,
                  batch_time: {base: 20 us, per_token: 100 ns}}
      decode:
        by_formula: true
        scheduler: {policy: sarathi, blocks: 40, request_tokens_max: 128,
                    batch_time: {base: 20 us, per_token: 100 ns}}
      requests: {arrivals: poisson, rate: 10000, count: 12, prompt: {tokens: 60},
                 output: {tokens: 5}}
)";

class RequestTables : public JobsStudy {
 protected:
  using Rows = std::vector<std::map<std::string, std::string>>;

  Rows rows(const std::string& name) const {
    const auto fields_of = [](const std::string& line) {
      std::vector<std::string> fields(1);
      for (const char c : line) {
        if (c == ',')
          fields.emplace_back();
        else
          fields.back() += c;
      }
      return fields;
    };
    std::istringstream lines(workspace.read(name));
    std::string line;
    std::getline(lines, line);
    const std::vector<std::string> names = fields_of(line);
    Rows out;
    while (std::getline(lines, line)) {
      const std::vector<std::string> fields = fields_of(line);
      EXPECT_EQ(fields.size(), names.size()) << line;
      auto& row = out.emplace_back();
      for (std::size_t i = 0; i < std::min(names.size(), fields.size()); ++i)
        row[names[i]] = fields[i];
    }
    return out;
  }
  // Of a column; an empty field counts for nothing.
  static double sum(const Rows& table, const std::string& column) {
    double out = 0;
    for (const auto& row : table) {
      const std::string& field = row.at(column);
      if (!field.empty()) out += std::stod(field);
    }
    return out;
  }
  // With both tables.
  json served(const std::vector<std::string>& more) const {
    workspace.write("serve.yaml", kServe);
    std::vector<std::string> arguments{"serve", "serve.yaml", "--json", "--requests", "r.csv",
                                       "--requests-series", "s.csv"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = workspace.run(arguments);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return json::parse(ran.out);
  }
};

TEST_F(RequestTables, OverTimeAddUpToThoseOfRequests) {
  for (const char* width : {"500 ms", "30 ms", ""}) {
    SCOPED_TRACE(width);
    std::vector<std::string> more;
    if (*width != '\0') more = {"--requests-series-width", width};
    const json r = served(more);
    const Rows requests = rows("r.csv"), series = rows("s.csv");
    ASSERT_EQ(requests.size(), 150u);
    ASSERT_FALSE(series.empty());
    for (const char* column : {"arrived", "first_tokens", "done"})
      EXPECT_EQ(sum(series, column), 150) << column;
    EXPECT_EQ(sum(series, "good"), r["good"].get<double>());
    const double tokens = sum(requests, "output_tokens");
    EXPECT_NEAR(sum(series, "output_tokens"), tokens, 1e-4 * tokens);
    const double span = std::stod(series[0].at("until_ps"));
    const double waiting = sum(requests, "first_token_ps");
    EXPECT_NEAR(sum(series, "waiting") * span, waiting, 1e-3 * waiting);
    const double decoding = sum(requests, "end_ps") - waiting;
    EXPECT_NEAR(sum(series, "decoding") * span, decoding, 1e-3 * decoding);
    EXPECT_LE(series.size(), 500u);
  }
}

TEST_F(RequestTables, OfEqualWidthsFollowEachOther) {
  served({"--requests-series-width", "250 ms"});
  const Rows series = rows("s.csv");
  for (std::size_t i = 0; i < series.size(); ++i) {
    EXPECT_EQ(series[i].at("from_ps"), std::to_string(i * 250'000'000'000));
    EXPECT_EQ(series[i].at("until_ps"), std::to_string((i + 1) * 250'000'000'000));
  }
}

TEST_F(RequestTables, TimesBetweenTokensAreThoseOfTheRequests) {
  const json gaps = served({})["inter_token_ps"];
  const Rows requests = rows("r.csv");
  double count = -static_cast<double>(requests.size()), most = 0;
  for (const auto& row : requests) {
    count += std::stod(row.at("output_tokens"));
    most = std::max(most, std::stod(row.at("end_ps")) - std::stod(row.at("first_token_ps")));
  }
  const double mean = (sum(requests, "end_ps") - sum(requests, "first_token_ps")) / count;
  EXPECT_NEAR(gaps["mean"].get<double>(), mean, 1e-4 * mean);
  EXPECT_LE(gaps["p50"], gaps["p90"]);
  EXPECT_LE(gaps["p90"], gaps["p99"]);
  EXPECT_LE(gaps["p99"], gaps["max"]);
  EXPECT_LE(gaps["max"].get<double>(), most);
  EXPECT_GT(gaps["p50"], 0);
}

TEST_F(RequestTables, AreTheSameInEveryMode) {
  const json expected = served({"--sync", "sequential"});
  const std::string requests = workspace.read("r.csv"), series = workspace.read("s.csv");
  for (const std::vector<std::string>& mode :
       {std::vector<std::string>{"--sync", "conservative", "--threads", "2"},
        {"--sync", "optimistic", "--threads", "2", "--partitions", "3"},
        {"--sync", "optimistic", "--threads", "1", "--audit", "0.2"}}) {
    const json r = served(mode);
    EXPECT_EQ(r["inter_token_ps"], expected["inter_token_ps"]);
    EXPECT_EQ(workspace.read("r.csv"), requests);
    EXPECT_EQ(workspace.read("s.csv"), series);
  }
}

TEST_F(RequestTables, OfJobsNameThem) {
  const json chat =
      summary(kJobs, {"--requests", "r.csv", "--requests-series", "s.csv"})["serving"][0];
  const Rows requests = rows("r.csv"), series = rows("s.csv");
  ASSERT_EQ(requests.size(), 12u);
  for (const auto& row : requests) EXPECT_EQ(row.at("job"), "chat");
  EXPECT_NEAR(sum(requests, "keys_transfer_ps"),
              12 * chat["keys_transfer_ps"]["mean"].get<double>(), 12);
  EXPECT_EQ(sum(series, "done"), 12);
  EXPECT_EQ(series[0].at("good"), "") << "nothing was promised";
  // Four gaps a request, in the pool that decodes; the first one has the way of the keys in it.
  const double mean = (sum(requests, "end_ps") - sum(requests, "first_token_ps")) / (12 * 4);
  EXPECT_NEAR(chat["inter_token_ps"]["mean"].get<double>(), mean, 1e-3 * mean);
  EXPECT_GE(chat["inter_token_ps"]["max"].get<double>(),
            chat["keys_exposed_ps"]["max"].get<double>());
}

TEST_F(RequestTables, RefuseWhatTheyCannotShow) {
  const auto expect = [&](const std::string& jobs, const std::vector<std::string>& arguments,
                          const std::string& text) {
    const std::string line = refusal(jobs, arguments);
    EXPECT_NE(line.find(text), std::string::npos) << line;
  };
  const std::string training = "jobs: [{name: training, workload: workload.yaml}]\n";
  expect(training, {"--requests", "r.csv"}, "--requests: no job of study.yaml serves");
  expect(training, {"--requests-series", "s.csv"}, "--requests-series: no job of study.yaml");
  expect(kJobs, {"--requests-series-width", "1 s"}, "without --requests-series FILE");
  expect(kJobs, {"--requests-series", "s.csv", "--requests-series-width", "0 s"},
         "\"0 s\"; expected more than 0 s");
  expect(kJobs, {"--requests-series", "s.csv", "--requests-series-width", "1"}, "\"1\"");
  EXPECT_FALSE(workspace.has("s.csv"));
}

}  // namespace
}  // namespace exawarp::tests
