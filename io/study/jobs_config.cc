// A study with one `workload:` becomes a list of one job, so that everything behind this file
// knows lists only. Background is read beside it, with its sizes, loads and sets of devices.
#include "io/study/jobs_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/study/quantities.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

using core::Dimension;
using model::BackgroundPattern;
using model::NodeOrder;
using model::PlacementKind;
using model::PlacementSpec;
using model::SizeKind;

constexpr std::int64_t kDevicesMax = 1 << 24;
constexpr std::size_t kJobsMax = 4'096;
constexpr double kMillion = 1e6;

constexpr core::Named<bool> kRankNames[] = {{"block", false}, {"round_robin", true}};
constexpr core::Named<bool> kGapNames[] = {{"random", false}, {"even", true}};
constexpr std::span<const core::Named<bool>> kRanks = kRankNames, kGaps = kGapNames;

std::variant<WorkloadSpec, std::string> read_workload(const YamlSection& section) {
  if (section.has_text("workload") && section.text("workload").ends_with(".xwg")) {
    return section.path("workload");
  }
  return read_workload_spec(section.section("workload"));
}

void read_placement(const YamlSection& section, std::string_view key, JobConfig& job) {
  if (!section.has(key)) return;
  PlacementSpec& out = job.placement;
  job.place = section.where(key);
  if (section.has_text(key)) {
    out.kind = section.choice<PlacementKind>(key, names_of(PlacementKind{}));
    if (out.kind == PlacementKind::list) {
      section.fail(key, "list names no devices; expected e.g. {devices: [0-7, 16-23]}");
    }
    return;
  }
  const YamlSection how = section.section(key);
  const bool listed = how.has("devices");
  out.kind = how.choice<PlacementKind>("kind", names_of(PlacementKind{}),
                                       listed ? PlacementKind::list : PlacementKind::linear);
  if (listed && out.kind != PlacementKind::list) {
    how.fail("devices", "are for kind: list; expected one of the two");
  }
  switch (out.kind) {
    case PlacementKind::linear:
      if (how.has("first")) out.first = read_count(how, "first", 0, kDevicesMax - 1);
      break;
    case PlacementKind::list:
      out.devices = read_devices(how, "devices");
      break;
    case PlacementKind::nodes:
      out.order = how.choice<NodeOrder>("order", names_of(NodeOrder{}), NodeOrder::ascending);
      out.round_robin = how.choice<bool>("ranks", kRanks, false);
      break;
    case PlacementKind::random:
      break;
  }
  const bool seeded = out.kind == PlacementKind::random ||
                      (out.kind == PlacementKind::nodes && out.order == NodeOrder::random);
  job.seed_given = seeded && how.has("seed");
  if (seeded) out.seed = static_cast<std::uint64_t>(how.integer("seed", {}, 1));
}

