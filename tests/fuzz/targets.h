// What a fuzzer drives: every parser of the program as a function of bytes.
//
// libFuzzer calls one of these a million times with bytes it invents (libfuzzer_main.cc, run by
// scripts/fuzz); mutation_test.cc calls all of them a few hundred times with bytes drawn from a
// fixed seed, in every preset. Both start from the same seeds.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace exawarp::fuzz {

// Separates the texts that some targets take: a file and its --set overrides, or arguments.
constexpr char kSeparator = '\x1f';

struct Target {
  const char* name;
  // True where the bytes were accepted, false where they were refused as bad input has to be: with
  // a core::InputError of one line and bounded length, or a command line's. Whatever else happens
  // (another exception, a check, a sanitizer's finding) ends the process: that is a bug found.
  bool (*run)(std::string_view bytes);
  // Inputs that are accepted.
  std::vector<std::string> (*seeds)();
  // Words that a mutation may put in.
  std::vector<std::string> (*words)();
};

// study, workload_spec, system, traffic, xwg, xwg_fields, chakra, trace_json, pytorch,
// text_workload, astra_files, goal, stablehlo, kernel_table, kernel_import, flow_list,
// request_trace, single_gpu, vidur_profile, units, expression, command_line.
std::span<const Target> targets();
// Null where there is none of that name.
const Target* find_target(std::string_view name);

}  // namespace exawarp::fuzz
