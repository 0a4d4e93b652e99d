#include "io/life/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "core/build_info.h"
#include "core/check.h"
#include "core/digest.h"
#include "core/error.h"
#include "core/mapped_file.h"
#include "core/output_file.h"
#include "io/life/agreement.h"
#include "io/life/checkpoint_part.h"
#include "io/study/numbers.h"
#include "io/study/suggest.h"
#include "io/study/text_file.h"

namespace exawarp::io {
namespace {

namespace fs = std::filesystem;
using core::InputError;
using core::SystemError;
using json = nlohmann::ordered_json;

constexpr const char* kSchema = "exawarp-checkpoint-1";
constexpr const char* kManifest = "manifest.json";
constexpr const char* kStudy = "study.resolved.yaml";
constexpr std::string_view kWhole = "checkpoint-";
constexpr std::string_view kPartial = ".partial-";
constexpr std::size_t kKept = 2;  // the newest, and one should that be damaged later

std::string part_name(std::uint32_t rank) { return fmt::format("rank-{:05}.part", rank); }

// The number in a whole checkpoint's name.
std::optional<std::uint32_t> number_of(const fs::path& path) {
  const std::string name = path.filename().string();
  if (!name.starts_with(kWhole)) return {};
  const auto number = unsigned_from(name.substr(kWhole.size()));
  if (!number || *number > 0xffffffffu) return {};
  return static_cast<std::uint32_t>(*number);
}

std::uint64_t checksum_of(std::string_view text) {
  core::Hasher hash;
  hash.bytes(text.data(), text.size());
  return hash.value();
}

std::string hex(std::uint64_t word) { return fmt::format("{:016x}", word); }

std::uint64_t word_of(const json& value) {
  const auto text = value.get<std::string>();
  const auto word = unsigned_from("0x" + text);
  if (text.size() != 16 || !word) throw InputError("has no sixteen digits: " + in_quotes(text));
  return *word;
}

json json_of(const Settings& settings) {
  json out = json::object();
  for (const Setting& setting : settings) out[setting.key] = setting.value;
  return out;
}

Settings settings_of(const json& object) {
  Settings out;
  for (const auto& [key, value] : object.items()) out.push_back({key, value.get<std::string>()});
  return out;
}

json json_of(const pdes::CutTotals& totals) {
  json words = json::array();
  for (const std::uint64_t word : words_of(totals.statistics)) words.push_back(word);
  return {{"at_ps", totals.at.ps},
          {"last_event_ps", totals.last_event.ps},
          {"events_digest", hex(totals.digest.value)},
          {"run_s", totals.run_s},
          {"statistics", std::move(words)}};
}

pdes::CutTotals totals_of(const json& object) {
  pdes::CutTotals out;
  out.at = core::Time{object.at("at_ps").get<std::int64_t>()};
  out.last_event = core::Time{object.at("last_event_ps").get<std::int64_t>()};
  out.digest.value = word_of(object.at("events_digest"));
  out.run_s = object.at("run_s").get<double>();
  const auto words = object.at("statistics").get<std::vector<std::uint64_t>>();
  pdes::StatisticsWords statistics{};
  if (words.size() != statistics.size()) throw InputError("has statistics of another program");
  std::ranges::copy(words, statistics.begin());
  out.statistics = pdes::combined(statistics, statistics);
  return out;
}

// The manifest's text: its last key is the checksum of all the others.
std::string sealed(json manifest) {
  const std::string text = manifest.dump(1);
  manifest["checksum"] = hex(checksum_of(text));
  return manifest.dump(1) + "\n";
}

// The manifest, where its checksum is right. Throws InputError without a place.
json unsealed(std::string_view text) {
  json manifest = json::parse(text, nullptr, false);
  if (!manifest.is_object()) throw InputError("is not JSON; expected a checkpoint's manifest");
  const auto schema = manifest.find("schema");
  if (schema == manifest.end() || !schema->is_string()) {
    throw InputError("has no \"schema\"; expected a checkpoint's manifest");
  }
  const auto name = schema->get<std::string>();
  if (name != kSchema) {
    throw InputError(fmt::format("is of another version: {}; this program reads {}",
                                 in_quotes(name), in_quotes(kSchema)));
  }
  const json checksum = manifest.value("checksum", json());
  manifest.erase("checksum");
  if (!checksum.is_string() || checksum != hex(checksum_of(manifest.dump(1)))) {
    throw InputError("is not as it was written: its checksum differs");
  }
  return manifest;
}

void sync_directory(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool done = descriptor >= 0 && (::fsync(descriptor) == 0 || errno == EINVAL);
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (!done) throw SystemError(path + ": cannot be synchronised: " + core::system_text(error));
}

void remove_partial(const std::string& directory) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    if (entry.path().filename().string().starts_with(kPartial)) {
      std::error_code ignored;
      fs::remove_all(entry.path(), ignored);
    }
  }
}

