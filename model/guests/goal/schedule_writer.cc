// Writing a GOAL schedule; see schedule_writer.h.
#include "model/guests/goal/schedule_writer.h"

#include <algorithm>

namespace exawarp::model::goal {
namespace {

template <class T>
void put(std::vector<std::byte>& out, T value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

void put_at(std::vector<std::byte>& out, std::size_t at, std::uint64_t value) {
  std::memcpy(out.data() + at, &value, sizeof value);
}

// How many of `edges` leave each of `ops` operations.
template <class Edges>
std::vector<std::uint32_t> fan_out(const Edges& edges, std::size_t ops) {
  std::vector<std::uint32_t> count(ops, 0);
  for (const auto& edge : edges) ++count[edge.before];
  return count;
}

template <class Edges>
Edges by_predecessor(Edges edges) {
  std::ranges::stable_sort(edges, {}, [](const auto& edge) { return edge.before; });
  return edges;
}

}  // namespace

std::uint32_t ScheduleWriter::add(std::uint32_t rank, const Op& op) {
  std::vector<Op>& ops = ranks_[rank].ops;
  ops.push_back(op);
  ops.back().dependences = 0;
  return static_cast<std::uint32_t>(ops.size() - 1);
}

void ScheduleWriter::requires_end(std::uint32_t rank, std::uint32_t op, std::uint32_t before) {
  ranks_[rank].ends.push_back({before, op});
  ++ranks_[rank].ops[op].dependences;
}

void ScheduleWriter::requires_start(std::uint32_t rank, std::uint32_t op, std::uint32_t before) {
  ranks_[rank].starts.push_back({before, op});
  ++ranks_[rank].ops[op].dependences;
}

std::size_t ScheduleWriter::size_bytes() const {
  std::size_t bytes = 14;  // magic, ranks, CPU, NIC
  for (const RankOps& rank : ranks_) {
    const auto roots = std::ranges::count(rank.ops, 0u, &Op::dependences);
    const std::size_t words = static_cast<std::size_t>(roots) + rank.ends.size() +
                              rank.starts.size();
    bytes += 16 + 8 + rank.ops.size() * kOperationBytes + 4 * words;
  }
  return bytes;
}

std::vector<std::byte> ScheduleWriter::bytes() const {
  std::vector<std::byte> out;
  out.reserve(size_bytes());
  std::uint8_t cpu = 0, nic = 0;
  for (const RankOps& rank : ranks_) {
    for (const Op& op : rank.ops) {
      cpu = std::max(cpu, op.cpu);
      nic = std::max(nic, op.nic);
    }
  }
  put(out, kMagic);
  put(out, static_cast<std::uint32_t>(ranks_.size()));
  put(out, cpu);
  put(out, nic);
  const std::size_t extents = out.size();
  out.resize(extents + 16 * ranks_.size());
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const RankOps& rank = ranks_[r];
    put_at(out, extents + 16 * r, out.size() - 8);
    const auto roots = std::ranges::count(rank.ops, 0u, &Op::dependences);
    put(out, static_cast<std::uint32_t>(rank.ops.size()));
    put(out, static_cast<std::uint32_t>(roots));
    for (std::uint32_t i = 0; i < rank.ops.size(); ++i)
      if (rank.ops[i].dependences == 0) put(out, i);
    const auto end_count = fan_out(rank.ends, rank.ops.size());
    const auto start_count = fan_out(rank.starts, rank.ops.size());
    std::uint32_t edge = 0;
    for (std::size_t i = 0; i < rank.ops.size(); ++i) {
      const Op& op = rank.ops[i];
      put(out, op.dependences);
      put(out, op.type);
      put(out, op.peer);
      put(out, op.size);
      put(out, op.tag);
      put(out, op.cpu);
      put(out, op.nic);
      put(out, end_count[i]);
      put(out, edge);
      edge += end_count[i];
      put(out, start_count[i]);
      put(out, edge);
      edge += start_count[i];
    }
    const auto ends = by_predecessor(rank.ends);
    const auto starts = by_predecessor(rank.starts);
    auto end = ends.begin();
    auto start = starts.begin();
    for (std::uint32_t i = 0; i < rank.ops.size(); ++i) {
      for (; end != ends.end() && end->before == i; ++end) put(out, end->op);
      for (; start != starts.end() && start->before == i; ++start) put(out, start->op);
    }
    put_at(out, extents + 16 * r + 8, out.size() - 8);
  }
  return out;
}

}  // namespace exawarp::model::goal
