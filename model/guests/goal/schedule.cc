// Reading and validating a GOAL schedule; see schedule.h.
#include "model/guests/goal/schedule.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "core/error.h"

namespace exawarp::model::goal {
namespace {

using core::InputError;

static_assert(std::endian::native == std::endian::little, "the file is read in place");

constexpr std::size_t kHeaderBytes = 6;   // behind the magic number
constexpr std::size_t kExtentBytes = 16;  // a rank's start and end

}  // namespace

Schedule Schedule::open(const std::string& path) {
  return Schedule(path, core::MappedFile(path), {});
}

Schedule Schedule::from_bytes(std::vector<std::byte> bytes, const std::string& place) {
  return Schedule(place, {}, std::move(bytes));
}

Schedule::Schedule(std::string place, core::MappedFile file, std::vector<std::byte> bytes)
    : place_(std::move(place)), file_(std::move(file)), bytes_(std::move(bytes)) {
  const std::span<const std::byte> all = bytes_.empty() ? file_.bytes() : std::span(bytes_);
  if (all.size() < 8 + kHeaderBytes)
    throw InputError(place_, fmt::format("{} bytes are too few for a GOAL schedule", all.size()));
  const std::uint64_t magic = load_u64(all.data());
  if (magic == kMagicUsedUp)
    throw InputError(place_, "used up by an earlier run of LogGOPSim (--save-mem); convert the "
                             "text again");
  if (magic != kMagic)
    throw InputError(place_, fmt::format("is no binary GOAL schedule: it starts with {}; expected "
                                         "{}",
                                         magic, kMagic));
  base_ = all.data() + 8;
  read_header(all.size() - 8);
  std::vector<std::uint32_t> waits;
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) check_rank(rank, waits);
}

void Schedule::read_header(std::size_t size_bytes) {
  const std::uint32_t ranks = load_u32(base_);
  if (ranks == 0 || ranks > kRanksMax || (size_bytes - kHeaderBytes) / kExtentBytes < ranks)
    throw InputError(place_, fmt::format("{} ranks in {} bytes; expected 1 to {} ranks, each with "
                                         "its place in the file",
                                         ranks, size_bytes + 8, kRanksMax));
  cpus_ = std::to_integer<std::uint32_t>(base_[4]) + 1;
  nics_ = std::to_integer<std::uint32_t>(base_[5]) + 1;
  tables_.resize(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::byte* extent = base_ + kHeaderBytes + kExtentBytes * rank;
    const std::uint64_t start = load_u64(extent);
    const std::uint64_t end = load_u64(extent + 8);
    if (start > end || end > size_bytes || end - start < 8)
      fail(rank, fmt::format("lies at [{}, {}), outside the file of {} bytes", start, end,
                             size_bytes + 8));
    read_rank(rank, start, end);
  }
}

void Schedule::read_rank(std::uint32_t rank, std::uint64_t start, std::uint64_t end) {
  RankTable& table = tables_[rank];
  table.begin = base_ + start;
  table.ops = load_u32(table.begin);
  table.roots = load_u32(table.begin + 4);
  if (table.ops > kOpsMax)
    fail(rank, fmt::format("{} operations; expected at most {}", table.ops, kOpsMax));
  const std::uint64_t fixed =
      8 + 4 * std::uint64_t{table.roots} + std::uint64_t{kOperationBytes} * table.ops;
  if (fixed > end - start)
    fail(rank, fmt::format("{} operations and {} roots take {} bytes, it has {}", table.ops,
                           table.roots, fixed, end - start));
  table.first_op = table.begin + 8 + 4 * std::size_t{table.roots};
  table.appendix = table.begin + fixed;
  table.edges = static_cast<std::uint32_t>(
      std::min<std::uint64_t>((end - start - fixed) / 4, 0xffffffffu));
}

std::uint64_t Schedule::operation_count() const {
  std::uint64_t sum = 0;
  for (const RankTable& table : tables_) sum += table.ops;
  return sum;
}

Op Schedule::op(std::uint32_t rank, std::uint32_t op) const {
  const std::byte* at = record(rank, op);
  return {.type = static_cast<OpType>(at[4]),
          .cpu = std::to_integer<std::uint8_t>(at[21]),
          .nic = std::to_integer<std::uint8_t>(at[22]),
          .peer = load_u32(at + 5),
          .tag = load_u32(at + 17),
          .size = load_u64(at + 9),
          .dependences = load_u32(at)};
}

void Schedule::fail(std::uint32_t rank, const std::string& what) const {
  throw InputError(place_, fmt::format("rank {}: {}", rank, what));
}