JobConfig read_job(const YamlSection& section) {
  JobConfig job{.name = section.text("name"), .workload = read_workload(section)};
  skip_documentation(section);
  job.place = section.where("name");
  read_placement(section, "placement", job);
  job.start = core::Time{section.quantity("start", Dimension::time, 0, 0)};
  constexpr core::Time kStartMax{86'400 * core::kPicosecondsPerSecond};
  if (job.start > kStartMax) section.fail("start", "is too late; expected at most a day");
  return job;
}

model::MessageSizes read_sizes(const YamlSection& section) {
  constexpr std::int64_t kBytesMax = std::int64_t{1} << 40;
  model::MessageSizes out;
  if (section.has_text("size")) {
    if (section.text("size") == "web_search") {
      out.kind = SizeKind::web_search;
      return out;
    }
    out.min_bytes = out.max_bytes = section.quantity("size", Dimension::size, 1);
    if (out.max_bytes > kBytesMax) section.fail("size", "is too large; expected at most 1 TiB");
    return out;
  }
  if (!section.has("size")) return out;
  const YamlSection size = section.section("size");
  out.kind = size.choice<SizeKind>("kind", names_of(SizeKind{}));
  if (out.kind == SizeKind::web_search) return out;
  if (out.kind == SizeKind::fixed) {
    out.min_bytes = out.max_bytes = size.quantity("bytes", Dimension::size, 1);
  } else {
    out.min_bytes = size.quantity("min", Dimension::size, 1);
    out.max_bytes = size.quantity("max", Dimension::size, 1);
  }
  if (out.kind == SizeKind::pareto) {
    out.alpha_milli = std::llround(1e3 * size.real("alpha", {.min = 0.1, .max = 10}, 1.2));
  }
  if (out.max_bytes < out.min_bytes) size.fail("max", "is below min");
  if (out.max_bytes > kBytesMax) size.fail("max", "is too large; expected at most 1 TiB");
  return out;
}

std::vector<std::uint32_t> read_set(const YamlSection& section, const char* key) {
  std::vector<std::uint32_t> devices = read_devices(section, key);
  std::ranges::sort(devices);
  const auto twice = std::ranges::adjacent_find(devices);
  if (twice != devices.end()) {
    section.fail(key, fmt::format("device {} occurs twice; expected each once", *twice));
  }
  return devices;
}

std::int64_t ppm_of(double share) {
  return std::max<std::int64_t>(1, std::llround(share * kMillion));
}

void read_load(const YamlSection& section, model::BackgroundSpec& out) {
  if (section.has("rate")) {
    if (section.has("load")) section.fail("load", "is given beside rate; expected one of them");
    out.bytes_per_s = section.quantity("rate", Dimension::bandwidth, 1);
    return;
  }
  out.load_ppm = ppm_of(section.real("load", {.min = 0, .max = 1, .min_excluded = true}));
}

BackgroundConfig read_background(const YamlSection& section) {
  BackgroundConfig config;
  model::BackgroundSpec& out = config.spec;
  skip_documentation(section);
  out.place = section.where("pattern");
  out.pattern = section.choice<BackgroundPattern>("pattern", names_of(BackgroundPattern{}));
  out.sizes = read_sizes(section);
  if (section.has("devices")) {
    if (section.has("fraction")) {
      section.fail("fraction", "is given beside devices; expected one of them");
    }
    out.devices = read_set(section, "devices");
  } else {
    out.share_ppm =
        ppm_of(section.real("fraction", {.min = 0, .max = 1, .min_excluded = true}, 1.0));
  }
  if (section.has("targets")) out.targets = read_set(section, "targets");
  if (out.pattern == BackgroundPattern::hotspot) {
    out.hot_ppm = std::llround(kMillion * section.real("hot_share", {.min = 0, .max = 1}, 0.5));
  }
  read_load(section, out);
  out.even = section.choice<bool>("gaps", kGaps, false);
  out.from = core::Time{section.quantity("from", Dimension::time, 0, 0)};
  out.until = core::Time{section.quantity("until", Dimension::time, 0, out.until.ps)};
  constexpr core::Time kLatest{std::int64_t{1} << 61};  // sums with it fit
  if (out.from > kLatest) section.fail("from", "is later than 26 days");
  if (out.until <= out.from) section.fail("until", "is not after from, so that nothing is sent");
  config.seed_given = section.has("seed");
  out.seed = static_cast<std::uint64_t>(section.integer("seed", {}, 1));
  return config;
}

}  // namespace

std::vector<JobConfig> read_jobs(const YamlSection& root, const std::string& study) {
  std::vector<JobConfig> jobs;
  if (!root.has("jobs")) {
    JobConfig job{.name = study, .workload = read_workload(root)};
    job.place = root.where("workload");
    read_placement(root, "job_placement", job);
    jobs.push_back(std::move(job));
    return jobs;
  }
  if (root.has("workload")) {
    root.fail("workload", "is given beside jobs; expected one of them");
  }
  for (const YamlSection& section : root.sections("jobs")) {
    jobs.push_back(read_job(section));
    const auto same = std::ranges::count(jobs, jobs.back().name, &JobConfig::name);
    if (same > 1) {
      section.fail("name", in_quotes(jobs.back().name) +
                               " is another job's name, too; expected different ones");
    }
  }
  if (jobs.empty()) root.fail("jobs", "is empty; expected at least one job");
  if (jobs.size() > kJobsMax) root.fail("jobs", fmt::format("are more than {}", kJobsMax));
  return jobs;
}

std::vector<BackgroundConfig> read_backgrounds(const YamlSection& root) {
  std::vector<BackgroundConfig> all;
  if (!root.has("background")) return all;
  for (const YamlSection& section : root.sections("background")) {
    all.push_back(read_background(section));
  }
  if (all.size() > model::kBackgroundsMax) {
    root.fail("background", fmt::format("has {} generators; expected at most {}", all.size(),
                                        model::kBackgroundsMax));
  }
  return all;
}

}  // namespace exawarp::io
