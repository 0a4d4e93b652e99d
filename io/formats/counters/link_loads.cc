#include "io/formats/counters/link_loads.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/mapped_file.h"
#include "io/formats/kernels/csv.h"
#include "io/study/numbers.h"
#include "io/study/text_file.h"

namespace exawarp::io {
namespace {

using model::Topology;
using model::VertexId;

constexpr std::uint64_t kPicosecondsMax = std::uint64_t{1} << 62;

// "d12" and "s3", as the counters call them.
std::optional<VertexId> vertex_called(std::string_view name, const Topology& t) {
  if (name.size() < 2 || (name[0] != 'd' && name[0] != 's')) return {};
  const std::optional<std::uint64_t> number = unsigned_from(std::string(name.substr(1)));
  const bool is_device = name[0] == 'd';
  if (!number || *number >= (is_device ? t.devices() : t.switches())) return {};
  const auto index = static_cast<std::uint32_t>(*number);
  return is_device ? VertexId{index} : t.vertex_of_switch(index);
}

std::uint64_t number_at(const CsvRow& row, std::size_t column, std::uint64_t most) {
  const std::optional<std::uint64_t> value = unsigned_from(row.at(column));
  if (!value || *value > most) row.fail(column, fmt::format("a whole number up to {}", most));
  return *value;
}

double share_at(const CsvRow& row, std::size_t column) {
  const std::optional<double> value = number_from<double>(row.at(column));
  if (!value || !(*value >= 0 && *value <= 1.001)) row.fail(column, "a share from 0 to 1");
  return *value;
}

}  // namespace

LinkLoads::LinkLoads(const std::string& path, const Topology& t) {
  const core::MappedFile file(path);
  const CsvTable table(path, text_of(file));
  const std::size_t vertex = table.require({"vertex"}), port = table.require({"port"}),
                    from = table.require({"from_ps"}), until = table.require({"until_ps"}),
                    use = table.require({"utilisation"});
  std::uint64_t end = 0;
  table.each_row([&](const CsvRow& row) {
    const std::optional<VertexId> v = vertex_called(row.at(vertex), t);
    if (!v) row.fail(vertex, "a device (\"d0\") or switch (\"s0\") of the study's network");
    const std::uint64_t p = number_at(row, port, t.ports(*v) - 1);
    const std::uint64_t begin_ps = number_at(row, from, kPicosecondsMax);
    const std::uint64_t end_ps = number_at(row, until, kPicosecondsMax);
    if (end_ps <= begin_ps) row.fail(until, "a later time than from_ps");
    PortLoad& load = ports_[{v->value, static_cast<std::uint32_t>(p)}];
    const double share = share_at(row, use);
    load.mean += share * static_cast<double>(end_ps - begin_ps);
    load.peak = std::max(load.peak, share);
    end = std::max(end, end_ps);
  });
  for (auto& [key, load] : ports_) {
    load.mean /= static_cast<double>(end);
    load.counted = true;
  }
}

PortLoad LinkLoads::of(VertexId vertex, std::uint32_t port) const {
  const auto found = ports_.find({vertex.value, port});
  return found == ports_.end() ? PortLoad{} : found->second;
}

PortLoad LinkLoads::of_link(const Topology& t, VertexId vertex, std::uint32_t port) const {
  const model::Link link = t.link(vertex, port);
  const PortLoad out = of(vertex, port), back = of(link.peer, link.peer_port);
  return {std::max(out.mean, back.mean), std::max(out.peak, back.peak),
          out.counted || back.counted};
}

}  // namespace exawarp::io
