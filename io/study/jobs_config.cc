// A study with one `workload:` becomes a list of one job, so that everything behind this file
// knows lists only. Background is read beside it, with its sizes, loads and sets of devices.
#include "io/study/jobs_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/study/keys.h"
#include "io/study/quantities.h"
#include "io/study/schema_sections.h"
#include "io/study/served_job_config.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

using core::Dimension;
using model::NodeOrder;
using model::PlacementKind;
using model::PlacementSpec;
using model::SizeKind;

constexpr std::size_t kJobsMax = 4'096;
constexpr double kMillion = 1e6;
constexpr RealRange kAlpha{.min = 0.1, .max = 10};
constexpr RealRange kShareAbove0{.min = 0, .max = 1, .min_excluded = true};

constexpr core::Named<bool> kRankNames[] = {{"block", false}, {"round_robin", true}};
constexpr core::Named<bool> kGapNames[] = {{"random", false}, {"even", true}};
constexpr std::span<const core::Named<bool>> kRanks = kRankNames, kGaps = kGapNames;

std::variant<WorkloadSpec, std::string> read_workload(const YamlSection& section) {
  if (section.has_text("workload") && section.text("workload").ends_with(".xwg")) {
    return section.path("workload");
  }
  return read_workload_spec(section.section("workload"));
}

void read_placement_kind(const YamlSection& how, JobConfig& job, const KeySchema& key) {
  const bool listed = how.has("devices");
  PlacementKind& kind = job.placement.kind;
  kind = how.choice<PlacementKind>(key.name, names_of(PlacementKind{}),
                                   listed ? PlacementKind::list : PlacementKind::linear);
  if (listed && kind != PlacementKind::list) {
    how.fail("devices", "are for kind: list; expected one of the two");
  }
}

const Keys<JobConfig>& job_placement_keys() {
  using S = JobConfig;
  using K = Keys<S>;
  const auto of = [](PlacementKind kind) {
    return [kind](const S& job) { return job.placement.kind == kind; };
  };
  const auto draws = [](const S& job) {
    const PlacementSpec& how = job.placement;
    return how.kind == PlacementKind::random ||
           (how.kind == PlacementKind::nodes && how.order == NodeOrder::random);
  };
  static const K keys(
      "job_placement", "docs/guide/jobs.md explains them.",
      {K::custom("kind", {ValueShape::choice(core::names_in(names_of(PlacementKind{})))},
                 "which devices run the ranks", read_placement_kind)
           .otherwise("`linear`; `list` with `devices`"),
       K::custom("first", {ValueShape::integer({0, kDevicesMax - 1})}, "device of rank 0",
                 [](const YamlSection& how, S& job, const KeySchema& key) {
                   if (!how.has(key.name)) return;
                   job.placement.first = read_count(how, key.name, 0, kDevicesMax - 1);
                 })
           .otherwise("the first that are free")
           .when(of(PlacementKind::linear), "of `linear`"),
       K::custom("devices", {ValueShape::list_of(ValueShape::text())}, "by rank, as `[0-7, 16-23]`",
                 [](const YamlSection& how, S& job, const KeySchema& key) {
                   job.placement.devices = read_devices(how, key.name);
                 })
           .when(of(PlacementKind::list), "of `list`"),
       K::choice(
           "order", [](S & job) -> auto& { return job.placement.order; }, "of the nodes")
           .when(of(PlacementKind::nodes), "of `nodes`"),
       K::choice(
           "ranks", [](S & job) -> auto& { return job.placement.round_robin; }, kRanks,
           "how ranks go to nodes")
           .when(of(PlacementKind::nodes), "of `nodes`"),
       K::custom("seed", {ValueShape::integer({})}, "of what is drawn",
                 [](const YamlSection& how, S& job, const KeySchema& key) {
                   job.seed_given = how.has(key.name);
                   job.placement.seed = static_cast<std::uint64_t>(how.integer(key.name, {}, 1));
                 })
           .otherwise("the study's")
           .when(draws, "of `random`, and of `nodes` in random order")});
  return keys;
}

