// Recursive descent over the lexer's tokens, with scopes for names and a limit on nesting. What
// the cost model does not need (locations, most attributes) is skipped with its brackets balanced.
#include "io/formats/stablehlo/parser.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "core/check.h"
#include "io/formats/stablehlo/types.h"
#include "io/study/suggest.h"

namespace exawarp::io::stablehlo {
namespace {

constexpr std::uint32_t kNestingMax = 64;
constexpr std::uint32_t kResultsMax = 1u << 16;  // of an operation

bool closes(const Token& t) { return t.is(")") || t.is("]") || t.is("}") || t.is(">"); }
bool opens(const Token& t) { return t.is("(") || t.is("[") || t.is("{") || t.is("<"); }

std::string_view unquoted(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"') return text.substr(1, text.size() - 2);
  return text;
}

// What may follow an attribute at the top of a file.
bool starts_statement(const Token& t) {
  return t.is("module") || t.is("func.func") || t.is("sdy.mesh") ||
         t.kind == TokenKind::attribute || t.kind == TokenKind::dialect_type ||
         t.kind == TokenKind::string;
}

// "stablehlo.add" -> "add"; the dialects' calls and returns get one name each.
std::string plain_name(std::string_view name) {
  for (const std::string_view dialect : {"stablehlo.", "mhlo.", "vhlo."})
    if (name.starts_with(dialect) && name != "mhlo.fusion")
      return std::string(name.substr(dialect.size()));
  if (name == "call") return "func.call";
  if (name == "func.return") return "return";
  return std::string(name);
}

class Parser {
 public:
  Parser(const Source& source, std::size_t begin, std::size_t end) : lexer_(source, begin, end) {}

  Module parse() {
    while (lexer_.peek().kind != TokenKind::end) parse_top();
    return std::move(module_);
  }

 private:
  struct Range {
    ValueId first;
    std::uint32_t count;
  };
  using Scope = std::unordered_map<std::string_view, Range>;

  [[noreturn]] void fail(const Token& at, const std::string& what) const {
    lexer_.source().fail(at.offset, what);
  }
  [[noreturn]] void unexpected(const Token& at, const char* expected) const {
    fail(at, fmt::format("{} is not expected here; expected {}", in_quotes(at.text), expected));
  }

  void parse_top();
  void parse_module();
  void parse_function();
  void read_module_attributes(const std::vector<Attribute>& attributes);
  void read_mesh(std::string_view name, std::string_view text, std::size_t offset);
  void parse_arguments(Region& region);
  void parse_operations(Region& region);
  Operation parse_operation();
  void parse_results(std::vector<Token>& names, std::vector<std::uint32_t>& counts);
  void parse_before_type(Operation& op);
  void parse_parenthesis(Operation& op);
  void parse_after_type(Operation& op);
  void parse_region(Operation& op, const std::vector<ValueId>& arguments, const Scope& names);
  void parse_pair(Operation& op, const Token& name);
  void parse_dictionary(std::vector<Attribute>& attributes);
  std::string_view skip_value(bool in_dictionary);
  void skip_balanced();
  void add_operand(Operation& op, const Token& token);
  std::vector<ValueType> parse_signature();
  ValueId define(std::string_view name, std::uint32_t count, const Token& at);
  ValueId new_value();
  Range look_up(const Token& token, std::string_view name) const;
  void note_constant(const Operation& op);

