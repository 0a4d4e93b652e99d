#include "io/formats/perfetto/trace_writer.h"

#include "core/check.h"
#include "core/varint.h"
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
constexpr std::int64_t kPsPerNs = 1'000;
constexpr std::size_t kBufferBytes = 1 << 20;

TracePacket& add_packet(Trace& trace, std::uint32_t flags) {
  TracePacket& packet = *trace.add_packet();
  packet.set_trusted_packet_sequence_id(kSequence);
  packet.set_sequence_flags(flags);
  return packet;
}

std::uint64_t ns_of(core::Time time) { return static_cast<std::uint64_t>(time.ps / kPsPerNs); }

// Fields as protobuf encodes them, in the order of their numbers, at the end of a buffer. Slices
// are written by it: the library would size, check and copy messages for each. No message that it
// writes has 128 bytes (a slice's packet with all of its numbers as large as can be has 97), so a
// length is one byte, which is known when the message is over.
class Fields {
 public:
  explicit Fields(std::string& buffer) : buffer_(buffer) {}
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;
  ~Fields() { buffer_.append(bytes_, size_); }

  Fields& number(int field, std::uint64_t value) {
    varint(tag(field, kVarint));
    varint(value);
    return *this;
  }
  Fields& number(int field, core::Time value) {
    return number(field, static_cast<std::uint64_t>(value.ps));
  }
  Fields& fixed(int field, std::uint64_t value) {
    varint(tag(field, kFixed64));
    for (int bit = 0; bit < 64; bit += 8) put(static_cast<char>(value >> bit));
    return *this;
  }
  // `write` adds the fields of the message.
  template <class Write>
  Fields& message(int field, const Write& write) {
    varint(tag(field, kLengthDelimited));
    const std::size_t length = size_;
    put(0);
    write();
    const std::size_t bytes = size_ - length - 1;
    EXAWARP_CHECK(bytes < 0x80, bytes);
    bytes_[length] = static_cast<char>(bytes);
    return *this;
  }

 private:
  static constexpr std::uint64_t kVarint = 0, kFixed64 = 1, kLengthDelimited = 2;
  static constexpr std::size_t kBytes = 256;  // of the packets at both ends of a slice

  static std::uint64_t tag(int field, std::uint64_t type) {
    return static_cast<std::uint64_t>(field) << 3 | type;
  }
  void varint(std::uint64_t value) {
    size_ = static_cast<std::size_t>(core::write_varint(value, bytes_ + size_) - bytes_);
  }
  void put(char byte) { bytes_[size_++] = byte; }

  std::string& buffer_;
  char bytes_[kBytes];
  std::size_t size_ = 0;
};

void annotate(Fields& out, std::uint64_t name, core::Time value) {
  out.message(TrackEvent::kDebugAnnotationsFieldNumber, [&] {
    out.number(perfetto::DebugAnnotation::kNameIidFieldNumber, name)
        .number(perfetto::DebugAnnotation::kIntValueFieldNumber, value);
  });
}

// A packet with one event, whose fields `write` adds.
template <class Write>
void add_event(Fields& out, core::Time at, const Write& write) {
  out.message(Trace::kPacketFieldNumber, [&] {
    out.number(TracePacket::kTimestampFieldNumber, ns_of(at))
        .number(TracePacket::kTrustedPacketSequenceIdFieldNumber, kSequence)
        .message(TracePacket::kTrackEventFieldNumber, write)
        .number(TracePacket::kSequenceFlagsFieldNumber, TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
  });
}

template <class Entry>
void name(Entry& entry, std::uint64_t iid, std::string_view text) {
  entry.set_iid(iid);
  entry.set_name(std::string(text));
}

}  // namespace

TraceWriter::TraceWriter(core::OutputFile& file) : file_(file) {
  Trace first;
  TracePacket& root = add_packet(
      first, TracePacket::SEQ_INCREMENTAL_STATE_CLEARED | TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
  root.mutable_track_descriptor()->set_uuid(kRoot);
  root.mutable_track_descriptor()->set_child_ordering(TrackDescriptor::EXPLICIT);
  perfetto::InternedData& interned = *root.mutable_interned_data();
  name(*interned.add_debug_annotation_names(), kStart, "start_ps");
  name(*interned.add_debug_annotation_names(), kDuration, "duration_ps");
  put(first);
}

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
  {
    Fields out(buffer_);
    add_event(out, slice.from, [&] {
      out.number(TrackEvent::kCategoryIidsFieldNumber, slice.category);
      annotate(out, kStart, slice.from);
      annotate(out, kDuration, slice.until - slice.from);
      out.number(TrackEvent::kTypeFieldNumber, TrackEvent::TYPE_SLICE_BEGIN)
          .number(TrackEvent::kNameIidFieldNumber, slice.name)
          .number(TrackEvent::kTrackUuidFieldNumber, slice.track);
      if (slice.flow_out != 0) out.fixed(TrackEvent::kFlowIdsFieldNumber, slice.flow_out);
    });
    if (slice.ends) {
      add_event(out, slice.until, [&] {
        out.number(TrackEvent::kTypeFieldNumber, TrackEvent::TYPE_SLICE_END)
            .number(TrackEvent::kTrackUuidFieldNumber, slice.track);
        if (slice.flow_in != 0) {
          out.fixed(TrackEvent::kTerminatingFlowIdsFieldNumber, slice.flow_in);
        }
      });
    }
  }
  write_if_full();
}

void TraceWriter::count(std::uint64_t counter, core::Time at, std::int64_t value) {
  {
    Fields out(buffer_);
    add_event(out, at, [&] {
      out.number(TrackEvent::kTypeFieldNumber, TrackEvent::TYPE_COUNTER)
          .number(TrackEvent::kTrackUuidFieldNumber, counter)
          .number(TrackEvent::kCounterValueFieldNumber, static_cast<std::uint64_t>(value));
    });
  }
  write_if_full();
}

void TraceWriter::write_if_full() {
  if (buffer_.size() >= kBufferBytes) finish();
}

void TraceWriter::put(const Trace& packet) {
  packet.AppendToString(&buffer_);
  write_if_full();
}

void TraceWriter::finish() {
  file_.write(buffer_);
  buffer_.clear();
}

}  // namespace exawarp::io
