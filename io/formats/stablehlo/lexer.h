// The tokens of MLIR's textual form, as far as StableHLO modules need them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace exawarp::io::stablehlo {

// The text of a file and what it is called: what errors about a place in it need.
struct Source {
  std::string_view text;
  std::string path;

  // Throws core::InputError "PATH:LINE:COLUMN: what" for the place `offset` bytes into the text.
  [[noreturn]] void fail(std::size_t offset, const std::string& what) const;
};

enum class TokenKind : std::uint8_t {
  end,
  value,        // %0, %arg1, %5#1
  symbol,       // @main
  block,        // ^bb0
  attribute,    // #stablehlo.dot
  dialect_type, // !stablehlo.token
  word,         // stablehlo.add, tensor, dims
  number,       // 12, -1.0e+00, 128x256xf32
  string,       // with its quotes
  arrow,        // ->
  punctuation,  // one character
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  std::size_t offset = 0;
  [[nodiscard]] bool is(std::string_view what) const { return text == what; }
};

// Owner: one parser. `source` outlives it, and the tokens' texts are part of it.
class Lexer {
 public:
  // Reads [begin, end) of the source.
  Lexer(const Source& source, std::size_t begin, std::size_t end);

  [[nodiscard]] const Token& peek() const { return next_; }
  Token take();  // at the end gives the token `end` again and again
  // Takes the next token where it reads `what`.
  bool accept(std::string_view what);
  void expect(std::string_view what);
  // Where the token before next_ ended.
  [[nodiscard]] std::size_t last_end() const { return last_end_; }
  [[nodiscard]] const Source& source() const { return source_; }

 private:
  void skip_blank();
  [[nodiscard]] Token scan();
  [[nodiscard]] Token scan_string();
  [[nodiscard]] std::size_t name_end(std::size_t at) const;

  const Source& source_;
  std::string_view text_;  // up to the end of the part to read
  std::size_t at_;
  std::size_t last_end_;
  Token next_;
};

}  // namespace exawarp::io::stablehlo