  Lexer lexer_;
  Module module_;
  std::vector<Scope> scopes_;
  std::vector<ValueId> loop_arguments_;  // of the while being parsed
  Scope loop_names_;
  std::uint32_t nesting_ = 0;
};

void Parser::parse_top() {
  const Token& t = lexer_.peek();
  if (t.is("module")) return parse_module();
  if (t.is("func.func")) return parse_function();
  if (t.is("builtin.module")) return parse_module();
  if (t.kind == TokenKind::attribute || t.kind == TokenKind::dialect_type) {  // an alias
    const Token name = lexer_.take();
    lexer_.expect("=");
    module_.aliases.emplace(std::string(name.text), skip_value(false));
    return;
  }
  if (t.is("sdy.mesh")) {
    lexer_.take();
    const Token name = lexer_.take();
    lexer_.expect("=");
    const std::size_t offset = lexer_.peek().offset;
    return read_mesh(name.text.substr(std::min<std::size_t>(1, name.text.size())),
                     skip_value(false), offset);
  }
  if (t.kind == TokenKind::string) {  // "sdy.mesh"() {..} : () -> ()
    const Operation op = parse_operation();
    if (op.name == "sdy.mesh")
      read_mesh(unquoted(op.attribute("sym_name")),
                op.attribute(op.attribute("mesh").empty() ? "stablehlo.mesh" : "mesh"), op.offset);
    return;
  }
  unexpected(t, "module, func.func or a mesh");
}

void Parser::parse_module() {
  lexer_.take();
  if (lexer_.peek().kind == TokenKind::symbol) lexer_.take();
  std::vector<Attribute> attributes;
  if (lexer_.accept("attributes")) parse_dictionary(attributes);
  read_module_attributes(attributes);
  lexer_.expect("{");
  while (!lexer_.accept("}")) {
    if (lexer_.peek().kind == TokenKind::end) unexpected(lexer_.peek(), "\"}\"");
    if (lexer_.peek().is("module")) unexpected(lexer_.peek(), "a function: modules do not nest");
    parse_top();
  }
  if (lexer_.accept("loc")) skip_balanced();
}

void Parser::read_module_attributes(const std::vector<Attribute>& attributes) {
  for (const Attribute& a : attributes) {
    const std::vector<std::int64_t> values = integers_in(a.value);
    const bool sound = !values.empty() && values[0] >= 1 && values[0] <= (1 << 24);
    if (a.name == "mhlo.num_replicas" && sound)
      module_.replicas = static_cast<std::uint64_t>(values[0]);
    if (a.name == "mhlo.num_partitions" && sound)
      module_.partitions = static_cast<std::uint64_t>(values[0]);
  }
}

void Parser::read_mesh(std::string_view name, std::string_view text, std::size_t offset) {
  module_.meshes.insert_or_assign(std::string(name), parse_mesh(text, lexer_.source(), offset));
}

void Parser::parse_function() {
  lexer_.take();
  while (lexer_.peek().kind == TokenKind::word) lexer_.take();  // public, private
  const Token name = lexer_.take();
  if (name.kind != TokenKind::symbol) unexpected(name, "a function's name");
  Function function{.name = name.text.substr(1), .body = {}, .offset = name.offset};
  if (module_.find(function.name) != nullptr)
    fail(name, fmt::format("function {} is defined twice", in_quotes(name.text)));
  scopes_.assign(1, {});
  lexer_.expect("(");
  if (lexer_.peek().kind == TokenKind::value) {
    parse_arguments(function.body);
  } else {
    while (!lexer_.peek().is(")")) {  // a declaration: types only
      static_cast<void>(parse_type(lexer_));
      lexer_.accept(",");
    }
  }
  lexer_.expect(")");
  if (lexer_.accept("->")) {
    if (lexer_.peek().is("(")) {
      skip_balanced();
    } else {
      static_cast<void>(parse_type(lexer_));
    }
  }
  if (lexer_.accept("attributes")) {
    std::vector<Attribute> ignored;
    parse_dictionary(ignored);
  }
  if (lexer_.accept("{")) {
    parse_operations(function.body);
    lexer_.expect("}");
  }
  if (lexer_.accept("loc")) skip_balanced();
  module_.functions.push_back(std::move(function));
}

ValueId Parser::new_value() {
  module_.types.emplace_back();
  module_.constants.emplace_back();
  EXAWARP_CHECK(module_.types.size() == module_.constants.size(), module_.types.size());
  return static_cast<ValueId>(module_.types.size() - 1);
}

ValueId Parser::define(std::string_view name, std::uint32_t count, const Token& at) {
  const auto first = static_cast<ValueId>(module_.types.size());
  for (std::uint32_t i = 0; i < count; ++i) new_value();
  if (!scopes_.back().try_emplace(name, Range{first, count}).second)
    fail(at, fmt::format("value {} is defined twice", in_quotes(name)));
  return first;
}

// %a: type {attributes}, ...
void Parser::parse_arguments(Region& region) {
  do {
    const Token name = lexer_.take();
    if (name.kind != TokenKind::value) unexpected(name, "an argument's name");
    const ValueId id = define(name.text, 1, name);
    lexer_.expect(":");
    module_.types[id] = parse_type(lexer_);
    region.arguments.push_back(id);
    if (lexer_.peek().is("{")) skip_balanced();
    if (lexer_.accept("loc")) skip_balanced();
  } while (lexer_.accept(","));
}

void Parser::parse_operations(Region& region) {
  while (!lexer_.peek().is("}")) {
    const Token& t = lexer_.peek();
    if (t.kind == TokenKind::end) unexpected(t, "\"}\"");
    if (t.kind == TokenKind::block) {
      lexer_.take();
      if (lexer_.accept("(")) {
        parse_arguments(region);
        lexer_.expect(")");
      }
      lexer_.expect(":");
      continue;
    }
    region.operations.push_back(parse_operation());
  }
}

void Parser::parse_results(std::vector<Token>& names, std::vector<std::uint32_t>& counts) {
  if (lexer_.peek().kind != TokenKind::value) return;
  do {
    const Token name = lexer_.take();
    if (name.kind != TokenKind::value) unexpected(name, "a result's name");
    std::uint32_t count = 1;
    if (lexer_.accept(":")) {
      const Token number = lexer_.take();
      const auto [stop, error] = std::from_chars(
          number.text.data(), number.text.data() + number.text.size(), count);
      if (error != std::errc{} || stop != number.text.data() + number.text.size() || count == 0 ||
          count > kResultsMax)
        unexpected(number, "a number of results");
    }
    names.push_back(name);
    counts.push_back(count);
  } while (lexer_.accept(","));
  lexer_.expect("=");
}

Operation Parser::parse_operation() {
  if (nesting_ >= kNestingMax) fail(lexer_.peek(), "regions nest too deeply; expected at most 64");
  std::vector<Token> names;
  std::vector<std::uint32_t> counts;
  if (scopes_.empty()) scopes_.emplace_back();
  parse_results(names, counts);
  const Token name = lexer_.take();
  if (name.kind != TokenKind::word && name.kind != TokenKind::string)
    unexpected(name, "an operation");
  Operation op;
  op.name = plain_name(unquoted(name.text));
  if (op.name.empty()) unexpected(name, "an operation");
  op.offset = name.offset;
  loop_arguments_.clear();
  loop_names_.clear();
  parse_before_type(op);
  std::vector<ValueType> types;
  if (lexer_.accept(":")) types = parse_signature();
  parse_after_type(op);
  std::uint64_t total = 0;
  for (const std::uint32_t count : counts) total += count;
  if (types.size() < total)
    fail(name, fmt::format("{} has {} results and {} result types", op.name, total, types.size()));
  // `select %p, %a, %b : tensor<i1>, tensor<f32>`: the last types are the results'.
  std::size_t next = types.size() - total;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const ValueId first = define(names[i].text, counts[i], names[i]);
    for (std::uint32_t k = 0; k < counts[i]; ++k) {
      module_.types[first + k] = std::move(types[next++]);
      op.results.push_back(first + k);
    }
  }
  EXAWARP_CHECK(next == types.size() && op.results.size() == total, next, types.size(), total);
  note_constant(op);
  return op;
}

void Parser::note_constant(const Operation& op) {
  if (op.name != "constant" || op.results.size() != 1) return;
  const ValueType& type = module_.types[op.results[0]];
  if (type.size() != 1 || !type[0].dims.empty()) return;
  const std::vector<std::int64_t> values = integers_in(op.attribute("value"));
  if (values.size() == 1) module_.constants[op.results[0]] = values[0];
}

// Everything between the name and the ":" before the type.
void Parser::parse_before_type(Operation& op) {
  for (;;) {
    const Token& t = lexer_.peek();
    if (t.is(":") || t.is("}") || t.kind == TokenKind::end) return;
    if (t.is("(")) {
      parse_parenthesis(op);
    } else if (t.is("{")) {
      parse_dictionary(op.attributes);
    } else if (t.is("<")) {  // <{properties}>
      lexer_.take();
      parse_dictionary(op.attributes);
      lexer_.expect(">");
    } else if (t.is("[")) {
      const std::size_t begin = t.offset;
      skip_balanced();
      op.attributes.push_back(
          {"[]", lexer_.source().text.substr(begin, lexer_.last_end() - begin)});
    } else if (t.kind == TokenKind::value) {
      add_operand(op, lexer_.take());
    } else if (t.kind == TokenKind::symbol) {
      op.callee = lexer_.take().text.substr(1);
    } else if (t.kind == TokenKind::word) {
      const Token word = lexer_.take();
      if (lexer_.peek().is("=")) {
        parse_pair(op, word);
      } else if (lexer_.peek().is("<") && word.is("dense")) {
        const std::size_t begin = word.offset;
        skip_balanced();
        op.attributes.push_back(
            {"value", lexer_.source().text.substr(begin, lexer_.last_end() - begin)});
      } else {
        op.attributes.push_back({"word", word.text});  // LT, FLOAT, applies, across
      }
    } else if (t.is(",") || t.kind == TokenKind::string || t.kind == TokenKind::number) {
      lexer_.take();
    } else if (t.kind == TokenKind::attribute) {
      lexer_.take();
      if (lexer_.peek().is("<")) skip_balanced();
    } else {
      unexpected(t, "operands, attributes or a type");
    }
  }
}

void Parser::parse_pair(Operation& op, const Token& name) {
  lexer_.expect("=");
  const std::string_view value = skip_value(false);
  op.attributes.push_back({name.text, value});
}

// Operands "(%a, %b init: %c)", loop variables "(%i = %0)", or regions "({...}, {...})".
void Parser::parse_parenthesis(Operation& op) {
  lexer_.expect("(");
  while (!lexer_.accept(")")) {
    const Token& t = lexer_.peek();
    if (t.is("{")) {
      parse_region(op, {}, {});
    } else if (t.kind == TokenKind::value) {
      const Token name = lexer_.take();
      if (!lexer_.accept("=")) {
        add_operand(op, name);
        continue;
      }
      const Token initial = lexer_.take();
      if (initial.kind != TokenKind::value) unexpected(initial, "a value");
      add_operand(op, initial);
      const ValueId id = new_value();
      module_.types[id] = module_.types[op.operands.back()];
      loop_arguments_.push_back(id);
      loop_names_.emplace(name.text, Range{id, 1});
    } else if (t.is(",") || t.is("init") || t.is(":")) {
      lexer_.take();
    } else {
      unexpected(t, "operands or regions");
    }
  }
}

// `reducer(%a: t, %b: t) {..}` of reduce, `cond {..} do {..}` of while, `loc(..)`.
void Parser::parse_after_type(Operation& op) {
  const std::vector<ValueId> arguments = loop_arguments_;
  const Scope names = loop_names_;
  for (;;) {
    if (lexer_.accept("loc")) {
      skip_balanced();
    } else if (op.name == "while" && lexer_.accept("attributes")) {
      parse_dictionary(op.attributes);
    } else if (op.name == "while" && (lexer_.accept("cond") || lexer_.accept("do"))) {
      parse_region(op, arguments, names);
    } else if (op.name == "reduce" && lexer_.accept("reducer")) {
      while (lexer_.peek().is("(")) skip_balanced();
      skip_balanced();  // what it combines elements with costs as one operation does
    } else {
      return;
    }
  }
}

void Parser::parse_region(Operation& op, const std::vector<ValueId>& arguments,
                          const Scope& names) {
  lexer_.expect("{");
  ++nesting_;
  scopes_.push_back(names);
  Region region{.arguments = arguments, .operations = {}};
  parse_operations(region);
  scopes_.pop_back();
  --nesting_;
  lexer_.expect("}");
  op.regions.push_back(std::move(region));
}

Parser::Range Parser::look_up(const Token& token, std::string_view name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto it = scope->find(name);
    if (it != scope->end()) return it->second;
  }
  fail(token, fmt::format("value {} is not defined", in_quotes(name)));
}

