// Types and meshes in MLIR text.
#pragma once

#include <string_view>
#include <vector>

#include "io/formats/stablehlo/lexer.h"
#include "io/formats/stablehlo/module.h"

namespace exawarp::io::stablehlo {

// tensor<4x8xf32>, a scalar type, tuple<..>, !stablehlo.future<..>, !stablehlo.token. Throws
// core::InputError for what has no fixed size: a dynamic dimension, a memref. `depth`: how many
// types it stands in; at most 32.
ValueType parse_type(Lexer& lexer, std::uint32_t depth = 0);
// "(type, ...)"
std::vector<ValueType> parse_type_list(Lexer& lexer);

// A mesh in any of its forms: <["x"=2]>, #stablehlo.mesh<axes = [...]>, {axes = [{...}]}.
// Throws core::InputError where no axis is found, or one without a size.
NamedMesh parse_mesh(std::string_view text, const Source& source, std::size_t offset);

}  // namespace exawarp::io::stablehlo
