#include "io/report/stats_file.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/error.h"
#include "io/report/append.h"

namespace exawarp::io {
namespace {

using pdes::Moment;
using pdes::PartitionFigures;
using pdes::RankFigures;
using pdes::TimeSeries;

constexpr const char* kHeader =
    "scope,rank,partition,host_s,epoch,gvt_ps,window_ps,committed,processed,rolled_back,pending,"
    "history,event_bytes,log_bytes,process_ns,exchange_ns,collect_ns,gvt_ns,waiting_ns\n";

// "rank,3,": the columns that say whose row it is.
std::string whose(const char* scope, const std::string& rank, const std::string& partition) {
  return fmt::format("{},{},{},", scope, rank, partition);
}

// One row without its last two columns.
void add_row(const std::string& whose, const Moment& m, const PartitionFigures& p,
             std::string& out) {
  append(out, "{}{:.9f},{},{},{},{},{},{},{},{},{},{},{},{},{},", whose,
         static_cast<double>(m.host_ns) * 1e-9, m.epoch, m.gvt.ps, m.window.ps,
         p.processed_events - p.rolled_back_events, p.processed_events, p.rolled_back_events,
         p.pending_events, p.history_events, p.event_bytes, p.log_bytes, p.process_ns,
         p.exchange_ns, p.collect_ns);
}

// The last two columns of a rank and of the run: with the phases they make up the workers' time.
void add_rest(const RankFigures& r, const PartitionFigures& p, std::string& out) {
  const std::uint64_t accounted = p.process_ns + p.exchange_ns + p.collect_ns + r.gvt_ns;
  const std::uint64_t waiting = r.worker_ns > accounted ? r.worker_ns - accounted : 0;
  append(out, "{},{}\n", r.gvt_ns, waiting);
}

std::string rows_of(const TimeSeries& series, std::size_t moment) {
  const Moment& m = series.moments[moment];
  std::string out;
  RankFigures all_ranks;
  PartitionFigures all;
  for (std::uint32_t r = 0; r < series.ranks; ++r) {
    PartitionFigures of_rank;
    std::uint64_t number = std::uint64_t{r} * series.partitions_per_rank;
    for (const PartitionFigures& p : series.of_partitions(moment, r)) {
      add_row(whose("partition", std::to_string(r), std::to_string(number++)), m, p, out);
      out += ",\n";
      of_rank.add(p);
    }
    const RankFigures& rank = series.of_rank(moment, r);
    add_row(whose("rank", std::to_string(r), ""), m, of_rank, out);
    add_rest(rank, of_rank, out);
    all_ranks.worker_ns += rank.worker_ns;
    all_ranks.gvt_ns += rank.gvt_ns;
    all.add(of_rank);
  }
  add_row(whose("run", "", ""), m, all, out);
  add_rest(all_ranks, all, out);
  return out;
}

}  // namespace

std::unique_ptr<core::OutputFile> open_table(const std::string& path) {
  if (const std::filesystem::path folder = std::filesystem::path(path).parent_path();
      !folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
      throw core::SystemError(
          fmt::format("{}: cannot create its directory: {}", path, error.message()));
    }
  }
  return std::make_unique<core::OutputFile>(path);
}

void write_stats(const TimeSeries& series, core::OutputFile& file) {
  file.write(kHeader);
  for (std::size_t m = 0; m < series.moments.size(); ++m) file.write(rows_of(series, m));
  file.commit();
}

}  // namespace exawarp::io
