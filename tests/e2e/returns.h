// Whether a workload comes back from an export as it was.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/workspace.h"

namespace exawarp::tests {

// Runs `workload` on devices under one switch, with large packets: the summary at each of the
// network fidelities.
[[nodiscard]] std::map<std::string, nlohmann::json> run_at(
    const std::vector<std::string>& fidelities, const Workspace& workspace,
    const std::string& workload);

// Exports `workload` as `format` (chakra or json), imports it as b.xwg with `options` (its
// --comm-groups apart: the exported file stands for it), and expects no difference.
void expect_returns(const Workspace& workspace, const std::string& workload,
                    const std::string& format, const std::vector<std::string>& options = {});

}  // namespace exawarp::tests
