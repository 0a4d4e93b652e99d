#include "io/formats/flows/flow_list.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/mapped_file.h"
#include "core/units.h"
#include "io/formats/kernels/csv.h"
#include "io/study/numbers.h"
#include "io/study/text_file.h"

namespace exawarp::io {
namespace {

constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 40;
constexpr core::Time kStartMax{86'400 * core::kPicosecondsPerSecond};

class Columns {
 public:
  Columns(const CsvTable& table, std::uint32_t devices) : devices_(devices) {
    source_ = table.require({"source", "src"});
    destination_ = table.require({"destination", "dst"});
    bytes_ = table.require({"bytes", "size"});
    start_ps_ = table.find({"start_ps"});
    if (!start_ps_) start_ = table.require({"start"});
  }

  [[nodiscard]] model::ListedFlow read(const CsvRow& row) const {
    const auto source = static_cast<std::uint32_t>(number(row, source_, devices_ - 1));
    const auto destination = static_cast<std::uint32_t>(number(row, destination_, devices_ - 1));
    if (source == destination) row.fail(destination_, "another device than the source");
    return {source, destination, static_cast<std::int64_t>(number(row, bytes_, kBytesMax)),
            start_of(row)};
  }

 private:
  static std::uint64_t number(const CsvRow& row, std::size_t column, std::uint64_t most) {
    const std::optional<std::uint64_t> value = unsigned_from(row.at(column));
    if (!value || *value > most) row.fail(column, fmt::format("a whole number up to {}", most));
    return *value;
  }
  [[nodiscard]] core::Time start_of(const CsvRow& row) const {
    if (start_ps_) {
      return {static_cast<std::int64_t>(number(row, *start_ps_, std::uint64_t(kStartMax.ps)))};
    }
    const auto parsed = core::parse_quantity(row.at(start_), core::Dimension::time);
    if (!parsed.ok()) row.fail(start_, "a time, e.g. \"5 us\"");
    if (parsed.value < 0 || parsed.value > kStartMax.ps) row.fail(start_, "at most a day");
    return core::Time{parsed.value};
  }

  std::uint32_t devices_;
  std::size_t source_ = 0, destination_ = 0, bytes_ = 0, start_ = 0;
  std::optional<std::size_t> start_ps_;
};

}  // namespace

model::FlowList read_flow_list(const std::string& path, std::uint32_t devices) {
  const core::MappedFile file(path);
  const CsvTable table(path, text_of(file));
  const Columns columns(table, devices);
  std::vector<model::ListedFlow> flows;
  table.each_row([&](const CsvRow& row) {
    if (flows.size() == kListedFlowsMax) {
      throw core::InputError(
          row.place(), fmt::format("is one flow too many; expected at most {}", kListedFlowsMax));
    }
    flows.push_back(columns.read(row));
  });
  return model::FlowList(std::move(flows));
}

}  // namespace exawarp::io
