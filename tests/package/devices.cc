// The model's component: prints how many devices a workload file is for.
#include <exawarp/model/workload/graph.h>
#include <exawarp/model/workload/validate.h>

#include <cstdio>

int main(int count, char** words) {
  if (count < 2) return 2;
  exawarp::model::WorkloadGraph graph = exawarp::model::WorkloadGraph::open(words[1]);
  exawarp::model::validate(graph);
  std::printf("%u\n", graph.device_count());
}
