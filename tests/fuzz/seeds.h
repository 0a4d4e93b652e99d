// Where fuzzing starts: sound inputs of each parser, and words worth putting in.
#pragma once

#include <string>
#include <vector>

#include "io/study/system_config.h"
#include "model/workload/graph.h"

namespace exawarp::fuzz {

std::vector<std::string> study_seeds();
std::vector<std::string> workload_spec_seeds();
std::vector<std::string> system_seeds();
std::vector<std::string> traffic_seeds();
std::vector<std::string> xwg_seeds();
std::vector<std::string> goal_seeds();
std::vector<std::string> stablehlo_seeds();
std::vector<std::string> chakra_seeds();
std::vector<std::string> chakra_words();
std::vector<std::string> trace_json_seeds();
std::vector<std::string> trace_json_words();
std::vector<std::string> pytorch_seeds();
std::vector<std::string> pytorch_words();
std::vector<std::string> text_workload_seeds();
std::vector<std::string> text_workload_words();
std::vector<std::string> astra_file_seeds();
std::vector<std::string> astra_file_words();
std::vector<std::string> kernel_table_seeds();
std::vector<std::string> kernel_table_words();
std::vector<std::string> kernel_import_seeds();
std::vector<std::string> kernel_import_words();
std::vector<std::string> flow_list_seeds();
std::vector<std::string> flow_list_words();
// By io::RequestFormat.
std::vector<std::string> request_trace_seeds();
std::vector<std::string> request_trace_words();
// A trace and its tensors.
std::vector<std::string> single_gpu_seeds();
std::vector<std::string> single_gpu_words();
std::vector<std::string> vidur_profile_seeds();
std::vector<std::string> vidur_profile_words();
std::vector<std::string> unit_seeds();
std::vector<std::string> expression_seeds();
std::vector<std::string> command_line_seeds();

std::vector<std::string> study_words();  // of all four kinds of YAML file
std::vector<std::string> xwg_words();
std::vector<std::string> goal_words();
std::vector<std::string> stablehlo_words();
std::vector<std::string> unit_words();
std::vector<std::string> expression_words();
std::vector<std::string> command_line_words();

// Workload specifications, and what stands below `system:` in the small study.
extern const char* const kMicrobenchmark;
extern const char* const kPingPong;
std::string small_system_text();

// What the other half of a simulation is where only one half is fuzzed.
model::WorkloadGraph small_graph();  // 8 devices, a training step
io::SystemConfig small_system();

}  // namespace exawarp::fuzz
