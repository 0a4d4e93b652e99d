// Recursive descent, one function for each rule of the grammar. Numbers and truths are told apart
// while parsing, so that evaluation need not ask.
#include "io/study/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>
#include <utility>

#include "core/error.h"
#include "io/study/numbers.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

constexpr std::size_t kTextMax = 1'000;
constexpr int kDepthMax = 64;

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_comparison(char c) { return c == '=' || c == '!' || c == '<' || c == '>'; }
bool continues_name(char c) {
  return starts_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.';
}

}  // namespace

class ExpressionParser {
 public:
  ExpressionParser(Expression& out, std::span<const std::string> names)
      : out_(out), names_(names), rest_(out.text_) {}

  void parse() {
    if (out_.text_.size() > kTextMax) out_.fail("is too long; expected at most 1,000 characters");
    advance();
    const Part whole = condition();
    if (!word_.empty()) expected("an operator, or the end");
    require_truth(whole, "as a whole");
  }

 private:
  using Operation = Expression::Operation;
  struct Part {
    std::size_t node;
    bool is_truth;
  };
  struct Named {
    std::string_view name;
    Operation operation;
  };
  // Rules call each other: no text may exhaust the stack.
  struct Deeper {
    ExpressionParser& parser;
    explicit Deeper(ExpressionParser& p) : parser(p) {
      if (++parser.depth_ > kDepthMax) {
        parser.out_.fail(
            fmt::format("is nested too deeply; expected at most {} levels", kDepthMax));
      }
    }
    ~Deeper() { --parser.depth_; }
  };

  [[noreturn]] void expected(const std::string& what) const {
    out_.fail(fmt::format("{} is not possible there; expected {}",
                          word_.empty() ? "the end" : in_quotes(word_), what));
  }
  [[noreturn]] void wrong_kind(bool is_truth, const std::string& where) const {
    out_.fail(fmt::format("is {} {}; expected {}", is_truth ? "a condition" : "a number", where,
                          is_truth ? "a number" : "a condition, e.g. \"a = b\""));
  }
  void require_truth(const Part& part, const std::string& where) const {
    if (!part.is_truth) wrong_kind(false, where);
  }
  void require_number(const Part& part, const std::string& where) const {
    if (part.is_truth) wrong_kind(true, where);
  }

  // Makes word_ the next one: a name, a number, an operator, or "" at the end.
  void advance() {
    const std::size_t blank = rest_.find_first_not_of(" \t\n");
    rest_.remove_prefix(std::min(blank, rest_.size()));
    std::size_t length = rest_.empty() ? 0 : 1;
    if (length != 0 && continues_name(rest_[0])) {
      while (length < rest_.size() && continues_name(rest_[length])) ++length;
      // "1e-3" is one word, too.
      if (!starts_name(rest_[0]) && length + 1 < rest_.size() && is_exponent(rest_[length - 1]) &&
          (rest_[length] == '-' || rest_[length] == '+')) {
        while (++length < rest_.size() && continues_name(rest_[length])) {
        }
      }
    } else if (rest_.size() > 1 && rest_[1] == '=' && is_comparison(rest_[0])) {
      length = 2;
    }
    word_ = rest_.substr(0, length);
    rest_.remove_prefix(length);
  }
  static bool is_exponent(char c) { return c == 'e' || c == 'E'; }

  bool take(std::string_view word) {
    if (word_ != word || word.empty()) return false;
    advance();
    return true;
  }

  Part add(Expression::Node node, bool is_truth) {
    out_.nodes_.push_back(node);
    return {out_.nodes_.size() - 1, is_truth};
  }
  Part join(Operation operation, Part left, Part right, bool is_truth) {
    return add({.operation = operation, .left = left.node, .right = right.node}, is_truth);
  }

