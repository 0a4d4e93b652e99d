// Where each logical process of this rank lies, and which partition owns any other.
//
// One 16-byte entry an atom of the whole simulation, on every rank: two bytes a device for nodes
// of eight. It replaces a pointer per LP, and stays in cache: 64 KiB for 32,768 devices.
// Thread safety: read-only after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/arena.h"
#include "core/placement.h"
#include "pdes/logical_process.h"

namespace exawarp::pdes {

// The engine's share of an LP, in front of its state.
struct LpHeader {
  std::uint64_t newest = 0;       // index of the newest history record; below the tail: none
  std::uint32_t sequence = 0;     // of the next send
  std::uint32_t incarnation = 0;  // rollbacks so far
};
static_assert(sizeof(LpHeader) == 16);

inline void* state_of(LpHeader* header) { return header + 1; }
inline const void* state_of(const LpHeader* header) { return header + 1; }

struct LpSlot {
  LpHeader* header;
  std::uint32_t type;
};

class Directory {
 public:
  static constexpr std::uint32_t kNoPartition = 0xffffffffu;

  // Lays out and default-constructs the LPs of `rank`. Checks that ranges start at atoms.
  Directory(const Model& model, const core::Placement& placement, core::RankId rank);

  // The owner of `lp`, or kNoPartition for an id that names no LP. Any id is safe.
  [[nodiscard]] std::uint32_t partition_of(LpId lp) const {
    const std::size_t atom = lp.value >> shift_;
    if (atom >= atoms_.size() || (lp.value & mask_) >= atoms_[atom].count) [[unlikely]]
      return kNoPartition;
    return atoms_[atom].partition;
  }
  // Requires an LP of this rank.
  [[nodiscard]] LpSlot find(LpId lp) const {
    const Atom& atom = atoms_[lp.value >> shift_];
    return {reinterpret_cast<LpHeader*>(atom.base +
                                        std::size_t{lp.value & mask_} * strides_[atom.type]),
            atom.type};
  }
  [[nodiscard]] std::span<const LpType> types() const { return types_; }

  // Calls visitor(LpId, LpSlot) for each LP of `partition`, or of the whole rank, in ascending id
  // order.
  template <class Visitor>
  void visit_partition(std::uint32_t partition, Visitor&& visitor) const {
    visit_if([partition](const Atom& atom) { return atom.partition == partition; }, visitor);
  }
  template <class Visitor>
  void visit_all(Visitor&& visitor) const {
    visit_if([](const Atom&) { return true; }, visitor);
  }
  [[nodiscard]] std::uint64_t lp_bytes() const { return lp_bytes_; }
  // Of the table itself.
  [[nodiscard]] std::uint64_t table_bytes() const { return atoms_.size() * sizeof(Atom); }

 private:
  struct Atom {
    std::byte* base = nullptr;  // null: on another rank
    std::uint32_t count = 0;    // LPs in it
    std::uint16_t partition = 0;
    std::uint16_t type = 0;
  };
  static_assert(sizeof(Atom) == 16);

  template <class Wanted, class Visitor>
  void visit_if(Wanted&& wanted, Visitor&& visitor) const {
    for (std::size_t a = 0; a < atoms_.size(); ++a) {
      if (atoms_[a].base == nullptr || !wanted(atoms_[a])) continue;
      for (std::uint32_t i = 0; i < atoms_[a].count; ++i) {
        const LpId lp{static_cast<std::uint32_t>(a << shift_) + i};
        visitor(lp, find(lp));
      }
    }
  }

  std::span<const LpType> types_;
  std::uint32_t shift_;
  std::uint32_t mask_;
  std::vector<std::uint32_t> strides_;  // by type
  std::vector<Atom> atoms_;
  core::Arena arena_;
  std::uint64_t lp_bytes_ = 0;
};

}  // namespace exawarp::pdes
