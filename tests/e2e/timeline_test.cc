// `exawarp run --timeline`: the file is the same however a study is run, says to the picosecond
// what summary.json says, and goes on where a checkpoint does; what is refused.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "io/cli/commands/run.h"
#include "io/perfetto.pb.h"
#include "pdes/transport_in_process.h"
#include "tests/e2e/workspace.h"

namespace exawarp::tests {
namespace {

using nlohmann::json;
using perfetto::TrackEvent;
using Words = std::vector<std::string>;

perfetto::Trace parsed(const std::string& bytes) {
  perfetto::Trace trace;
  EXPECT_TRUE(trace.ParseFromString(bytes));
  return trace;
}

// What a viewer makes of a trace.
struct Viewed {
  struct Slice {
    std::string track, name, category;
    std::int64_t from_ps = 0, duration_ps = 0;
    std::uint64_t flow_out = 0, flow_in = 0;
    bool ends = false;
  };
  explicit Viewed(const perfetto::Trace& trace) {
    std::map<std::uint64_t, std::string> names, categories, tracks;
    std::map<std::uint64_t, std::size_t> open;
    for (const auto& packet : trace.packet()) {
      for (const auto& e : packet.interned_data().event_names()) names[e.iid()] = e.name();
      for (const auto& e : packet.interned_data().event_categories()) {
        categories[e.iid()] = e.name();
      }
      const auto& track = packet.track_descriptor();
      if (!track.has_parent_uuid() && track.uuid() != 0) devices.push_back(track.name());
      if (packet.has_track_descriptor()) {
        if (track.has_counter()) last_counts[track.uuid()] = -1;
        tracks[track.uuid()] =
            (track.has_parent_uuid() ? tracks[track.parent_uuid()] + ": " : "") + track.name();
      }
      if (!packet.has_track_event()) continue;
      const TrackEvent& event = packet.track_event();
      if (event.type() == TrackEvent::TYPE_COUNTER) {
        last_counts.at(event.track_uuid()) = event.counter_value();
        most = std::max(most, event.counter_value());
        ++counted;
      } else if (event.type() == TrackEvent::TYPE_SLICE_BEGIN) {
        EXPECT_TRUE(open.emplace(event.track_uuid(), slices.size()).second);
        slices.push_back({.track = tracks.at(event.track_uuid()),
                          .name = names.at(event.name_iid()),
                          .category = categories.at(event.category_iids(0)),
                          .from_ps = event.debug_annotations(0).int_value(),
                          .duration_ps = event.debug_annotations(1).int_value(),
                          .flow_out = event.flow_ids_size() == 0 ? 0 : event.flow_ids(0)});
      } else {
        Slice& slice = slices.at(open.extract(event.track_uuid()).mapped());
        slice.ends = true;
        if (event.terminating_flow_ids_size() != 0) slice.flow_in = event.terminating_flow_ids(0);
      }
    }
  }
  std::vector<std::string> devices;
  std::vector<Slice> slices;
  std::map<std::uint64_t, std::int64_t> last_counts;  // by track
  std::int64_t most = 0;
  std::size_t counted = 0;
};

class TimelineOfARun : public testing::Test {
 protected:
  TimelineOfARun() {
    workspace.write("study.yaml", small_study());
    workspace.write("workload.yaml", small_workload());
  }
  // Writes all.pftrace, and returns the summary.
  json summary_of(const Words& more) const {
    Words all{"run", "study.yaml", "--json", "--timeline", "all.pftrace"};
    all.insert(all.end(), more.begin(), more.end());
    const Ran ran = workspace.run(all);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    return json::parse(ran.out);
  }
  [[nodiscard]] Viewed viewed() const { return Viewed(parsed(workspace.read("all.pftrace"))); }

