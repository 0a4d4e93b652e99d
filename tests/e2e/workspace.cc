#include "tests/e2e/workspace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "io/run_main.h"

namespace exawarp::tests {

Workspace::Workspace()
    : before_(std::filesystem::current_path()),
      directory_(std::filesystem::temp_directory_path() /
                 ("exawarp_e2e_" + std::to_string(getpid()))) {
  std::filesystem::remove_all(directory_);
  std::filesystem::create_directories(directory_);
  std::filesystem::current_path(directory_);
}

Workspace::~Workspace() {
  std::filesystem::current_path(before_);
  std::filesystem::remove_all(directory_);
}

void Workspace::write(const std::string& name, const std::string& content) const {
  std::ofstream(name, std::ios::binary) << content;
}

std::string Workspace::read(const std::string& name) const {
  std::ifstream in(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool Workspace::has(const std::string& name) const { return std::filesystem::exists(name); }

Ran Workspace::run(const std::vector<std::string>& arguments) const {
  std::ostringstream out, err;
  const io::Console console{out, err, false};
  Ran ran;
  ran.exit_code = io::run_main(arguments, console);
  ran.out = out.str();
  ran.err = err.str();
  return ran;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "the text to replace is gone: " << from;
  for (; at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string small_workload() {
  return R"(transformer:
  model:
    name: tiny
    layers: 4
    hidden: 256
    ffn: 512
    heads: 8
    vocabulary: 1024
  parallel:
    tensor: 2
    pipeline: 2
    data: 2
  sequence_length: 128
  global_batch_sequences: 8
  gradient_buckets: 1
)";
}

std::string small_study() {
  return R"(study: tiny
workload: workload.yaml
system:
  name: small
  accelerator:
    name: chip
    matrix_rate: {bf16: 100 TFLOP/s}
    vector_rate: 10 TFLOP/s
    memory_bandwidth: 1 TB/s
    memory_capacity: 16 GB
    host_bandwidth: 16 GB/s
    launch_latency: 1 us
    efficiency:
      other: {compute: 0.5, memory: 0.8}
  fabric:
    node:
      name: inside
      devices: 4
      bandwidth: 100 GB/s
      latency: 1 us
    scale_out:
      name: across
      bandwidth: 100 Gb/s
      endpoint_latency: 1 us
      switch_latency: 100 ns
      link_latency: 10 ns
      devices_per_leaf: 4
      leaves_per_pod: 2
      spines_per_pod: 2
)";
}

}  // namespace exawarp::tests
