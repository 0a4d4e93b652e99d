#include "pdes/directory.h"

#include <algorithm>
#include <new>

#include "core/check.h"

namespace exawarp::pdes {
namespace {

// LPs start at cache lines, so that header and hot fields share one and no line has two owners.
std::uint32_t stride_of(const LpType& type) {
  constexpr std::uint32_t kLine = 64;
  const auto bytes = static_cast<std::uint32_t>(sizeof(LpHeader)) + type.state_bytes;
  return (bytes + kLine - 1) / kLine * kLine;
}

}  // namespace

Directory::Directory(const Model& model, const core::Placement& placement, core::RankId rank)
    : types_(model.types()),
      shift_(placement.atom_shift),
      mask_((std::uint32_t{1} << placement.atom_shift) - 1),
      atoms_(placement.partition_of_atom.size()) {
  for (const LpType& type : types_) strides_.push_back(stride_of(type));
  for (const LpRange& range : model.ranges()) {
    EXAWARP_CHECK((range.first.value & mask_) == 0, range.first.value, placement.atom_shift);
    for (std::uint32_t done = 0; done < range.count; done += mask_ + 1) {
      const std::size_t index = (range.first.value + done) >> shift_;
      EXAWARP_CHECK(index < atoms_.size() && atoms_[index].count == 0, index, atoms_.size());
      Atom& atom = atoms_[index];
      atom.count = std::min(mask_ + 1, range.count - done);
      atom.partition = placement.partition_of_atom[index];
      atom.type = static_cast<std::uint16_t>(range.type);
    }
  }
  // Partition after partition, so that what one worker touches lies together.
  std::vector<std::uint32_t> mine;
  for (std::uint32_t a = 0; a < atoms_.size(); ++a)
    if (atoms_[a].count != 0 && placement.rank_of({atoms_[a].partition}) == rank)
      mine.push_back(a);
  std::stable_sort(mine.begin(), mine.end(), [this](std::uint32_t a, std::uint32_t b) {
    return atoms_[a].partition < atoms_[b].partition;
  });
  for (const std::uint32_t a : mine) {
    Atom& atom = atoms_[a];
    const std::uint32_t stride = strides_[atom.type];
    atom.base = static_cast<std::byte*>(
        arena_.allocate(std::size_t{atom.count} * stride, 64));
    lp_bytes_ += std::uint64_t{atom.count} * stride;
    for (std::uint32_t i = 0; i < atom.count; ++i) {
      auto* header = ::new (atom.base + std::size_t{i} * stride) LpHeader{};
      types_[atom.type].construct(state_of(header));
    }
  }
}

}  // namespace exawarp::pdes
