// Reads one execution trace (PREFIX.<rank>.et), record by record, from a mapping: one node is in
// memory at a time, and one file is open while it is read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/chakra.pb.h"

namespace exawarp::io {

// The file of `rank`.
[[nodiscard]] std::string trace_path(const std::string& prefix, std::uint32_t rank);

// The number of ranks: as many files as PREFIX.0.et, PREFIX.1.et ... without a gap. Throws
// core::InputError where there is none.
[[nodiscard]] std::uint32_t count_traces(const std::string& prefix);

struct TraceVisitor {
  std::function<void(const chakra::GlobalMetadata&)> metadata;  // may be empty
  std::function<void(const chakra::Node&)> node;
};
// Returns the size of the file. Throws core::InputError, with the byte offset of a record that is
// no such message.
std::uint64_t read_trace(const std::string& path, const TraceVisitor& visitor);
// The same from memory; `place` is what messages start with.
void read_trace(std::string_view bytes, const std::string& place, const TraceVisitor& visitor);

// The first attribute called `name` that has a value, or nullptr.
[[nodiscard]] const chakra::Attribute* find_attribute(const chakra::Node& node,
                                                      std::string_view name);

// Attributes of one node, with errors that name file and node.
class NodeAttributes {
 public:
  NodeAttributes(const chakra::Node& node, const std::string& place)
      : node_(node), place_(place) {}

  // Any kind of integer, bool included. Absent: nullopt. Throws core::InputError on another kind,
  // or a negative number.
  [[nodiscard]] std::optional<std::uint64_t> integer(std::string_view name) const;
  [[nodiscard]] std::optional<std::uint64_t> integer(std::string_view name,
                                                     std::uint64_t max) const;
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const;
  // Bit i is entry i of a list of bools; entries that are missing are set.
  [[nodiscard]] std::optional<std::uint32_t> bits(std::string_view name) const;
  // The communicator: pg_name, or its older form comm_group; 0 is all ranks.
  [[nodiscard]] std::uint32_t group() const;
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  const chakra::Node& node_;
  const std::string& place_;
};

struct CommunicatorList {
  std::uint32_t id = 0;
  std::vector<std::uint32_t> ranks;  // in ring order; empty: all
};
// A file of {"id": [ranks]}. Throws core::InputError.
[[nodiscard]] std::vector<CommunicatorList> read_comm_groups(const std::string& path);
// The communicators that a METADATA node defines: inputs.values is a JSON array between two
// characters on each side. Empty where there are none.
[[nodiscard]] std::vector<CommunicatorList> groups_of_metadata(const chakra::Node& node,
                                                               const std::string& place);

}  // namespace exawarp::io