void make_directory(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw SystemError(path + ": cannot be made: " + error.message());
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// Settings of another simulation, or none: the first in which they differ, for people.
std::string difference(const Settings& before, const Settings& now) {
  for (std::size_t i = 0; i < std::max(before.size(), now.size()); ++i) {
    const Setting was = i < before.size() ? before[i] : Setting{};
    const Setting is = i < now.size() ? now[i] : Setting{};
    if (was.key == is.key && was.value == is.value) continue;
    const std::string& key = is.key.empty() ? was.key : is.key;
    return fmt::format("{} {}; this is {}", key, in_quotes(was.value), in_quotes(is.value));
  }
  return {};
}

}  // namespace

std::vector<std::string> checkpoints_in(const std::string& directory) {
  std::vector<std::pair<std::uint32_t, std::string>> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    const auto number = number_of(entry.path());
    if (number) found.emplace_back(*number, entry.path().string());
  }
  std::ranges::sort(found);
  std::vector<std::string> paths;
  for (auto& [number, path] : found) paths.push_back(std::move(path));
  return paths;
}

CheckpointWriter::CheckpointWriter(std::string directory, CheckpointFacts facts,
                                   std::vector<NamedSink> sinks, pdes::Transport& transport)
    : directory_(std::move(directory)),
      facts_(std::move(facts)),
      sinks_(std::move(sinks)),
      transport_(transport) {
  agree(transport_, [&] {
    if (transport_.rank().value != 0) return;
    make_directory(directory_);
    lock_ = std::make_unique<const DirectoryLock>(directory_, DirectoryLock::Kind::exclusive,
                                                  kPatience);
    if (!lock_->is_held()) {
      throw SystemError(directory_ + ": another run writes its checkpoints there; expected its "
                                     "end, or another directory");
    }
    const std::vector<std::string> there = checkpoints_in(directory_);
    if (there.empty()) return;
    next_ = *number_of(there.back()) + 1;
    std::optional<Checkpoint> newest;
    try {
      newest.emplace(there.back(), facts_.command);
    } catch (const InputError&) {
      return;  // whatever it is, it is not lost before there are two others
    }
    const std::string other = difference(newest->facts().identity, facts_.identity);
    if (other.empty()) return;
    throw InputError(directory_, fmt::format("holds checkpoints of something else: of {}; "
                                             "expected another directory",
                                             other));
  });
  std::array<std::uint64_t, 1> next{next_};
  transport_.all_reduce_max(next);
  next_ = static_cast<std::uint32_t>(next[0]);
}

