#include "tests/fuzz/mutate.h"

#include <algorithm>

#include "core/random.h"

namespace exawarp::fuzz {
namespace {

class Mutator {
 public:
  Mutator(const MutationInput& input, std::uint64_t seed)
      : input_(input), bytes_(input.bytes), seed_(seed) {}

  std::string run() {
    for (std::uint64_t changes = 1 + below(1 + below(8)); changes > 0; --changes) change();
    return bytes_;
  }

 private:
  // In [0, n); 0 for n = 0.
  std::uint64_t below(std::uint64_t n) {
    const std::uint64_t bits = core::random_bits(core::stream_of(seed_, 0xf022), draws_++);
    return n == 0 ? 0 : bits % n;
  }
  std::size_t place() { return below(bytes_.size() + 1); }
  std::string piece_of(const std::string& text) {
    const std::size_t first = below(text.size());
    return text.substr(first, 1 + below(std::min<std::size_t>(64, text.size() - first)));
  }

  void change() {
    switch (below(10)) {
      case 0:
        return flip_bit();
      case 1:
        return replace_byte();
      case 2:
        bytes_.erase(std::min(place(), bytes_.size()), 1 + below(16));
        return;
      case 3:
        bytes_.insert(place(), piece_of(bytes_));
        return;
      case 4:
        bytes_.resize(bytes_.size() - below(bytes_.size() / 4 + 1));
        return;
      case 5:
        bytes_.insert(place(), piece_of(input_.others[below(input_.others.size())]));
        return;
      case 6:
        return put_word();
      default:
        return change_digit();
    }
  }

  void flip_bit() {
    if (bytes_.empty()) return;
    char& c = bytes_[below(bytes_.size())];
    c = static_cast<char>(c ^ (1 << below(8)));
  }
  void replace_byte() {
    if (!bytes_.empty()) bytes_[below(bytes_.size())] = static_cast<char>(below(256));
  }
  void put_word() {
    const std::string& word = input_.words[below(input_.words.size())];
    const std::size_t at = place();
    const std::size_t replaced = below(2) == 0 ? 0 : std::min(word.size(), bytes_.size() - at);
    bytes_.replace(at, replaced, word);
  }
  // Numbers are where most of the meaning is.
  void change_digit() {
    const std::size_t at = bytes_.find_first_of("0123456789", place());
    if (at != std::string::npos) bytes_[at] = static_cast<char>('0' + below(10));
  }

  const MutationInput& input_;
  std::string bytes_;
  std::uint64_t seed_;
  std::uint64_t draws_ = 0;
};

}  // namespace

std::string mutated(const MutationInput& input, std::uint64_t seed) {
  return Mutator(input, seed).run();
}

}  // namespace exawarp::fuzz