void Parser::add_operand(Operation& op, const Token& token) {
  const std::size_t hash = token.text.find('#');
  const Range range = look_up(token, token.text.substr(0, hash));
  if (hash == std::string_view::npos) {
    for (std::uint32_t i = 0; i < range.count; ++i) op.operands.push_back(range.first + i);
    return;
  }
  std::uint32_t index = 0;
  const std::string_view digits = token.text.substr(hash + 1);
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc{} || stop != digits.data() + digits.size() || index >= range.count)
    fail(token, fmt::format("{} is no result of an operation with {}", in_quotes(token.text),
                            range.count));
  op.operands.push_back(range.first + index);
}

// (types) -> type, (types) -> (types), or types; gives the results'.
std::vector<ValueType> Parser::parse_signature() {
  std::vector<ValueType> types;
  if (lexer_.peek().is("(")) {
    types = parse_type_list(lexer_);
    if (!lexer_.accept("->")) return types;
    if (lexer_.peek().is("(")) return parse_type_list(lexer_);
    types.clear();
    types.push_back(parse_type(lexer_));
    return types;
  }
  do {
    types.push_back(parse_type(lexer_));
  } while (lexer_.accept(","));
  return types;
}

// {a = 1 : i64, "b" = .., unit}
void Parser::parse_dictionary(std::vector<Attribute>& attributes) {
  lexer_.expect("{");
  while (!lexer_.accept("}")) {
    const Token name = lexer_.take();
    if (name.kind != TokenKind::word && name.kind != TokenKind::string)
      unexpected(name, "an attribute's name or \"}\"");
    std::string_view value = "unit";
    if (lexer_.accept("=")) value = skip_value(true);
    attributes.push_back({unquoted(name.text), value});
    if (!lexer_.peek().is("}")) lexer_.expect(",");
  }
}