void Schedule::check_op(std::uint32_t rank, std::uint32_t index) const {
  const Op o = op(rank, index);
  const auto bad = [&](const std::string& what) {
    fail(rank, fmt::format("operation {}: {}", index, what));
  };
  if (o.type != OpType::send && o.type != OpType::receive && o.type != OpType::calc)
    bad(fmt::format("type {}; expected 1 (send), 2 (receive) or 3 (calculation)",
                    static_cast<unsigned>(o.type)));
  if (o.cpu >= cpus_)
    bad(fmt::format("CPU {}; the highest of the schedule is {}", o.cpu, cpus_ - 1));
  if (o.nic >= nics_)
    bad(fmt::format("NIC {}; the highest of the schedule is {}", o.nic, nics_ - 1));
  if (o.type == OpType::calc) {
    if (o.size >= kCalcMaxNs)
      bad(fmt::format("calculates for {} ns; expected less than {}", o.size, kCalcMaxNs));
  } else {
    if (o.peer >= ranks() && !(o.type == OpType::receive && o.peer == kAny))
      bad(fmt::format("peer {}; the schedule has {} ranks", o.peer, ranks()));
    if (o.size >= kSizeMax)
      bad(fmt::format("message of {} bytes; expected less than {}", o.size, kSizeMax));
  }
  for (const std::size_t field : {std::size_t{23}, std::size_t{31}}) {
    const std::uint32_t count = load_u32(record(rank, index) + field);
    const std::uint32_t first = load_u32(record(rank, index) + field + 4);
    // An empty list may start anywhere: an old converter writes 999 or all ones there.
    if (count != 0 && (first > tables_[rank].edges || count > tables_[rank].edges - first))
      bad(fmt::format("dependents [{}, {}+{}) lie outside its rank's {}", first, first, count,
                      tables_[rank].edges));
    const Dependents dependents = edges(rank, index, field);
    for (std::uint32_t i = 0; i < dependents.size(); ++i)
      if (dependents[i] >= tables_[rank].ops)
        bad(fmt::format("dependent {}; the rank has {} operations", dependents[i],
                        tables_[rank].ops));
  }
}

void Schedule::check_roots(std::uint32_t rank, const std::vector<std::uint32_t>& waits) const {
  const Dependents listed = roots(rank);
  std::vector<bool> seen(waits.size(), false);
  for (std::uint32_t i = 0; i < listed.size(); ++i) {
    const std::uint32_t root = listed[i];
    if (root >= waits.size() || waits[root] != 0 || seen[root])
      fail(rank, fmt::format("root {} is no operation without dependences, or is listed twice",
                             root));
    seen[root] = true;
  }
  for (std::uint32_t i = 0; i < waits.size(); ++i)
    if (waits[i] == 0 && !seen[i])
      fail(rank, fmt::format("operation {} has no dependences and is not among the roots", i));
}

// Kahn: takes away what can run; what is left waits for itself.
void Schedule::check_acyclic(std::uint32_t rank, std::vector<std::uint32_t>& waits) const {
  std::vector<std::uint32_t> ready;
  for (std::uint32_t i = 0; i < waits.size(); ++i)
    if (waits[i] == 0) ready.push_back(i);
  std::size_t done = 0;
  while (done < ready.size()) {
    const std::uint32_t op = ready[done++];
    for (const Dependents& dependents : {after_start(rank, op), after_end(rank, op)})
      for (std::uint32_t i = 0; i < dependents.size(); ++i)
        if (--waits[dependents[i]] == 0) ready.push_back(dependents[i]);
  }
  if (done == waits.size()) return;
  std::uint32_t stuck = 0;
  while (waits[stuck] == 0) ++stuck;
  fail(rank, fmt::format("operation {} waits for itself through its dependences ({} operations "
                         "do or follow one that does)",
                         stuck, waits.size() - done));
}

void Schedule::check_rank(std::uint32_t rank, std::vector<std::uint32_t>& waits) const {
  const std::uint32_t ops = tables_[rank].ops;
  waits.assign(ops, 0);
  for (std::uint32_t i = 0; i < ops; ++i) {
    check_op(rank, i);
    for (const Dependents& dependents : {after_start(rank, i), after_end(rank, i)})
      for (std::uint32_t k = 0; k < dependents.size(); ++k) ++waits[dependents[k]];
  }
  for (std::uint32_t i = 0; i < ops; ++i)
    if (op(rank, i).dependences != waits[i])
      fail(rank, fmt::format("operation {} counts {} dependences, {} operations name it", i,
                             op(rank, i).dependences, waits[i]));
  check_roots(rank, waits);
  check_acyclic(rank, waits);
}

}  // namespace exawarp::model::goal
