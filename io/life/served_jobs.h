// Jobs of a study that serve: their requests before the run, and what became of them after it.
#pragma once

#include <cstdint>
#include <string>

#include "io/report/results.h"
#include "io/study/study_cluster.h"
#include "pdes/engine.h"
#include "pdes/transport.h"

namespace exawarp::io {

// The file that a job's requests come from; empty: none.
std::string request_file_of(const JobConfig& job);

// Draws or reads the requests of all that serve. Throws core::InputError.
void add_requests(const Study& study, LoadedJobs& loaded);

// Sets what the report says of pools and requests. Collective.
void gather_served(const pdes::Engine& engine, RunReport& report, pdes::Transport& transport);

// What holds at the end of each run that finished: every request was answered once, and no block,
// no request is left at a replica.
void check_served(const RunReport& report);

}  // namespace exawarp::io
