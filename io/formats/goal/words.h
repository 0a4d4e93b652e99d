// The words of a GOAL text: names, numbers, ":", "{" and "}", with their places; comments and
// white space left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace exawarp::io {

struct Word {
  std::string_view text;  // empty: the end of the file
  std::uint32_t line = 1, column = 1;
  [[nodiscard]] bool is_end() const { return text.empty(); }
};

class Words {
 public:
  // `text` outlives the words. `place` starts what is said about them.
  Words(std::string_view text, const std::string& place);

  [[nodiscard]] const Word& peek() const { return next_; }
  // At the end of the file, gives its empty word again and again.
  Word take();
  // Throws core::InputError "PLACE:LINE:COLUMN: what".
  [[noreturn]] void fail(const Word& at, const std::string& what) const;

 private:
  void skip_blank();
  void skip_comment();
  void step();

  std::string_view text_;
  const std::string& place_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  std::size_t line_begin_ = 0;
  Word next_;
};

}  // namespace exawarp::io
