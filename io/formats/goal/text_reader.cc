// The text form of GOAL, by recursive descent over words; text_reader.h.
#include "io/formats/goal/text_reader.h"

#include <fmt/core.h>

#include <charconv>
#include <optional>
#include <unordered_map>

#include "core/error.h"
#include "core/mapped_file.h"
#include "io/formats/goal/words.h"
#include "io/study/suggest.h"
#include "model/guests/goal/schedule_writer.h"

namespace exawarp::io {
namespace {

using model::goal::kAny;
using model::goal::Op;
using model::goal::OpType;
using model::goal::ScheduleWriter;

class Reader {
 public:
  Reader(std::string_view text, const std::string& place) 
      : words_(text, place), size_bytes_(text.size()) {}

  std::vector<std::byte> read();

 private:
  void read_rank();
  void read_statement(std::uint32_t rank);
  void read_dependence(std::uint32_t rank, const Word& label);
  void read_op(std::uint32_t rank, const Word& verb, const std::optional<Word>& label);
  void read_transfer(Op& op);
  void read_options(Op& op);
  void expect(std::string_view text);
  [[nodiscard]] std::uint64_t number(const char* what, std::uint64_t limit);
  [[nodiscard]] std::uint32_t number_or_any(const char* what, std::uint64_t limit);
  [[nodiscard]] std::uint64_t value_of(const Word& word, const char* what, std::uint64_t limit);
  [[nodiscard]] std::uint32_t labelled(const Word& label);

