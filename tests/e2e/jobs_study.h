// The small study with jobs in place of its workload.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {

class JobsStudy : public testing::Test {
 protected:
  JobsStudy() { workspace.write("workload.yaml", small_workload()); }

  Ran run(const std::string& jobs, std::vector<std::string> arguments = {}) const {
    workspace.write("study.yaml", replaced(small_study(), "workload: workload.yaml\n", jobs));
    arguments.insert(arguments.begin(), {"run", "study.yaml", "--json"});
    return workspace.run(arguments);
  }
  nlohmann::json summary(const std::string& jobs,
                         const std::vector<std::string>& arguments = {}) const {
    const Ran ran = run(jobs, arguments);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return nlohmann::json::parse(ran.out);
  }
  // The one line that `jobs` is refused with.
  std::string refusal(const std::string& jobs,
                      const std::vector<std::string>& arguments = {}) const {
    const Ran ran = run(jobs, arguments);
    EXPECT_EQ(ran.exit_code, 2) << jobs;
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
    EXPECT_FALSE(workspace.has("results")) << jobs;
    return ran.err;
  }

  const Workspace workspace;
};

}  // namespace exawarp::tests
