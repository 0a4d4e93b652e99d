// A rank's part of a checkpoint: one file of sections that zstd made small, behind a head that says
// where each lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/mapped_file.h"

namespace exawarp::io {

enum class SectionKind : std::uint64_t { chunk, sink };

// first and last: LPs of a chunk; a sink's number, twice.
struct SectionEntry {
  SectionKind kind = SectionKind::chunk;
  std::uint64_t first = 0, last = 0;
  std::uint64_t offset = 0;        // in the file
  std::uint64_t stored_bytes = 0;
  std::uint64_t bytes = 0;         // as it was
  std::uint64_t checksum = 0;      // of what is stored
};

struct Section {
  SectionKind kind = SectionKind::chunk;
  std::uint64_t first = 0, last = 0;
  std::vector<std::byte> bytes;
};

struct WrittenPart {
  std::uint64_t bytes = 0;     // of the file
  std::uint64_t checksum = 0;  // of its head
};

// Empties the sections one by one. Throws core::SystemError.
WrittenPart write_part(const std::string& path, std::vector<Section>& sections);

// Throws core::InputError `path: what is wrong`, SystemError where the system refuses.
class PartFile {
 public:
  // `expected`: what was written.
  PartFile(const std::string& path, const WrittenPart& expected);
  [[nodiscard]] std::span<const SectionEntry> sections() const { return entries_; }
  [[nodiscard]] std::vector<std::byte> read(const SectionEntry& entry) const;

 private:
  std::string path_;
  core::MappedFile file_;
  std::vector<SectionEntry> entries_;
};

}  // namespace exawarp::io
