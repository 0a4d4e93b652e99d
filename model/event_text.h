// What an event of a cluster is about, in words, for people who ask where two runs differ.
#pragma once

#include <string>

#include "model/cluster.h"
#include "pdes/event.h"

namespace exawarp::model {

struct EventText {
  std::string where;  // "device 17", "switch s3"
  std::string what;   // "\"layer 3 forward\" ends", "packet 3 of message 7 from d1 to d9 arrives"
};

// Requires an event of the cluster's.
EventText text_of(const Cluster& cluster, const pdes::Event& event);

// Whether they are about the same work, whenever and however long: of two runs of one cluster.
bool are_alike(const pdes::Event& a, const pdes::Event& b);

}  // namespace exawarp::model
