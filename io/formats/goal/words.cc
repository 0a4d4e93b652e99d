#include "io/formats/goal/words.h"

#include <fmt/core.h>

#include "core/error.h"

namespace exawarp::io {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_punctuation(char c) { return c == ':' || c == '{' || c == '}'; }

}  // namespace

Words::Words(std::string_view text, const std::string& place) : text_(text), place_(place) {
  take();
}

void Words::fail(const Word& at, const std::string& what) const {
  throw core::InputError(fmt::format("{}:{}:{}", place_, at.line, at.column), what);
}

void Words::step() {
  if (text_[at_++] != '\n') return;
  ++line_;
  line_begin_ = at_;
}

// Requires a comment at the current place.
void Words::skip_comment() {
  const Word begin{.text = text_.substr(at_, 2),
                   .line = line_,
                   .column = static_cast<std::uint32_t>(at_ - line_begin_ + 1)};
  if (begin.text == "//") {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    return;
  }
  at_ += 2;
  while (text_.substr(at_, 2) != "*/") {
    if (at_ >= text_.size()) fail(begin, "a comment that nothing ends; expected \"*/\"");
    step();
  }
  at_ += 2;
}

void Words::skip_blank() {
  while (at_ < text_.size()) {
    const std::string_view two = text_.substr(at_, 2);
    if (two == "//" || two == "/*") {
      skip_comment();
    } else if (is_blank(text_[at_])) {
      step();
    } else {
      return;
    }
  }
}

Word Words::take() {
  const Word taken = next_;
  skip_blank();
  const std::size_t begin = at_;
  if (at_ < text_.size() && is_punctuation(text_[at_])) {
    ++at_;
  } else {
    while (at_ < text_.size() && !is_blank(text_[at_]) && !is_punctuation(text_[at_]) &&
           text_.substr(at_, 2) != "//" && text_.substr(at_, 2) != "/*")
      ++at_;
  }
  next_ = {.text = text_.substr(begin, at_ - begin),
           .line = line_,
           .column = static_cast<std::uint32_t>(begin - line_begin_ + 1)};
  return taken;
}

}  // namespace exawarp::io
