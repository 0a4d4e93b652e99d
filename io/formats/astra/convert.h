// An ASTRA-sim set-up as a study of our own (docs/guide/astra.md): the same network, the same
// algorithms, the same traces, at message or packet fidelity.
#pragma once

#include <string>
#include <vector>

#include "io/formats/astra/set_up.h"

namespace exawarp::io {

struct ConvertedFile {
  std::string name, text;
};

struct AstraConversion {
  std::vector<ConvertedFile> files;  // fabric.yaml, accelerator.yaml, system.yaml, study.yaml
  Warnings notes;                    // what the study does otherwise, a line each
};

// The traces are another file, workload.xwg. Throws core::InputError, which names the key, where
// something cannot be expressed: memories, buses, replay, queues, windows of a direct exchange,
// custom collectives, and collectives that go through several dimensions.
[[nodiscard]] AstraConversion convert_astra(const AstraSetUp& set_up, const model::astra::Job& job);

}  // namespace exawarp::io