  Part condition() {
    const Deeper level(*this);
    Part left = conjunction();
    while (take("or")) left = logical(Operation::either, left, conjunction(), "\"or\"");
    return left;
  }
  Part conjunction() {
    Part left = negation();
    while (take("and")) left = logical(Operation::both, left, negation(), "\"and\"");
    return left;
  }
  Part logical(Operation operation, Part left, Part right, const std::string& word) {
    require_truth(left, "before " + word);
    require_truth(right, "after " + word);
    return join(operation, left, right, true);
  }
  Part negation() {
    const Deeper level(*this);
    if (!take("not")) return comparison();
    const Part inner = negation();
    require_truth(inner, "after \"not\"");
    return join(Operation::negation, inner, inner, true);
  }

  [[nodiscard]] bool compares() const { return !word_.empty() && is_comparison(word_[0]); }
  Part comparison() {
    const Part left = sum();
    if (!compares()) return left;
    const std::string operation(word_);
    advance();
    const Part right = sum();
    require_number(left, "before " + in_quotes(operation));
    require_number(right, "after " + in_quotes(operation));
    if (compares()) expected("\"and\" between two comparisons");
    if (operation == "=" || operation == "==") return join(Operation::equal, left, right, true);
    if (operation == "!=") return join(Operation::unequal, left, right, true);
    if (operation == "<") return join(Operation::less, left, right, true);
    if (operation == "<=") return join(Operation::at_most, left, right, true);
    if (operation == ">") return join(Operation::less, right, left, true);
    if (operation == ">=") return join(Operation::at_most, right, left, true);
    out_.fail(in_quotes(operation) + " is no operator; expected \"!=\", or \"not\"");
  }

  template <std::size_t n>
  Part chain(const std::array<Named, n>& operators, Part (ExpressionParser::*next)()) {
    Part left = (this->*next)();
    for (;;) {
      const auto found = std::ranges::find(operators, word_, &Named::name);
      if (found == operators.end()) return left;
      advance();
      const Part right = (this->*next)();
      require_number(left, "before " + in_quotes(found->name));
      require_number(right, "after " + in_quotes(found->name));
      left = join(found->operation, left, right, false);
    }
  }
  Part sum() {
    static constexpr std::array kSums{Named{"+", Operation::plus}, Named{"-", Operation::minus}};
    return chain(kSums, &ExpressionParser::product);
  }
  Part product() {
    static constexpr std::array kProducts{Named{"*", Operation::times}, Named{"/", Operation::over},
                                          Named{"%", Operation::remainder}};
    return chain(kProducts, &ExpressionParser::with_sign);
  }
  Part with_sign() {
    const Deeper level(*this);
    if (!take("-")) return operand();
    const Part inner = with_sign();
    require_number(inner, "after \"-\"");
    return join(Operation::negative, inner, inner, false);
  }

  Part operand() {
    if (take("(")) {
      const Part inner = condition();
      if (!take(")")) expected("\")\"");
      return inner;
    }
    if (word_.empty() || !continues_name(word_[0])) expected("a name, a number or \"(\"");
    const std::string word(word_);
    advance();
    if (!starts_name(word[0])) return number(word);
    return word_ == "(" ? call(word) : name(word);
  }
  Part number(const std::string& word) {
    const std::optional<double> value = number_from<double>(word);
    if (!value || !std::isfinite(*value)) {
      out_.fail(in_quotes(word) + " is no number; expected e.g. 8 or 0.5");
    }
    return add({.operation = Operation::number, .number = *value}, false);
  }
  Part name(const std::string& word) {
    const auto found = std::ranges::find(names_, word);
    if (found == names_.end()) {
      out_.fail(
          fmt::format("{} is no key that has a number here; expected the last part of one, "
                      "all of it where several end so, or a name of `as`{}",
                      in_quotes(word), did_you_mean(word, names_)));
    }
    return add(
        {.operation = Operation::name, .name = static_cast<std::size_t>(found - names_.begin())},
        false);
  }
  Part call(const std::string& function) {
    static constexpr std::array kFunctions{Named{"divides", Operation::divides},
                                           Named{"min", Operation::least},
                                           Named{"max", Operation::greatest}};
    const auto found = std::ranges::find(kFunctions, function, &Named::name);
    if (found == kFunctions.end()) {
      out_.fail(in_quotes(function) + " is no function; expected divides, min or max");
    }
    advance();
    const bool two_alone = found->operation == Operation::divides;
    Part all = argument(function);
    std::size_t arguments = 1;
    while (take(",")) {
      all = join(found->operation, all, argument(function), two_alone);
      ++arguments;
    }
    if (!take(")")) expected("\",\" or \")\"");
    if (arguments < 2 || (two_alone && arguments > 2)) {
      out_.fail(fmt::format("{} of {} arguments; expected {}", in_quotes(function), arguments,
                            two_alone ? "2" : "2 or more"));
    }
    return all;
  }
  Part argument(const std::string& function) {
    const Part part = condition();
    require_number(part, "as an argument of " + in_quotes(function));
    return part;
  }

