// A trace is a sequence of records, each a varint length and a protobuf message. Lengths are
// checked against the mapping before protobuf sees a byte; attributes are then read with their
// types checked.
#include "io/formats/chakra/reader.h"

#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>
#include <unistd.h>

#include <charconv>
#include <limits>

#include "core/check.h"
#include "core/error.h"
#include "core/mapped_file.h"
#include "io/study/suggest.h"
#include "io/study/text_file.h"

namespace exawarp::io {
namespace {

using core::InputError;

constexpr std::uint64_t kRecordBytesMax = 1u << 30;

// A base-128 number at `at`, which moves past it; nullopt where it is cut off or too long.
std::optional<std::uint64_t> read_varint(std::string_view bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

// The value of an attribute as a signed or unsigned integer.
struct Integer {
  bool negative;
  std::uint64_t magnitude;
};
Integer from_signed(std::int64_t value) {
  return {value < 0, static_cast<std::uint64_t>(value < 0 ? 0 : value)};
}
std::optional<Integer> integer_of(const chakra::Attribute& a) {
  switch (a.value_case()) {
    case chakra::Attribute::kInt32Val: return from_signed(a.int32_val());
    case chakra::Attribute::kInt64Val: return from_signed(a.int64_val());
    case chakra::Attribute::kSint32Val: return from_signed(a.sint32_val());
    case chakra::Attribute::kSint64Val: return from_signed(a.sint64_val());
    case chakra::Attribute::kSfixed32Val: return from_signed(a.sfixed32_val());
    case chakra::Attribute::kSfixed64Val: return from_signed(a.sfixed64_val());
    case chakra::Attribute::kUint32Val: return Integer{false, a.uint32_val()};
    case chakra::Attribute::kUint64Val: return Integer{false, a.uint64_val()};
    case chakra::Attribute::kFixed32Val: return Integer{false, a.fixed32_val()};
    case chakra::Attribute::kFixed64Val: return Integer{false, a.fixed64_val()};
    case chakra::Attribute::kBoolVal: return Integer{false, a.bool_val() ? 1u : 0u};
    default: return std::nullopt;
  }
}

}  // namespace

std::string trace_path(const std::string& prefix, std::uint32_t rank) {
  return fmt::format("{}.{}.et", prefix, rank);
}

std::uint32_t count_traces(const std::string& prefix) {
  std::uint32_t count = 0;
  while (access(trace_path(prefix, count).c_str(), F_OK) == 0) ++count;
  if (count == 0) {
    throw InputError(trace_path(prefix, 0), "there is no such file; expected traces "
                                            "PREFIX.<rank>.et from rank 0 on");
  }
  return count;
}

std::uint64_t read_trace(const std::string& path, const TraceVisitor& visitor) {
  const core::MappedFile file(path);
  read_trace(text_of(file), path, visitor);
  return file.bytes().size();
}

void read_trace(std::string_view bytes, const std::string& place, const TraceVisitor& visitor) {
  const google::protobuf::LogSilencer silencer;  // the errors below say it in one line
  chakra::GlobalMetadata metadata;
  chakra::Node node;
  bool first = true;
  for (std::size_t at = 0; at < bytes.size(); first = false) {
    const std::size_t start = at;
    const std::optional<std::uint64_t> length = read_varint(bytes, at);
    if (!length || *length > bytes.size() - at || *length > kRecordBytesMax) {
      throw InputError(place, fmt::format("byte {}: the record is cut off or has no valid length; "
                                          "expected Chakra records", start));
    }
    google::protobuf::MessageLite& message =
        first ? static_cast<google::protobuf::MessageLite&>(metadata) : node;
    if (!message.ParseFromArray(bytes.data() + at, static_cast<int>(*length))) {
      throw InputError(place, fmt::format("byte {}: the record is no Chakra {}", start,
                                          first ? "metadata" : "node"));
    }
    at += *length;
    EXAWARP_CHECK(start < at && at <= bytes.size(), start, at, bytes.size());
    if (!first) {
      visitor.node(node);
    } else if (visitor.metadata) {
      visitor.metadata(metadata);
    }
  }
  if (first) throw InputError(place, "the file is empty; expected a Chakra trace");
}

const chakra::Attribute* find_attribute(const chakra::Node& node, std::string_view name) {
  for (const chakra::Attribute& a : node.attr()) {
    if (a.name() == name) {
      return a.value_case() == chakra::Attribute::VALUE_NOT_SET ? nullptr : &a;
    }
  }
  return nullptr;
}

void NodeAttributes::refuse(const std::string& what) const {
  throw InputError(place_, fmt::format("node {}: {}", node_.id(), what));
}

std::optional<std::uint64_t> NodeAttributes::integer(std::string_view name) const {
  const chakra::Attribute* const a = find_attribute(node_, name);
  if (a == nullptr) return std::nullopt;
  const std::optional<Integer> value = integer_of(*a);
  if (!value) refuse(fmt::format("attribute {} is no integer", name));
  if (value->negative) refuse(fmt::format("attribute {} is negative", name));
  return value->magnitude;
}

std::optional<std::uint64_t> NodeAttributes::integer(std::string_view name,
                                                     std::uint64_t max) const {
  const std::optional<std::uint64_t> value = integer(name);
  if (value && *value > max) refuse(fmt::format("attribute {} is {}; expected at most {}", name,
                                                *value, max));
  return value;
}

std::optional<std::string> NodeAttributes::text(std::string_view name) const {
  const chakra::Attribute* const a = find_attribute(node_, name);
  if (a == nullptr) return std::nullopt;
  if (a->value_case() != chakra::Attribute::kStringVal) {
    refuse(fmt::format("attribute {} is no string", name));
  }
  return a->string_val();
}

std::optional<std::uint32_t> NodeAttributes::bits(std::string_view name) const {
  const chakra::Attribute* const a = find_attribute(node_, name);
  if (a == nullptr) return std::nullopt;
  if (a->value_case() != chakra::Attribute::kBoolList) {
    refuse(fmt::format("attribute {} is no list of bools", name));
  }
  std::uint32_t bits = ~0u;
  for (int i = 0; i < a->bool_list().values_size() && i < 32; ++i) {
    if (!a->bool_list().values(i)) bits &= ~(1u << i);
  }
  return bits;
}

std::uint32_t NodeAttributes::group() const {
  constexpr std::uint64_t max = std::numeric_limits<std::uint32_t>::max();
  if (find_attribute(node_, "pg_name") == nullptr) {
    return static_cast<std::uint32_t>(integer("comm_group", max).value_or(0));
  }
  const std::string name = *text("pg_name");
  if (name.empty()) return 0;
  std::uint32_t id = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  if (error != std::errc() || end != name.data() + name.size()) {
    refuse(fmt::format("pg_name {}: expected a decimal number", in_quotes(name)));
  }
  return id;
}

}  // namespace exawarp::io
