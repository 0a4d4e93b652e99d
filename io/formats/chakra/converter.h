// The nodes of a workload graph as Chakra's, and what each device fills in.
//
// A node becomes one of Chakra's with the same number, except a permutation, for which Chakra has
// no collective: it becomes a send and, after all of the program's nodes, a receive, on both of
// which depends what depended on it. An all-to-all of unequal sizes says what its busiest member
// sends or receives, and which of the metadata's tables has the sizes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "io/chakra.pb.h"
#include "model/workload/graph.h"

namespace exawarp::io {

// What an attribute of a node holds that depends on the device.
enum class Partner {
  self,          // its number
  peer,          // of a message
  next,          // the member that a permutation's data goes to
  previous,      // and whose data comes
  communicator,  // its number
};

[[nodiscard]] bool is_permutation(const model::schema::Node::Reader& node);

// Of attribute `name` of `node`, which has become one of `type`.
[[nodiscard]] std::optional<Partner> partner_in(const model::schema::Node::Reader& node,
                                                chakra::NodeType type, const std::string& name);

// Numbers the communicators: an imported list keeps its number, others follow.
class Communicators {
 public:
  explicit Communicators(const model::WorkloadGraph& graph);
  // Of `device`'s communicator of family `group`; 0: all devices, in order.
  [[nodiscard]] std::uint32_t number(std::uint32_t group, core::DeviceId device);
  // Members by number, those that no node uses included, as {"1": [0, 1], ...}; "" where there are
  // only communicators of all devices.
  [[nodiscard]] std::string json();

 private:
  [[nodiscard]] bool is_identity(std::uint32_t group, core::DeviceId device) const;
  [[nodiscard]] std::uint32_t stated(std::uint32_t group, core::DeviceId device) const;
  void add_stated();
  [[nodiscard]] std::uint32_t unused();

  const model::WorkloadGraph& graph_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers_;  // (group, member 0)
  std::map<std::uint32_t, std::vector<std::uint32_t>> lists_;
  std::set<std::uint32_t> stated_;  // numbers that lists have
  std::uint32_t next_ = 1;
  std::optional<std::uint32_t> whole_group_;
};

class Converter {
 public:
  // Throws core::InputError where messages leave no tags for permutations.
  explicit Converter(const model::WorkloadGraph& graph);

  [[nodiscard]] chakra::GlobalMetadata metadata(std::uint32_t program) const;  // its index
  // Node `index` less what partner_in() tells. Throws core::InputError where what an import kept of
  // it is no Chakra node.
  void convert(const model::Program& program, std::uint32_t index, chakra::Node& out) const;
  // The receive of permutation `index`; requires is_permutation().
  void convert_arrival(const model::Program& program, std::uint32_t index,
                       chakra::Node& out) const;
  // What `partner` of `node` is for `device`.
  [[nodiscard]] std::int64_t value(Partner partner, const model::schema::Node::Reader& node,
                                   core::DeviceId device);
  [[nodiscard]] std::string communicators_json() { return communicators_.json(); }

 private:
  void add_dependencies(const model::Program& program, std::uint32_t index,
                        chakra::Node& out) const;
  void add_fields(const model::schema::Node::Reader& node, chakra::Node& out) const;
  void add_our_fields(const model::schema::Node::Reader& node, chakra::Node& out) const;
  void find_first_tag();
  [[nodiscard]] std::uint64_t collective_bytes(const model::schema::Node::Reader& node) const;
  // Of a permutation, unlike all of the graph's messages.
  [[nodiscard]] std::uint32_t tag(const model::schema::Node::Reader& node) const;
  [[nodiscard]] std::uint32_t neighbour(const model::schema::Node::Reader& node,
                                        core::DeviceId device, bool next) const;

  const model::WorkloadGraph& graph_;
  Communicators communicators_;
  std::vector<std::uint64_t> busiest_;  // by table of sizes: bytes of its busiest member
  std::uint32_t first_tag_ = 0;         // above all tags of messages
  bool mesh_;                           // has_mesh()
};

}  // namespace exawarp::io