JobConfig read_placement(const YamlSection& section, std::string_view key, JobConfig job) {
  if (!section.has(key)) return job;
  job.place = section.where(key);
  if (!section.has_text(key)) {
    return job_placement_keys().read(section.section(key), std::move(job));
  }
  job.placement.kind = section.choice<PlacementKind>(key, names_of(PlacementKind{}));
  if (job.placement.kind == PlacementKind::list) {
    section.fail(key, "list names no devices; expected e.g. {devices: [0-7, 16-23]}");
  }
  return job;
}

void read_serving(const YamlSection& job_section, const YamlSection& section, JobConfig& job) {
  if (job_section.has("workload")) {
    job_section.fail("serving", "is given beside workload; expected one of them");
  }
  job.workload = std::string{};
  job.serving = std::make_shared<const ServedJobConfig>(read_served_job(section));
}

// The pool that decodes, as a job of its own.
JobConfig decoding_job(const JobConfig& job) {
  const PoolConfig& pool = *job.serving->decode;
  JobConfig out = job;
  out.name += " decode";
  out.placement = pool.placement;
  out.seed_given = pool.seed_given;
  if (!pool.place.empty()) out.place = pool.place;
  out.decodes = true;
  return out;
}

const Keys<JobConfig>& job_keys() {
  using S = JobConfig;
  using K = Keys<S>;
  static const K keys(
      "jobs", "docs/guide/jobs.md explains them.",
      {K::text("name", &S::name, "of the job; each has its own").required(),
       K::custom("workload", {ValueShape::mapping(workload_keys().schema())},
                 "a specification, or a `.xwg` file",
                 [](const YamlSection& section, S& job, const KeySchema& key) {
                   if (section.has(key.name)) job.workload = read_workload(section);
                 }),
       K::custom("serving", {ValueShape::mapping(served_job_keys().schema())},
                 "a language model that is served",
                 [](const YamlSection& section, S& job, const KeySchema& key) {
                   if (const auto inside = section.optional_section(key.name)) {
                     read_serving(section, *inside, job);
                   }
                 }),
       K::then([](const YamlSection& section, S& job) {
         if (job.serving == nullptr && !section.has("workload")) read_workload(section);
       }),
       K::note("source"), K::note("description"),
       K::then([](const YamlSection& section, S& job) { job.place = section.where("name"); }),
       K::custom("placement", placement_shapes(), "which devices run its ranks",
                 [](const YamlSection& section, S& job, const KeySchema& key) {
                   job = read_placement(section, key.name, std::move(job));
                 })
           .otherwise("`linear`"),
       K::quantity("start", &S::start, {Dimension::time, 0}, "when it starts; at most a day"),
       K::then([](const YamlSection& section, S& job) {
         constexpr core::Time kStartMax{86'400 * core::kPicosecondsPerSecond};
         if (job.start > kStartMax) section.fail("start", "is too late; expected at most a day");
       })},
      {{.keys = {"workload", "serving"}}});
  return keys;
}

constexpr std::int64_t kBytesMax = std::int64_t{1} << 40;

void finish_sizes(const YamlSection& size, model::MessageSizes& out) {
  if (out.kind == SizeKind::web_search) return;
  if (out.kind == SizeKind::fixed) out.max_bytes = out.min_bytes;
  if (out.max_bytes < out.min_bytes) size.fail("max", "is below min");
  if (out.max_bytes > kBytesMax) size.fail("max", "is too large; expected at most 1 TiB");
}

const Keys<model::MessageSizes>& sizes_keys() {
  using S = model::MessageSizes;
  using K = Keys<S>;
  constexpr QuantityRange kSize{Dimension::size, 1};
  static const K keys("background.size", "",
                      {K::choice("kind", &S::kind, "distribution of sizes").required(),
                       K::quantity("bytes", &S::min_bytes, kSize, "of each message")
                           .required()
                           .only_if("kind", {"fixed"}),
                       K::quantity("min", &S::min_bytes, kSize, "the smallest")
                           .required()
                           .only_if("kind", {"uniform", "pareto"}),
                       K::quantity("max", &S::max_bytes, kSize, "the largest")
                           .required()
                           .only_if("kind", {"uniform", "pareto"}),
                       K::custom("alpha", {ValueShape::real(kAlpha)}, "of the tail",
                                 [](const YamlSection& size, S& out, const KeySchema& key) {
                                   const double usual = static_cast<double>(out.alpha_milli) / 1e3;
                                   out.alpha_milli =
                                       std::llround(1e3 * size.real(key.name, kAlpha, usual));
                                 })
                           .otherwise("`1.2`")
                           .only_if("kind", {"pareto"}),
                       K::then(finish_sizes)});
  return keys;
}

void read_sizes(const YamlSection& section, BackgroundConfig& config, const KeySchema& key) {
  model::MessageSizes& out = config.spec.sizes;
  if (!section.has(key.name)) return;
  if (!section.has_text(key.name)) {
    out = sizes_keys().read(section.section(key.name));
  } else if (section.text(key.name) == "web_search") {
    out.kind = SizeKind::web_search;
  } else {
    out.min_bytes = out.max_bytes = section.quantity(key.name, Dimension::size, 1);
    if (out.max_bytes > kBytesMax) section.fail(key.name, "is too large; expected at most 1 TiB");
  }
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

void read_load(const YamlSection& section, BackgroundConfig& out, const KeySchema&) {
  if (section.has("rate")) {
    if (section.has("load")) section.fail("load", "is given beside rate; expected one of them");
    out.spec.bytes_per_s = section.quantity("rate", Dimension::bandwidth, 1);
    return;
  }
  out.spec.load_ppm = ppm_of(section.real("load", kShareAbove0));
}

void read_senders(const YamlSection& section, BackgroundConfig& out, const KeySchema& key) {
  if (!section.has(key.name)) {
    out.spec.share_ppm = ppm_of(section.real("fraction", kShareAbove0, 1.0));
    return;
  }
  if (section.has("fraction")) {
    section.fail("fraction", "is given beside devices; expected one of them");
  }
  out.spec.devices = read_set(section, "devices");
}

void read_hot_share(const YamlSection& section, BackgroundConfig& out, const KeySchema& key) {
  out.spec.hot_ppm = std::llround(kMillion * section.real(key.name, {.min = 0, .max = 1}, 0.5));
}

void check_background_period(const YamlSection& section, BackgroundConfig& out) {
  constexpr core::Time kLatest{std::int64_t{1} << 61};  // sums with it fit
  if (out.spec.from > kLatest) section.fail("from", "is later than 26 days");
  if (out.spec.until <= out.spec.from) {
    section.fail("until", "is not after from, so that nothing is sent");
  }
}

// In the order in which they are read; `fraction` and `load` are read with their alternatives.
const Keys<BackgroundConfig>& background_keys() {
  using S = BackgroundConfig;
  using K = Keys<S>;
  static const std::vector<ValueShape> ids{ValueShape::list_of(ValueShape::text())};
  static const K keys(
      "background", "A generator of traffic beside the jobs: docs/guide/jobs.md.",
      {K::note("source"), K::note("description"),
       K::then([](const YamlSection& section, S& c) { c.spec.place = section.where("pattern"); }),
       K::choice(
           "pattern", [](S & c) -> auto& { return c.spec.pattern; }, "who sends to whom")
           .required(),
       K::custom("size",
                 {ValueShape::choice({"web_search"}), ValueShape::quantity(Dimension::size, 1),
                  ValueShape::mapping(sizes_keys().schema())},
                 "of a message", read_sizes)
           .otherwise("64 KiB"),
       K::custom("devices", ids, "that take part, as `[7, 16-23]`", read_senders)
           .otherwise("`fraction`"),
       K::custom("fraction", {ValueShape::real(kShareAbove0)}, "of all devices, at random")
           .otherwise("`1`"),
       K::custom("targets", ids, "of `incast` and `hotspot`",
                 [](const YamlSection& section, S& c, const KeySchema& key) {
                   if (section.has(key.name)) c.spec.targets = read_set(section, "targets");
                 })
           .otherwise("the first"),
       K::custom("hot_share", {ValueShape::real({.min = 0, .max = 1})},
                 "of the messages to a target", read_hot_share)
           .otherwise("`0.5`")
           .only_if("pattern", {"hotspot"}),
       K::custom("rate", {ValueShape::quantity(Dimension::bandwidth, 1)}, "of each device",
                 read_load)
           .otherwise("`load`"),
       K::custom("load", {ValueShape::real(kShareAbove0)}, "share of a device's line"),
       K::choice(
           "gaps", [](S& c) -> bool& { return c.spec.even; }, kGaps, "between messages"),
       K::quantity(
           "from", [](S & c) -> auto& { return c.spec.from; }, {Dimension::time, 0}, "starts"),
       K::quantity(
           "until", [](S & c) -> auto& { return c.spec.until; }, {Dimension::time, 0}, "ends")
           .otherwise("the end"),
       K::then(check_background_period),
       K::custom("seed", {ValueShape::integer({})}, "of what is drawn",
                 [](const YamlSection& section, S& c, const KeySchema& key) {
                   c.seed_given = section.has(key.name);
                   c.spec.seed = static_cast<std::uint64_t>(section.integer(key.name, {}, 1));
                 })
           .otherwise("by the study's")},
      {{.keys = {"rate", "load"}}, {.keys = {"devices", "fraction"}, .required = false}});
  return keys;
}

}  // namespace

const SectionSchema& job_schema() { return job_keys().schema(); }

std::vector<ValueShape> placement_shapes() {
  return {ValueShape::choice({"linear", "random", "nodes"}),
          ValueShape::mapping(job_placement_keys().schema())};
}

const SectionSchema& background_schema() { return background_keys().schema(); }

std::vector<JobConfig> read_jobs(const YamlSection& root, const std::string& study) {
  std::vector<JobConfig> jobs;
  if (!root.has("jobs")) {
    JobConfig job{.name = study, .workload = read_workload(root)};
    job.place = root.where("workload");
    job = read_placement(root, "job_placement", std::move(job));
    jobs.push_back(std::move(job));
    return jobs;
  }
  if (root.has("workload")) {
    root.fail("workload", "is given beside jobs; expected one of them");
  }
  for (const YamlSection& section : root.sections("jobs")) {
    jobs.push_back(job_keys().read(section));
    const auto same = std::ranges::count(jobs, jobs.back().name, &JobConfig::name);
    if (same > 1) {
      section.fail("name", in_quotes(jobs.back().name) +
                               " is another job's name, too; expected different ones");
    }
    const JobConfig& job = jobs.back();
    if (job.serving != nullptr && job.serving->decode) jobs.push_back(decoding_job(job));
  }
  if (jobs.empty()) root.fail("jobs", "is empty; expected at least one job");
  if (jobs.size() > kJobsMax) root.fail("jobs", fmt::format("are more than {}", kJobsMax));
  return jobs;
}

JobConfig read_job_placement(const YamlSection& section, std::string_view key, JobConfig job) {
  return read_placement(section, key, std::move(job));
}

std::vector<BackgroundConfig> read_backgrounds(const YamlSection& root) {
  std::vector<BackgroundConfig> all;
  if (!root.has("background")) return all;
  for (const YamlSection& section : root.sections("background")) {
    all.push_back(background_keys().read(section));
  }
  if (all.size() > model::kBackgroundsMax) {
    root.fail("background", fmt::format("has {} generators; expected at most {}", all.size(),
                                        model::kBackgroundsMax));
  }
  return all;
}

}  // namespace exawarp::io
