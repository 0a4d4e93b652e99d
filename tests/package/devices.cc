// The model's component: prints how many devices a workload file is for.
#include <cstdio>
#include <exawarp/core/error.h>
#include <exawarp/model/workload/graph.h>

int main(int count, char** words) {
  if (count < 2) return 2;
  try {
    std::printf("%u\n", exawarp::model::WorkloadGraph::open(words[1]).device_count());
    return 0;
  } catch (const exawarp::core::InputError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
