// Communicators of traces, sorted into families that programs of a workload can name.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "io/formats/chakra/reader.h"
#include "model/workload/builder.h"

namespace exawarp::io {

// Communicators as families of lists that no device is in twice: those that ranks of one program
// use at one place have to be in one family, and others may. Communicator 0 is all ranks, and in no
// family.
class CommunicatorFamilies {
 public:
  explicit CommunicatorFamilies(std::uint32_t ranks) : ranks_(ranks) {}

  // Throw core::InputError, starting with `place`: for a communicator of ranks that are not there
  // or that differs from one of its id, and where `rank` uses one that it is no member of.
  void define(CommunicatorList list, const std::string& place);
  void require(std::uint32_t id, std::uint32_t rank, const std::string& place) const;

  void unite(std::uint32_t a, std::uint32_t b) { parent_[root(a)] = root(b); }
  [[nodiscard]] std::uint32_t root(std::uint32_t id);
  // Of families whose communicators share a device.
  [[nodiscard]] std::set<std::uint32_t> overlapping_roots();
  void separate(const std::set<std::uint32_t>& roots);
  // Communicators that no rank uses share families too, as far as one after the other fits.
  void pack_unused(const std::set<std::uint32_t>& used);

  // Adds every family to `workload`, and returns how many there are; afterwards group_of() answers.
  std::size_t write(model::WorkloadBuilder& workload, std::uint8_t axis);

  [[nodiscard]] std::size_t communicators() const { return members_.size(); }
  [[nodiscard]] const std::vector<std::uint32_t>& members(std::uint32_t id) const {
    return members_.at(id);
  }
  [[nodiscard]] std::uint16_t group_of(std::uint32_t id) const { return group_.at(id); }

 private:
  std::uint32_t ranks_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> members_;
  std::map<std::uint32_t, std::uint32_t> parent_;
  std::map<std::uint32_t, std::uint16_t> group_;
};

}  // namespace exawarp::io
