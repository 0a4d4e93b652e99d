#include "io/formats/perfetto/trace_writer.h"

#include "io/perfetto.pb.h"

namespace exawarp::io {
namespace {

using perfetto::Trace;
using perfetto::TracePacket;
using perfetto::TrackDescriptor;
using perfetto::TrackEvent;

constexpr std::uint32_t kSequence = 1;
constexpr std::uint64_t kRoot = 0;                  // the track that all groups are on
constexpr std::uint64_t kStart = 1, kDuration = 2;  // names of annotations
constexpr int kStartAt = 0, kDurationAt = 1;        // their places
constexpr std::int64_t kPsPerNs = 1'000;
constexpr std::size_t kBufferBytes = 1 << 20;

TracePacket& add_packet(Trace& trace, std::uint32_t flags) {
  TracePacket& packet = *trace.add_packet();
  packet.set_trusted_packet_sequence_id(kSequence);
  packet.set_sequence_flags(flags);
  return packet;
}

std::uint64_t ns_of(core::Time time) { return static_cast<std::uint64_t>(time.ps / kPsPerNs); }

template <class Entry>
void name(Entry& entry, std::uint64_t iid, std::string_view text) {
  entry.set_iid(iid);
  entry.set_name(std::string(text));
}

}  // namespace

TraceWriter::TraceWriter(core::OutputFile& file)
    : file_(file),
      begin_(std::make_unique<Trace>()),
      end_(std::make_unique<Trace>()),
      count_(std::make_unique<Trace>()) {
  Trace first;
  TracePacket& root = add_packet(
      first, TracePacket::SEQ_INCREMENTAL_STATE_CLEARED | TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
  root.mutable_track_descriptor()->set_uuid(kRoot);
  root.mutable_track_descriptor()->set_child_ordering(TrackDescriptor::EXPLICIT);
  perfetto::InternedData& interned = *root.mutable_interned_data();
  name(*interned.add_debug_annotation_names(), kStart, "start_ps");
  name(*interned.add_debug_annotation_names(), kDuration, "duration_ps");
  put(first);

  TrackEvent& begin =
      *add_packet(*begin_, TracePacket::SEQ_NEEDS_INCREMENTAL_STATE).mutable_track_event();
  begin.set_type(TrackEvent::TYPE_SLICE_BEGIN);
  begin.add_category_iids(0);
  begin.add_debug_annotations()->set_name_iid(kStart);
  begin.add_debug_annotations()->set_name_iid(kDuration);
  TrackEvent& end =
      *add_packet(*end_, TracePacket::SEQ_NEEDS_INCREMENTAL_STATE).mutable_track_event();
  end.set_type(TrackEvent::TYPE_SLICE_END);
  TrackEvent& count =
      *add_packet(*count_, TracePacket::SEQ_NEEDS_INCREMENTAL_STATE).mutable_track_event();
  count.set_type(TrackEvent::TYPE_COUNTER);
}

TraceWriter::~TraceWriter() = default;

std::uint64_t TraceWriter::add_group(std::string_view name) {
  return describe(kRoot, name, nullptr);
}

std::uint64_t TraceWriter::add_track(std::uint64_t group, std::string_view name) {
  return describe(group, name, nullptr);
}

std::uint64_t TraceWriter::add_counter(std::uint64_t group, std::string_view name,
                                       const char* unit) {
  return describe(group, name, unit);
}

std::uint64_t TraceWriter::describe(std::uint64_t parent, std::string_view name, const char* unit) {
  Trace one;
  TrackDescriptor& track =
      *add_packet(one, TracePacket::SEQ_NEEDS_INCREMENTAL_STATE).mutable_track_descriptor();
  track.set_uuid(++tracks_);
  track.set_name(std::string(name));
  if (parent != kRoot) track.set_parent_uuid(parent);
  track.set_child_ordering(TrackDescriptor::EXPLICIT);
  track.set_sibling_order_rank(static_cast<std::int32_t>(tracks_));
  if (unit != nullptr) track.mutable_counter()->set_unit_name(unit);
  put(one);
  return tracks_;
}

std::uint64_t TraceWriter::add_name(std::string_view text) {
  Trace one;
  TracePacket& packet = add_packet(one, TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
  name(*packet.mutable_interned_data()->add_event_names(), ++names_, text);
  put(one);
  return names_;
}

std::uint64_t TraceWriter::add_category(std::string_view text) {
  Trace one;
  TracePacket& packet = add_packet(one, TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
  name(*packet.mutable_interned_data()->add_event_categories(), ++categories_, text);
  put(one);
  return categories_;
}

void TraceWriter::add(const TraceSlice& slice) {
  TracePacket& begins = *begin_->mutable_packet(0);
  begins.set_timestamp(ns_of(slice.from));
  TrackEvent& begin = *begins.mutable_track_event();
  begin.set_track_uuid(slice.track);
  begin.set_name_iid(slice.name);
  begin.set_category_iids(0, slice.category);
  begin.mutable_debug_annotations(kStartAt)->set_int_value(slice.from.ps);
  begin.mutable_debug_annotations(kDurationAt)->set_int_value((slice.until - slice.from).ps);
  begin.clear_flow_ids();
  if (slice.flow_out != 0) begin.add_flow_ids(slice.flow_out);
  put(*begin_);
  if (!slice.ends) return;

  TracePacket& ends = *end_->mutable_packet(0);
  ends.set_timestamp(ns_of(slice.until));
  TrackEvent& end = *ends.mutable_track_event();
  end.set_track_uuid(slice.track);
  end.clear_terminating_flow_ids();
  if (slice.flow_in != 0) end.add_terminating_flow_ids(slice.flow_in);
  put(*end_);
}

void TraceWriter::count(std::uint64_t counter, core::Time at, std::int64_t value) {
  TracePacket& packet = *count_->mutable_packet(0);
  packet.set_timestamp(ns_of(at));
  packet.mutable_track_event()->set_track_uuid(counter);
  packet.mutable_track_event()->set_counter_value(value);
  put(*count_);
}

void TraceWriter::put(const Trace& packet) {
  packet.AppendToString(&buffer_);
  if (buffer_.size() >= kBufferBytes) finish();
}

void TraceWriter::finish() {
  file_.write(buffer_);
  buffer_.clear();
}

}  // namespace exawarp::io
