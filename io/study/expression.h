// Conditions over named numbers, as files state them: "tensor * pipeline * data = devices".
//
//   const std::vector<std::string> names{"tensor", "devices"};
//   const Expression divides("divides(tensor, devices) and tensor <= 8", "sweep.yaml:9", names);
//   divides.holds(std::array{4.0, 1024.0})   // by the order of the names
//
//   condition := conjunction {"or" conjunction}         sum     := product {("+" | "-") product}
//   conjunction := negation {"and" negation}            product := signed {("*" | "/" | "%")
//   signed} negation := "not" negation | comparison             signed  := "-" signed | operand
//   comparison := sum [("=" | "==" | "!=" | "<" | "<=" | ">" | ">=") sum]
//   operand := NUMBER | NAME | "(" condition ")" | FUNCTION "(" sum {"," sum} ")"
//   FUNCTION := "divides" | "min" | "max"
//
// `divides(a, b)` says whether b is a multiple of a. `and` and `or` leave their right side alone
// where the left one decides. Numbers are those of double: whole ones are exact up to 2^53.
// Thread safety: constant once made.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace exawarp::io {

class Expression {
 public:
  // Throws core::InputError that starts with `place` for what is no condition, or has a name that
  // is none of `names`.
  Expression(std::string_view text, std::string place, std::span<const std::string> names);

  // `values` by the order of the names. Throws core::InputError where there is no answer: a
  // division by 0, or a remainder of what is not whole.
  [[nodiscard]] bool holds(std::span<const double> values) const;

  // Whether a condition can have a name that is so spelt.
  [[nodiscard]] static bool is_name(std::string_view text);

  // Whether it has the name of that index.
  [[nodiscard]] bool uses(std::size_t name) const;

 private:
  friend class ExpressionParser;
  enum class Operation : std::uint8_t {
    number,
    name,
    negative,
    plus,
    minus,
    times,
    over,
    remainder,
    least,
    greatest,  // numbers
    divides,
    equal,
    unequal,
    less,
    at_most,
    negation,
    both,
    either  // truths
  };
  struct Node {
    Operation operation;
    double number = 0;                // of `number`
    std::size_t name = 0;             // of `name`
    std::size_t left = 0, right = 0;  // nodes before this one
  };

  [[nodiscard]] double value(std::size_t node, std::span<const double> values) const;
  [[nodiscard]] bool truth(std::size_t node, std::span<const double> values) const;
  [[nodiscard]] double remainder(double a, double b) const;
  [[noreturn]] void fail(const std::string& what) const;

  std::string text_, place_;
  std::vector<Node> nodes_;  // the last one is the whole
};

}  // namespace exawarp::io