  const Workspace workspace;
};

TEST_F(TimelineOfARun, AddsUpToTheBreakdownOfTheSummary) {
  const json summary = summary_of({"--timeline-devices", "0-7", "--set", "compute.jitter=0.1"});
  std::map<std::string, std::int64_t> sums;
  for (const Viewed::Slice& slice : viewed().slices) {
    if (slice.track.ends_with(": whole device")) sums[slice.name] += slice.duration_ps;
  }
  std::int64_t whole = 0;
  for (const auto& [name, sum] : sums) whole += sum;
  EXPECT_EQ(whole, 8 * summary["simulated_time_ps"].get<std::int64_t>());
  const json& shares = summary["breakdown"];
  const auto share = [&](const std::string& name) {
    return static_cast<double>(sums[name]) / static_cast<double>(whole);
  };
  for (const char* const name : {"compute", "waiting", "idle"}) {
    EXPECT_EQ(share(name), shares[name].get<double>()) << name;
  }
  for (const auto& [name, of_kind] : shares["exposed_communication_by_kind"].items()) {
    EXPECT_EQ(share(name), of_kind.get<double>()) << name;
  }
}

TEST_F(TimelineOfARun, IsOfOnePipelineAndLeadsFromSendsToReceives) {
  summary_of({});
  const Viewed all = viewed();
  EXPECT_EQ(all.devices, (std::vector<std::string>{"device 0 (stage 0)", "device 4 (stage 1)"}));
  std::map<std::uint64_t, const Viewed::Slice*> sent;
  std::size_t arrived = 0;
  for (const Viewed::Slice& slice : all.slices) {
    EXPECT_TRUE(slice.ends) << slice.name;
    if (slice.flow_out != 0) {
      EXPECT_TRUE(sent.emplace(slice.flow_out, &slice).second);
    }
  }
  for (const Viewed::Slice& slice : all.slices) {
    if (slice.flow_in == 0) continue;
    ++arrived;
    const Viewed::Slice& send = *sent.at(slice.flow_in);
    EXPECT_NE(send.track.substr(0, 8), slice.track.substr(0, 8));
    EXPECT_LT(send.from_ps, slice.from_ps + slice.duration_ps);
    EXPECT_EQ(send.category, "pipeline");
  }
  EXPECT_EQ(arrived, sent.size());
  EXPECT_GE(arrived, 4u);
}

TEST_F(TimelineOfARun, NamesLayersMicroBatchesAndDirections) {
  summary_of({});
  std::set<std::string> names;
  for (const Viewed::Slice& slice : viewed().slices) names.insert(slice.name);
  EXPECT_TRUE(names.contains("forward qkv, layer 0, micro-batch 1"));
  EXPECT_TRUE(names.contains("backward ffn_out.dx, layer 1, micro-batch 0"));
  EXPECT_TRUE(names.contains("norm.backward, layer 1, micro-batch 0"));
  EXPECT_TRUE(names.contains("forward tensor.all_gather, layer 0, micro-batch 0"));
}

TEST_F(TimelineOfARun, IsOneFileOnAnyNumberOfRanksAndThreads) {
  io::RunArguments arguments;
  arguments.study_file = "study.yaml";
  arguments.quiet = true;
  arguments.overrides = {"compute.jitter=0.05"};
  arguments.timeline = "t.pftrace";
  const auto file = [&](std::uint32_t ranks, std::uint32_t threads, pdes::Sync sync) {
    arguments.options.threads = threads;
    arguments.options.sync = sync;
    arguments.options.timeline = {.devices = {0, 3, 4, 6}};
    pdes::InProcessHub hub(ranks, 0);
    std::ostringstream out, err;
    std::vector<std::jthread> all;
    for (std::uint32_t r = 0; r < ranks; ++r) {
      all.emplace_back([&, r] {
        const auto transport = hub.endpoint({r});
        EXPECT_EQ(io::run_study(arguments, io::Console{out, err, false}, *transport), 0);
      });
    }
    all.clear();
    EXPECT_EQ(err.str(), "");
    return workspace.read("t.pftrace");
  };
  const std::string expected = file(1, 1, pdes::Sync::sequential);
  EXPECT_GT(expected.size(), 10'000u);
  EXPECT_EQ(file(1, 2, pdes::Sync::optimistic), expected);
  EXPECT_EQ(file(2, 1, pdes::Sync::optimistic), expected);
  EXPECT_EQ(file(2, 1, pdes::Sync::conservative), expected);
}

TEST_F(TimelineOfARun, ShowsThePartThatWasAskedFor) {
  summary_of({"--timeline-from", "100 us", "--timeline-until", "300 us"});
  for (const Viewed::Slice& slice : viewed().slices) {
    EXPECT_GE(slice.from_ps, 100'000'000);
    EXPECT_LE(slice.from_ps + slice.duration_ps, 300'000'000);
  }
  EXPECT_GT(viewed().slices.size(), 10u);
}

TEST_F(TimelineOfARun, HasThePortsOfItsDevicesWhereTheyAreCounted) {
  summary_of({"--counters", "ports.csv", "--set", "network.fidelity=packet"});
  const Viewed all = viewed();
  // Use and queue, out and in, of both devices.
  EXPECT_EQ(all.last_counts.size(), 2u * 2 * 2);
  for (const auto& [track, last] : all.last_counts) EXPECT_EQ(last, 0);
  EXPECT_GT(all.counted, 30u);
  EXPECT_GT(all.most, 10);
}

TEST_F(TimelineOfARun, SaysWhereItEndsForBeingTooLong) {
  const Ran ran = workspace.run(
      {"run", "study.yaml", "--quiet", "--timeline", "all.pftrace", "--timeline-slices", "50"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_TRUE(ran.err.starts_with("all.pftrace: ends at ")) << ran.err;
  EXPECT_TRUE(
      ran.err.ends_with(" us, where it has 50 slices; expected fewer devices, less time, "
                        "or more --timeline-slices\n"))
      << ran.err;
  EXPECT_LE(viewed().slices.size(), 50u);
  EXPECT_GE(viewed().slices.size(), 30u);
}

// A link that fails for good: the receive of the second stage never ends.
TEST_F(TimelineOfARun, ShowsWhatADeadlockWaitsFor) {
  const Ran ran = workspace.run({"run", "study.yaml", "--quiet", "--timeline", "all.pftrace",
                                 "--set", "faults.failed_links=[{links: [d0 s0], from: 20 us}]"});
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  std::size_t open = 0;
  for (const Viewed::Slice& slice : viewed().slices) open += !slice.ends;
  EXPECT_GE(open, 1u);
}

TEST_F(TimelineOfARun, GoesOnWhereACheckpointDoes) {
  const json whole = summary_of({});
  const std::string expected = workspace.read("all.pftrace");
  summary_of({"--checkpoint", "c", "--checkpoint-every", "100 us simulated"});
  const Ran ran = workspace.run({"run", "--restart", "c", "--quiet", "--threads", "2",
                                 "--partitions", "2", "--timeline", "rest.pftrace"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(workspace.read("rest.pftrace"), expected);
  const Ran other = workspace.run(
      {"run", "--restart", "c", "--quiet", "--timeline", "o.pftrace", "--timeline-devices", "1"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.err.find("has the timeline of other devices or times"), std::string::npos)
      << other.err;
  EXPECT_FALSE(workspace.has("o.pftrace"));
}

struct Refusal {
  const char* name;
  Words arguments;
  int exit_code;
  std::string err;
};

class RefusedTimeline : public TimelineOfARun, public testing::WithParamInterface<Refusal> {};

TEST_P(RefusedTimeline, IsRefusedInOneLineAndWritesNothing) {
  Words all{"run", "study.yaml"};
  all.insert(all.end(), GetParam().arguments.begin(), GetParam().arguments.end());
  const Ran ran = workspace.run(all);
  EXPECT_EQ(ran.exit_code, GetParam().exit_code);
  EXPECT_EQ(ran.err, GetParam().err);
  EXPECT_FALSE(workspace.has("t.pftrace"));
  EXPECT_FALSE(workspace.has("results/tiny/summary.json"));
}

INSTANTIATE_TEST_SUITE_P(
    TimelineOfARun, RefusedTimeline,
    testing::Values(
        Refusal{"Device",
                {"--timeline", "t.pftrace", "--timeline-devices", "0,8"},
                2,
                "study.yaml: timeline: no such device: 8; expected 0 to 7\n"},
        Refusal{"List",
                {"--timeline", "t.pftrace", "--timeline-devices", "0,,8"},
                2,
                "--timeline-devices: \"0,,8\" is no list of devices; expected e.g. \"0,8-15\"\n"},
        Refusal{"Backwards",
                {"--timeline", "t.pftrace", "--timeline-devices", "7-3"},
                2,
                "--timeline-devices: \"7-3\" has a range that ends before it starts, or too many "
                "devices; expected at most 65536\n"},
        Refusal{"Many",
                {"--timeline", "t.pftrace", "--timeline-devices", "0-65536"},
                2,
                "--timeline-devices: \"0-65536\" has a range that ends before it starts, or too "
                "many devices; expected at most 65536\n"},
        Refusal{"Until",
                {"--timeline", "t.pftrace", "--timeline-from", "2 us", "--timeline-until", "2 us"},
                2,
                "--timeline-until: 2 us is no later than the timeline begins; expected more than "
                "2 us\n"},
        Refusal{"Slices",
                {"--timeline", "t.pftrace", "--timeline-slices", "0"},
                2,
                "--timeline-slices: \"0\"; expected 1 to 10000000\n"},
        Refusal{"Alone",
                {"--timeline-from", "2 us"},
                2,
                "--timeline-from: has no effect without --timeline FILE\n"},
        Refusal{"NotWritable",
                {"--timeline", "study.yaml/t.pftrace"},
                4,
                "study.yaml/t.pftrace: cannot create its directory: Not a directory\n"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace exawarp::tests