void CheckpointWriter::write(pdes::RankCut&& cut) {
  const bool first_rank = transport_.rank().value == 0;
  const std::string partial = fmt::format("{}/{}{:06}", directory_, kPartial, next_);
  const std::string whole = fmt::format("{}/{}{:06}", directory_, kWhole, next_);
  agree(transport_, [&] {
    if (!first_rank) return;
    remove_partial(directory_);
    make_directory(partial);
  });
  std::array<WrittenPart, 1> mine;
  agree(transport_, [&] {
    std::vector<Section> sections;
    for (std::uint64_t i = 0; i < sinks_.size(); ++i) {
      sections.push_back({SectionKind::sink, i, i, sinks_[i].sink->saved()});
    }
    for (pdes::CutChunk& chunk : cut.chunks) {
      sections.push_back({SectionKind::chunk, chunk.first.value, chunk.last.value,
                          std::move(chunk.bytes)});
    }
    mine[0] = write_part(partial + "/" + part_name(transport_.rank().value), sections);
  });
  const std::vector<std::byte> all = transport_.gather(std::as_bytes(std::span(mine)));
  agree(transport_, [&] {
    if (!first_rank) return;
    std::vector<WrittenPart> parts(all.size() / sizeof(WrittenPart));
    std::memcpy(parts.data(), all.data(), all.size());
    const core::BuildInfo& build = core::build_info();
    json manifest{{"schema", kSchema},
                  {"version", build.version},
                  {"commit", build.commit},
                  {"command", facts_.command},
                  {"arguments", json_of(facts_.arguments)},
                  {"identity", json_of(facts_.identity)},
                  {"reached", json_of(cut.totals)},
                  {"study_checksum", hex(checksum_of(facts_.study))}};
    json sinks = json::array();
    for (const NamedSink& sink : sinks_) sinks.push_back(sink.name);
    manifest["sinks"] = std::move(sinks);
    bytes_ = 0;
    for (std::uint32_t r = 0; r < parts.size(); ++r) {
      manifest["parts"].push_back({{"file", part_name(r)},
                                   {"bytes", parts[r].bytes},
                                   {"checksum", hex(parts[r].checksum)}});
      bytes_ += parts[r].bytes;
    }
    if (!facts_.study.empty()) core::write_file(partial + "/" + kStudy, facts_.study);
    core::write_file(partial + "/" + kManifest, sealed(std::move(manifest)));
    std::error_code error;
    fs::rename(partial, whole, error);
    if (error) throw SystemError(whole + ": cannot be made: " + error.message());
    sync_directory(directory_);
    const std::vector<std::string> there = checkpoints_in(directory_);
    for (std::size_t i = 0; i + kKept < there.size(); ++i) fs::remove_all(there[i], error);
  });
  newest_ = whole;
  transport_.set_epitaph("--restart " + newest_ + " goes on from what was reached");
  ++next_;
}

std::string newest_checkpoint(const std::string& directory, pdes::Transport& transport) {
  if (directory.empty()) return "";
  std::array<std::uint64_t, 1> number{0};
  if (transport.rank().value == 0) {
    const DirectoryLock lock(directory, DirectoryLock::Kind::shared, kPatience);
    const std::vector<std::string> there = checkpoints_in(directory);
    if (!there.empty()) number[0] = *number_of(there.back());
  }
  transport.all_reduce_max(number);
  const std::string path = without_slash(directory);
  return number[0] == 0 ? path : fmt::format("{}/{}{:06}", path, kWhole, number[0]);
}

Checkpoint::Checkpoint(const std::string& directory, const std::string& command)
    : path_(without_slash(directory)) {
  const std::vector<std::string> there = checkpoints_in(path_);
  if (!there.empty()) path_ = there.back();
  std::error_code ignored;
  if (!number_of(path_) && !fs::exists(fs::path(path_) / kManifest, ignored)) {
    throw InputError(directory, "holds no checkpoint; expected a directory that --checkpoint "
                                "was given");
  }
  try {
    read_manifest();
  } catch (const InputError& error) {
    refuse(error);
  }
  if (facts_.command != command) {
    throw InputError(path_, fmt::format("is of `exawarp {0}`; expected `exawarp {0} --restart`",
                                        facts_.command));
  }
}

