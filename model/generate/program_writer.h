// Inside the generators: writes one program node by node, in the order of its time line.
// Dependencies are stated where data crosses streams; the order of each stream does the rest.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/generate/transformer_costs.h"
#include "model/workload/builder.h"

namespace exawarp::model {

// Streams are made when first used. One for each communicator and for each direction of pipeline
// transfers, so that no transfer waits behind one that needs it.
enum StreamRole {
  kCompute,
  kTensor,
  kData,
  kPipeline,
  kEmbedding,
  kContext,
  kExpert,
  kExpertNodes,
  kExpertTensor,
  kExpertData,
  kDataGather,
  kExpertGather,
  kDataReplica,
  kExpertReplica,
  kReceiveForward,
  kSendForward,
  kReceiveGradient,
  kSendGradient,
  kStorage,
  kStreamRoles
};

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b);

class ProgramWriter {
 public:
  using Node = std::optional<std::uint32_t>;  // none: nothing to wait for

  struct Collective {
    const char* name;
    schema::CollectiveType type;
    StreamRole stream;
    std::uint16_t group;
    std::uint64_t bytes;
    schema::DataType data_type;
    std::uint32_t root = 0;
    std::uint32_t sizes = 0;
  };

  ProgramWriter(WorkloadBuilder& workload, ProgramBuilder& program)
      : workload_(workload), program_(program) {}

  std::uint32_t compute(const OperationCost& cost, std::initializer_list<Node> after = {});
  std::uint32_t collective(const Collective& collective, std::initializer_list<Node> after);
  // Bytes read from, or written to, the host's side, on the storage stream.
  std::uint32_t storage(const char* name, std::uint64_t read, std::uint64_t written,
                        std::initializer_list<Node> after);
  std::uint32_t marker(const char* text, std::initializer_list<Node> after);
  std::uint32_t add(NodeFields fields, std::initializer_list<Node> after);
  // The compute stream waits for the host, a time that no accelerator changes.
  std::uint32_t host_wait(const char* name, std::uint64_t picoseconds,
                          std::initializer_list<Node> after);
  // The next computation also waits for `node`.
  void wait_for(Node node) {
    if (node) awaited_.push_back(*node);
  }
  std::uint8_t stream(StreamRole role);
  std::uint32_t name(const char* text);

  [[nodiscard]] Node last_compute() const { return last_compute_; }
  [[nodiscard]] std::uint32_t node_count() const { return program_.node_count(); }
  [[nodiscard]] ProgramBuilder& program() { return program_; }
  // Phase, micro-batch, layer and data type of the nodes being added.
  [[nodiscard]] NodeFields& context() { return context_; }

 private:
  struct KnownShape {
    const char* name;
    Shape shape;
    std::uint16_t index;
  };
  std::uint16_t shape(const OperationCost& cost);

  WorkloadBuilder& workload_;
  ProgramBuilder& program_;
  std::array<std::optional<std::uint8_t>, kStreamRoles> streams_;
  std::vector<std::pair<const char*, std::uint32_t>> names_;
  std::vector<KnownShape> shapes_;
  std::vector<std::uint32_t> awaited_;
  NodeFields context_;
  Node last_compute_;
};

}  // namespace exawarp::model