  Words words_;
  std::size_t size_bytes_;
  std::optional<ScheduleWriter> writer_;
  std::vector<bool> has_block_;
  std::unordered_map<std::string_view, std::uint32_t> labels_;  // of the rank being read
};

std::optional<OpType> verb_of(std::string_view word) {
  if (word == "send") return OpType::send;
  if (word == "recv") return OpType::receive;
  if (word == "calc") return OpType::calc;
  return std::nullopt;
}

bool is_label(std::string_view word) {
  if (word.empty()) return false;
  return (word[0] >= 'a' && word[0] <= 'z') || (word[0] >= 'A' && word[0] <= 'Z');
}

std::uint64_t Reader::value_of(const Word& word, const char* what, std::uint64_t limit) {
  std::uint64_t value = 0;
  const char* const end = word.text.data() + word.text.size();
  const auto [stop, error] = std::from_chars(word.text.data(), end, value);
  if (error == std::errc::result_out_of_range || (stop == end && value >= limit))
    words_.fail(word, fmt::format("{} {} is too large; expected less than {}", what,
                                  in_quotes(word.text), limit));
  if (error != std::errc{} || stop != end)
    words_.fail(word, fmt::format("{} is no {}; expected a whole number", in_quotes(word.text),
                                  what));
  return value;
}

std::uint64_t Reader::number(const char* what, std::uint64_t limit) {
  return value_of(words_.take(), what, limit);
}

std::uint32_t Reader::number_or_any(const char* what, std::uint64_t limit) {
  const Word word = words_.take();
  if (word.text == "-1") return kAny;
  return static_cast<std::uint32_t>(value_of(word, what, limit));
}

void Reader::expect(std::string_view text) {
  const Word word = words_.take();
  if (word.text != text)
    words_.fail(word, fmt::format("{} is not expected here; expected {}", in_quotes(word.text),
                                  in_quotes(std::string(text))));
}

std::vector<std::byte> Reader::read() {
  expect("num_ranks");
  const Word count = words_.peek();
  const auto ranks = static_cast<std::uint32_t>(
      number("number of ranks", model::goal::kRanksMax + std::uint64_t{1}));
  if (ranks == 0) words_.fail(count, "no ranks; expected at least one");
  constexpr std::size_t kRankBytesMin = 8;  // rank 0{}
  if (ranks > size_bytes_ / kRankBytesMin)
    words_.fail(count, fmt::format("{} ranks in a file of {} bytes; expected a block for each",
                                   ranks, size_bytes_));
  writer_.emplace(ranks);
  has_block_.assign(ranks, false);
  while (!words_.peek().is_end()) read_rank();
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    if (!has_block_[rank])
      words_.fail(words_.peek(),
                  fmt::format("rank {} of {} is missing; expected rank {} {{ ... }}", rank, ranks,
                              rank));
  return writer_->bytes();
}

void Reader::read_rank() {
  expect("rank");
  const Word which = words_.peek();
  const auto rank = static_cast<std::uint32_t>(number("rank", has_block_.size()));
  if (has_block_[rank]) words_.fail(which, fmt::format("rank {} occurs twice", rank));
  has_block_[rank] = true;
  labels_.clear();
  expect("{");
  while (words_.peek().text != "}") {
    if (words_.peek().is_end())
      words_.fail(words_.peek(),
                  fmt::format("the file ends inside rank {}; expected \"}}\"", rank));
    read_statement(rank);
  }
  words_.take();
}

void Reader::read_statement(std::uint32_t rank) {
  const Word first = words_.take();
  if (verb_of(first.text)) return read_op(rank, first, std::nullopt);
  if (!is_label(first.text))
    words_.fail(first, fmt::format("{} is not expected here; expected send, recv, calc, a label "
                                   "or \"}}\"",
                                   in_quotes(first.text)));
  if (words_.peek().text != ":") return read_dependence(rank, first);
  words_.take();
  const Word verb = words_.take();
  if (!verb_of(verb.text))
    words_.fail(verb, fmt::format("{} is no operation; expected send, recv or calc",
                                  in_quotes(verb.text)));
  read_op(rank, verb, first);
}

std::uint32_t Reader::labelled(const Word& label) {
  const auto it = labels_.find(label.text);
  if (it == labels_.end())
    words_.fail(label, fmt::format("label {} is not known; expected one of an operation above it "
                                   "in this rank",
                                   in_quotes(label.text)));
  return it->second;
}

void Reader::read_dependence(std::uint32_t rank, const Word& label) {
  const Word relation = words_.take();
  const bool at_start = relation.text == "irequires";
  if (!at_start && relation.text != "requires")
    words_.fail(relation, fmt::format("{} is not expected here; expected \":\", requires or "
                                      "irequires",
                                      in_quotes(relation.text)));
  const std::uint32_t op = labelled(label);
  const Word other = words_.take();
  const std::uint32_t before = labelled(other);
  if (op == before) words_.fail(other, "an operation cannot wait for itself");
  if (at_start) {
    writer_->requires_start(rank, op, before);
  } else {
    writer_->requires_end(rank, op, before);
  }
}

void Reader::read_transfer(Op& op) {
  const Word size = words_.take();
  if (!size.text.ends_with('b')) {
    op.size = value_of(size, "size in bytes", model::goal::kSizeMax);
    expect("b");
  } else {
    const Word digits{.text = size.text.substr(0, size.text.size() - 1),
                      .line = size.line,
                      .column = size.column};
    op.size = value_of(digits, "size in bytes", model::goal::kSizeMax);
  }
  if (op.type == OpType::send) {
    expect("to");
    op.peer = static_cast<std::uint32_t>(number("rank", has_block_.size()));
  } else {
    expect("from");
    op.peer = number_or_any("rank", has_block_.size());
  }
}

void Reader::read_options(Op& op) {
  constexpr std::uint64_t kTagMax = 0xffffffffu;
  bool tag = false, cpu = false, nic = false;
  const bool transfer = op.type != OpType::calc;
  for (;;) {
    const Word word = words_.peek();
    bool* seen = nullptr;
    if (transfer && word.text == "tag") seen = &tag;
    if (word.text == "cpu") seen = &cpu;
    if (transfer && word.text == "nic") seen = &nic;
    if (seen == nullptr) return;
    words_.take();
    if (*seen) words_.fail(word, fmt::format("{} is given twice", in_quotes(word.text)));
    *seen = true;
    if (seen == &tag) op.tag = number_or_any("tag", kTagMax);
    if (seen == &cpu) op.cpu = static_cast<std::uint8_t>(number("CPU", 255));
    if (seen == &nic) op.nic = static_cast<std::uint8_t>(number("NIC", 255));
  }
}

void Reader::read_op(std::uint32_t rank, const Word& verb, const std::optional<Word>& label) {
  Op op{.type = *verb_of(verb.text)};
  if (op.type == OpType::calc) {
    op.size = number("time in ns", model::goal::kCalcMaxNs);
  } else {
    read_transfer(op);
  }
  read_options(op);
  const std::uint32_t index = writer_->add(rank, op);
  if (index >= model::goal::kOpsMax)
    words_.fail(verb, fmt::format("more than {} operations in a rank", model::goal::kOpsMax));
  if (label && !labels_.try_emplace(label->text, index).second)
    words_.fail(*label, fmt::format("label {} occurs twice in rank {}", in_quotes(label->text),
                                    rank));
}

}  // namespace

std::vector<std::byte> read_goal_text(std::string_view text, const std::string& place) {
  return Reader(text, place).read();
}

model::goal::Schedule open_goal(const std::string& path) {
  const core::MappedFile file(path);
  const std::span<const std::byte> bytes = file.bytes();
  if (bytes.size() >= 8) {
    const std::uint64_t magic = model::goal::load_u64(bytes.data());
    if (magic == model::goal::kMagic || magic == model::goal::kMagicUsedUp)
      return model::goal::Schedule::open(path);
  }
  const std::string_view text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  return model::goal::Schedule::from_bytes(read_goal_text(text, path), path);
}

}  // namespace exawarp::io