void Checkpoint::read_manifest() {
  const std::string file = path_ + "/" + kManifest;
  const core::MappedFile mapped(file);
  try {
    check_json_depth(io::text_of(mapped), file);
    const json manifest = unsealed(io::text_of(mapped));
    facts_.command = manifest.at("command").get<std::string>();
    const core::BuildInfo& build = core::build_info();
    const auto commit = manifest.at("commit").get<std::string>();
    if (commit != build.commit) {
      throw InputError(fmt::format("is of another version: {} (commit {}); this program is {} "
                                   "(commit {})",
                                   manifest.at("version").get<std::string>(), commit, build.version,
                                   build.commit));
    }
    facts_.arguments = settings_of(manifest.at("arguments"));
    facts_.identity = settings_of(manifest.at("identity"));
    totals_ = totals_of(manifest.at("reached"));
    for (const json& part : manifest.at("parts")) {
      parts_.push_back({part.at("file").get<std::string>(), part.at("bytes").get<std::uint64_t>(),
                        word_of(part.at("checksum"))});
    }
    sinks_ = manifest.at("sinks").get<std::vector<std::string>>();
    const std::uint64_t study = word_of(manifest.at("study_checksum"));
    std::error_code ignored;
    if (fs::exists(study_file(), ignored)) {
      const core::MappedFile text(study_file());
      facts_.study = io::text_of(text);
    }
    if (checksum_of(facts_.study) != study) {
      throw InputError(study_file(), "is not as it was written: its checksum differs");
    }
  } catch (const json::exception& error) {
    throw InputError(file, fmt::format("is not as a checkpoint's manifest is: {}", error.what()));
  } catch (const InputError& error) {
    if (error.has_place()) throw;
    throw InputError(file, error.what());
  }
  for (const Part& part : parts_) {
    const PartFile check(path_ + "/" + part.file, {part.bytes, part.checksum});
  }
}

std::string Checkpoint::study_file() const { return path_ + "/" + kStudy; }

const std::string& Checkpoint::argument(std::string_view name) const {
  const auto found = std::ranges::find(facts_.arguments, name, &Setting::key);
  if (found != facts_.arguments.end()) return found->value;
  throw InputError(path_, fmt::format("does not say {}", in_quotes(std::string(name))));
}

void Checkpoint::require(const Settings& identity) const {
  const std::string other = difference(facts_.identity, identity);
  if (!other.empty()) throw InputError(path_, "is of something else: of " + other);
}

void Checkpoint::restore(pdes::Engine& engine, const std::vector<NamedSink>& sinks,
                         core::RankId rank, std::uint32_t ranks) const {
  try {
    for (const NamedSink& sink : sinks) {
      if (std::ranges::find(sinks_, sink.name) != sinks_.end()) continue;
      throw InputError(path_, fmt::format("was written without {0}; expected a restart without it",
                                          sink.name));
    }
    for (std::uint32_t p = 0; p < parts_.size(); ++p) {
      restore_part(parts_[p], p % ranks == rank.value, engine, sinks);
    }
    engine.go_on_from(totals_);
  } catch (const InputError& error) {
    refuse(error);
  }
}

void Checkpoint::refuse(const InputError& error) const {
  const std::string text =
      error.has_place() ? error.what() : fmt::format("{}: {}", path_, error.what());
  const std::vector<std::string> all = checkpoints_in(fs::path(path_).parent_path().string());
  const auto here = std::ranges::find(all, path_);
  if (here == all.end() || here == all.begin()) throw InputError(text);
  throw InputError(fmt::format("{}; the one before is {}", text, *(here - 1)));
}

void Checkpoint::restore_part(const Part& part, bool with_sinks, pdes::Engine& engine,
                              const std::vector<NamedSink>& sinks) const {
  const PartFile file(path_ + "/" + part.file, {part.bytes, part.checksum});
  for (const SectionEntry& entry : file.sections()) {
    if (entry.kind == SectionKind::sink) {
      if (!with_sinks || entry.first >= sinks_.size()) continue;
      const auto sink = std::ranges::find(sinks, sinks_[entry.first], &NamedSink::name);
      if (sink != sinks.end()) sink->sink->restore(file.read(entry));
      continue;
    }
    const pdes::CutChunk chunk{.first = {static_cast<std::uint32_t>(entry.first)},
                               .last = {static_cast<std::uint32_t>(entry.last)},
                               .bytes = {}};
    if (engine.wants(chunk)) engine.restore(file.read(entry));
  }
}

}  // namespace exawarp::io
