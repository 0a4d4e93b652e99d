// Traces as a reader of the format finds them.
#include "io/formats/perfetto/trace_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "io/perfetto.pb.h"

namespace exawarp::tests {
namespace {

using core::Time;
using perfetto::TrackEvent;

class WrittenTrace : public testing::Test {
 protected:
  ~WrittenTrace() override { std::filesystem::remove(path); }
  perfetto::Trace read() {
    trace.finish();
    file.commit();
    std::ifstream in(path, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(in), {});
    perfetto::Trace out;
    EXPECT_TRUE(out.ParseFromString(bytes));
    EXPECT_EQ(out.SerializeAsString(), bytes);  // nothing that the format does not have
    return out;
  }

  // Of this process: the tests run at the same time.
  const std::string path =
      testing::TempDir() + "exawarp_written_trace_" + std::to_string(getpid());
  core::OutputFile file{path};
  io::TraceWriter trace{file};
};

TEST_F(WrittenTrace, HasTracksInGroupsInTheOrderInWhichTheyWereAdded) {
  const auto a = trace.add_group("device 10"), of_a = trace.add_track(a, "compute");
  const auto b = trace.add_group("device 2");
  const perfetto::Trace read_back = read();
  ASSERT_EQ(read_back.packet_size(), 4);
  EXPECT_EQ(read_back.packet(0).sequence_flags(), 3u);
  EXPECT_EQ(read_back.packet(0).track_descriptor().uuid(), 0u);
  const auto& first = read_back.packet(1).track_descriptor();
  const auto& track = read_back.packet(2).track_descriptor();
  const auto& second = read_back.packet(3).track_descriptor();
  EXPECT_EQ(first.name(), "device 10");
  EXPECT_EQ(first.uuid(), a);
  EXPECT_FALSE(first.has_parent_uuid());
  EXPECT_EQ(track.uuid(), of_a);
  EXPECT_EQ(track.parent_uuid(), a);
  EXPECT_EQ(second.uuid(), b);
  EXPECT_LT(first.sibling_order_rank(), second.sibling_order_rank());
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(read_back.packet(i).track_descriptor().child_ordering(),
              perfetto::TrackDescriptor::EXPLICIT);
  }
}

TEST_F(WrittenTrace, HasTheLargestNumbers) {
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  trace.add({.track = kMost,
             .name = kMost - 1,
             .category = kMost - 2,
             .from = Time{0},
             .until = Time::max(),
             .flow_out = kMost - 3,
             .flow_in = kMost - 4});
  trace.count(kMost - 5, Time::max(), -1);
  const perfetto::Trace read_back = read();
  ASSERT_EQ(read_back.packet_size(), 4);
  const TrackEvent& begin = read_back.packet(1).track_event();
  EXPECT_EQ(begin.track_uuid(), kMost);
  EXPECT_EQ(begin.name_iid(), kMost - 1);
  EXPECT_EQ(begin.category_iids(0), kMost - 2);
  EXPECT_EQ(begin.debug_annotations(1).int_value(), Time::max().ps);
  EXPECT_EQ(begin.flow_ids(0), kMost - 3);
  EXPECT_EQ(read_back.packet(2).track_event().terminating_flow_ids(0), kMost - 4);
  EXPECT_EQ(read_back.packet(3).track_event().track_uuid(), kMost - 5);
  EXPECT_EQ(read_back.packet(3).track_event().counter_value(), -1);
}

TEST_F(WrittenTrace, HasASliceAsABeginAndAnEndThatTellThePicoseconds) {
  const auto track = trace.add_track(trace.add_group("d"), "s");
  const auto name = trace.add_name("forward"), category = trace.add_category("compute");
  trace.add({track, name, category, Time{1'999}, Time{4'000}});
  const perfetto::Trace read_back = read();
  ASSERT_EQ(read_back.packet_size(), 7);
  const auto& interned = read_back.packet(0).interned_data();
  ASSERT_EQ(interned.debug_annotation_names_size(), 2);
  EXPECT_EQ(interned.debug_annotation_names(1).name(), "duration_ps");
  EXPECT_EQ(read_back.packet(3).interned_data().event_names(0).name(), "forward");
  EXPECT_EQ(read_back.packet(4).interned_data().event_categories(0).iid(), category);
  const auto& begins = read_back.packet(5);
  EXPECT_EQ(begins.timestamp(), 1u);
  EXPECT_EQ(begins.track_event().type(), TrackEvent::TYPE_SLICE_BEGIN);
  EXPECT_EQ(begins.track_event().track_uuid(), track);
  EXPECT_EQ(begins.track_event().name_iid(), name);
  EXPECT_EQ(begins.track_event().category_iids(0), category);
  ASSERT_EQ(begins.track_event().debug_annotations_size(), 2);
  EXPECT_EQ(begins.track_event().debug_annotations(0).int_value(), 1'999);
  EXPECT_EQ(begins.track_event().debug_annotations(1).name_iid(), 2u);
  EXPECT_EQ(begins.track_event().debug_annotations(1).int_value(), 2'001);
  EXPECT_EQ(begins.track_event().flow_ids_size(), 0);
  const auto& ends = read_back.packet(6);
  EXPECT_EQ(ends.timestamp(), 4u);
  EXPECT_EQ(ends.track_event().type(), TrackEvent::TYPE_SLICE_END);
  EXPECT_EQ(ends.track_event().track_uuid(), track);
}

TEST_F(WrittenTrace, HasAnArrowFromABeginToAnEnd) {
  const auto track = trace.add_track(trace.add_group("d"), "s");
  const auto name = trace.add_name("m"), category = trace.add_category("c");
  trace.add({.track = track,
             .name = name,
             .category = category,
             .from = Time{0},
             .until = Time{1'000},
             .flow_out = 77});
  trace.add({.track = track,
             .name = name,
             .category = category,
             .from = Time{1'000},
             .until = Time{2'000},
             .flow_in = 77});
  const perfetto::Trace read_back = read();
  ASSERT_EQ(read_back.packet_size(), 9);
  EXPECT_EQ(read_back.packet(5).track_event().flow_ids(0), 77u);
  EXPECT_EQ(read_back.packet(6).track_event().terminating_flow_ids_size(), 0);
  EXPECT_EQ(read_back.packet(7).track_event().flow_ids_size(), 0);
  EXPECT_EQ(read_back.packet(8).track_event().terminating_flow_ids(0), 77u);
}

TEST_F(WrittenTrace, LeavesOpenWhatDoesNotEnd) {
  const auto track = trace.add_track(trace.add_group("d"), "s");
  trace.add({.track = track,
             .name = trace.add_name("m"),
             .category = trace.add_category("c"),
             .from = Time{0},
             .until = Time{1'000},
             .ends = false});
  const perfetto::Trace read_back = read();
  ASSERT_EQ(read_back.packet_size(), 6);
  EXPECT_EQ(read_back.packet(5).track_event().type(), TrackEvent::TYPE_SLICE_BEGIN);
}

TEST_F(WrittenTrace, HasCounters) {
  const auto counter = trace.add_counter(trace.add_group("d"), "use", "%");
  trace.count(counter, Time{5'000}, 40);
  const perfetto::Trace read_back = read();
  ASSERT_EQ(read_back.packet_size(), 4);
  EXPECT_EQ(read_back.packet(2).track_descriptor().counter().unit_name(), "%");
  EXPECT_FALSE(read_back.packet(1).track_descriptor().has_counter());
  EXPECT_EQ(read_back.packet(3).timestamp(), 5u);
  EXPECT_EQ(read_back.packet(3).track_event().type(), TrackEvent::TYPE_COUNTER);
  EXPECT_EQ(read_back.packet(3).track_event().track_uuid(), counter);
  EXPECT_EQ(read_back.packet(3).track_event().counter_value(), 40);
}

TEST_F(WrittenTrace, IsWrittenAsItGrows) {
  const auto track = trace.add_track(trace.add_group("d"), "s");
  const auto name = trace.add_name("m"), category = trace.add_category("c");
  constexpr int kSlices = 50'000;  // 3 MB
  for (int i = 0; i < kSlices; ++i) {
    trace.add({track, name, category, Time{i * 1'000}, Time{i * 1'000 + 500}});
  }
  EXPECT_EQ(read().packet_size(), 5 + 2 * kSlices);
}

}  // namespace
}  // namespace exawarp::tests
