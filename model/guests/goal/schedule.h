// A GOAL schedule as LogGOPSim's binary form holds it, read in place: for each rank a graph of
// sends, receives and calculations.
//
// The bytes are a mapped file or those that a ScheduleWriter made of a text; they are never
// written to (LogGOPSim counts dependences down in its file, so a run may use it up).
// Layout (little-endian, packed, unaligned), docs/guide/goal.md: u64 magic 4223; then, with offsets
// counted from here, u32 ranks, u8 highest CPU, u8 highest NIC, per rank {u64 start, u64 end}.
// A rank: u32 operations, u32 roots, u32 root[], 39 bytes an operation, u32 appendix[].
// Thread safety: const methods from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/mapped_file.h"

namespace exawarp::model::goal {

constexpr std::uint64_t kMagic = 4223;
constexpr std::uint64_t kMagicUsedUp = 2342;  // LogGOPSim's --save-mem leaves it behind
constexpr std::uint32_t kOperationBytes = 39;
constexpr std::uint32_t kAny = 0xffffffff;          // source or tag of a receive: whichever comes
constexpr std::uint32_t kRanksMax = 1u << 24;       // a schedule
constexpr std::uint32_t kOpsMax = 1u << 27;         // a rank
constexpr std::uint64_t kSizeMax = 1ull << 40;      // bytes of a message: exclusive
constexpr std::uint64_t kCalcMaxNs = 1ull << 53;    // a calculation: exclusive; 104 days

enum class OpType : std::uint8_t { send = 1, receive = 2, calc = 3 };

struct Op {
  OpType type = OpType::calc;
  std::uint8_t cpu = 0;
  std::uint8_t nic = 0;
  std::uint32_t peer = 0;          // send: to; receive: from, or kAny
  std::uint32_t tag = 0;           // kAny matches every tag
  std::uint64_t size = 0;          // bytes; calculation: ns
  std::uint32_t dependences = 0;   // starts and ends of others it waits for
};

inline std::uint32_t load_u32(const std::byte* at) {
  std::uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
inline std::uint64_t load_u64(const std::byte* at) {
  std::uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Operations of one rank that wait for one of its operations.
class Dependents {
 public:
  Dependents(const std::byte* first, std::uint32_t count) : first_(first), count_(count) {}
  [[nodiscard]] std::uint32_t size() const { return count_; }
  [[nodiscard]] std::uint32_t operator[](std::uint32_t i) const {
    return load_u32(first_ + 4 * std::size_t{i});
  }

 private:
  const std::byte* first_;
  std::uint32_t count_;
};

class Schedule {
 public:
  // Maps `path` and validates all of it: bounds, peers, sizes, dependence counts, roots, cycles.
  // Throws core::InputError "PATH: rank 3 operation 17: what is wrong".
  // Cost: O(operations + dependences).
  static Schedule open(const std::string& path);
  // The same for bytes in memory; `place` starts what is said about them.
  static Schedule from_bytes(std::vector<std::byte> bytes, const std::string& place);

  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(tables_.size()); }
  [[nodiscard]] std::uint32_t cpus() const { return cpus_; }  // of a rank
  [[nodiscard]] std::uint32_t nics() const { return nics_; }
  [[nodiscard]] const std::string& place() const { return place_; }
  [[nodiscard]] std::uint64_t operation_count() const;  // of all ranks

  // Requires rank < ranks(), and op < op_count(rank).
  [[nodiscard]] std::uint32_t op_count(std::uint32_t rank) const { return tables_[rank].ops; }
  [[nodiscard]] Op op(std::uint32_t rank, std::uint32_t op) const;
  // Operations without dependences, in the order of the file.
  [[nodiscard]] Dependents roots(std::uint32_t rank) const {
    return {tables_[rank].begin + 8, tables_[rank].roots};
  }
  // Those that wait for the end of `op` (requires), and for its start (irequires).
  [[nodiscard]] Dependents after_end(std::uint32_t rank, std::uint32_t op) const {
    return edges(rank, op, 23);
  }
  [[nodiscard]] Dependents after_start(std::uint32_t rank, std::uint32_t op) const {
    return edges(rank, op, 31);
  }

 private:
  struct RankTable {
    const std::byte* begin = nullptr;     // its operation count
    const std::byte* first_op = nullptr;
    const std::byte* appendix = nullptr;
    std::uint32_t ops = 0, roots = 0, edges = 0;
  };
  Schedule(std::string place, core::MappedFile file, std::vector<std::byte> bytes);
  void read_header(std::size_t size_bytes);
  void read_rank(std::uint32_t rank, std::uint64_t start, std::uint64_t end);
  void check_rank(std::uint32_t rank, std::vector<std::uint32_t>& waits) const;
  void check_op(std::uint32_t rank, std::uint32_t op) const;
  void check_roots(std::uint32_t rank, const std::vector<std::uint32_t>& waits) const;
  void check_acyclic(std::uint32_t rank, std::vector<std::uint32_t>& waits) const;
  [[noreturn]] void fail(std::uint32_t rank, const std::string& what) const;

  [[nodiscard]] const std::byte* record(std::uint32_t rank, std::uint32_t op) const {
    return tables_[rank].first_op + std::size_t{kOperationBytes} * op;
  }
  [[nodiscard]] Dependents edges(std::uint32_t rank, std::uint32_t op, std::size_t field) const {
    const std::byte* at = record(rank, op) + field;
    const std::uint32_t count = load_u32(at);
    const std::size_t first = count == 0 ? 0 : load_u32(at + 4);
    return {tables_[rank].appendix + 4 * first, count};
  }

  std::string place_;
  core::MappedFile file_;
  std::vector<std::byte> bytes_;
  const std::byte* base_ = nullptr;  // behind the magic number
  std::vector<RankTable> tables_;
  std::uint32_t cpus_ = 1, nics_ = 1;
};

}  // namespace exawarp::model::goal
