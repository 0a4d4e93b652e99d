#include "io/life/checkpoint_part.h"

#include <fmt/format.h>
#include <zstd.h>

#include <new>
#include <string_view>
#include <utility>

#include "core/bytes.h"
#include "core/check.h"
#include "core/digest.h"
#include "core/error.h"
#include "core/output_file.h"

namespace exawarp::io {
namespace {

constexpr std::uint64_t kMagic = 0x31545250'57415845;  // "EXAWPRT1" as bytes in a file
constexpr int kLevel = 1;  // faster than a disk; a higher one gains a tenth on states
constexpr std::uint64_t kSectionBytesMax = std::uint64_t{1} << 34;

struct PartHead {
  std::uint64_t magic = kMagic;
  std::uint64_t sections = 0;
};

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  core::Hasher hash;
  hash.bytes(bytes.data(), bytes.size());
  return hash.value();
}

std::vector<std::byte> packed(std::span<const std::byte> bytes) {
  std::vector<std::byte> out(ZSTD_compressBound(bytes.size()));
  const std::size_t size =
      ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), kLevel);
  if (ZSTD_isError(size) != 0) throw std::bad_alloc();  // nothing else fails with room enough
  out.resize(size);
  return out;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

WrittenPart write_part(const std::string& path, std::vector<Section>& sections) {
  std::vector<SectionEntry> entries;
  std::vector<std::vector<std::byte>> stored;
  std::uint64_t offset = sizeof(PartHead) + sections.size() * sizeof(SectionEntry);
  for (Section& section : sections) {
    stored.push_back(packed(section.bytes));
    entries.push_back({.kind = section.kind,
                       .first = section.first,
                       .last = section.last,
                       .offset = offset,
                       .stored_bytes = stored.back().size(),
                       .bytes = section.bytes.size(),
                       .checksum = checksum_of(stored.back())});
    offset += stored.back().size();
    std::vector<std::byte>().swap(section.bytes);
  }
  std::vector<std::byte> head;
  core::append_bytes(head, PartHead{.magic = kMagic, .sections = sections.size()});
  for (const SectionEntry& entry : entries) core::append_bytes(head, entry);
  core::OutputFile file(path);
  file.write(text_of(head));
  for (const auto& bytes : stored) file.write(text_of(bytes));
  file.commit();
  return {.bytes = offset, .checksum = checksum_of(head)};
}

PartFile::PartFile(const std::string& path, const WrittenPart& expected)
    : path_(path), file_(path) {
  const auto bytes = file_.bytes();
  if (bytes.size() != expected.bytes) {
    throw core::InputError(path, fmt::format("has {} bytes; expected {}, as the checkpoint was "
                                             "written",
                                             bytes.size(), expected.bytes));
  }
  const auto damaged = [&] {
    return core::InputError(path, "is not as it was written: its head's checksum differs");
  };
  if (bytes.size() < sizeof(PartHead)) throw damaged();
  core::ByteReader reader(bytes);
  const auto head = reader.next<PartHead>();
  if (head.sections > (bytes.size() - sizeof(PartHead)) / sizeof(SectionEntry)) throw damaged();
  const std::size_t head_bytes = sizeof(PartHead) + head.sections * sizeof(SectionEntry);
  if (head.magic != kMagic || checksum_of(bytes.first(head_bytes)) != expected.checksum) {
    throw damaged();
  }
  for (std::uint64_t i = 0; i < head.sections; ++i) {
    entries_.push_back(reader.next<SectionEntry>());
    const SectionEntry& entry = entries_.back();
    if (entry.offset > bytes.size() || entry.stored_bytes > bytes.size() - entry.offset ||
        entry.bytes > kSectionBytesMax) {
      throw damaged();
    }
  }
}

std::vector<std::byte> PartFile::read(const SectionEntry& entry) const {
  const auto stored = file_.bytes().subspan(entry.offset, entry.stored_bytes);
  const auto damaged = [&] {
    return core::InputError(path_, fmt::format("is not as it was written: the checksum of its {} "
                                               "bytes from {} on differs",
                                               entry.stored_bytes, entry.offset));
  };
  if (checksum_of(stored) != entry.checksum) throw damaged();
  std::vector<std::byte> out(entry.bytes);
  const std::size_t size =
      ZSTD_decompress(out.data(), out.size(), stored.data(), stored.size());
  if (ZSTD_isError(size) != 0 || size != out.size()) throw damaged();
  return out;
}

}  // namespace exawarp::io