// An attribute's text, up to what ends it: "," or "}" in a dictionary; else also ":", "{" and what
// starts the next statement.
std::string_view Parser::skip_value(bool in_dictionary) {
  const std::size_t begin = lexer_.peek().offset;
  std::size_t taken = 0;
  for (;; ++taken) {
    const Token& t = lexer_.peek();
    if (t.kind == TokenKind::end || t.is(",") || closes(t)) break;
    if (!in_dictionary && (t.is(":") || (t.is("{") && taken != 0))) break;
    if (!in_dictionary && taken != 0 && starts_statement(t)) break;
    if (opens(t)) {
      skip_balanced();
      if (!in_dictionary && lexer_.source().text[begin] == '{') break;
    } else {
      lexer_.take();
    }
  }
  if (lexer_.last_end() <= begin) unexpected(lexer_.peek(), "a value");
  return lexer_.source().text.substr(begin, lexer_.last_end() - begin);
}

// A bracket and all to its counterpart.
void Parser::skip_balanced() {
  const Token begin = lexer_.peek();
  if (!opens(begin)) unexpected(begin, "a bracket");
  std::size_t depth = 0;
  do {
    const Token t = lexer_.take();
    if (t.kind == TokenKind::end) fail(begin, "a bracket that nothing closes");
    if (opens(t)) ++depth;
    if (closes(t)) --depth;
  } while (depth != 0);
}

}  // namespace

std::vector<Module> parse_modules(const Source& source) {
  std::vector<Module> modules;
  constexpr std::string_view kSeparator = "\n// -----";
  std::size_t begin = 0;
  while (begin <= source.text.size()) {
    const std::size_t end = std::min(source.text.find(kSeparator, begin), source.text.size());
    Module module = Parser(source, begin, end).parse();
    if (!module.functions.empty()) modules.push_back(std::move(module));
    begin = end + kSeparator.size();
  }
  return modules;
}

}  // namespace exawarp::io::stablehlo