  Expression& out_;
  std::span<const std::string> names_;
  std::string_view rest_, word_;
  int depth_ = 0;
};

Expression::Expression(std::string_view text, std::string place, std::span<const std::string> names)
    : text_(text), place_(std::move(place)) {
  ExpressionParser(*this, names).parse();
}

bool Expression::holds(std::span<const double> values) const {
  return truth(nodes_.size() - 1, values);
}

bool Expression::is_name(std::string_view text) {
  const bool is_word = text == "and" || text == "or" || text == "not";
  return !is_word && !text.empty() && starts_name(text[0]) &&
         std::ranges::all_of(text, continues_name);
}

bool Expression::uses(std::size_t name) const {
  return std::ranges::any_of(nodes_, [name](const Node& node) {
    return node.operation == Operation::name && node.name == name;
  });
}

void Expression::fail(const std::string& what) const {
  throw core::InputError(place_, fmt::format("{}: {}", in_quotes(text_), what));
}

double Expression::remainder(double a, double b) const {
  if (b == 0) fail("divides by 0");
  if (a != std::trunc(a) || b != std::trunc(b)) {
    fail(fmt::format("has no remainder of {:g} by {:g}; expected whole numbers", a, b));
  }
  return std::fmod(a, b);
}

double Expression::value(std::size_t at, std::span<const double> values) const {
  const Node& node = nodes_[at];
  if (node.operation == Operation::number) return node.number;
  if (node.operation == Operation::name) return values[node.name];
  if (node.operation == Operation::negative) return -value(node.left, values);
  const double left = value(node.left, values), right = value(node.right, values);
  switch (node.operation) {
    case Operation::plus:
      return left + right;
    case Operation::minus:
      return left - right;
    case Operation::times:
      return left * right;
    case Operation::remainder:
      return remainder(left, right);
    case Operation::least:
      return std::min(left, right);
    case Operation::greatest:
      return std::max(left, right);
    case Operation::over:
      if (right == 0) fail("divides by 0");
      return left / right;
    default:
      return 0;  // a truth: the parser lets none stand here
  }
}

bool Expression::truth(std::size_t at, std::span<const double> values) const {
  const Node& node = nodes_[at];
  const auto left = [&] { return value(node.left, values); };
  const auto right = [&] { return value(node.right, values); };
  switch (node.operation) {
    case Operation::divides:
      return remainder(right(), left()) == 0;
    case Operation::equal:
      return left() == right();
    case Operation::unequal:
      return left() != right();
    case Operation::less:
      return left() < right();
    case Operation::at_most:
      return left() <= right();
    case Operation::negation:
      return !truth(node.left, values);
    case Operation::both:
      return truth(node.left, values) && truth(node.right, values);
    case Operation::either:
      return truth(node.left, values) || truth(node.right, values);
    default:
      return false;  // a number: the parser lets none stand here
  }
}

}  // namespace exawarp::io
