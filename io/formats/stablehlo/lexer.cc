// A hand-written scanner with one token of look-ahead over the mapped text; tokens are views, so
// nothing is copied. Blanks and comments go between tokens.
#include "io/formats/stablehlo/lexer.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/check.h"
#include "core/error.h"
#include "io/study/suggest.h"

namespace exawarp::io::stablehlo {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name(char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '$'; }

TokenKind kind_of_sigil(char c) {
  switch (c) {
    case '%': return TokenKind::value;
    case '@': return TokenKind::symbol;
    case '^': return TokenKind::block;
    case '#': return TokenKind::attribute;
    case '!': return TokenKind::dialect_type;
    default: return TokenKind::punctuation;
  }
}

}  // namespace

void Source::fail(std::size_t offset, const std::string& what) const {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t newline = before.rfind('\n');
  const std::size_t column =
      before.size() - (newline == std::string_view::npos ? 0 : newline + 1) + 1;
  throw core::InputError(fmt::format("{}:{}:{}", path, line, column), what);
}

Lexer::Lexer(const Source& source, std::size_t begin, std::size_t end)
    : source_(source), text_(source.text.substr(0, end)), at_(begin), last_end_(begin) {
  EXAWARP_CHECK(begin <= text_.size(), begin, text_.size());
  next_ = scan();
}

Token Lexer::take() {
  const Token taken = next_;
  last_end_ = taken.offset + taken.text.size();
  next_ = scan();
  return taken;
}

bool Lexer::accept(std::string_view what) {
  if (!next_.is(what)) return false;
  take();
  return true;
}

void Lexer::expect(std::string_view what) {
  if (!accept(what))
    source_.fail(next_.offset, fmt::format("{} is not expected here; expected {}",
                                           in_quotes(next_.text), in_quotes(what)));
}

void Lexer::skip_blank() {
  while (at_ < text_.size()) {
    if (text_.substr(at_, 2) == "//") {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (static_cast<unsigned char>(text_[at_]) <= ' ') {
      ++at_;
    } else {
      return;
    }
  }
}

std::size_t Lexer::name_end(std::size_t at) const {
  while (at < text_.size() && is_name(text_[at])) ++at;
  return at;
}

Token Lexer::scan_string() {
  const std::size_t begin = at_++;
  while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
  if (at_ >= text_.size()) {
    at_ = text_.size();
    source_.fail(begin, "a string that nothing ends; expected '\"'");
  }
  ++at_;
  return {TokenKind::string, text_.substr(begin, at_ - begin), begin};
}

Token Lexer::scan() {
  skip_blank();
  if (at_ >= text_.size()) return {TokenKind::end, {}, text_.size()};
  const std::size_t begin = at_;
  const char c = text_[begin];
  const char following = begin + 1 < text_.size() ? text_[begin + 1] : '\0';
  if (c == '"') return scan_string();
  TokenKind kind = kind_of_sigil(c);
  if (c == '-' && following == '>') {
    kind = TokenKind::arrow;
    at_ += 2;
  } else if (kind != TokenKind::punctuation) {
    if (c == '@' && following == '"') {
      ++at_;
      static_cast<void>(scan_string());
    } else {
      at_ = name_end(begin + 1);
    }
    if (c == '%' && at_ < text_.size() && text_[at_] == '#') at_ = name_end(at_ + 1);
  } else if (is_letter(c)) {
    kind = TokenKind::word;
    at_ = name_end(begin);
  } else if (is_digit(c) || (c == '-' && is_digit(following))) {
    kind = TokenKind::number;
    at_ = name_end(begin + 1);
    // An exponent's sign: 1.0e+00.
    while (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-') &&
           (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E') && text_.substr(at_, 2) != "->")
      at_ = name_end(at_ + 1);
  } else {
    ++at_;
  }
  EXAWARP_CHECK(begin < at_ && at_ <= text_.size(), begin, at_, text_.size());
  return {kind, text_.substr(begin, at_ - begin), begin};
}

}  // namespace exawarp::io::stablehlo
