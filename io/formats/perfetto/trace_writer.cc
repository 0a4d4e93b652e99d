#include "io/formats/perfetto/trace_writer.h"

#include "io/perfetto.pb.h"

namespace exawarp::io {
namespace {

using perfetto::TracePacket;
using perfetto::TrackDescriptor;
using perfetto::TrackEvent;

constexpr std::uint32_t kSequence = 1;
constexpr std::uint64_t kRoot = 0;  // the track that all groups are on
constexpr std::int64_t kPsPerNs = 1'000;
constexpr std::size_t kBufferBytes = 1 << 20;

}  // namespace

TraceWriter::TraceWriter(core::OutputFile& file)
    : file_(file), one_(std::make_unique<perfetto::Trace>()) {
  TracePacket& first = packet();
  first.set_sequence_flags(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED |
                           TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
  first.mutable_track_descriptor()->set_uuid(kRoot);
  first.mutable_track_descriptor()->set_child_ordering(TrackDescriptor::EXPLICIT);
  put();
}

TraceWriter::~TraceWriter() = default;

std::uint64_t TraceWriter::add_group(std::string_view name) { return describe(kRoot, name); }

std::uint64_t TraceWriter::add_track(std::uint64_t group, std::string_view name) {
  return describe(group, name);
}

std::uint64_t TraceWriter::describe(std::uint64_t parent, std::string_view name) {
  TrackDescriptor& track = *packet().mutable_track_descriptor();
  track.set_uuid(++tracks_);
  track.set_name(std::string(name));
  if (parent != kRoot) track.set_parent_uuid(parent);
  track.set_child_ordering(TrackDescriptor::EXPLICIT);
  track.set_sibling_order_rank(static_cast<std::int32_t>(tracks_));
  put();
  return tracks_;
}

void TraceWriter::begin(std::uint64_t track, const TraceSlice& slice) {
  TracePacket& p = packet();
  p.set_timestamp(static_cast<std::uint64_t>(slice.from.ps / kPsPerNs));
  TrackEvent& event = *p.mutable_track_event();
  event.set_type(TrackEvent::TYPE_SLICE_BEGIN);
  event.set_track_uuid(track);
  event.set_name_iid(intern(names_, Interned::name, slice.name));
  event.add_category_iids(intern(categories_, Interned::category, slice.category));
  annotate("start_ps", slice.from.ps);
  annotate("duration_ps", (slice.until - slice.from).ps);
  if (slice.flow_out != 0) event.add_flow_ids(slice.flow_out);
  put();
}

void TraceWriter::end(std::uint64_t track, core::Time at, std::uint64_t flow_in) {
  TracePacket& p = packet();
  p.set_timestamp(static_cast<std::uint64_t>(at.ps / kPsPerNs));
  TrackEvent& event = *p.mutable_track_event();
  event.set_type(TrackEvent::TYPE_SLICE_END);
  event.set_track_uuid(track);
  if (flow_in != 0) event.add_terminating_flow_ids(flow_in);
  put();
}

// A new one.
TracePacket& TraceWriter::packet() {
  one_->clear_packet();
  TracePacket& out = *one_->add_packet();
  out.set_trusted_packet_sequence_id(kSequence);
  out.set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
  return out;
}

void TraceWriter::annotate(std::string_view name, std::int64_t value) {
  const std::uint64_t iid = intern(annotations_, Interned::annotation, name);
  auto& annotation = *one_->mutable_packet(0)->mutable_track_event()->add_debug_annotations();
  annotation.set_name_iid(iid);
  annotation.set_int_value(value);
}

// The number of a name, which the packet says if it is the first to use it.
std::uint64_t TraceWriter::intern(Names& names, Interned kind, std::string_view name) {
  const auto [at, is_new] = names.try_emplace(std::string(name), names.size() + 1);
  if (!is_new) return at->second;
  perfetto::InternedData& data = *one_->mutable_packet(0)->mutable_interned_data();
  const auto add = [&](auto& entry) {
    entry.set_iid(at->second);
    entry.set_name(at->first);
  };
  switch (kind) {
    case Interned::name:
      add(*data.add_event_names());
      break;
    case Interned::category:
      add(*data.add_event_categories());
      break;
    case Interned::annotation:
      add(*data.add_debug_annotation_names());
      break;
  }
  return at->second;
}

void TraceWriter::put() {
  one_->AppendToString(&buffer_);
  if (buffer_.size() >= kBufferBytes) finish();
}

void TraceWriter::finish() {
  file_.write(buffer_);
  buffer_.clear();
}

}  // namespace exawarp::io
