// "tensor<4x8xf32>", tuples and meshes, token by token; depth and the product of dimensions are
// bounded, so that no type can overflow what is computed from it.
#include "io/formats/stablehlo/types.h"

#include <fmt/core.h>

#include <charconv>

#include "io/study/suggest.h"

namespace exawarp::io::stablehlo {
namespace {

// "4x8xf32": dimensions into `type`, and what is left is the element type.
std::string_view take_dimensions(const Token& token, const Source& source, TensorType& type) {
  std::string_view text = token.text;
  __extension__ typedef unsigned __int128 Wide;
  Wide elements = 1;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    std::uint64_t dim = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), dim);
    const auto length = static_cast<std::size_t>(stop - text.data());
    if (error != std::errc{} || length == text.size() || text[length] != 'x')
      source.fail(token.offset, fmt::format("{} is no tensor type; expected e.g. 4x8xf32",
                                            in_quotes(token.text)));
    type.dims.push_back(dim);
    if (dim != 0) elements *= dim;
    if (dim > kElementsMax || elements > kElementsMax)
      source.fail(token.offset, fmt::format("tensor {} has more than 2^48 elements",
                                            in_quotes(token.text)));
    text.remove_prefix(length + 1);
  }
  return text;
}

// To the ">" of the type that begins at `begin`.
void skip_to_close(Lexer& lexer, std::size_t begin) {
  for (int depth = 0;;) {
    const Token t = lexer.take();
    if (t.kind == TokenKind::end)
      lexer.source().fail(begin, "a type that nothing ends; expected \">\"");
    if (t.is("<")) ++depth;
    if (t.is(">") && depth-- == 0) return;
  }
}

TensorType parse_tensor(Lexer& lexer) {
  lexer.expect("<");
  TensorType type;
  const Token first = lexer.take();
  if (first.is("?") || first.is("*"))
    lexer.source().fail(first.offset, "a tensor of unknown shape; expected a static one (export "
                                      "the program for fixed sizes)");
  std::string_view element = first.text;
  if (first.kind == TokenKind::number) element = take_dimensions(first, lexer.source(), type);
  if (element.empty() && lexer.peek().is("?"))
    lexer.source().fail(lexer.peek().offset, "a dynamic dimension; expected a static shape");
  if (element.empty() && lexer.peek().kind == TokenKind::dialect_type)
    element = lexer.take().text;
  if (lexer.peek().is("<")) {  // complex<f32>, !quant.uniform<..>
    lexer.take();
    skip_to_close(lexer, first.offset);
    const char* const end = lexer.source().text.data() + lexer.last_end();
    element = {element.data(), static_cast<std::size_t>(end - element.data())};
  }
  type.element = element;
  if (!lexer.accept(">")) skip_to_close(lexer, first.offset);  // an encoding
  return type;
}

void append(ValueType& to, const ValueType& more) { to.insert(to.end(), more.begin(), more.end()); }

ValueType parse_parts(Lexer& lexer, std::uint32_t depth) {
  ValueType type;
  while (!lexer.accept(">")) {
    if (lexer.accept(",")) continue;
    append(type, parse_type(lexer, depth + 1));
  }
  return type;
}

}  // namespace

ValueType parse_type(Lexer& lexer, std::uint32_t depth) {
  constexpr std::uint32_t kDepthMax = 32;
  const Token t = lexer.take();
  if (depth > kDepthMax)
    lexer.source().fail(t.offset, "types nest too deeply; expected at most 32");
  if (t.is("tensor")) return {parse_tensor(lexer)};
  if (t.is("tuple") || t.kind == TokenKind::dialect_type) {
    if (!lexer.accept("<")) return {};
    return parse_parts(lexer, depth);
  }
  if (t.is("(")) {  // one inside !mhlo.async_bundle
    ValueType type;
    while (!lexer.accept(")")) {
      if (!lexer.accept(",") && !lexer.accept("->")) append(type, parse_type(lexer, depth + 1));
    }
    return type;
  }
  const TensorType scalar{.element = t.text, .dims = {}};
  if (t.kind == TokenKind::word && scalar.width_bits() != 0) return {scalar};
  if (t.is("none")) return {};
  lexer.source().fail(t.offset, fmt::format("{} is no type; expected tensor<..>, tuple<..> or a "
                                            "token",
                                            in_quotes(t.text)));
}

std::vector<ValueType> parse_type_list(Lexer& lexer) {
  std::vector<ValueType> types;
  lexer.expect("(");
  while (!lexer.accept(")")) {
    types.push_back(parse_type(lexer));
    if (lexer.peek().is("{")) {  // attributes of a result: not in operations' signatures
      lexer.source().fail(lexer.peek().offset, "attributes are not expected here");
    }
    if (!lexer.peek().is(")")) lexer.expect(",");
  }
  return types;
}

NamedMesh parse_mesh(std::string_view text, const Source& source, std::size_t offset) {
  NamedMesh mesh;
  std::size_t at = 0;
  while ((at = text.find('"', at)) != std::string_view::npos) {
    const std::size_t end = text.find('"', at + 1);
    if (end == std::string_view::npos) break;
    const std::string name(text.substr(at + 1, end - at - 1));
    const std::size_t stop = std::min(text.find('"', end + 1), text.size());
    const std::vector<std::int64_t> sizes = integers_in(text.substr(end + 1, stop - end - 1));
    if (sizes.empty() || sizes[0] < 1 || sizes[0] > (1 << 24))
      source.fail(offset, fmt::format("axis {} of a mesh has no size; expected e.g. {}=4",
                                      in_quotes(name), in_quotes(name)));
    mesh.axes.emplace_back(name, static_cast<std::uint64_t>(sizes[0]));
    at = end + 1;
  }
  const std::size_t ids = text.find("device_ids");
  if (ids != std::string_view::npos)
    for (const std::int64_t id : integers_in(text.substr(ids + 10, text.find(':', ids) - ids - 10)))
      mesh.device_ids.push_back(id);
  return mesh;
}

}  // namespace exawarp::io::stablehlo
